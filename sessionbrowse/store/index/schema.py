"""Create, check, open, lock and delete the files of the index: a SQLite database, and text directories beside it."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sessionbrowse.config import INDEX_FILE
from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.store.system.files import CLOEXEC, NOFOLLOW, take_lock

APPLICATION_ID = 0x5E551085
SCHEMA_VERSION = 25
LOCK_NAME = "index.lock"
TEXTS_PREFIXES = ("text-", "tools-")
"""Beginnings of the names of text directories, and of files of earlier versions."""
_WAIT_S = 2.0
"""Maximum number of seconds to wait for another program that has locked the database."""
_DAMAGE = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT)
"""SQLite's result codes for a damaged database. SQLITE_ERROR occurs when a table is missing."""
_POLL_S = 0.02
STORED_FIELDS = "7f1e363f26bdc12e"
"""Digest of the names of all stored fields, in order; an index with another digest is rebuilt.

It is a constant because listing sessions should not import the structs with these fields; a test checks the value.
"""

TABLES = """
CREATE TABLE files (
    path BLOB PRIMARY KEY, id INTEGER NOT NULL UNIQUE, row BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE entries (file INTEGER PRIMARY KEY, count INTEGER NOT NULL, packed BLOB NOT NULL, state BLOB);
CREATE TABLE usage (file INTEGER PRIMARY KEY, sums BLOB NOT NULL, requests BLOB NOT NULL);
CREATE TABLE settled (name TEXT PRIMARY KEY, packed BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE texts (name TEXT PRIMARY KEY, writing INTEGER NOT NULL, stamps BLOB NOT NULL);
CREATE TABLE forgotten (file INTEGER PRIMARY KEY);
CREATE TABLE facts (
    fields TEXT NOT NULL, tools INTEGER NOT NULL, generation INTEGER NOT NULL, next_id INTEGER NOT NULL
);
"""
"""The tables of the index. The small table `files` is read for every list; other tables have the larger values.

A scan finds files in the order of their paths, and compares each with its row. The rows are stored in the same order,
so that memory is read in sequence, which is faster.
"""
_MAGIC = b"SQLite format 3\0"
_APPLICATION_AT, _HEAD_BYTES = 68, 72
"""Position of the application id in a database header, and the end of that id (SQLite's file format, 1.3)."""
_BESIDE = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite creates next to a database."""


class IndexUnavailable(SessionBrowseError):
    """The index cannot be used; the message says why. The program works without an index, but more slowly."""


class IndexBusy(IndexUnavailable):
    """Another process is writing the index."""


def open_main(directory: Path, *, create: bool, report: Callable[[str], None]) -> sqlite3.Connection | None:
    """Open the main database of an index, or replace an unusable one; with `create`, create a missing one.

    Returns None if there is no index and `create` is false. `report` receives a sentence if a file is replaced or
    moved.

    Raises:
        IndexUnavailable: the directory cannot be written to, or the disk is full.
    """
    path = directory / INDEX_FILE
    try:
        was_moved = _move_odd_files(path, report)
        if not path.exists():
            if not (create or was_moved):
                return None
            make_private(directory)
            with locked(directory, wait_s=_WAIT_S):
                if not path.exists():
                    return _create(path)
        connection, reason = _connect_if_usable(path)
        if connection is not None:
            return connection
        if not os.access(directory, os.W_OK):
            raise IndexUnavailable(f"The index {path} cannot be replaced ({reason}); sessionbrowse works without it.")
        with locked(directory):
            connection, again = _connect_if_usable(path) if path.exists() else (None, None)
            if connection is not None and again is None:
                return connection  # Another process has just rebuilt the index.
            report(f"The index {path} cannot be used ({reason}); it is built anew.")
            remove_files(directory)
            return _create(path)
    except (OSError, sqlite3.Error) as error:
        raise IndexUnavailable(f"There is no index, because {directory} cannot be used ({_why(error)}).") from error


@contextmanager
def locked(directory: Path, *, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the lock file that lets only one process at a time write the index.

    Raises:
        IndexBusy: another process has the lock, and kept it for `wait_s` seconds.
    """
    try:
        descriptor = os.open(directory / LOCK_NAME, os.O_RDWR | os.O_CREAT | CLOEXEC | NOFOLLOW, 0o600)
    except OSError as error:
        raise IndexUnavailable(f"There is no index, because {directory} cannot be used ({_why(error)}).") from error
    try:
        deadline = time.monotonic() + wait_s
        while not take_lock(descriptor):
            if time.monotonic() >= deadline:
                raise IndexBusy("Another sessionbrowse is writing the index. Try again in a moment.")
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)


