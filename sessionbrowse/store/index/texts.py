"""Text directories: full-text indexes, made by the engine tantivy, of what is said and done in session files.

One document is an entry: the id of its file in the index, its number in the file, its role, and two texts. The table
`texts` of the main database has a row for each directory with the stamps and checksums of its files; a directory is
opened only if they are right. While `writing` is 1 in this row, a process adds to the directory, or was killed while it
did, and only the checksums in the files are checked. Of each kind one directory grows; others were filled by several
processes at once. Without the engine nothing is stored, and the session files are read instead.
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
from sessionbrowse.store.index.facts import fact, set_fact
from sessionbrowse.store.index.rows import damaged, opened, sealed
from sessionbrowse.store.index.schema import remove_tree

SAID, TOOLS = "text", "tools"
"""The kinds of text directories: entries with what was said and the names in tool calls; entries with tool calls or
results, with their whole text."""
SCHEMA = 1
HEAP_BYTES = 30_000_000
"""Bytes of documents that the engine collects before it writes them."""
META = "meta.json"
"""The file of a directory that names the others."""
_ANALYSER = "words"
_FOOTER_END = 8
_PATIENCE, _PAUSE_S = 50, 0.01
"""Number of attempts to open texts that another process changes meanwhile, and seconds between two attempts."""

T = TypeVar("T")

Stamps = list[tuple[str, int, int, int, int, int]]
"""The files of a directory: name, size, times of change, inode, and checksum (CRC-32) of the content."""

_encode = msgspec.msgpack.Encoder().encode
_decode_stamps = msgspec.msgpack.Decoder(Stamps).decode


@cache
def engine() -> Any | None:
    """Return the module of the search engine; None if it cannot be used on this machine."""
    try:
        import tantivy
    except Exception:
        return None
    return tantivy


def identity() -> str:
    """Return a part of a directory's name that differs between versions whose texts or words differ."""
    module = engine()
    version = f"{module.__version__} {unicodedata.unidata_version} {SCHEMA}" if module is not None else "none"
    return f"{zlib.crc32(version.encode()):08x}"


def new_name(kind: str) -> str:
    """Return the name of a new directory of a kind; no name is used twice."""
    return f"{kind}-{identity()}-{os.urandom(6).hex()}"


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
        self._module = engine()
        self._writer: Any = None
        self._schema = _schema(self._module) if self._module is not None else None

    def add(self, file: int, entry: int, role: str, said: str, done: str) -> None:
        """Add the document of an entry."""
        if self._module is None:
            return
        document = self._module.Document()
        document.add_unsigned("file", file)
        document.add_unsigned("entry", entry)
        document.add_unsigned("role", role_code(role))
        for field, text in (("said", said), ("done", done)):
            if text:
                document.add_text(field, engine_text(text))
        # A writer whose thread got no memory refuses every further document.
        with _writing():
            self._opened().add_document(document)

    def delete(self, files: Iterable[int]) -> None:
        """Delete the documents of some files."""
        if self._module is not None:
            wanted = list(files) if self._writer is not None else self._held(list(files))
            if wanted:
                query = self._module.Query.term_set_query(self._schema, "file", wanted)
                with _writing():
                    self._opened().delete_documents_by_query(query)

    def delete_from(self, file: int) -> None:
        """Delete the documents of all files with the id `file` or a higher one, which a killed process has left."""
        if self._module is not None and self._path.exists():
            unsigned = self._module.FieldType.Unsigned
            query = self._module.Query.range_query(self._schema, "file", unsigned, file, None)
            with _writing():
                self._opened().delete_documents_by_query(query)

    def commit(self) -> bytes | None:
        """Make what was added part of the directory; return the packed stamps of its files, None if nothing was added.

        Raises:
            OSError: the disk is full or refuses to write.
        """
        if self._writer is None:
            return stamps_of(self._path.parent, self.name) if self._module is None else None
        writer, self._writer = self._writer, None
        with _writing():
            writer.commit()
            writer.wait_merging_threads()
        return stamps_of(self._path.parent, self.name)

    def _held(self, files: list[int]) -> list[int]:
        """Return those of some files of which the directory holds documents."""
        if not files or not (self._path / META).exists():
            return []
        with guarded():
            searcher = _reader(self._module, str(self._path)).searcher()
            return [file for file in files if searcher.doc_freq("file", file)]

    def is_empty(self) -> bool:
        """Return True if the directory holds no documents but deleted ones."""
        every, deleted = _documents(self._path)
        return every == deleted

    def close(self) -> None:
        """Drop what was added since the last commit."""
        self._writer = None

    def _opened(self) -> Any:
        if self._writer is None:
            assert self._module is not None
            # A directory that exists and cannot be opened is damaged.
            with guarded() if (self._path / META).exists() else _writing():
                self._path.mkdir(mode=0o700, exist_ok=True)
                index = self._module.Index(self._schema, str(self._path))
                _register(self._module, index)
                self._writer = index.writer(HEAP_BYTES, num_threads=1)
        return self._writer


