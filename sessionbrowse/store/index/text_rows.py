"""Rows of the full-text tables: write the texts of each file, and map rows to files and entries.

Each file has a run of consecutive rows. One wrong run would hide the texts of its file from every search. So the table
`facts` has a checksum over all runs of a table, and if it does not match, the whole map is rejected. Another checksum
covers FTS5's own data. The distinct words are also stored as lists, because FTS5 would have to read all its data to
list them.
"""

from __future__ import annotations

import sqlite3
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice

from sessionbrowse.model.search.words import fold_foreign, words_in
from sessionbrowse.sequences import without_sequences
from sessionbrowse.store.index.packed_places import pack_row_entries, unpack_row_entries
from sessionbrowse.store.index.rows import damaged, opened, sealed, words_sum
from sessionbrowse.store.index.schema import TEXT_TABLES

ROW_CHARACTERS = {"said": 4096, "tools": 128 * 1024}
"""Number of characters at which a text row is full, by table."""
WAITING_ROWS = 16
_BEING_WRITTEN = "being written"
"""Value in place of the words' checksum while a process writes words; it remains if that process is killed."""
_WORDS_AT_ONCE = 1000
WORD_LISTS = 16
"""Number of word lists of about the same size at which they are merged into one."""

Run = tuple[int, int, int]
"""A file's run of consecutive text rows: the id of the first row, the id of the file, and the number of rows."""


class TextRows:
    """Collects texts into rows of one full-text table: many entries share a row, because rows are expensive."""

    def __init__(self, connection: sqlite3.Connection, table: str, *, words: bool) -> None:
        self._connection = connection
        self._words: set[str] | None = set() if words else None
        self._insert = f"INSERT INTO {table}(rowid, text) VALUES (?, ?)"
        self._keep = f"INSERT INTO {table}_rows VALUES (?, ?, ?, ?)"
        self._table = table
        newest = connection.execute(f"SELECT base + count FROM {table}_rows ORDER BY base DESC LIMIT 1").fetchone()
        if newest and newest[0] is None:
            raise sqlite3.DatabaseError("the index lacks the row numbers of a file's texts")
        # SQLite's row ids start at 1.
        self._base = max(1, newest[0] if newest else 1)
        self._room = ROW_CHARACTERS[table]
        self._waiting: list[tuple[int, str]] = []
        self._next = self._base
        self._texts: list[str] = []
        self._characters = 0
        self._entries: list[int] = []
        self._ends: list[int] = []

    def add(self, index: int, text: str) -> None:
        """Add the text of the current file's next entry to the text row being filled; `index` is the entry's number."""
        text = without_sequences(text)
        self._texts.append(text)
        self._entries.append(index)
        self._characters += len(text)
        if self._characters >= self._room:
            self._end_row()

    def finish(self, file: int) -> None:
        """Write the last text row of the current file, and record which entries are in which row."""
        if self._texts:
            self._end_row()
        self._flush()
        count = self._next - self._base
        if count:
            run = (self._base, file, count)
            packed = sealed(pack_row_entries(self._entries, self._ends), _name(*run))
            self._connection.execute(self._keep, (*run, packed))
            if self._words:
                _add_words(self._connection, self._table, self._words)
            add_run(self._connection, self._table, run)
        self._begin()

    def restart(self) -> None:
        """Drop the texts of the current file; text rows that are already written then belong to no file."""
        self._waiting.clear()
        self._begin()

    def _begin(self) -> None:
        self._base = self._next
        self._texts, self._characters, self._entries, self._ends = [], 0, [], []
        if self._words is not None:
            self._words = set()

    def _end_row(self) -> None:
        # Texts are case-folded one by one: one non-ASCII letter would make the whole joined string slow to fold.
        text = "\n".join(map(fold_foreign, self._texts))
        if self._words is not None:
            self._words.update(words_in(text.lower()))
        self._waiting.append((self._next, text))
        self._next += 1
        self._ends.append(len(self._entries))
        self._texts, self._characters = [], 0
        if len(self._waiting) >= WAITING_ROWS:
            self._flush()

    def _flush(self) -> None:
        self._connection.executemany(self._insert, self._waiting)
        self._waiting.clear()


def read_runs(connection: sqlite3.Connection, table: str) -> Sequence[Sequence[int]]:
    """Return the runs of text rows of all files in three columns: ids of first rows, ids of files, numbers of rows.

    The runs are sorted by their first rows.

    Raises:
        sqlite3.DatabaseError: the index is damaged.
    """
    # One statement reads rows and checksum, because another process may write between two statements.
    ask = f"SELECT value, base, file, count FROM facts LEFT JOIN {table}_rows WHERE name = ? ORDER BY base"
    found = connection.execute(ask, (_sum_name(table),)).fetchall()
    if not found:
        raise damaged("the index has no checksum of its text rows")
    sums, *columns = zip(*found, strict=True) if found[0][1] is not None else (found[0][:1], (), (), ())
    if str(_sum_of(chain.from_iterable(zip(*columns, strict=True)))) != sums[0]:
        raise damaged("the checksum of the index's text rows is wrong")
    return columns


def check_texts(connection: sqlite3.Connection) -> None:
    """Verify the checksums of the tables that map text rows to files.

    Raises:
        sqlite3.DatabaseError: the index is damaged.
    """
    for table in TEXT_TABLES:
        read_runs(connection, table)


