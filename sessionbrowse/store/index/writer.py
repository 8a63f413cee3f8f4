"""Read session files for the index, one by one or with several processes, and write what it keeps of them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.agents import Marks
from sessionbrowse.model.session.columns import joined
from sessionbrowse.model.usage.request import FileRequests
from sessionbrowse.sequences import without_sequences
from sessionbrowse.store.find.discover import FoundFile, stamp_of
from sessionbrowse.store.index.collector import EntryText, State
from sessionbrowse.store.index.packed_entries import ends_at, pack, unpack
from sessionbrowse.store.index.packed_places import Part, sealed_part
from sessionbrowse.store.index.read_file import IndexedFile, read_for_index, read_growth
from sessionbrowse.store.index.rows import FileRow, opened, pack_summary, sealed, with_sum
from sessionbrowse.store.index.texts import SAID, TOOLS, TextWriter, new_name
from sessionbrowse.store.index.usage_tables import PackedUsage, pack_usage, write_usage
from sessionbrowse.store.read.worker_processes import chunked, fork_map, workers_for

MAX_RUNS = 16
"""Each update stores a session's new entries as one run of entries; when this many runs exist, they are merged."""

_LARGEST = (1 << 63) - 1

encode = msgspec.msgpack.Encoder().encode
_decode_state = msgspec.msgpack.Decoder(State).decode


class Stored(Struct, frozen=True):
    """The values that the database keeps of a file: its row, a run of its entries (`part`), its model requests.

    The run begins with entry number `first` and has `count` entries. `row` has the values of a row of the table
    `files`, in column order, without the checksum.
    """

    row: tuple[Any, ...]
    first: int
    count: int
    part: Part
    usage: PackedUsage


def put(connection: sqlite3.Connection, stored: Stored) -> None:
    """Write the values of a file into the database; the caller commits."""
    identity, run = stored.row[0], connection.execute
    if stored.count:
        run("DELETE FROM entries WHERE file = ? AND first >= ?", (identity, stored.first))
        run("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", (identity, stored.first, stored.count, *stored.part))
    write_usage(connection, identity, stored.usage)
    run(f"INSERT OR REPLACE INTO files VALUES ({', '.join('?' * 16)})", with_sum(stored.row))


class FileReader:
    """Reads files for the index, and passes their texts to the writers of text directories (by kind in `texts`).

    `documents` counts the entries with text.
    """

    def __init__(self, texts: Mapping[str, TextWriter]) -> None:
        self._tools = TOOLS in texts
        self._texts = texts
        self._identity = 0
        self.documents = 0

    def whole(self, file: FoundFile, identity: int) -> Stored | None:
        """Read a whole file; return the values to store, None if it cannot be read or stored."""
        self._identity = identity
        found = read_for_index(file.path, file.agent, self._take_text, tools=self._tools, restart=self._restart)
        return self._packed(file, found, identity)

    def growth(
        self, file: FoundFile, known: FileRow, packed_state: bytes | None, parts: Sequence[Part], usage: FileRequests
    ) -> Stored | None:
        """Read the appended lines of a file; return the values to store, None if it must be read from its beginning.

        `known`, `packed_state`, `parts` and `usage` are the values that the index stores of the file.
        """
        if packed_state is None:
            return None
        self._identity = known.row
        try:
            state, entries = _decode_state(opened(packed_state, known.path)), unpack(parts)
        except (msgspec.MsgspecError, ValueError):
            return None
        if not ends_at(entries, state.last):
            return None
        found = read_growth(
            file.path,
            known.agent,
            known.found_marks() or Marks(),
            file.agent,
            state,
            entries,
            self._take_text,
            tools=self._tools,
            usage=usage,
        )
        if found is not None and len(parts) >= MAX_RUNS:
            # All entries become one run.
            found = replace(found, first=0, entries=joined(entries, found.entries))
        return self._packed(file, found, known.row) if found is not None else None

    def _packed(self, file: FoundFile, found: IndexedFile | None, identity: int) -> Stored | None:
        try:
            if found is not None:
                row = _row(file, found, identity, self._tools)
                part = sealed_part(identity, found.first, len(found.entries), pack(found.entries))
                usage = pack_usage(found.usage, identity, stamp_of(file.path, found.status))
                return Stored(row, found.first, len(found.entries), part, usage)
        except (UnicodeEncodeError, OverflowError, ValueError):
            # A session cannot be stored if it has a lone surrogate or a too large number. Session lists read such a
            # session from its file.
            pass
        self._restart()
        return None

    def _take_text(self, text: EntryText) -> None:
        self.documents += 1
        said, done, tools = map(without_sequences, (text.said, text.done, text.tools))
        if said or done:
            self._texts[SAID].add(self._identity, text.index, text.role, said, done)
        if tools:
            self._texts[TOOLS].add(self._identity, text.index, text.role, f"{said}\n{tools}", "")

    def _restart(self) -> None:
        for texts in self._texts.values():
            texts.delete([self._identity])


def read_in_processes(
    directory: Path, files: Sequence[tuple[FoundFile, int]], *, tools: bool
) -> Iterator[tuple[list[str], list[Stored | None]]]:
    """Read files with several processes; yield the names of text directories with the values to store of some files.

    `files` are pairs of a file and its id. Each process fills text directories of its own, which are complete when the
    iteration ends; the caller then makes them part of the index.
    """
    sizes = [file.size for file, _ in files]
    kinds = (SAID, TOOLS) if tools else (SAID,)
    made: dict[str, TextWriter] = {}

    def work(chunk: list[int]) -> list[Any]:
        # Each process makes its own directories, because the engine does not survive a fork. If a process takes over a
        # dead process's work after it has committed its directories, it makes new ones.
        made.update({kind: TextWriter(directory, new_name(kind)) for kind in kinds if kind not in made})
        reader = FileReader(made)
        return [[each.name for each in made.values()], [reader.whole(*files[index]) for index in chunk]]

    def finish() -> None:
        for writer in made.values():
            writer.commit()
        made.clear()

    answers = fork_map(chunked(sizes), work, workers_for(sum(sizes)), finish)
    return ((names, stored) for names, stored in answers)


def _row(file: FoundFile, found: IndexedFile, identity: int, tools: bool) -> tuple[Any, ...]:
    summary = found.summary
    status = found.status
    stamp = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
    # SQLite's integers have 63 bits and a sign; times after the year 2262 and inodes of some network disks are larger.
    if max(stamp) > _LARGEST:
        raise OverflowError(f"{max(stamp)} has more than 63 bits")
    return (
        identity,
        os.fsencode(file.path),
        *stamp,
        found.agent,
        " ".join(found.marks),
        found.kind,
        summary.modified,
        int(tools),
        summary.label_count,
        pack_summary(summary, found.first_at),
        sealed(encode(found.state), file.path) if found.state is not None else None,
    )
