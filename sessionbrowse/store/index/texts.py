"""Text directories: full-text indexes of messages and tool calls, written by the search engine tantivy.

One document is an entry: the id of its file in the index, its number in the file, its role, and two texts. The table
`texts` of the main database has a row for each directory with the stamps and checksums of its files; a directory is
opened only if its files agree with them. If `writing` is 1 in this row, a process is adding to the directory or was
killed while adding; then only the checksums in the files are checked. There is only one directory of each kind, so that
results do not depend on how it was filled. Without the engine nothing is stored, and the session files are read.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from sessionbrowse.model.search.entry_text import ROLES
from sessionbrowse.model.search.words import engine_text
from sessionbrowse.store.find.slow_disks import is_remote
from sessionbrowse.store.index.rows import damaged, pack, unpack
from sessionbrowse.store.index.schema import remove_tree

SAID, TOOLS = "text", "tools"
"""The kinds of text directories: entries with what was said and the names in tool calls; entries with tool calls or
results, with their whole text."""
SCHEMA = 2
HEAP_BYTES = 30_000_000
"""Bytes of documents that the engine collects before it writes them."""
_ANALYSER = "words"
_PATIENCE, _PAUSE_S = 50, 0.01
"""Number of attempts to open texts that another process changes meanwhile, and seconds between two attempts."""

META = "meta.json"
"""The file of the engine in a text directory that lists its segments."""
_FOOTER_END = 8

Stamps = list[tuple[str, int, int, int, int, int]]
"""For each file: name, size in bytes, mtime and ctime in ns, inode, and checksum (CRC-32) of the content."""

Document = tuple[int, int, int, str, str]
"""The values of an entry for the engine: the file's id, the entry's number, its role, and its two texts."""

T = TypeVar("T")

_decode_stamps = msgspec.msgpack.Decoder(Stamps).decode


@cache
def engine(directory: Path) -> Any | None:
    """Return the module of the search engine; None if it cannot be used for an index in this directory.

    The engine maps its files into memory. A page that a network disk fails to deliver would kill the process.
    """
    try:
        import tantivy
    except Exception:
        return None
    return None if is_remote(str(directory)) else tantivy


def identity(directory: Path) -> str:
    """Return the part of a text directory's name that changes with the version of the engine, Unicode or the schema."""
    module = engine(directory)
    version = f"{module.__version__} {unicodedata.unidata_version} {SCHEMA}" if module is not None else "none"
    return f"{zlib.crc32(version.encode()):08x}"


def new_name(directory: Path, kind: str) -> str:
    """Return a unique name for a new text directory of a kind."""
    return f"{kind}-{identity(directory)}-{os.urandom(6).hex()}"


@contextmanager
def guarded() -> Iterator[None]:
    """Turn the errors of the engine, also its panics, into the error for a damaged index."""
    try:
        yield
    except ValueError as error:
        raise damaged(f"the texts of the index cannot be read: {error}") from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise damaged("the texts of the index cannot be read") from error
        raise