def read_row_entries(connection: sqlite3.Connection, table: str, run: Run) -> list[Sequence[int]]:
    """Return, for each of a file's text rows (`run`), the numbers of the entries in that row.

    Raises:
        ValueError, sqlite3.Error: the index is damaged.
    """
    held = connection.execute(f"SELECT entries FROM {table}_rows WHERE base = ?", run[:1]).fetchone()
    return unpack_row_entries(bytes(opened(held[0], _name(*run)))) if held is not None else []


def write_all_words(connection: sqlite3.Connection) -> None:
    """Store the list of all distinct words of a database that has no such list yet."""
    for table in TEXT_TABLES:
        connection.execute(f"CREATE VIRTUAL TABLE temp.{table}_all USING fts5vocab('main', '{table}', 'row')")
        # There can be millions of words, so they are processed one by one instead of collected in memory.
        _put_words(connection, table, 0, (row[0] for row in connection.execute(f"SELECT term FROM temp.{table}_all")))
        connection.execute(f"DROP TABLE temp.{table}_all")


def read_words(connection: sqlite3.Connection, table: str) -> bytes:
    """Return all words of a full-text table as bytes, each between newlines; some words may occur twice.

    The words are not decoded: there can be millions, and a search needs few of them.

    Raises:
        ValueError, sqlite3.Error: the index is damaged.
    """
    lists = connection.execute(f"SELECT number, level, words FROM {table}_words").fetchall()
    return b"\n" + b"".join([_words_of(table, *each) for each in lists])


def _add_words(connection: sqlite3.Connection, table: str, words: set[str]) -> None:
    """Store a list of words; merge it with those of similar size (`level`) when there are `WORD_LISTS` of them."""
    level = 0
    while True:
        ask = f"SELECT number, level, words FROM {table}_words WHERE level = ?"
        same = connection.execute(ask, (level,)).fetchall()
        if len(same) < WORD_LISTS:
            break
        for each in same:
            try:
                words.update(_words_of(table, *each).decode().split("\n")[:-1])
            except ValueError as error:
                raise damaged("a list of words in the index is damaged") from error
        connection.execute(f"DELETE FROM {table}_words WHERE level = ?", (level,))
        level += 1
    _put_words(connection, table, level, sorted(words))


def _put_words(connection: sqlite3.Connection, table: str, level: int, words: Iterable[str]) -> None:
    """Store a compressed list of words, unless the list is empty."""
    number = connection.execute(f"SELECT max(number) FROM {table}_words").fetchone()[0] or 0
    compressor, parts, waiting = zlib.compressobj(), [], iter(words)
    while some := "".join([f"{word}\n" for word in islice(waiting, _WORDS_AT_ONCE)]):
        parts.append(compressor.compress(some.encode()))
    if parts:
        packed = sealed(b"".join([*parts, compressor.flush()]), f"{table} {number + 1} {level}")
        connection.execute(f"INSERT INTO {table}_words VALUES (?, ?, ?)", (number + 1, level, packed))


def _words_of(table: str, number: int, level: int, packed: bytes) -> bytes:
    try:
        return zlib.decompress(opened(packed, f"{table} {number} {level}"))
    except (TypeError, zlib.error) as error:
        raise ValueError(str(error)) from error


def add_run(connection: sqlite3.Connection, table: str, run: Run) -> None:
    """Add a run of text rows to the checksum over all runs of the table."""
    known = connection.execute("SELECT value FROM facts WHERE name = ?", (_sum_name(table),)).fetchone()
    if known is None or not str(known[0]).isdecimal():
        raise damaged("the index has no checksum of its text rows")
    new = "UPDATE facts SET value = ? WHERE name = ?"
    connection.execute(new, (str(_sum_of(run, int(known[0]))), _sum_name(table)))


def forget_runs(connection: sqlite3.Connection) -> None:
    """Reset the checksums of the text rows to the values for empty tables."""
    connection.executemany("UPDATE facts SET value = '0' WHERE name = ?", [(_sum_name(each),) for each in TEXT_TABLES])


def check_words(connection: sqlite3.Connection, table: str) -> None:
    """Verify the checksum of a full-text table in the main database; extra databases (shards) have digests instead.

    Raises:
        sqlite3.DatabaseError: the index is damaged.
    """
    try:
        stored, found = words_sum(connection, table)
    except TypeError as error:
        raise damaged("a full-text table of the index has a damaged row") from error
    if stored not in (str(found), _BEING_WRITTEN):
        raise damaged("the checksum of a full-text table of the index is wrong")


@contextmanager
def writing_words(connection: sqlite3.Connection) -> Iterator[None]:
    """Verify the full-text tables before rows are added to them, and update the tables' checksums afterwards.

    FTS5 writes its tables at each commit, so the checksums need a second commit; between the two commits the tables are
    not verified.

    Raises:
        sqlite3.DatabaseError: the index is damaged.
    """
    for table in TEXT_TABLES:
        check_words(connection, table)
    new = "UPDATE facts SET value = ? WHERE name = ?"
    connection.executemany(new, [(_BEING_WRITTEN, f"{table}_words") for table in TEXT_TABLES])
    yield
    connection.executemany(new, [(str(words_sum(connection, table)[1]), f"{table}_words") for table in TEXT_TABLES])


def _sum_of(values: Iterable[int], before: int = 0) -> int:
    try:
        return zlib.crc32(array("q", values), before)
    except (TypeError, OverflowError) as error:
        raise damaged("a text row of the index has an invalid number") from error


def _sum_name(table: str) -> str:
    return f"{table}_sum"


def _name(base: int, file: int, count: int) -> str:
    return f"{base} {file} {count}"
