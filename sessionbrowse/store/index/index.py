"""The `Index` class: the SQLite cache of all session files' summaries, entries and words, and its updates."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from sessionbrowse.config import INDEX_FILE
from sessionbrowse.store.find.discover import FoundFile
from sessionbrowse.store.index.rows import FileRow, damaged, pack, read_rows, unpack, unread_bytes
from sessionbrowse.store.index.schema import (
    IndexBusy,
    IndexUnavailable,
    begin_anew,
    is_damage,
    locked,
    not_written,
    open_main,
)

if TYPE_CHECKING:
    from sessionbrowse.store.index.builder import State
    from sessionbrowse.store.index.rows import StoredEntries

BULK_BYTES = 64 * 1024 * 1024
"""An update that reads at least this number of bytes uses several processes."""
SHARED_BYTES = 32 * 1024 * 1024
"""Larger files are read by the writing process alone."""
WORN_SHARE = 1 / 3
"""The index is rebuilt if more than this share of its texts belongs to deleted or rewritten files."""

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

    def rows(self) -> list[FileRow]:
        """Return the rows of all indexed files, in the order of their paths.

        Raises:
            sqlite3.DatabaseError: the index is damaged.
        """
        return read_rows(self.connection)

    def row_of(self, path: str) -> FileRow | None:
        """Return the row of the file at this path; None if the file is not in the index."""
        found = read_rows(self.connection, path)
        return found[0] if found else None

    def state(self, row: FileRow) -> State | None:
        """Return the state in which the reading of a file ended; None if appended lines cannot be read alone.

        Raises:
            sqlite3.DatabaseError: the index is damaged.
        """
        from sessionbrowse.store.index.builder import decode_state

        found = self.connection.execute("SELECT state FROM entries WHERE file = ?", (row.row,)).fetchone()
        return unpack(found[0], decode_state) if found is not None and found[0] is not None else None

    def entries(self, row: FileRow) -> StoredEntries:
        """Return the places, ids and parents of a file's entries.

        Raises:
            sqlite3.DatabaseError: the index is damaged.
        """
        from sessionbrowse.store.index.rows import unpack_entries

        found = self.connection.execute("SELECT packed FROM entries WHERE file = ?", (row.row,)).fetchone()
        if found is None:
            raise damaged("entries are missing in the index")
        return unpack_entries(found[0])

    @property
    def has_tools(self) -> bool:
        """True if the index contains tool calls and results."""
        return has_tools(self.connection)

    @property
    def generation(self) -> int:
        """A number that identifies the index. It changes when texts are deleted; rows read before that are invalid."""
        return generation(self.connection)

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
                set_tools(self.connection, tools)
            done = read = 0

            def count(files: int, size: int) -> None:
                nonlocal done, read
                done, read = done + files, read + size
                # The receiver of the last report may end this process, so it is sent after the final commit.
                if done < len(changed):
                    progress(UpdateProgress(done, len(changed), read, total))

            # The texts of a file that another process reads are in memory at once, so large files are not shared.
            is_bulk = may_fork and total >= BULK_BYTES
            shared = [file for file in changed if is_bulk and file.size <= SHARED_BYTES]
            alone = [file for file in changed if not is_bulk or file.size > SHARED_BYTES]
            if shared:
                self._update_in_bulk(shared, known, tools, count)
            if alone:
                self._update_one_by_one(alone, known, tools, count)
            if changed:
                progress(UpdateProgress(done, len(changed), read, total))

    def _update_one_by_one(
        self,
        changed: Sequence[FoundFile],
        known: dict[str, FileRow],
        tools: bool,
        count: Callable[[int, int], None],
    ) -> None:
        from sessionbrowse.store.index.texts import GrowingTexts
        from sessionbrowse.store.index.usage_tables import read_usage
        from sessionbrowse.store.index.writer import FileReader, Pauses, put

        run = self.connection.execute
        with GrowingTexts(self.directory, self.connection, tools=tools) as growing:
            first_id = self._take_ids(len(changed))
            reader, pauses = FileReader(growing.writers, tools=tools), Pauses()
            last = len(changed) - 1
            run("BEGIN IMMEDIATE")
            for number, file in enumerate(changed):
                old = known.get(file.path)
                stored = state = None
                if old is not None and old.may_have_grown(file) and bool(old.has_tools) == tools:
                    state = self.state(old)
                if old is not None and state is not None:
                    stored = reader.growth(file, old, state, self.entries(old), read_usage(self.connection, old))
                if stored is None:
                    if old is not None:
                        self._forget(old)
                    stored = reader.whole(file, first_id + number)
                if stored is not None:
                    put(self.connection, stored)
                count(1, unread_bytes(old, file))
                if number < last and not pauses.is_over():
                    continue
                growing.commit(is_last=number == last)
                if number == last:
                    run("DELETE FROM forgotten WHERE file >= ?", (first_id,))
                run("COMMIT")
                if number < last:
                    run("BEGIN IMMEDIATE")

    def _update_in_bulk(
        self,
        changed: Sequence[FoundFile],
        known: dict[str, FileRow],
        tools: bool,
        count: Callable[[int, int], None],
    ) -> None:
        from sessionbrowse.store.index.texts import GrowingTexts
        from sessionbrowse.store.index.writer import Pauses, put, read_in_processes

        run = self.connection.execute
        with GrowingTexts(self.directory, self.connection, tools=tools) as growing:
            # If texts were deleted above, the engine has an open writer, which forked processes cannot use. Close it.
            run("BEGIN IMMEDIATE")
            growing.commit(is_last=False)
            run("COMMIT")
            first_id = self._take_ids(len(changed))
            numbered = [(file, first_id + number) for number, file in enumerate(changed)]
            pauses = Pauses()
            run("BEGIN IMMEDIATE")
            for texts, stored in read_in_processes(numbered, tools=tools):
                for kind, documents in texts.items():
                    for document in documents:
                        growing.writers[kind].add(document)
                for each in stored:
                    if each is not None:
                        if each.row.path in known:
                            self._forget(known[each.row.path])
                        put(self.connection, each)
                count(len(stored), sum([each.row.size for each in stored if each is not None]))
                if pauses.is_over():
                    growing.commit(is_last=False)
                    run("COMMIT")
                    run("BEGIN IMMEDIATE")
            for row in [known[file.path] for file in changed if file.path in known]:
                self._forget(row)
            run("DELETE FROM forgotten WHERE file >= ?", (first_id,))
            growing.commit(is_last=True)
            run("COMMIT")
            # Rows of several processes come in any order, which leaves pages half empty.
            with suppress(sqlite3.OperationalError):
                run("VACUUM")
        run("PRAGMA wal_checkpoint(TRUNCATE)")

    def _take_ids(self, count: int) -> int:
        """Reserve file ids and return the first; the next update deletes texts of ids whose files were not stored."""
        self.connection.execute("BEGIN IMMEDIATE")
        first = take_ids(self.connection, count)
        ids = [(first + number,) for number in range(count)]
        self.connection.executemany("INSERT INTO forgotten VALUES (?)", ids)
        self.connection.execute("COMMIT")
        return first

    def _drop(self, gone: Sequence[FileRow]) -> None:
        if not gone:
            return
        self.connection.execute("BEGIN IMMEDIATE")
        for row in gone:
            self._forget(row)
        self.connection.execute("COMMIT")

    def needs_rebuild(self) -> bool:
        """Return True if the index should be rebuilt, because too many of its texts belong to files no longer in it."""
        from sessionbrowse.store.index.texts import share_of_deleted

        return share_of_deleted(self.directory, self.connection) > WORN_SHARE

    def empty(self) -> None:
        """Delete all content of the index except its setting for tool calls; the next update reads all files again.

        Raises:
            IndexBusy: another process writes the index now.
            IndexUnavailable: the disk is full or refuses to write.
        """
        from sessionbrowse.store.index.texts import names, remove_strays

        with self._writing():
            run = self.connection.execute
            run("BEGIN IMMEDIATE")
            # Another process may still read the old texts, so file ids are not used again (`facts` is kept).
            for table in ("files", "entries", "usage", "settled", "texts", "forgotten"):
                run(f"DELETE FROM {table}")
            begin_generation(self.connection)
            run("COMMIT")
            remove_strays(self.directory, names(self.connection))

    def _forget(self, row: FileRow) -> None:
        """Delete a file's row, entries and model requests; a later writing deletes its texts."""
        run = self.connection.execute
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


