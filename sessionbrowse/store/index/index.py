"""The index of all session files: a cache of their summaries, entries and words, and its updates."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from sessionbrowse.config import INDEX_FILE
from sessionbrowse.store.find.discover import FoundFile
from sessionbrowse.store.index import facts
from sessionbrowse.store.index.rows import (
    CHECKED_COLUMNS,
    FileRow,
    ListRow,
    PackedSummary,
    file_row,
    read_first_messages,
    read_overview,
    read_rows,
    renew_overview,
    unpack_summary,
    unread_bytes,
    with_sum,
)
from sessionbrowse.store.index.schema import (
    SHARD_PREFIX,
    TEXT_TABLES,
    IndexBusy,
    IndexUnavailable,
    locked,
    not_written,
    open_main,
    open_shard,
    shard_facts,
)

if TYPE_CHECKING:
    from sessionbrowse.store.index.packed_places import Part, Places

BULK_BYTES = 64 * 1024 * 1024
"""Number of bytes from which several processes read the files, each writing a shard of its own."""
WORN_SHARE, WORN_ROWS = 0.25, 2000
"""Share of text rows of deleted or rewritten files above which the index is built anew, and the least that matters."""
MAX_SHARDS = 8
"""Maximum number of shards: SQLite can attach ten, and each one slows every search a little."""

_PUT = f"INSERT OR REPLACE INTO files VALUES ({', '.join('?' * 17)})"
_FEW = 500
"""Maximum number of rows that are fetched one by one; for more, the whole table is read."""

Note = Callable[[str], None]
"""A callback that shows a sentence to the user."""


class Status(Struct, frozen=True):
    """The size of an index, and the numbers of its sessions, entries and shards."""

    path: str
    sessions: int
    entries: int
    bytes: int
    has_tools: bool
    shards: int


class UpdateProgress(Struct, frozen=True):
    """Progress of an update, in files and bytes."""

    files_done: int
    files: int
    bytes_done: int
    bytes: int


class Index:
    """An open index. One process at a time can write; any number of processes can read."""

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

    def rows(self) -> list[ListRow]:
        """Return a row for every file, in no order.

        They come from the table `overview`, which holds all rows as one packed value; if it is outdated, it is renewed
        first, unless another process is writing.

        Raises:
            sqlite3.DatabaseError: the index is damaged.
        """
        try:
            found = read_overview(self.connection)
            if found is None:
                with suppress(IndexUnavailable, UnicodeEncodeError), self._writing():
                    renew_overview(self.connection)
                found = read_overview(self.connection)
            return found if found is not None else read_rows(self.connection)
        except ValueError as error:
            raise sqlite3.DatabaseError(f"a row is damaged: {error}") from error

    def row_of(self, path: str) -> FileRow | None:
        """Return the row of one file, None if the index does not have it."""
        ask = f"SELECT {CHECKED_COLUMNS} FROM files WHERE path = ?"
        row = self.connection.execute(ask, (os.fsencode(path),)).fetchone()
        return file_row(row) if row is not None else None

    def summaries(self, rows: Sequence[FileRow]) -> dict[str, PackedSummary]:
        """Return the summaries of these rows by path, without those that are damaged or no longer in the index."""
        wanted = {row.row: row.path for row in rows}
        ask = "SELECT id, summary FROM files"
        found: dict[str, PackedSummary] = {}
        with suppress(sqlite3.Error, ValueError, TypeError, LookupError):
            if len(wanted) > _FEW:
                packed = self.connection.execute(ask)
            else:
                marks = ",".join("?" * len(wanted))
                packed = self.connection.execute(f"{ask} WHERE id IN ({marks})", tuple(wanted))
            for identity, summary in packed:
                if identity in wanted:
                    found[wanted[identity]] = unpack_summary(wanted[identity], summary)
        return found

    def first_messages(self) -> dict[str, str]:
        """Return each session's first message, by path; long messages are cut.

        Raises:
            sqlite3.Error: the index is damaged.
        """
        return read_first_messages(self.connection)

    def entry_parts(self, row: FileRow) -> list[Part]:
        """Return the packed entries of a file, in order."""
        return [(places, packed) for places, packed in self._parts(row, "places", "packed")]

    def places(self, row: FileRow) -> Places:
        """Return the byte offsets and sizes of a file's entries.

        Raises:
            ValueError: the stored positions are damaged.
        """
        from sessionbrowse.store.index.packed_places import unpack_places

        return unpack_places([places for (places,) in self._parts(row, "places")])

    def _parts(self, row: FileRow, *columns: str) -> list[list[bytes]]:
        from sessionbrowse.store.index.packed_places import opened_parts

        query = f"SELECT first, count, {', '.join(columns)} FROM entries WHERE file = ?"
        parts = [part for each in self.databases_of(row) for part in each.execute(query, (row.row,)).fetchall()]
        return opened_parts(row.row, [(first, count, values) for first, count, *values in parts])

    def state(self, row: FileRow) -> bytes | None:
        """Return the packed state with which reading a grown file continues at its old end; None if there is none."""
        found = self.connection.execute("SELECT state FROM files WHERE id = ?", (row.row,)).fetchone()
        return found[0] if found is not None else None

    def shards(self) -> list[tuple[int, str]]:
        """Return the numbers and names of the shards beside the database."""
        return self.connection.execute("SELECT number, name FROM shards ORDER BY number").fetchall()

    @property
    def has_tools(self) -> bool:
        """True if tool calls and results are searchable."""
        return facts.has_tools(self.connection)

    @property
    def generation(self) -> int:
        """A number that identifies the index and changes when texts are dropped, which makes older rows invalid."""
        return facts.generation(self.connection)

    def is_empty(self) -> bool:
        """Tell whether the index has no file yet."""
        return self.connection.execute("SELECT 1 FROM files LIMIT 1").fetchone() is None

    def status(self) -> Status:
        """Return the size of the index and the numbers of its sessions, entries and shards."""
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
        """Return the databases to search as pairs of number and connection; 0 is the main one, others are shards."""
        return [(0, self.connection), *((number, self.shard(number)) for number, _ in self.shards())]

    def databases_of(self, row: FileRow) -> list[sqlite3.Connection]:
        """Return the databases that may hold parts of a file, the newest parts first."""
        return [self.connection, *([self.shard(row.shard)] if row.shard else [])]

    def shard(self, number: int) -> sqlite3.Connection:
        """Return the connection of a shard; it stays open.

        Raises:
            sqlite3.OperationalError: the shard is gone.
        """
        found = self.connection.execute("SELECT name FROM shards WHERE number = ?", (number,)).fetchone()
        if found is None:
            raise sqlite3.OperationalError(f"no shard {number}")
        name = found[0]
        if name not in self._open_shards:
            self._open_shards[name] = open_shard(self.directory, name)
        return self._open_shards[name]

    def update(
        self,
        files: Sequence[FoundFile],
        *,
        tools: bool | None = None,
        may_fork: bool = False,
        gone: Iterable[FileRow] = (),
        progress: Callable[[UpdateProgress], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Read those of the given files that changed into the index, and delete the rows of the files in `gone`.

        `tools` adds tool calls and results; None adds them if the index has those of other files. Each file is
        committed as a whole or not at all.

        Raises:
            IndexBusy: another process writes the index now.
            IndexUnavailable: the disk is full or refuses to write.
        """
        from sessionbrowse.store.index.text_rows import check_texts, writing_words

        with self._writing():
            rows = [row for file in files if (row := self.row_of(file.path)) is not None]
            known = {row.path: row for row in rows}
            tools = self.has_tools if tools is None else tools
            changed = [file for file in files if (row := known.get(file.path)) is None or not row.holds(file, tools)]
            self._drop(dropped := list(gone))
            total = sum(unread_bytes(known.get(file.path), file) for file in changed)
            if changed:
                check_texts(self.connection)
                facts.set_tools(self.connection, tools)
            if changed and may_fork and total >= BULK_BYTES and len(self.shards()) < MAX_SHARDS:
                self._update_in_bulk(changed, known, tools, progress)
            elif changed:
                with writing_words(self.connection):
                    self._update_one_by_one(changed, known, tools, progress, cancelled, total)
            touched = [*dropped, *[known[file.path] for file in changed if file.path in known]]
            if any(row.shard for row in touched):
                self._drop_empty_shards(touched)

    def _update_one_by_one(
        self,
        changed: Sequence[FoundFile],
        known: dict[str, FileRow],
        tools: bool,
        progress: Callable[[UpdateProgress], None],
        cancelled: Callable[[], bool],
        total: int,
    ) -> None:
        from sessionbrowse.store.index.usage_tables import read_usage
        from sessionbrowse.store.index.writer import Writer

        run = self.connection.execute
        next_id = facts.next_id(self.connection)
        unread = 0
        for number, file in enumerate(changed):
            if cancelled():
                return
            run("BEGIN IMMEDIATE")
            # Each file gets a new `Writer`: after a rollback, the old one's count of rows would be wrong.
            writer = Writer(self.connection, 0, tools=tools)
            old = known.get(file.path)
            row = None
            if old is not None and old.may_have_grown(file) and bool(old.has_tools) == tools:
                usage = read_usage(self.databases_of(old), old)
                row = writer.growth(file, old, self.state(old), self.entry_parts(old), usage)
            if row is None:
                if old is not None:
                    self._forget(old)
                row = writer.whole(file, next_id)
                next_id += 1
            if row is not None:
                run(_PUT, with_sum(row))
            run("COMMIT")
            unread += unread_bytes(old, file)
            progress(UpdateProgress(number + 1, len(changed), unread, total))

    def _update_in_bulk(
        self,
        changed: Sequence[FoundFile],
        known: dict[str, FileRow],
        tools: bool,
        progress: Callable[[UpdateProgress], None],
    ) -> None:
        from sessionbrowse.store.index.writer import write_shards

        first_id = facts.next_id(self.connection)
        numbered = [(file, first_id + number) for number, file in enumerate(changed)]
        sizes = {identity: file.size for file, identity in numbered}
        first_number = max((number for number, _ in self.shards()), default=0) + 1
        numbers: dict[str, int] = {}
        found: list[tuple[Any, ...]] = []
        done = read = 0
        total = sum(sizes.values())
        self._remove_stray_shards()
        for name, rows in write_shards(self.directory, numbered, first_number, tools=tools):
            number = numbers.setdefault(name, first_number + len(numbers))
            for row in rows:
                done += 1
                if row is not None:
                    read += sizes[row[0]]
                    found.append(with_sum((*row[:_SHARD_COLUMN], number, *row[_SHARD_COLUMN + 1 :])))
            progress(UpdateProgress(done, len(changed), read, total))
        run = self.connection.execute
        run("BEGIN IMMEDIATE")
        for old in [known[file.path] for file in changed if file.path in known]:
            self._forget(old)
        made = [(n, name, *shard_facts(self.directory / name)) for name, n in numbers.items()]
        self.connection.executemany("INSERT INTO shards VALUES (?, ?, ?, ?, ?, ?, ?)", made)
        self.connection.executemany(_PUT, found)
        run("COMMIT")

    def _drop(self, gone: Sequence[FileRow]) -> None:
        if not gone:
            return
        self.connection.execute("BEGIN IMMEDIATE")
        for row in gone:
            self._forget(row)
        self.connection.execute("COMMIT")

    def _drop_empty_shards(self, touched: Iterable[FileRow]) -> None:
        """Delete those shards of the given files that now contain the texts of no file."""
        is_empty = "NOT EXISTS (SELECT 1 FROM files WHERE shard = :number)"
        run = self.connection.execute
        deleted = 0
        run("BEGIN IMMEDIATE")
        for number in {row.shard for row in touched if row.shard}:
            deleted += run(f"DELETE FROM shards WHERE number = :number AND {is_empty}", {"number": number}).rowcount
        if deleted:
            facts.begin_generation(self.connection)
        run("COMMIT")
        if deleted:
            self._remove_stray_shards()

    def is_worn(self) -> bool:
        """Tell whether the index should be built anew, because too many text rows belong to files no longer in it."""
        live = {row[0] for row in self.connection.execute("SELECT id FROM files")}
        rows = dead = 0
        for _, connection in self.databases():
            for table in TEXT_TABLES:
                for file, count in connection.execute(f"SELECT file, count FROM {table}_rows"):
                    rows += count
                    dead += count if file not in live else 0
        return dead >= WORN_ROWS and dead > rows * WORN_SHARE

    def empty(self) -> None:
        """Delete all content of the index; the next update reads the files again. The setting for tools stays.

        Raises:
            IndexBusy: another process writes the index now.
            IndexUnavailable: the disk is full or refuses to write.
        """
        from sessionbrowse.store.index.text_rows import forget_runs, writing_words

        with self._writing(), writing_words(self.connection):
            run = self.connection.execute
            next_id = facts.next_id(self.connection)
            run("BEGIN IMMEDIATE")
            for table in (
                "files",
                "entries",
                "usage",
                "settled",
                "shards",
                *[f"{table}_{kind}" for table in TEXT_TABLES for kind in ("rows", "words")],
            ):
                run(f"DELETE FROM {table}")
            for table in TEXT_TABLES:
                run(f"INSERT INTO {table}({table}) VALUES ('delete-all')")
            forget_runs(self.connection)
            # Another process may still read the old shards: new files must not get the ids of old ones.
            facts.reserve_ids_below(self.connection, next_id)
            facts.begin_generation(self.connection)
            run("COMMIT")
            self._remove_stray_shards()

    def _forget(self, row: FileRow) -> None:
        """Delete a file's row and entries; its text rows stay, unused, until the index is built anew."""
        run = self.connection.execute
        facts.reserve_ids_below(self.connection, row.row + 1)
        run("DELETE FROM files WHERE id = ?", (row.row,))
        run("DELETE FROM entries WHERE file = ?", (row.row,))
        run("DELETE FROM usage WHERE file = ?", (row.row,))

    def _remove_stray_shards(self) -> None:
        """Delete shard files that the index does not use: emptied shards, and leftovers of a killed process."""
        known = {name for _, name in self.shards()}
        for name in self._open_shards.keys() - known:
            self._open_shards.pop(name).close()
        for name in os.listdir(self.directory):
            if name.startswith(SHARD_PREFIX) and name.removesuffix("-journal") not in known:
                # Windows does not delete a file that another process has open; the next call does.
                with suppress(FileNotFoundError, PermissionError):
                    os.unlink(self.directory / name)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with locked(self.directory):
            try:
                yield
            except (sqlite3.Error, OSError) as error:
                raise not_written(self.directory, error) from error
            finally:
                with suppress(sqlite3.Error):
                    if self.connection.in_transaction:
                        self.connection.execute("ROLLBACK")


_SHARD_COLUMN = 11
"""Position of `shard` among the columns of `files`."""


def open_index(directory: Path, note: Note = lambda _: None, *, create: bool = False) -> Index | None:
    """Open the index of a cache directory; return None if it is missing or cannot be used.

    With `create` a missing index is made. `note` receives the reason if there can be no index, or if it is made anew.
    """
    try:
        connection = open_main(directory, create=create, report=note)
    except IndexBusy:
        return None
    except IndexUnavailable as error:
        note(error.sentence)
        return None
    return Index(directory, connection) if connection is not None else None