def is_locked(error: sqlite3.Error) -> bool:
    """Return True if an error means that another program has locked the database."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def is_damage(error: sqlite3.Error) -> bool:
    """Return True if an error means that the database is damaged."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


def not_written(directory: Path, error: sqlite3.Error | OSError) -> IndexUnavailable:
    """Return an error that says why the index was not written; empty a damaged index. The caller must hold the lock."""
    if isinstance(error, OSError):
        return IndexUnavailable(f"The index could not be written ({error.strerror}).")
    why = "another program has locked the index" if is_locked(error) else str(error)
    if is_damage(error):
        begin_anew(directory)
        why = f"the index cannot be used: {why}; it was deleted and will be built anew"
    return IndexUnavailable(f"The index could not be written ({why}).")


def begin_anew(directory: Path) -> None:
    """Replace a damaged index with an empty one, which the next session list fills. The caller must hold the lock."""
    remove_files(directory)
    with suppress(OSError, sqlite3.Error):
        _create(directory / INDEX_FILE).close()


def remove_files(directory: Path) -> None:
    """Delete the index and its text directories, but not the lock file."""
    for name in os.listdir(directory):
        if name.startswith((INDEX_FILE, *TEXTS_PREFIXES)):
            path = directory / name
            if path.is_dir() and not path.is_symlink():
                if name.startswith(TEXTS_PREFIXES):
                    remove_tree(path)
                else:
                    _move_aside(path)
                continue
            with suppress(FileNotFoundError):
                os.unlink(path)


def remove_tree(path: Path) -> None:
    """Delete a text directory; files that another process has open on Windows are left for a later call."""
    for name in os.listdir(path):
        with suppress(OSError):
            os.unlink(path / name)
    with suppress(OSError):
        path.rmdir()