def check_index(index: Index) -> None:
    """Check all rows and texts of an index.

    Raises:
        IndexBusy: another process is writing the index now.
        IndexUnavailable: the lock file cannot be opened.
        sqlite3.Error: the index is damaged.
    """
    from sessionbrowse.store.index.texts import check
    from sessionbrowse.store.index.usage_tables import read_sums, read_usage

    with locked(index.directory):
        check(index.directory, index.connection, thorough=True)
        rows = {row.row: row for row in index.rows()}
        for row in rows.values():
            index.state(row)
            index.entries(row)
            read_usage(index.connection, row)
        if sum(1 for _ in read_sums(index.connection, rows)) != len(rows):
            raise damaged("model requests are missing in the index")


def discard_index(index: Index, error: Exception, note: Note) -> None:
    """Delete an index that cannot be used, create an empty one for the next update, and pass the reason to `note`."""
    note(f"The index {index.directory} cannot be used ({error}). sessionbrowse deleted it and will build a new one.")
    with suppress(IndexUnavailable, OSError), locked(index.directory):
        begin_anew(index.directory)


def discard_if_damaged(index: Index, note: Note) -> None:
    """Replace the index with an empty one if it is damaged; do nothing while another process is writing it."""
    try:
        check_index(index)
    except IndexUnavailable:
        return
    except sqlite3.Error as error:
        if is_damage(error):
            discard_index(index, error, note)


