"""Read session files for the index, one by one or with several processes, and write their rows and texts."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from sessionbrowse.agents import Marks
from sessionbrowse.model.usage.request import FileRequests
from sessionbrowse.store.find.discover import FoundFile
from sessionbrowse.store.index.builder import EntryText, IndexedFile, State, read_for_index, read_growth
from sessionbrowse.store.index.rows import FileRow, StoredEntries, pack, pack_small, write_row
from sessionbrowse.store.index.texts import SAID, TOOLS, TextWriter, new_name
from sessionbrowse.store.index.usage_tables import PackedUsage, pack_usage
from sessionbrowse.store.read.summarise import on_its_machine
from sessionbrowse.store.read.worker_processes import chunked, fork_map, workers_for
from sessionbrowse.text import without_sequences

COMMIT_DOCUMENTS, COMMIT_SECONDS = 60_000, 1.0
"""The entries read so far are committed after this number of entries with text, or this number of seconds."""


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


class FileReader:
    """Reads files for the index, and passes their texts to the writers of the text directories, by kind."""

    def __init__(self, texts: Mapping[str, TextWriter], *, tools: bool) -> None:
        self._tools = tools
        self._texts = texts
        self._identity = 0
        self._documents = 0
        self._begin = time.monotonic()
        self._due = self._begin + COMMIT_SECONDS

    def is_due(self) -> bool:
        """Return True and reset the counters if the entries read so far should be committed and become searchable."""
        now = time.monotonic()
        is_due = self._documents >= COMMIT_DOCUMENTS or now >= self._due
        if is_due:
            # Each commit makes a segment that the engine must merge, so in a long update the pauses double.
            self._documents, self._due = 0, now + max(COMMIT_SECONDS, now - self._begin)
        return is_due

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
        self._documents += 1
        said, done, tools = (without_sequences(one[:MOST_CHARACTERS]) for one in (text.said, text.done, text.tools))
        if said or done:
            self._texts[SAID].add(self._identity, text.index, text.role, said, done)
        if tools:
            self._texts[TOOLS].add(self._identity, text.index, text.role, f"{said}\n{tools}", "")

    def _restart(self) -> None:
        for texts in self._texts.values():
            texts.delete([self._identity])


def read_in_processes(
    directory: Path, files: Sequence[tuple[FoundFile, int]], *, tools: bool
) -> Iterator[tuple[dict[str, str], list[Stored | None]]]:
    """Read files in several processes; yield new text directories, by kind, and the rows of the files in them.

    `files` are pairs of a file and its id. The directories contain the documents of the yielded files and no others.
    """
    sizes = [file.size for file, _ in files]
    kinds = (SAID, TOOLS) if tools else (SAID,)
    writers: dict[str, TextWriter] = {}
    stored: list[Stored | None] = []
    reader = FileReader(writers, tools=tools)

    def work(chunk: list[int]) -> tuple[dict[str, str], list[Stored | None]] | None:
        # Each process writes into directories of its own, because the engine does not work after a fork.
        if not writers:
            writers.update({kind: TextWriter(directory, new_name(directory, kind)) for kind in kinds})
        stored.extend([reader.whole(*files[index]) for index in chunk])
        return finish() if reader.is_due() else None

    def finish() -> tuple[dict[str, str], list[Stored | None]]:
        for writer in writers.values():
            writer.commit()
        answer = {kind: writer.name for kind, writer in writers.items()}, list(stored)
        writers.clear()
        stored.clear()
        return answer

    return fork_map(chunked(sizes), work, workers_for(sum(sizes)), finish)


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
