"""The `Index` class: the SQLite cache of all session files' summaries, entries and words, and its updates."""

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
"""An update that reads at least this number of bytes uses several processes, and each writes its own database."""
WORN_SHARE, WORN_ROWS = 0.25, 2000
"""The index is rebuilt if this share and this number of its text rows belong to deleted or rewritten files."""
MAX_SHARDS = 8
"""Maximum number of shards (extra databases): SQLite can attach ten, and each one slows every search a little."""

_PUT = f"INSERT OR REPLACE INTO files VALUES ({', '.join('?' * 17)})"
_FEW = 500
"""Maximum number of summaries that are fetched by id; for more, the whole table `files` is read."""

Note = Callable[[str], None]
"""A callback that receives a sentence for the user."""


class Status(Struct, frozen=True):
    """The size of an index in bytes, and the numbers of its sessions, entries and shards (extra databases)."""

    path: str
    sessions: int
    entries: int
    bytes: int
    has_tools: bool
    shards: int


class UpdateProgress(Struct, frozen=True):
    """Progress of an index update: the numbers of files and bytes that are done, and their totals."""

    files_done: int
    files: int
    bytes_done: int
    bytes: int


class Index:
    """The open index of session files. One process at a time can write it; any number of processes can read it."""

    def __init__(self, directory: Path, connection: sqlite3.Connection) -> None:
        self.directory = directory
        self.connection = connection
        self._open_shards: dict[str, sqlite3.Connection] = {}

    def close(self) -> None:
        """Close the database and its shards (extra databases)."""
        for shard in self._open_shards.values():
            shard.close()
        self._open_shards.clear()
        self.connection.close()

    def rows(self) -> list[ListRow]:
        """Return the rows of all indexed files, in no particular order.

        The rows come from the table `overview`, which stores all rows packed into one value. If that value is outdated,
        this method first renews it, unless another process is writing the index.

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
            raise sqlite3.DatabaseError(f"a row of the index is damaged: {error}") from error

    def row_of(self, path: str) -> FileRow | None:
        """Return the row of the file at this path; None if the file is not in the index."""
        ask = f"SELECT {CHECKED_COLUMNS} FROM files WHERE path = ?"
        row = self.connection.execute(ask, (os.fsencode(path),)).fetchone()
        return file_row(row) if row is not None else None

    def summaries(self, rows: Sequence[FileRow]) -> dict[str, PackedSummary]:
        """Return the summaries of these files by path; skip damaged ones and files that are no longer in the index."""
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
        """Return the first message of each session by path; long messages are truncated.

        Raises:
            sqlite3.Error: the index is damaged.
        """
        return read_first_messages(self.connection)

    def entry_parts(self, row: FileRow) -> list[Part]:
        """Return the packed entries of a file, in order; each `Part` is a run of consecutive entries."""
        return [(places, packed) for places, packed in self._parts(row, "places", "packed")]

    def places(self, row: FileRow) -> Places:
        """Return the byte offsets and sizes of the lines of a file's entries.

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
        """Return the packed `State` from which reading continues when the file has grown; None if none is stored."""
        found = self.connection.execute("SELECT state FROM files WHERE id = ?", (row.row,)).fetchone()
        return found[0] if found is not None else None

    def shards(self) -> list[tuple[int, str]]:
        """Return the number and file name of each shard, a database next to the main database."""
        return self.connection.execute("SELECT number, name FROM shards ORDER BY number").fetchall()

    @property
    def has_tools(self) -> bool:
        """True if the index contains tool calls and results."""
        return facts.has_tools(self.connection)

    @property
    def generation(self) -> int:
        """A number that identifies the index. It changes when texts are deleted; rows read before that are invalid."""
        return facts.generation(self.connection)

    def is_empty(self) -> bool:
        """Return True if the index contains no files."""
        return self.connection.execute("SELECT 1 FROM files LIMIT 1").fetchone() is None

    def status(self) -> Status:
        """Return the size of the index and the numbers of its sessions, entries and shards (extra databases)."""
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
        """Return number and connection of each database to search: the main one (0), then shards (extra databases)."""
        return [(0, self.connection), *((number, self.shard(number)) for number, _ in self.shards())]

    def databases_of(self, row: FileRow) -> list[sqlite3.Connection]:
        """Return the databases with a file's entries: the main one (newest entries), then a shard (extra database)."""
        return [self.connection, *([self.shard(row.shard)] if row.shard else [])]

    def shard(self, number: int) -> sqlite3.Connection:
        """Return the connection to a shard (an extra database); the connection stays open until `close`.

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
        """Update the index: read the given files that are new or changed, and delete the rows of the files in `gone`.

        With `tools`, tool calls and results are indexed too; None keeps the index's present setting. Each file is
        committed completely or not at all.

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
            # Each file gets a new `Writer`, because a rollback makes a writer's count of text rows wrong.
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
        """Delete the shards (extra databases) that contained the `touched` files, and now contain no indexed file."""
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
        """Return True if the index should be rebuilt, because too many text rows belong to files no longer in it."""
        live = {row[0] for row in self.connection.execute("SELECT id FROM files")}
        rows = dead = 0
        for _, connection in self.databases():
            for table in TEXT_TABLES:
                for file, count in connection.execute(f"SELECT file, count FROM {table}_rows"):
                    rows += count
                    dead += count if file not in live else 0
        return dead >= WORN_ROWS and dead > rows * WORN_SHARE

    def empty(self) -> None:
        """Delete all content of the index except its setting for tool calls; the next update reads all files again.

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
            # Another process may still read the old shards (extra databases), so no new file may get an old file's id.
            facts.reserve_ids_below(self.connection, next_id)
            facts.begin_generation(self.connection)
            run("COMMIT")
            self._remove_stray_shards()

    def _forget(self, row: FileRow) -> None:
        """Delete a file's row, entries and model requests; its text rows stay, unused, until the index is rebuilt."""
        run = self.connection.execute
        facts.reserve_ids_below(self.connection, row.row + 1)
        run("DELETE FROM files WHERE id = ?", (row.row,))
        run("DELETE FROM entries WHERE file = ?", (row.row,))
        run("DELETE FROM usage WHERE file = ?", (row.row,))

    def _remove_stray_shards(self) -> None:
        """Delete shards (extra databases) that the index does not use: empty ones, or leftovers of a killed process."""
        known = {name for _, name in self.shards()}
        for name in self._open_shards.keys() - known:
            self._open_shards.pop(name).close()
        for name in os.listdir(self.directory):
            if name.startswith(SHARD_PREFIX) and name.removesuffix("-journal") not in known:
                # Windows does not delete a file that another process has open; a later call deletes the file.
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
"""Position of the column `shard` in the table `files`."""


def open_index(directory: Path, note: Note = lambda _: None, *, create: bool = False) -> Index | None:
    """Open the index in a cache directory; return None if it is missing or cannot be used.

    With `create`, a missing index is created. `note` receives the reason if the index cannot be used or is rebuilt.
    """
    try:
        connection = open_main(directory, create=create, report=note)
    except IndexBusy:
        return None
    except IndexUnavailable as error:
        note(error.sentence)
        return None
    return Index(directory, connection) if connection is not None else None