class TextWriter:
    """Adds documents to one text directory; without the engine, it does nothing."""

    def __init__(self, directory: Path, name: str) -> None:
        self.name = name
        self._path = directory / name
        self._module = engine(directory)
        self._writer: Any = None
        self._schema = _schema(self._module) if self._module is not None else None

    def add(self, document: Document) -> None:
        """Add the document of an entry."""
        if self._module is None:
            return
        file, entry, role, said, done = document
        made = self._module.Document()
        made.add_unsigned("file", file)
        made.add_unsigned("entry", entry)
        made.add_unsigned("role", role)
        if said:
            made.add_text("said", said)
        if done:
            made.add_text("done", done)
        # A writer whose thread got no memory refuses every further document.
        with _WRITING:
            self.open().add_document(made)

    def delete(self, files: Iterable[int]) -> None:
        """Delete the documents of some files."""
        if self._module is not None:
            wanted = list(files) if self._writer is not None else self._held(list(files))
            if wanted:
                query = self._module.Query.term_set_query(self._schema, "file", wanted)
                with _WRITING:
                    self.open().delete_documents_by_query(query)

    def commit(self) -> bytes | None:
        """Commit the added documents; return the packed stamps of the directory's files, None if nothing was added.

        Raises:
            OSError: the disk is full or refuses to write.
        """
        if self._writer is None:
            return stamps_of(self._path.parent, self.name) if self._module is None else None
        writer, self._writer = self._writer, None
        with _WRITING:
            writer.commit()
            writer.wait_merging_threads()
        return stamps_of(self._path.parent, self.name)

    def _held(self, files: list[int]) -> list[int]:
        """Return the ids, among `files`, of the files with documents in the directory."""
        if not files or not (self._path / META).exists():
            return []
        with guarded():
            searcher = _reader(self._module, str(self._path)).searcher()
            return [file for file in files if searcher.doc_freq("file", file)]

    def close(self) -> None:
        """Discard the documents added since the last commit."""
        self._writer = None

    def open(self) -> Any:
        """Return the engine's writer for the directory; create it at the first call."""
        if self._writer is None:
            assert self._module is not None
            # An error with an existing directory means damage; with a new one, that it cannot be written.
            with guarded() if (self._path / META).exists() else _WRITING:
                self._path.mkdir(mode=0o700, exist_ok=True)
                index = self._module.Index(self._schema, str(self._path))
                _register(self._module, index)
                self._writer = index.writer(HEAP_BYTES, num_threads=1)
        return self._writer


class GrowingTexts:
    """The text directories, opened for adding documents in a `with` block; one process at a time.

    Opening checks the directories, and deletes the documents of files that are no longer in the index, or that a
    process added before it was killed.

    Raises:
        sqlite3.DatabaseError: a directory is damaged.
    """

    def __init__(self, directory: Path, connection: sqlite3.Connection, *, tools: bool) -> None:
        self._directory, self._connection = directory, connection
        check(directory, connection)
        remove_strays(directory, names(connection))
        run = connection.execute
        known = {name.partition("-")[0]: name for name in names(connection)}
        self.writers = {
            kind: TextWriter(directory, known.get(kind) or new_name(directory, kind))
            for kind in (SAID, TOOLS)
            if kind in known or kind == SAID or tools
        }
        """The writers of the directories, by kind."""
        self._forgotten = [file for (file,) in run("SELECT file FROM forgotten")]
        # The stored stamps are out of date if a process was killed while it changed the directory.
        for (name,) in run("SELECT name FROM texts WHERE writing").fetchall():
            keep(connection, name, stamps_of(directory, name))
        run("UPDATE texts SET writing = 1")
        for each in self.writers.values():
            each.delete(self._forgotten)

    def commit(self, *, is_last: bool) -> None:
        """Commit the added documents; the caller then commits the transaction of the database."""
        for each in self.writers.values():
            keep(self._connection, each.name, each.commit(), writing=True)
        if is_last:
            self._connection.execute("UPDATE texts SET writing = 0")
        self._connection.executemany("DELETE FROM forgotten WHERE file = ?", [(file,) for file in self._forgotten])
        self._forgotten.clear()

    def __enter__(self) -> GrowingTexts:
        return self

    def __exit__(self, *_: object) -> None:
        # The engine locks a directory as long as it has a writer.
        for each in self.writers.values():
            each.close()


