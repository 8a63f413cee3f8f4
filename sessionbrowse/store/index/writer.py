"""Write session files into the index: one by one into the main database, or with several processes into new shards.

A shard is a database next to the main one.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sessionbrowse.agents import Marks
from sessionbrowse.model.session.columns import Columns, joined
from sessionbrowse.model.usage.request import FileRequests
from sessionbrowse.store.find.discover import FoundFile, stamp_of
from sessionbrowse.store.index.packed_entries import ends_at, pack, unpack
from sessionbrowse.store.index.packed_places import Part, opened_parts, sealed_part
from sessionbrowse.store.index.read_file import IndexedFile, read_for_index, read_growth
from sessionbrowse.store.index.read_state import State
from sessionbrowse.store.index.rows import FileRow, opened, pack_summary, sealed
from sessionbrowse.store.index.schema import SHARD_PREFIX, TEXT_TABLES, complete_shard, create_shard, merge_parts
from sessionbrowse.store.index.text_rows import TextRows, write_all_words
from sessionbrowse.store.index.usage_tables import pack_usage, write_usage
from sessionbrowse.store.read.worker_processes import chunked, fork_map, workers_for

MAX_RUNS = 16
"""Each update stores a session's new entries as one run of entries; when this many runs exist, they are merged."""

_LARGEST = (1 << 63) - 1

encode = msgspec.msgpack.Encoder().encode
_decode_state = msgspec.msgpack.Decoder(State).decode

Row = tuple[Any, ...]
"""The values of one row of the table `files`, in column order, without the checksum."""


class Writer:
    """Writes the entries and texts of files into one database; the caller writes the rows of `files` and commits."""

    def __init__(self, connection: sqlite3.Connection, shard: int, *, tools: bool) -> None:
        self._connection = connection
        self._shard = shard
        self._tools = tools
        # The words of a shard (extra database) are listed once, when it is complete.
        self._texts = [TextRows(connection, table, words=not shard) for table in TEXT_TABLES]

    def whole(self, file: FoundFile, identity: int) -> Row | None:
        """Read a whole file, store its entries and texts, and return its row; None if it cannot be read or stored."""
        found = read_for_index(file.path, file.agent, self._take_text, tools=self._tools, restart=self._restart)
        return self._keep(file, found, identity, self._shard, ())

    def growth(
        self,
        file: FoundFile,
        known: FileRow,
        packed_state: bytes | None,
        parts: Sequence[Part],
        usage: FileRequests,
    ) -> Row | None:
        """Read the appended lines of a file, store them, and return the file's new row.

        Returns None if the file must be read from its beginning.
        """
        if packed_state is None:
            return None
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
        if found is None:
            self._restart()
            return None
        return self._keep(file, found, known.row, known.shard, parts)

    def _keep(
        self, file: FoundFile, found: IndexedFile | None, identity: int, shard: int, before: Sequence[Part]
    ) -> Row | None:
        if found is None:
            self._restart()
            return None
        try:
            row = _row(file, found, identity, shard, self._tools)
            first, entries = self._with_earlier(identity, found) if before else (found.first, found.entries)
            packed = sealed_part(identity, first, len(entries), pack(entries))
            usage = pack_usage(found.usage, identity, stamp_of(file.path, found.status))
        except (UnicodeEncodeError, OverflowError, ValueError):
            # A session cannot be stored if it has a lone surrogate or a too large number, or if its entries in the
            # index are damaged. Session lists read such a session from its file.
            self._restart()
            return None
        if len(entries):
            run = self._connection.execute
            run("DELETE FROM entries WHERE file = ? AND first >= ?", (identity, first))
            run("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", (identity, first, len(entries), *packed))
        write_usage(self._connection, identity, usage)
        for texts in self._texts:
            texts.finish(identity)
        return row

    def _with_earlier(self, identity: int, found: IndexedFile) -> tuple[int, Columns]:
        """Return the number of the first entry to store, and the entries to store.

        If the earlier entries of the file are stored as `MAX_RUNS` runs (of consecutive entries) or more, they are
        included, so that all entries become one run.
        """
        ask = "SELECT first, count, places, packed FROM entries WHERE file = ? ORDER BY first"
        earlier = self._connection.execute(ask, (identity,)).fetchall()
        if len(earlier) < MAX_RUNS:
            return found.first, found.entries
        begin = earlier[0][0]
        parts = opened_parts(identity, [(first, count, values) for first, count, *values in earlier], begin)
        return begin, joined(unpack([(places, packed) for places, packed in parts]), found.entries)

    def _take_text(self, index: int, said: str, tools: str) -> None:
        for texts, text in zip(self._texts, (said, tools), strict=True):
            if text:
                texts.add(index, text)

    def _restart(self) -> None:
        for texts in self._texts:
            texts.restart()


def write_shards(
    directory: Path, files: Sequence[tuple[FoundFile, int]], numbers: int, *, tools: bool
) -> Iterator[tuple[str, list[Row | None]]]:
    """Read files into new shards (extra databases) with several processes; yield a shard's name with the rows of files.

    `files` are pairs of a file and its id. Results are yielded as the processes return them. The caller makes a shard
    part of the index by inserting its name into the table `shards`. `numbers` is the number of the first new shard.
    """
    sizes = [file.size for file, _ in files]
    stamp = secrets.token_hex(4)
    made: list[tuple[sqlite3.Connection, Writer, str]] = []
    completed: list[str] = []

    def work(chunk: list[int]) -> list[Any]:
        if not made:
            # Each process creates its own shard (extra database), because a SQLite connection does not survive a fork.
            # If a process takes over a dead process's work after completing its shard, it creates a second shard.
            name = f"{SHARD_PREFIX}{stamp}-{os.getpid()}-{len(completed)}.sqlite"
            connection = create_shard(directory / name)
            connection.execute("BEGIN")
            made.append((connection, Writer(connection, numbers, tools=tools), name))
        _, writer, name = made[0]
        return [name, [writer.whole(files[index][0], files[index][1]) for index in chunk]]

    def finish() -> None:
        for connection, _, name in made:
            merge_parts(connection)
            write_all_words(connection)
            complete_shard(connection)
            completed.append(name)
        made.clear()

    return map(_pair, fork_map(chunked(sizes), work, workers_for(sum(sizes)), finish))


def _pair(answer: list[Any]) -> tuple[str, list[Row | None]]:
    name, rows = answer
    return name, rows


def _row(file: FoundFile, found: IndexedFile, identity: int, shard: int, tools: bool) -> Row:
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
        shard,
        int(tools),
        summary.label_count,
        pack_summary(summary, found.first_at),
        sealed(encode(found.state), file.path) if found.state is not None else None,
    )
