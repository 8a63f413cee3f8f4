"""The `Index` class: the SQLite cache of all session files' summaries, entries and words, and its updates."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

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
)
from sessionbrowse.store.index.schema import (
    IndexBusy,
    IndexUnavailable,
    locked,
    not_written,
    open_main,
)

if TYPE_CHECKING:
    from sessionbrowse.store.index.packed_places import Part, Places

BULK_BYTES = 64 * 1024 * 1024
"""An update that reads at least this number of bytes uses several processes, each with its own text directory."""
WORN_SHARE = 1 / 3
"""The index is rebuilt if more than this share of its texts belongs to deleted or rewritten files."""
COMMIT_DOCUMENTS, COMMIT_SECONDS = 20_000, 1.0
"""Number of entries with text, and number of seconds, after which what was read is committed."""
MAX_DIRECTORIES = 8
"""Maximum number of text directories that are filled by several processes; each one slows every search a little."""

_FEW = 500
"""Maximum number of summaries that are fetched by id; for more, the whole table `files` is read."""

Note = Callable[[str], None]
"""A callback that receives a sentence for the user."""


class Status(Struct, frozen=True):
    """The size of an index in bytes, and the numbers of its sessions and entries."""

    path: str
    sessions: int
    entries: int
    bytes: int
    has_tools: bool


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

    def close(self) -> None:
        """Close the database."""
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
        parts = self.connection.execute(query, (row.row,)).fetchall()
        return opened_parts(row.row, [(first, count, values) for first, count, *values in parts])

    def state(self, row: FileRow) -> bytes | None:
        """Return the packed `State` from which reading continues when the file has grown; None if none is stored."""
        found = self.connection.execute("SELECT state FROM files WHERE id = ?", (row.row,)).fetchone()
        return found[0] if found is not None else None

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
        """Return the size of the index and the numbers of its sessions and entries."""
        run = self.connection.execute
        sessions = run("SELECT count(*) FROM files").fetchone()[0]
        entries = run("SELECT coalesce(sum(count), 0) FROM entries").fetchone()[0]
        paths = [self.directory / name for name in os.listdir(self.directory) if name.startswith(INDEX_FILE)]
        for (name,) in run("SELECT name FROM texts"):
            paths += (self.directory / name).glob("*")
        size = sum(path.stat().st_size for path in paths)
        return Status(str(self.directory / INDEX_FILE), sessions, entries, size, self.has_tools)

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
        with self._writing():
            rows = [row for file in files if (row := self.row_of(file.path)) is not None]
            known = {row.path: row for row in rows}
            tools = self.has_tools if tools is None else tools
            changed = [file for file in files if (row := known.get(file.path)) is None or not row.holds(file, tools)]
            self._drop(list(gone))
            total = sum(unread_bytes(known.get(file.path), file) for file in changed)
            if changed:
                facts.set_tools(self.connection, tools)
            is_bulk = may_fork and total >= BULK_BYTES and self._directories() < MAX_DIRECTORIES
            if changed and is_bulk:
                self._update_in_bulk(changed, known, tools, progress)
            elif changed:
                self._update_one_by_one(changed, known, tools, progress, cancelled, total)

    def _update_one_by_one(
        self,
        changed: Sequence[FoundFile],
        known: dict[str, FileRow],
        tools: bool,
        progress: Callable[[UpdateProgress], None],
        cancelled: Callable[[], bool],
        total: int,
    ) -> None:
        from sessionbrowse.store.index.texts import GrowingTexts
        from sessionbrowse.store.index.usage_tables import read_usage
        from sessionbrowse.store.index.writer import FileReader, put

        run = self.connection.execute
        next_id = facts.next_id(self.connection)
        unread = 0
        with GrowingTexts(self.directory, self.connection, next_id, tools=tools) as growing:
            reader = FileReader(growing.writers)
            last, due = len(changed) - 1, time.monotonic() + COMMIT_SECONDS
            run("BEGIN IMMEDIATE")
            for number, file in enumerate(changed):
                if cancelled():
                    last = number
                else:
                    old = known.get(file.path)
                    stored = None
                    if old is not None and old.may_have_grown(file) and bool(old.has_tools) == tools:
                        usage = read_usage(self.connection, old)
                        stored = reader.growth(file, old, self.state(old), self.entry_parts(old), usage)
                    if stored is None:
                        if old is not None:
                            self._forget(old)
                        stored = reader.whole(file, next_id)
                        next_id += 1
                    if stored is not None:
                        put(self.connection, stored)
                    unread += unread_bytes(old, file)
                if number < last and reader.documents < COMMIT_DOCUMENTS and time.monotonic() < due:
                    continue
                growing.commit(is_last=number == last)
                run("COMMIT")
                progress(UpdateProgress(number + 1, len(changed), unread, total))
                if number == last:
                    return
                reader.documents, due = 0, time.monotonic() + COMMIT_SECONDS
                run("BEGIN IMMEDIATE")

    def _update_in_bulk(
        self,
        changed: Sequence[FoundFile],
        known: dict[str, FileRow],
        tools: bool,
        progress: Callable[[UpdateProgress], None],
    ) -> None:
        from sessionbrowse.store.index.texts import keep, names, remove_strays, stamps_of
        from sessionbrowse.store.index.writer import put, read_in_processes

        first_id = facts.next_id(self.connection)
        numbered = [(file, first_id + number) for number, file in enumerate(changed)]
        sizes = {identity: file.size for file, identity in numbered}
        done = read = 0
        total = sum(sizes.values())
        made: set[str] = set()
        remove_strays(self.directory, names(self.connection))
        self.connection.execute("BEGIN IMMEDIATE")
        for old in [known[file.path] for file in changed if file.path in known]:
            self._forget(old)
        for directories, stored in read_in_processes(self.directory, numbered, tools=tools):
            made.update(directories)
            for each in stored:
                done += 1
                if each is not None:
                    read += sizes[each.row[0]]
                    put(self.connection, each)
            progress(UpdateProgress(done, len(changed), read, total))
        stamps = [(name, False, stamps) for name in made if (stamps := stamps_of(self.directory, name)) is not None]
        keep(self.connection, stamps)
        self.connection.execute("COMMIT")
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _directories(self) -> int:
        found: int = self.connection.execute("SELECT count(*) FROM texts").fetchone()[0]
        return found

    def _drop(self, gone: Sequence[FileRow]) -> None:
        if not gone:
            return
        self.connection.execute("BEGIN IMMEDIATE")
        for row in gone:
            self._forget(row)
        self.connection.execute("COMMIT")

    def is_worn(self) -> bool:
        """Return True if the index should be rebuilt, because too many of its texts belong to files no longer in it."""
        from sessionbrowse.store.index.texts import share_of_deleted

        return share_of_deleted(self.directory, self.connection) > WORN_SHARE

    def empty(self) -> None:
        """Delete all content of the index except its setting for tool calls; the next update reads all files again.

        Raises:
            IndexBusy: another process writes the index now.
            IndexUnavailable: the disk is full or refuses to write.
        """
        from sessionbrowse.store.index.texts import names, remove_strays, renew_sum

        with self._writing():
            run = self.connection.execute
            next_id = facts.next_id(self.connection)
            run("BEGIN IMMEDIATE")
            for table in ("files", "entries", "usage", "settled", "texts", "forgotten"):
                run(f"DELETE FROM {table}")
            renew_sum(self.connection)
            # Another process may still read the old texts, so no new file may get an old file's id.
            facts.reserve_ids_below(self.connection, next_id)
            facts.begin_generation(self.connection)
            run("COMMIT")
            remove_strays(self.directory, names(self.connection))

    def _forget(self, row: FileRow) -> None:
        """Delete a file's row, entries and model requests; a later writing deletes its texts."""
        run = self.connection.execute
        facts.reserve_ids_below(self.connection, row.row + 1)
        run("INSERT OR IGNORE INTO forgotten VALUES (?)", (row.row,))
        run("DELETE FROM files WHERE id = ?", (row.row,))
        run("DELETE FROM entries WHERE file = ?", (row.row,))
        run("DELETE FROM usage WHERE file = ?", (row.row,))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with locked(self.directory):
            try:
                yield
            except (sqlite3.Error, OSError) as error:
                raise not_written(self.directory, error) from error
            except BaseException as error:
                # The search engine panics if the system refuses it memory or a thread.
                if type(error).__name__ != "PanicException":
                    raise
                raise not_written(self.directory, OSError(0, "the texts were not stored")) from error
            finally:
                with suppress(sqlite3.Error):
                    if self.connection.in_transaction:
                        self.connection.execute("ROLLBACK")


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