_decode = msgspec.msgpack.Decoder(bytes).decode


def has_tools(connection: sqlite3.Connection) -> bool:
    """Return True if the index contains tool calls and results."""
    return _number(connection, "tools") == 1


def set_tools(connection: sqlite3.Connection, tools: bool) -> None:
    """Store whether the index contains tool calls and results."""
    connection.execute("UPDATE facts SET tools = ?", (int(tools),))


def generation(connection: sqlite3.Connection) -> int:
    """Return the number that identifies the index. It changes when texts are deleted: rows read earlier are invalid."""
    return _number(connection, "generation")


def begin_generation(connection: sqlite3.Connection) -> None:
    """Change the generation number of the index, so that rows which any process has read before become invalid."""
    connection.execute("UPDATE facts SET generation = generation + 1")


def take_ids(connection: sqlite3.Connection, count: int) -> int:
    """Reserve `count` consecutive file ids and return the first; no id is ever used twice."""
    first = _number(connection, "next_id")
    connection.execute("UPDATE facts SET next_id = ?", (first + count,))
    return first


def read_settled(connection: sqlite3.Connection, name: str) -> bytes | None:
    """Return the stored result with this name, such as the cost of each project; None if it is missing or damaged."""
    with suppress(sqlite3.DatabaseError):
        row = connection.execute("SELECT packed FROM settled WHERE name = ?", (name,)).fetchone()
        return unpack(row[0], _decode) if row is not None else None
    return None


def write_settled(connection: sqlite3.Connection, answers: Iterable[tuple[str, bytes]], *, instead: bool) -> None:
    """Store named results, such as the cost of each project; with `instead`, delete all results stored before.

    The caller must hold the lock of the index.
    """
    connection.execute("BEGIN IMMEDIATE")
    if instead:
        connection.execute("DELETE FROM settled")
    rows = [(name, pack(packed)) for name, packed in answers]
    connection.executemany("INSERT OR REPLACE INTO settled VALUES (?, ?)", rows)
    connection.execute("COMMIT")


def _number(connection: sqlite3.Connection, name: str) -> int:
    found = connection.execute(f"SELECT {name} FROM facts").fetchone()
    if found is None or not isinstance(found[0], int):
        raise damaged(f"the value of {name} in the index is not a number")
    return found[0]