class _Writing:
    """Turns errors of the engine into `OSError`; a class, because a generator for each document takes far longer."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, ValueError):
            raise OSError(0, f"the texts were not stored: {error}") from error
        # The engine panics if the system refuses it a thread.
        if type(error).__name__ == "PanicException":
            raise OSError(0, "the texts were not stored") from error


_WRITING = _Writing()


def document_of(file: int, entry: int, role: str, said: str, done: str) -> Document:
    """Return the values of an entry for the search engine; `said` and `done` are folded (see `engine_text`)."""
    return file, entry, role_code(role), engine_text(said), engine_text(done)


def role_code(role: str) -> int:
    """Return the number that stands for a role in documents."""
    return ROLES.index(role) if role in ROLES else len(ROLES)


def keep(connection: sqlite3.Connection, name: str, stamps: bytes | None, *, writing: bool = False) -> None:
    """Store the packed stamps of a text directory, if there are any."""
    if stamps is not None:
        connection.execute("INSERT OR REPLACE INTO texts VALUES (?, ?, ?)", (name, int(writing), stamps))


def stamps_of(directory: Path, name: str) -> bytes | None:
    """Return the packed stamps of the files of a complete text directory, None if there is no such directory."""
    if engine(directory) is None:
        return pack([])
    return pack(file_stamps(directory / name)) if (directory / name / META).exists() else None


def names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of all text directories."""
    return [name for (name,) in connection.execute("SELECT name FROM texts ORDER BY name")]


def share_of_deleted(directory: Path, connection: sqlite3.Connection) -> float:
    """Return the share of the documents in all text directories that belong to files no longer in the index.

    Raises:
        sqlite3.DatabaseError: the index is damaged.
    """
    checked = check(directory, connection) if engine(directory) is not None else []
    counts = [document_numbers(directory / name) for name in checked]
    every = sum(count for count, _ in counts)
    return sum(deleted for _, deleted in counts) / every if every else 0.0


def check(directory: Path, connection: sqlite3.Connection, *, thorough: bool = False) -> list[str]:
    """Check the files of all text directories, and return the names of these directories.

    A file is read only if its stamp has changed, or with `thorough`.

    Raises:
        sqlite3.DatabaseError: a directory is damaged, missing, or of another version.
    """
    return _checked(directory, connection, (SAID, TOOLS), lambda path: path.name, thorough)


def open_texts(directory: Path, connection: sqlite3.Connection, kinds: Iterable[str]) -> list[Any]:
    """Return an engine's index for each text directory of the given kinds, after its files were checked.

    Raises:
        sqlite3.DatabaseError: a directory is damaged, missing, or of another version.
    """

    def opened_engine(path: Path) -> Any:
        with guarded():
            return _open(engine(directory), path)

    return _checked(directory, connection, kinds, opened_engine, False)


def _checked(
    directory: Path, connection: sqlite3.Connection, kinds: Iterable[str], use: Callable[[Path], T], thorough: bool
) -> list[T]:
    patience = _PATIENCE
    while True:
        rows = connection.execute("SELECT name, writing, stamps FROM texts ORDER BY name").fetchall()
        try:
            for row in rows:
                _check(directory, connection, *row, thorough=thorough)
            return [use(directory / name) for name, *_ in rows if name.partition("-")[0] in kinds]
        except sqlite3.DatabaseError:
            # Another process may have added texts since, or may be adding some now.
            now = connection.execute("SELECT name, writing, stamps FROM texts ORDER BY name").fetchall()
            patience -= 1
            if not patience or (now == rows and not any(writing for _, writing, _ in rows)):
                raise
            time.sleep(_PAUSE_S)


def _check(
    directory: Path, connection: sqlite3.Connection, name: str, writing: int, packed: bytes, *, thorough: bool
) -> None:
    if str(name).split("-")[1:2] != [identity(directory)]:
        raise damaged("the texts of the index were stored by another version")
    try:
        known = unpack(packed, _decode_stamps)
        stamps = {each[:-1]: each[-1] for each in known} if not thorough else {}
        now = file_stamps(directory / name, stamps) if known else []
    except (ValueError, TypeError, LookupError, OSError) as error:
        raise damaged(f"the texts of the index are damaged: {error}") from error
    if not writing and now != known:
        if [(each[0], each[-1]) for each in now] != [(each[0], each[-1]) for each in known]:
            raise damaged("the texts of the index are damaged")
        with suppress(sqlite3.OperationalError):
            connection.execute("UPDATE texts SET stamps = ? WHERE name = ?", (pack(now), name))