def make_private(directory: Path) -> None:
    """Create a directory that only its owner can read."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    if directory.stat().st_mode & 0o077:
        os.chmod(directory, 0o700)


def _create(path: Path) -> sqlite3.Connection:
    # The database is renamed to its final name when it is complete, so a killed process leaves no incomplete index.
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    with suppress(FileNotFoundError):
        os.unlink(temporary)
    connection = sqlite3.connect(temporary, isolation_level=None)
    try:
        os.chmod(temporary, 0o600)
        for setting in ("page_size = 8192", "journal_mode = OFF", "synchronous = OFF"):
            connection.execute(f"PRAGMA {setting}")
        connection.executescript(f"BEGIN; {TABLES} COMMIT;")
        # The generation number starts at random, so that a process that still has a deleted index open cannot confuse
        # it with the new one.
        generation = int.from_bytes(os.urandom(7), "big")
        connection.execute("INSERT INTO facts VALUES (?, 0, ?, 1)", (STORED_FIELDS, generation))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        with suppress(sqlite3.OperationalError):
            # Switching to WAL mode is fast while sync is off; later connections find the mode already set.
            connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.Error:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        connection.close()
    os.replace(temporary, path)
    return _connect(path)


def _move_odd_files(path: Path, report: Callable[[str], None]) -> bool:
    """Rename links, pipes and directories that have the names of the index's files; return True if there were any.

    Raises:
        IndexUnavailable: such a file cannot be renamed; a link may lead to another program's file.
    """
    was_moved = False
    for name in (path, *(path.with_name(path.name + suffix) for suffix in _BESIDE)):
        try:
            mode = os.lstat(name).st_mode
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(mode):
            what = "a link" if stat.S_ISLNK(mode) else "no file"
            try:
                moved = _move_aside(name)
            except OSError as error:
                why = f"the path is {what} and cannot be moved: {error.strerror}"
                raise IndexUnavailable(f"There is no index, because {name} cannot be used ({why}).") from error
            report(f"{name} is {what}; it was moved to {moved.name}.")
            was_moved = True
    return was_moved


def _move_aside(path: Path) -> Path:
    """Rename a file that is not part of the index, so that its content is kept and its name is free."""
    return path.rename(path.with_name(f"odd-{os.urandom(4).hex()}-{path.name}"))


def _foreign(path: Path) -> str | None:
    """Return the reason why a file is not an index of this program; None if it is one.

    The header is checked first, because SQLite might write to another program's database.
    """
    beside = [path.with_name(path.name + suffix) for suffix in _BESIDE]
    if not all(os.access(each, os.R_OK) for each in (path, *beside) if each.exists()):
        return "a file of the index is not readable"
    with open(path, "rb") as file:
        head = file.read(_HEAD_BYTES)
    if head and not head.startswith(_MAGIC):
        return "the index file is damaged"
    if int.from_bytes(head[_APPLICATION_AT:_HEAD_BYTES], "big") != APPLICATION_ID:
        return "the file is not an index of sessionbrowse"
    return None


def _connect_if_usable(path: Path) -> tuple[sqlite3.Connection | None, str | None]:
    foreign = _foreign(path)
    if foreign is not None:
        return None, foreign
    try:
        connection = _connect(path)
    except sqlite3.OperationalError:
        raise
    except (sqlite3.DatabaseError, UnicodeDecodeError):  # SQLite's message may quote a name that is not UTF-8.
        return None, "the index file is damaged"
    reason = _unusable(connection)
    if reason is None:
        return connection, None
    connection.close()
    return None, reason


def _connect(path: Path) -> sqlite3.Connection:
    if not os.access(path.parent, os.W_OK) and not _has_content(path.with_name(f"{path.name}-wal")):
        # Even for reading, SQLite creates files next to a database, unless the database is opened as immutable.
        uri = path.as_uri() + "?mode=ro&immutable=1"
        return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection = sqlite3.connect(path, isolation_level=None, timeout=_WAIT_S, check_same_thread=False)
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA mmap_size = 0")
    return connection


def open_for_reading(directory: Path) -> sqlite3.Connection | None:
    """Return a connection that never writes, repairs or waits for a lock; None if there is no usable index."""
    path = directory / INDEX_FILE
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode) or _foreign(path) is not None:
            return None
        # To read a database without a WAL file, SQLite would have to create one, unless the database is immutable.
        fixed = "" if _has_content(path.with_name(f"{path.name}-wal")) else "&immutable=1"
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro{fixed}", uri=True, isolation_level=None, timeout=0)
    except (OSError, sqlite3.Error, UnicodeDecodeError):
        return None
    if _unusable(connection) is None:
        return connection
    connection.close()
    return None


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _unusable(connection: sqlite3.Connection) -> str | None:
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if application != APPLICATION_ID:
            return "the file is not an index of sessionbrowse"
        if version != SCHEMA_VERSION:
            return "another version of sessionbrowse wrote the index"
        known = connection.execute("SELECT fields FROM facts").fetchone()
        if known is None or known[0] != STORED_FIELDS:
            return "another version of sessionbrowse wrote the index"
        connection.execute("SELECT id FROM files LIMIT 1").fetchone()
        connection.execute("SELECT name FROM texts LIMIT 1").fetchone()
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        return None if isinstance(error, sqlite3.Error) and is_locked(error) else "the index file is damaged"
    return None


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)