class GrowingTexts:
    """The text directories while one process adds to those that grow, in a `with` block.

    At the beginning they are checked, and documents are deleted: those that a killed process left (of files with the
    id `next_id` or a higher one), and those of files that are no longer in the index.

    Raises:
        sqlite3.DatabaseError: a directory is damaged.
    """

    def __init__(self, directory: Path, connection: sqlite3.Connection, next_id: int, *, tools: bool) -> None:
        self._connection = connection
        check(directory, connection)
        remove_strays(directory, names(connection))
        run = connection.execute
        rows = run("SELECT name, grows, writing FROM texts").fetchall()
        growing = {name.partition("-")[0]: name for name, grows, _ in rows if grows}
        kinds = (SAID, TOOLS) if tools else (SAID,)
        self.writers = {kind: TextWriter(directory, growing.get(kind) or new_name(kind)) for kind in kinds}
        """The directories that grow, by kind."""
        self._forgotten = [file for (file,) in run("SELECT file FROM forgotten")]
        self._others = [TextWriter(directory, name) for name, *_ in rows if name not in self._names()]
        run("UPDATE texts SET writing = 1")
        for each in (*self._others, *self.writers.values()):
            each.delete(self._forgotten)
            if any(is_cut for name, _, is_cut in rows if name == each.name):
                each.delete_from(next_id)

    def commit(self, *, is_last: bool) -> None:
        """Commit what was added; the caller then commits the transaction of the database."""
        run = self._connection.execute
        for each in (*self._others, *self.writers.values()):
            stamps = each.commit()
            if stamps is not None:
                keep(self._connection, [(each.name, each.name in self._names(), stamps)], writing=not is_last)
                if each in self._others and each.is_empty():
                    run("DELETE FROM texts WHERE name = ?", (each.name,))
                    renew_sum(self._connection)
        if is_last:
            run("UPDATE texts SET writing = 0")
        self._connection.executemany("DELETE FROM forgotten WHERE file = ?", [(file,) for file in self._forgotten])
        self._forgotten.clear()

    def _names(self) -> set[str]:
        return {each.name for each in self.writers.values()}

    def __enter__(self) -> GrowingTexts:
        return self

    def __exit__(self, *_: object) -> None:
        # The engine locks a directory as long as it has a writer.
        for each in (*self._others, *self.writers.values()):
            each.close()


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise OSError(0, f"the texts were not stored: {error}") from error
    except BaseException as error:
        # The engine panics if the system refuses it a thread.
        if type(error).__name__ == "PanicException":
            raise OSError(0, "the texts were not stored") from error
        raise


def role_code(role: str) -> int:
    """Return the number that stands for a role in documents."""
    return ROLES.index(role) if role in ROLES else len(ROLES)


def keep(connection: sqlite3.Connection, rows: Iterable[tuple[str, bool, bytes]], *, writing: bool = False) -> None:
    """Store the rows of text directories: name, True if it grows, packed stamps."""
    values = [(name, int(grows), int(writing), stamps) for name, grows, stamps in rows]
    connection.executemany("INSERT OR REPLACE INTO texts VALUES (?, ?, ?, ?)", values)
    renew_sum(connection)


def renew_sum(connection: sqlite3.Connection) -> None:
    """Store the checksum of the names of all text directories, by which a lost row is found."""
    set_fact(connection, "texts", _sum(connection))


def stamps_of(directory: Path, name: str) -> bytes | None:
    """Return the packed stamps of the files of a complete text directory, None if there is no such directory."""
    if engine() is None:
        return sealed(_encode([]), name)
    return sealed(_encode(_stamps(directory / name)), name) if (directory / name / META).exists() else None


