"""Read session files for the index, one by one or with several processes, and write their rows and texts."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from sessionbrowse.agents import Marks
from sessionbrowse.model.usage.request import FileRequests
from sessionbrowse.store.find.discover import FoundFile
from sessionbrowse.store.index.builder import EntryText, IndexedFile, State, read_for_index, read_growth
from sessionbrowse.store.index.rows import FileRow, StoredEntries, pack, pack_small, write_row
from sessionbrowse.store.index.texts import SAID, TOOLS, Document, TextWriter, document_of
from sessionbrowse.store.index.usage_tables import PackedUsage, pack_usage
from sessionbrowse.store.read.summarise import on_its_machine
from sessionbrowse.store.read.worker_processes import chunked, fork_map, workers_for
from sessionbrowse.text import without_sequences

COMMIT_SECONDS = 1.0
"""The entries read in the first second are committed; the pauses until the next commits grow."""

MOST_CHARACTERS = 1024 * 1024
"""Maximum number of characters of an entry's text that are indexed."""


class Stored(Struct, frozen=True):
    """The values of a file for the database: its row, and in packed form its entries, state and model requests."""

    row: FileRow
    packed_row: bytes
    state: bytes | None
    count: int
    entries: bytes
    usage: PackedUsage


def put(connection: sqlite3.Connection, stored: Stored) -> None:
    """Write the values of a file into the database; the caller commits."""
    identity, run = stored.row.row, connection.execute
    run("DELETE FROM forgotten WHERE file = ?", (identity,))
    entries = (identity, stored.count, stored.entries, stored.state)
    run("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)", entries)
    run("INSERT OR REPLACE INTO usage VALUES (?, ?, ?)", (identity, *stored.usage))
    write_row(connection, stored.row, stored.packed_row)


class Pauses:
    """Decides when an index update commits the entries it has read; from then on, these can be searched."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._due = self._begin + COMMIT_SECONDS

    def is_over(self) -> bool:
        """Return True if the entries read so far should be committed; then the next pause begins."""
        now = time.monotonic()
        is_over = now >= self._due
        if is_over:
            # The engine must later merge the segments that each commit makes. So a long update commits less often.
            self._due = now + max(COMMIT_SECONDS, 2 * (now - self._begin))
        return is_over


class Collected:
    """Documents that another process gives to the engine; `FileReader` calls its methods like a `TextWriter`'s."""

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self.add = self.documents.append

    def delete(self, files: Container[int]) -> None:
        """Drop the documents of some files."""
        self.documents[:] = [document for document in self.documents if document[0] not in files]


class FileReader:
    """Reads files for the index, and passes their texts to the writers of the text directories, by kind."""

    def __init__(self, texts: Mapping[str, TextWriter | Collected], *, tools: bool) -> None:
        self._tools = tools
        self._texts = texts
        self._identity = 0

    def whole(self, file: FoundFile, identity: int) -> Stored | None:
        """Read a whole file; return the values to store, None if it cannot be read or stored."""
        self._identity = identity
        found = read_for_index(file.path, file.agent, self._take_text, tools=self._tools, restart=self._restart)
        return self._packed(file, found, identity)

    def growth(
        self, file: FoundFile, known: FileRow, state: State, entries: StoredEntries, usage: FileRequests
    ) -> Stored | None:
        """Read the appended lines of a file; return the values to store, None if the whole file must be read.

        `known`, `state`, `entries` and `usage` are the file's values in the index.
        """
        self._identity = known.row
        found = read_growth(
            file.path,
            known.summary.agent,
            known.found_marks() or Marks(),
            file.agent,
            state,
            entries,
            self._take_text,
            tools=self._tools,
            usage=usage,
        )
        return self._packed(file, found, known.row) if found is not None else None

    def _packed(self, file: FoundFile, found: IndexedFile | None, identity: int) -> Stored | None:
        # A session cannot be stored if it has a lone surrogate or a too large number. Session lists read such a session
        # from its file.
        with suppress(UnicodeEncodeError, OverflowError, ValueError):
            if found is not None:
                row = _row(file, found, identity, self._tools)
                return Stored(
                    row,
                    pack(row),
                    pack_small(found.state) if found.state is not None else None,
                    len(found.entries.sizes),
                    pack_small(found.entries),
                    pack_usage(found.usage),
                )
        self._restart()
        return None

    def _take_text(self, text: EntryText) -> None:
        texts = text.said, text.done, text.tools
        said, done, tools = [without_sequences(one[:MOST_CHARACTERS]) if one else "" for one in texts]
        if said or done:
            self._texts[SAID].add(document_of(self._identity, text.index, text.role, said, done))
        if tools:
            self._texts[TOOLS].add(document_of(self._identity, text.index, text.role, f"{said}\n{tools}", ""))

    def _restart(self) -> None:
        for texts in self._texts.values():
            texts.delete([self._identity])


def read_in_processes(
    files: Sequence[tuple[FoundFile, int]], *, tools: bool
) -> Iterator[tuple[dict[str, list[Document]], list[Stored | None]]]:
    """Read files in several processes, in groups; yield a pair of values for each group.

    The pair has the documents of the group's entries, by the kind of text directory, and for each file the values to
    store in the database, or None if it cannot be stored. `files` are pairs of a file and its id.
    """
    sizes = [file.size for file, _ in files]

    def work(chunk: list[int]) -> tuple[dict[str, list[Document]], list[Stored | None]]:
        texts = {kind: Collected() for kind in ((SAID, TOOLS) if tools else (SAID,))}
        reader = FileReader(texts, tools=tools)
        stored = [reader.whole(*files[index]) for index in chunk]
        return {kind: each.documents for kind, each in texts.items()}, stored

    return fork_map(chunked(sizes), work, workers_for(sum(sizes)))


def _row(file: FoundFile, found: IndexedFile, identity: int, tools: bool) -> FileRow:
    status = found.status
    return FileRow(
        file.path,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
        status.st_dev,
        identity,
        " ".join(found.marks),
        found.kind,
        int(tools),
        on_its_machine(found.summary),
        found.first_at,
    )
