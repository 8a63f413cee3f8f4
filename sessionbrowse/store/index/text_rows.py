"""Rows of texts in the word index: written for each file, and read again as a map from rows to files and entries.

Each file has a run of consecutive rows. The map is believed as a whole: a checksum over all runs of a table is kept
among the facts, because one wrong run would hide the texts of its file from every search. The same holds for the words.
"""

from __future__ import annotations

import sqlite3
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

from sessionbrowse.model.search.words import fold_foreign
from sessionbrowse.store.index.packed_entries import pack_row_entries, unpack_row_entries
from sessionbrowse.store.index.rows import damaged, opened, sealed, words_sum
from sessionbrowse.store.index.schema import TEXT_TABLES

ROW_CHARACTERS = {"said": 4096, "tools": 128 * 1024}
"""Number of characters at which a row of texts is full."""
WAITING_ROWS = 16
_BEING_WRITTEN = "being written"
"""The checksum of words that a process writes, or was writing when it was killed."""

Run = tuple[int, int, int]
"""The first row of a run, the id of its file, and the number of its rows."""


class TextRows:
    """Collects texts into the rows of one table; each row has the texts of many entries, because rows are expensive."""

    def __init__(self, connection: sqlite3.Connection, table: str) -> None:
        self._connection = connection
        self._insert = f"INSERT INTO {table}(rowid, text) VALUES (?, ?)"
        self._keep = f"INSERT INTO {table}_rows VALUES (?, ?, ?, ?)"
        self._table = table
        newest = connection.execute(f"SELECT base + count FROM {table}_rows ORDER BY base DESC LIMIT 1").fetchone()
        if newest and newest[0] is None:
            raise sqlite3.DatabaseError("a row of texts is empty")
        # Row ids start at 1.
        self._base = max(1, newest[0] if newest else 1)
        self._room = ROW_CHARACTERS[table]
        self._waiting: list[tuple[int, str]] = []
        self._next = self._base
        self._texts: list[str] = []
        self._characters = 0
        self._entries: list[int] = []
        self._ends: list[int] = []

    def add(self, index: int, text: str) -> None:
        """Add the text of the next entry of the file that is being read."""
        self._texts.append(text)
        self._entries.append(index)
        self._characters += len(text)
        if self._characters >= self._room:
            self._end_row()

    def finish(self, file: int) -> None:
        """Write the last row, and record which entries of the file are in which row."""
        if self._texts:
            self._end_row()
        self._flush()
        count = self._next - self._base
        if count:
            run = (self._base, file, count)
            packed = sealed(pack_row_entries(self._entries, self._ends), _name(*run))
            self._connection.execute(self._keep, (*run, packed))
            add_run(self._connection, self._table, run)
        self._begin()

    def restart(self) -> None:
        """Drop the texts of the current file; rows that are already written then belong to no file."""
        self._waiting.clear()
        self._begin()

    def _begin(self) -> None:
        self._base = self._next
        self._texts, self._characters, self._entries, self._ends = [], 0, [], []

    def _end_row(self) -> None:
        # Texts are folded one by one: one letter beyond ASCII would make the whole joined string slow to fold.
        self._waiting.append((self._next, "\n".join(map(fold_foreign, self._texts))))
        self._next += 1
        self._ends.append(len(self._entries))
        self._texts, self._characters = [], 0
        if len(self._waiting) >= WAITING_ROWS:
            self._flush()

    def _flush(self) -> None:
        self._connection.executemany(self._insert, self._waiting)
        self._waiting.clear()


def read_runs(connection: sqlite3.Connection, table: str) -> list[Run]:
    """Return all runs of a text table, sorted by their rows.

    Raises:
        sqlite3.DatabaseError: the index is damaged.
    """
    # One statement reads runs and checksum, because another process may write between two.
    ask = f"SELECT value, base, file, count FROM facts LEFT JOIN {table}_rows WHERE name = ? ORDER BY base"
    found = connection.execute(ask, (_sum_name(table),)).fetchall()
    if not found:
        raise damaged("a checksum of texts is missing")
    runs = [run for _, *run in found] if found[0][1] is not None else []
    if str(_sum_of(chain.from_iterable(runs))) != found[0][0]:
        raise damaged("a row of texts is wrong")
    return [(base, file, count) for base, file, count in runs]


def check_texts(connection: sqlite3.Connection) -> None:
    """Check the maps from text rows to files.

    Raises:
        sqlite3.DatabaseError: the index is damaged.
    """
    for table in TEXT_TABLES:
        read_runs(connection, table)


def read_row_entries(connection: sqlite3.Connection, table: str, run: Run) -> list[Sequence[int]]:
    """Return for each row of a run the numbers of its entries.

    Raises:
        ValueError, sqlite3.Error: the index is damaged.
    """
    held = connection.execute(f"SELECT entries FROM {table}_rows WHERE base = ?", run[:1]).fetchone()
    return unpack_row_entries(bytes(opened(held[0], _name(*run)))) if held is not None else []


def add_run(connection: sqlite3.Connection, table: str, run: Run) -> None:
    """Add a run to the checksum of its table."""
    known = connection.execute("SELECT value FROM facts WHERE name = ?", (_sum_name(table),)).fetchone()
    if known is None or not str(known[0]).isdecimal():
        raise damaged("a checksum of texts is missing")
    new = "UPDATE facts SET value = ? WHERE name = ?"
    connection.execute(new, (str(_sum_of(run, int(known[0]))), _sum_name(table)))


def forget_runs(connection: sqlite3.Connection) -> None:
    """Set the checksums to those of tables without rows."""
    connection.executemany("UPDATE facts SET value = '0' WHERE name = ?", [(_sum_name(each),) for each in TEXT_TABLES])


def check_words(connection: sqlite3.Connection, table: str) -> None:
    """Check the words of a text table of the main database; a shard is compared with its digest.

    Raises:
        sqlite3.DatabaseError: the index is damaged.
    """
    try:
        stored, found = words_sum(connection, table)
    except TypeError as error:
        raise damaged("a row of words is wrong") from error
    if stored not in (str(found), _BEING_WRITTEN):
        raise damaged("words are wrong")


@contextmanager
def writing_words(connection: sqlite3.Connection) -> Iterator[None]:
    """Check the words before they are written, and bring their checksums up to date afterwards.

    FTS5 writes them at each commit, so the checksums follow in a commit of their own; until then words are believed.

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
        raise damaged("a row of texts is wrong") from error


def _sum_name(table: str) -> str:
    return f"{table}_sum"


def _name(base: int, file: int, count: int) -> str:
    return f"{base} {file} {count}"