def names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of all text directories."""
    return [name for (name,) in connection.execute("SELECT name FROM texts ORDER BY name")]


def share_of_deleted(directory: Path, connection: sqlite3.Connection) -> float:
    """Return the share of the documents in all text directories that belong to files no longer in the index.

    Raises:
        sqlite3.DatabaseError: the index is damaged.
    """
    checked = check(directory, connection) if engine() is not None else []
    counts = [_documents(directory / name) for name in checked]
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
            return _open(engine(), path)

    return _checked(directory, connection, kinds, opened_engine, False)


def _checked(
    directory: Path, connection: sqlite3.Connection, kinds: Iterable[str], use: Callable[[Path], T], thorough: bool
) -> list[T]:
    patience = _PATIENCE
    while True:
        rows = connection.execute("SELECT name, writing, stamps FROM texts ORDER BY name").fetchall()
        try:
            if fact(connection, "texts") != str(_sum(connection)):
                raise damaged("the index has lost some of its texts")
            for row in rows:
                _check(directory, connection, *row, thorough=thorough)
            return [use(directory / name) for name, *_ in rows if name.partition("-")[0] in kinds]
        except sqlite3.DatabaseError:
            # Another process may have added to the texts, or do so now.
            now = connection.execute("SELECT name, writing, stamps FROM texts ORDER BY name").fetchall()
            patience -= 1
            if not patience or (now == rows and not any(writing for _, writing, _ in rows)):
                raise
            time.sleep(_PAUSE_S)


def _check(
    directory: Path, connection: sqlite3.Connection, name: str, writing: int, packed: bytes, *, thorough: bool
) -> None:
    if str(name).split("-")[1:2] != [identity()]:
        raise damaged("the texts of the index were stored by another version")
    try:
        known = _decode_stamps(opened(packed, name))
        stamps = {each[:-1]: each[-1] for each in known} if not thorough else {}
        now = _stamps(directory / name, stamps) if known else []
    except (ValueError, TypeError, LookupError, OSError) as error:
        raise damaged(f"the texts of the index are damaged: {error}") from error
    if not writing and now != known:
        if [(each[0], each[-1]) for each in now] != [(each[0], each[-1]) for each in known]:
            raise damaged("the texts of the index are damaged")
        with suppress(sqlite3.OperationalError):
            connection.execute("UPDATE texts SET stamps = ? WHERE name = ?", (sealed(_encode(now), name), name))


def remove_strays(directory: Path, known: Iterable[str]) -> None:
    """Remove the text directories whose names are not known to the index."""
    kept = set(known)
    for name in os.listdir(directory):
        path = directory / name
        if name.startswith((f"{SAID}-", f"{TOOLS}-")) and name not in kept and path.is_dir():
            remove_tree(path)


def _documents(path: Path) -> tuple[int, int]:
    """Return the number of documents in a directory, and that of deleted ones among them."""
    segments = msgspec.json.decode((path / META).read_bytes())["segments"]
    deleted = [each["deletes"]["num_deleted_docs"] for each in segments if each["deletes"]]
    return sum(each["max_doc"] for each in segments), sum(deleted)


def _sum(connection: sqlite3.Connection) -> int:
    return zlib.crc32("\n".join(names(connection)).encode())


def _open(module: Any, path: Path) -> Any:
    if not os.access(path, os.W_OK):
        # The engine makes a lock file even for reading.
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
        builder.add_text_field(field, tokenizer_name=_ANALYSER, index_option="freq")
    return builder.build()


def _register(module: Any, index: Any) -> None:
    index.register_tokenizer(_ANALYSER, analyser(module))


def analyser(module: Any) -> Any:
    """Return the engine's function that splits a text into words."""
    return module.TextAnalyzerBuilder(module.Tokenizer.simple()).filter(module.Filter.lowercase()).build()


def _stamps(path: Path, known: dict[tuple[Any, ...], int] | None = None) -> Stamps:
    """Return the stamps of the files that a directory's `meta.json` names; checksums are computed if not in `known`.

    Raises:
        ValueError, OSError: a file is missing, is no file, or its checksum is wrong.
    """
    # The engine reads files that `meta.json` does not name too, and would wait for a pipe for ever.
    for each in os.scandir(path):
        if not each.is_file():
            raise ValueError(f"{each.name} is no file")
    meta = (path / META).read_bytes()
    segments = {named["segment_id"].replace("-", "") for named in msgspec.json.decode(meta)["segments"]}
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