def remove_strays(directory: Path, known: Iterable[str]) -> None:
    """Remove the text directories whose names are not known to the index."""
    kept = set(known)
    for name in os.listdir(directory):
        path = directory / name
        if name.startswith((f"{SAID}-", f"{TOOLS}-")) and name not in kept and path.is_dir():
            remove_tree(path)


def _open(module: Any, path: Path) -> Any:
    if not os.access(path, os.W_OK):
        # The engine creates a lock file even for reading. If the directory is read-only, a temporary directory with
        # links to the files is opened instead.
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            for each in path.iterdir():
                if not each.name.endswith(".lock"):
                    os.symlink(each, Path(folder) / each.name)
            return _reader(module, folder)
    return _reader(module, str(path))


def _reader(module: Any, path: str) -> Any:
    index = module.Index.open(path)
    # Without this, a thread would watch the directory.
    index.config_reader("manual")
    index.searcher()
    return index


def _schema(module: Any) -> Any:
    builder = module.SchemaBuilder()
    builder.add_unsigned_field("file", indexed=True, fast=True)
    builder.add_unsigned_field("entry", fast=True)
    builder.add_unsigned_field("role", indexed=True, fast=True)
    for field in ("said", "done"):
        # For names in tool calls, the engine stores no word counts: the search finds the same sessions without them.
        counts = "freq" if field == "said" else "basic"
        builder.add_text_field(field, tokenizer_name=_ANALYSER, index_option=counts)
    return builder.build()


def _register(module: Any, index: Any) -> None:
    index.register_tokenizer(_ANALYSER, analyser(module))


def analyser(module: Any) -> Any:
    """Return the engine's function that splits a text into words."""
    return module.TextAnalyzerBuilder(module.Tokenizer.simple()).filter(module.Filter.lowercase()).build()


# ---- the files of a directory -------------------------------------------------------------------------------


def file_stamps(path: Path, known: dict[tuple[Any, ...], int] | None = None) -> Stamps:
    """Return the stamps of the files that a directory's `meta.json` names; checksums are computed if not in `known`.

    Raises:
        ValueError, OSError: a file is missing or not a regular file, or its checksum is wrong.
    """
    # The engine opens every file here, not only those in `meta.json`, and would wait for ever at a named pipe.
    for each in os.scandir(path):
        if not each.is_file():
            raise ValueError(f"{each.name} is no file")
    meta = (path / META).read_bytes()
    segments = _segment_ids(msgspec.json.decode(meta))
    names = [name for name in sorted(os.listdir(path)) if name.partition(".")[0] in segments]
    if {name.partition(".")[0] for name in names} != segments:
        raise ValueError("a file is missing")
    found: Stamps = []
    for name in [*names, META]:
        status = os.lstat(path / name)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{name} is no file")
        stamp = (name, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        checksum = known.get(stamp) if known is not None else None
        if checksum is None:
            checksum = zlib.crc32(meta) if name == META else _checksum(path / name, check=known is not None)
        found.append((*stamp, checksum))
    return found


def _segment_ids(meta: Any) -> set[str]:
    return {named["segment_id"].replace("-", "") for named in meta["segments"]}


def _checksum(path: Path, *, check: bool) -> int:
    """Return the checksum in the footer of one of the engine's files; with `check`, compare it with the content."""
    content = path.read_bytes() if check else b""
    with open(path, "rb") as file:
        file.seek(-_FOOTER_END, os.SEEK_END)
        size = int.from_bytes(file.read(4), "little")
        file.seek(-_FOOTER_END - size, os.SEEK_END)
        footer = msgspec.json.decode(file.read(size))
    checksum: int = footer["crc"]
    if check and zlib.crc32(content[: -_FOOTER_END - size]) != checksum:
        raise ValueError(f"{path.name} has a wrong checksum")
    return checksum


def document_numbers(path: Path) -> tuple[int, int]:
    """Return the number of documents in a directory, and the number of deleted ones among them."""
    segments = msgspec.json.decode((path / META).read_bytes())["segments"]
    deleted = [each["deletes"]["num_deleted_docs"] for each in segments if each["deletes"]]
    return sum(each["max_doc"] for each in segments), sum(deleted)
