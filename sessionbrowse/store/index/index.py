"""The index of all session files: which of them changed, what is known of the others, and keeping both current."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from sessionbrowse.config import INDEX_FILE
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.find.discover import FoundFile
from sessionbrowse.store.index.file_row import Held, held_of, unread_bytes
from sessionbrowse.store.index.overview import Brief, read_overview, renew_overview
from sessionbrowse.store.index.packed_summary import first_message, unpack_summary
from sessionbrowse.store.index.schema import (
    SHARD_PREFIX,
    TEXT_TABLES,
    IndexUnavailable,
    is_locked,
    locked,
    open_main,
    open_shard,
)

if TYPE_CHECKING:
    from sessionbrowse.store.index.packed_entries import Part, Places

BULK_BYTES = 64 * 1024 * 1024
"""From this much on, several processes write shards of their own."""
WORN_SHARE, WORN_ROWS = 0.25, 2000
"""The index is built anew when more than this share of its rows of texts is of files that are gone or were rewritten.

A few rows never matter.
"""
MAX_SHARDS = 8
"""Beyond so many shards everything is built anew: SQLite attaches ten, and each costs a little in every search."""

_COLUMNS = "id, path, size, mtime_ns, ctime_ns, inode, device, agent, marks, kind, shard, has_tools"
_PUT = f"INSERT OR REPLACE INTO files VALUES ({', '.join('?' * 16)})"
_FEW = 100
"""So many files are looked up one by one, instead of reading all rows."""

Report = Callable[[str], None]


class Status(Struct, frozen=True):
    """What `index --status` tells."""

    path: str
    sessions: int
    entries: int
    bytes: int
    has_tools: bool
    shards: int


class Progress(Struct, frozen=True):
    """How far an update is."""

    files_done: int
    files: int
    bytes_done: int
    bytes: int


class Index:
    """An open index. One process at a time changes it, any number read."""

    def __init__(self, directory: Path, connection: sqlite3.Connection) -> None:
        self.directory = directory
        self.connection = connection
        self._open_shards: dict[str, sqlite3.Connection] = {}

    def close(self) -> None:
        """Close the database and its shards."""
        for shard in self._open_shards.values():
            shard.close()
        self._open_shards.clear()
        self.connection.close()

    # ---- reading -------------------------------------------------------------------------------------------

    def held(self) -> dict[str, Held]:
        """Return every file that the index knows, by path.

        Raises:
            sqlite3.DatabaseError: it is damaged.
        """
        rows = self.connection.execute(f"SELECT {_COLUMNS} FROM files")
        return {held.path: held for held in map(held_of, rows)}

    def row_of(self, path: str) -> Held | None:
        """Return what the index knows of one file, None if nothing."""
        row = self.connection.execute(f"SELECT {_COLUMNS} FROM files WHERE path = ?", (os.fsencode(path),)).fetchone()
        return held_of(row) if row is not None else None

    def _held_of(self, files: Iterable[FoundFile]) -> dict[str, Held]:
        rows = {file.path: self.row_of(file.path) for file in files}
        return {path: row for path, row in rows.items() if row is not None}

    def summaries(self, held: Iterable[Held]) -> Iterator[tuple[Held, Summary, tuple[int, int] | None]]:
        """Yield what the index knows of files: the summary, and where a first message that was cut stands."""
        wanted = {each.row: each for each in held}
        if len(wanted) > 500:
            rows = self.connection.execute("SELECT id, summary FROM files")
        else:
            marks = ",".join("?" * len(wanted))
            rows = self.connection.execute(f"SELECT id, summary FROM files WHERE id IN ({marks})", tuple(wanted))
        for identity, blob in rows:
            row = wanted.get(identity)
            if row is not None:
                summary, first_at = unpack_summary(row.path, blob)
                yield row, summary, first_at

    def overview(self) -> list[Brief] | None:
        """Return every session in brief, brought up to date if need be; None if another process is writing now."""
        found = read_overview(self.connection)
        if found is None:
            try:
                with self._writing():
                    renew_overview(self.connection)
            except (IndexUnavailable, UnicodeEncodeError):
                return None
            found = read_overview(self.connection)
        return found

    def summaries_of(self, briefs: Sequence[Brief]) -> dict[str, tuple[Summary, tuple[int, int] | None]]:
        """Return by path what the index knows of some sessions, and where a first message that was cut stands.

        Raises:
            sqlite3.OperationalError: another process has dropped one of them meanwhile.
        """
        found: dict[str, tuple[Summary, tuple[int, int] | None]] = {}
        for brief in briefs:
            row = self.connection.execute("SELECT summary FROM files WHERE id = ?", (brief.row,)).fetchone()
            if row is None:
                raise sqlite3.OperationalError(f"no row {brief.row}")
            found[brief.path] = unpack_summary(brief.path, row[0])
        return found

    def first_messages(self) -> dict[str, str]:
        """Return by path how the sessions begin."""
        rows = self.connection.execute("SELECT path, summary FROM files")
        return {os.fsdecode(path): first_message(packed) for path, packed in rows}

    def entry_parts(self, held: Held) -> list[Part]:
        """Return the packed entries of a file, in order."""
        return [(places, packed) for _, places, packed in self._parts(held, "first, places, packed")]

    def places(self, held: Held) -> Places:
        """Return where the entries of a file lie.

        Raises:
            ValueError: what the index holds is damaged.
        """
        from sessionbrowse.store.index.packed_entries import unpack_places

        return unpack_places([places for _, places in self._parts(held, "first, places")])

    def _parts(self, held: Held, columns: str) -> list[tuple[Any, ...]]:
        query = f"SELECT {columns} FROM entries WHERE file = ?"
        parts = self.connection.execute(query, (held.row,)).fetchall()
        if held.shard:
            parts += self.shard(held.shard).execute(query, (held.row,)).fetchall()
        return sorted(parts, key=lambda part: part[0])

    def state(self, held: Held) -> bytes | None:
        """Return what is needed to go on reading a file at its old end."""
        found = self.connection.execute("SELECT state FROM files WHERE id = ?", (held.row,)).fetchone()
        return found[0] if found is not None else None

    def shards(self) -> list[tuple[int, str]]:
        """Return the numbers and names of the shards beside the database."""
        return self.connection.execute("SELECT number, name FROM shards ORDER BY number").fetchall()

    @property
    def has_tools(self) -> bool:
        """Whether tool calls and results are searchable."""
        found = self.connection.execute("SELECT value FROM facts WHERE name = 'tools'").fetchone()
        return found is not None and found[0] == "1"

    @property
    def generation(self) -> int:
        """A number that is another one in another index, and when texts were dropped: rows of before find nothing."""
        found = self.connection.execute("SELECT value FROM facts WHERE name = 'generation'").fetchone()
        return int(found[0]) if found is not None else 0

    def is_empty(self) -> bool:
        """Whether nothing was indexed yet."""
        return self.connection.execute("SELECT 1 FROM files LIMIT 1").fetchone() is None

    def status(self) -> Status:
        """Return counts and size."""
        sessions = self.connection.execute("SELECT count(*) FROM files").fetchone()[0]
        live = {row[0] for row in self.connection.execute("SELECT id FROM files")}
        entries = 0
        for _, connection in self.databases():
            entries += sum(
                count for file, count in connection.execute("SELECT file, count FROM entries") if file in live
            )
        names = [name for name in os.listdir(self.directory) if name.startswith((INDEX_FILE, SHARD_PREFIX))]
        size = sum((self.directory / name).stat().st_size for name in names)
        return Status(str(self.directory / INDEX_FILE), sessions, entries, size, self.has_tools, len(self.shards()))

    def databases(self) -> list[tuple[int, sqlite3.Connection]]:
        """Return the numbers of the database (0) and its shards, each with a connection, to be searched."""
        return [(0, self.connection), *((number, self.shard(number)) for number, _ in self.shards())]

    def shard(self, number: int) -> sqlite3.Connection:
        """Return a shard, kept open.

        Raises:
            sqlite3.OperationalError: it is gone.
        """
        found = self.connection.execute("SELECT name FROM shards WHERE number = ?", (number,)).fetchone()
        if found is None:
            raise sqlite3.OperationalError(f"no shard {number}")
        name = found[0]
        if name not in self._open_shards:
            self._open_shards[name] = open_shard(self.directory, name)
        return self._open_shards[name]

    # ---- writing -------------------------------------------------------------------------------------------

    def update(
        self,
        files: Sequence[FoundFile],
        override: str | None = None,
        *,
        tools: bool | None = None,
        may_fork: bool = False,
        gone: Iterable[Held] = (),
        progress: Callable[[Progress], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Read what changed of these files into the index, and drop the rows of files that are gone.

        `tools` None keeps what the index has. Every file is committed with all that belongs to it, or not at all.

        Raises:
            IndexBusy: another process writes the index now.
            IndexUnavailable: the disk is full, or refuses.
        """
        with self._writing():
            held = self._held_of(files) if len(files) <= _FEW else self.held()
            if tools is None:
                tools = self.has_tools
            changed = [file for file in files if not _is_kept(held.get(file.path), file, override, tools)]
            dropped = list(gone)
            self._drop(dropped)
            if changed:
                self._read(changed, held, override, tools, may_fork, progress, cancelled)
            touched = [*dropped, *[held[file.path] for file in changed if file.path in held]]
            if any(row.shard for row in touched):
                self._drop_empty_shards(touched)

    def _read(
        self,
        changed: Sequence[FoundFile],
        held: dict[str, Held],
        override: str | None,
        tools: bool,
        may_fork: bool,
        progress: Callable[[Progress], None],
        cancelled: Callable[[], bool],
    ) -> None:
        self._set_tools(tools)
        total = sum(unread_bytes(held.get(file.path), file) for file in changed)
        if may_fork and total >= BULK_BYTES and len(self.shards()) < MAX_SHARDS:
            self._update_in_bulk(changed, held, override, tools, progress)
        else:
            self._update_one_by_one(changed, held, override, tools, progress, cancelled, total)

    def _update_one_by_one(
        self,
        changed: Sequence[FoundFile],
        held: dict[str, Held],
        override: str | None,
        tools: bool,
        progress: Callable[[Progress], None],
        cancelled: Callable[[], bool],
        total: int,
    ) -> None:
        from sessionbrowse.store.index.writer import Known, Writer

        run = self.connection.execute
        next_id = self._next_id()
        unread = 0
        for number, file in enumerate(changed):
            if cancelled():
                return
            run("BEGIN IMMEDIATE")
            # Made anew for each file: a transaction that is rolled back takes its rows with it.
            writer = Writer(self.connection, 0, tools=tools)
            old = held.get(file.path)
            row = None
            if old is not None and file.size > old.size and _is_same_file(old, file) and bool(old.has_tools) == tools:
                known = Known(old.row, old.agent, tuple(old.marks.split()), self.state(old), old.shard)
                row = writer.growth(file, override, known, self.entry_parts(old))
            if row is None:
                if old is not None:
                    self._forget(old)
                row = writer.whole(file, override, next_id)
                next_id += 1
            if row is not None:
                run(_PUT, row)
            run("COMMIT")
            unread += unread_bytes(old, file)
            progress(Progress(number + 1, len(changed), unread, total))

    def _update_in_bulk(
        self,
        changed: Sequence[FoundFile],
        held: dict[str, Held],
        override: str | None,
        tools: bool,
        progress: Callable[[Progress], None],
    ) -> None:
        from sessionbrowse.store.index.writer import write_shards

        first_id = self._next_id()
        numbered = [(file, first_id + number) for number, file in enumerate(changed)]
        sizes = {identity: file.size for file, identity in numbered}
        first_number = max((number for number, _ in self.shards()), default=0) + 1
        numbers: dict[str, int] = {}
        found: list[tuple[Any, ...]] = []
        done = read = 0
        total = sum(sizes.values())
        self._remove_stray_shards()
        for name, rows in write_shards(self.directory, numbered, override, first_number, tools=tools):
            number = numbers.setdefault(name, first_number + len(numbers))
            for row in rows:
                done += 1
                if row is not None:
                    read += sizes[row[0]]
                    found.append((*row[:_SHARD_COLUMN], number, *row[_SHARD_COLUMN + 1 :]))
            progress(Progress(done, len(changed), read, total))
        run = self.connection.execute
        run("BEGIN IMMEDIATE")
        for file in changed:
            old = held.get(file.path)
            if old is not None:
                self._forget(old)
        self.connection.executemany("INSERT INTO shards VALUES (?, ?)", [(n, name) for name, n in numbers.items()])
        self.connection.executemany(_PUT, found)
        run("COMMIT")

    def _drop(self, gone: Sequence[Held]) -> None:
        if not gone:
            return
        self.connection.execute("BEGIN IMMEDIATE")
        for row in gone:
            self._forget(row)
        self.connection.execute("COMMIT")

    def _drop_empty_shards(self, touched: Iterable[Held]) -> None:
        """Delete the shards of these files that hold nothing of any file now: they would only wear the index."""
        is_empty = "NOT EXISTS (SELECT 1 FROM files WHERE shard = :number)"
        run = self.connection.execute
        deleted = 0
        run("BEGIN IMMEDIATE")
        for number in {row.shard for row in touched if row.shard}:
            deleted += run(f"DELETE FROM shards WHERE number = :number AND {is_empty}", {"number": number}).rowcount
        if deleted:
            self._begin_generation()
        run("COMMIT")
        if deleted:
            self._remove_stray_shards()

    def _begin_generation(self) -> None:
        self.connection.execute("INSERT OR REPLACE INTO facts VALUES ('generation', ?)", (str(self.generation + 1),))

    def is_worn(self) -> bool:
        """Tell whether so many rows of texts belong to no file any more that it is better built anew."""
        live = {row[0] for row in self.connection.execute("SELECT id FROM files")}
        rows = dead = 0
        for _, connection in self.databases():
            for table in TEXT_TABLES:
                for file, count in connection.execute(f"SELECT file, count FROM {table}_rows"):
                    rows += count
                    dead += count if file not in live else 0
        return dead >= WORN_ROWS and dead > rows * WORN_SHARE

    def empty(self) -> None:
        """Drop everything, to be read again by the next update; whether tools are searchable stays.

        Raises:
            IndexBusy: another process writes the index now.
            IndexUnavailable: the disk is full, or refuses.
        """
        with self._writing():
            run = self.connection.execute
            next_id = self._next_id()
            run("BEGIN IMMEDIATE")
            for table in ("files", "entries", "shards", *[f"{table}_rows" for table in TEXT_TABLES]):
                run(f"DELETE FROM {table}")
            for table in TEXT_TABLES:
                run(f"INSERT INTO {table}({table}) VALUES ('delete-all')")
            # Who reads the old shards at this moment must not take new files for theirs.
            self._reserve(next_id)
            self._begin_generation()
            run("COMMIT")
            self._remove_stray_shards()

    def _forget(self, held: Held) -> None:
        """Drop a file; its texts stay, and are no longer anyone's, until the index is built anew."""
        run = self.connection.execute
        if held.row >= self._reserved_id():
            self._reserve(held.row + 1)
        run("DELETE FROM files WHERE id = ?", (held.row,))
        run("DELETE FROM entries WHERE file = ?", (held.row,))

    def _next_id(self) -> int:
        """Return an id that no file has or had: texts of files that are gone still bear theirs."""
        highest = self.connection.execute("SELECT max(id) FROM files").fetchone()[0] or 0
        used = [self.connection.execute(f"SELECT max(file) FROM {table}_rows").fetchone()[0] for table in TEXT_TABLES]
        return max(self._reserved_id(), highest + 1, *[(each or 0) + 1 for each in used])

    def _reserved_id(self) -> int:
        """Return an id below which none is given again, whoever has it."""
        found = self.connection.execute("SELECT value FROM facts WHERE name = 'next_id'").fetchone()
        return int(found[0]) if found is not None else 1

    def _reserve(self, next_id: int) -> None:
        self.connection.execute("INSERT OR REPLACE INTO facts VALUES ('next_id', ?)", (str(next_id),))

    def _set_tools(self, tools: bool) -> None:
        self.connection.execute("INSERT OR REPLACE INTO facts VALUES ('tools', ?)", (str(int(tools)),))

    def _remove_stray_shards(self) -> None:
        """Delete shards that are entered no more, or that a process left behind before it could enter them."""
        known = {name for _, name in self.shards()}
        for name in self._open_shards.keys() - known:
            self._open_shards.pop(name).close()
        for name in os.listdir(self.directory):
            if name.startswith(SHARD_PREFIX) and name.removesuffix("-journal") not in known:
                # Windows keeps what another process has open: it goes the next time.
                with suppress(FileNotFoundError, PermissionError):
                    os.unlink(self.directory / name)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with locked(self.directory):
            try:
                yield
            except sqlite3.Error as error:
                why = "another program holds it" if is_locked(error) else str(error)
                raise IndexUnavailable(f"The index could not be written ({why}).") from error
            except OSError as error:
                raise IndexUnavailable(f"The index could not be written ({error.strerror}).") from error
            finally:
                with suppress(sqlite3.Error):
                    if self.connection.in_transaction:
                        self.connection.execute("ROLLBACK")


_SHARD_COLUMN = 11
"""Where `shard` stands among the columns of `files`."""


def open_index(directory: Path, *, create: bool = False, report: Report = lambda _: None) -> Index | None:
    """Open the index of a cache directory; None if there is none and `create` is false.

    Raises:
        IndexUnavailable: there can be none, with the sentence why.
    """
    connection = open_main(directory, create=create, report=report)
    return Index(directory, connection) if connection is not None else None


def _is_kept(held: Held | None, file: FoundFile, override: str | None, tools: bool) -> bool:
    return held is not None and held.is_current(file, override) and bool(held.has_tools) >= tools


def _is_same_file(held: Held, file: FoundFile) -> bool:
    return held.inode == file.inode and held.device == file.device
