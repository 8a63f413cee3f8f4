"""Find entries that may match a query, by searching the full-text tables (FTS5) of the index for words.

A row of a text table belongs to one session file, and contains the text of some entries of this file.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain

from sessionbrowse.model.search.query import SearchQuery
from sessionbrowse.services.search.vocabulary import Vocabulary
from sessionbrowse.store.index.index import Index
from sessionbrowse.store.index.schema import TEXT_TABLES, is_damage
from sessionbrowse.store.index.text_rows import check_words, read_row_entries, read_runs


class WordIndex:
    """Looks up words in the text tables of an open index; the map from rows to session files is cached."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self.damage: sqlite3.DatabaseError | None = None
        """The SQLite error that showed damage of the index, else None; a damaged index should be rebuilt."""
        self._rows: dict[tuple[sqlite3.Connection, str], RowMap] = {}
        self._vocabularies: dict[tuple[sqlite3.Connection, str], tuple[object, Vocabulary]] = {}

    def candidates(self, query: SearchQuery, tools: bool) -> Candidates | None:
        """Return the entries that may contain every word of the query.

        Return None if the query has no words, or the index cannot be read.
        """
        tokens = query.tokens()
        if not tokens:
            return None
        terms = ['"' + word + '"' + ("*" if is_open else "") for word, is_open in tokens]
        # If tool calls are searched too, each word is looked up separately: an entry may have one word in its text and
        # another word in the arguments of a tool call, which the index stores in a row of another table.
        asked = terms if tools else [" AND ".join(terms)]
        found: list[list[_RowsWithTerm]] = []
        try:
            for term in asked:
                found.append([])
                for _, connection in self._index.databases():
                    for table in TEXT_TABLES if tools else TEXT_TABLES[:1]:
                        ask = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid"
                        # `rows_of` also checks the table for damage, so it is called even if no row is found.
                        rows_of = self.rows_of(connection, table)
                        rows = [row[0] for row in connection.execute(ask, (term,))]
                        if rows:
                            found[-1].append((rows_of, rows))
        except sqlite3.Error:
            return None
        return Candidates(found)

    def databases(self) -> list[tuple[int, sqlite3.Connection]]:
        """Return the databases of the index that contain texts: pairs of number and connection."""
        return self._index.databases()

    def vocabulary(self, connection: sqlite3.Connection, table: str) -> Vocabulary:
        """Return all words in a text table, from a cache until the table changes."""
        version = connection.execute("PRAGMA data_version").fetchone()[0], connection.total_changes
        known = self._vocabularies.get((connection, table))
        if known is None or known[0] != version:
            known = self._vocabularies[connection, table] = version, Vocabulary(connection, table)
        return known[1]

    def rows_of(self, connection: sqlite3.Connection, table: str) -> RowMap:
        """Return the map from rows of a text table to files and entries; the first call checks the table for damage.

        Raises:
            sqlite3.DatabaseError: the index is damaged.
        """
        known = self._rows.get((connection, table))
        if known is None:
            try:
                if connection is self._index.connection:
                    check_words(connection, table)
                known = self._rows[connection, table] = RowMap(connection, table)
            except sqlite3.DatabaseError as error:
                self.damage = error if is_damage(error) else None
                raise
        return known


class Candidates:
    """The entries that may contain every term of a query; `found` has for each term the rows that contain the term."""

    def __init__(self, found: list[list[_RowsWithTerm]]) -> None:
        self._found = found
        by_term = [set(chain.from_iterable(held.files_of(rows) for held, rows in each)) for each in found]
        self.files = by_term[0].intersection(*by_term[1:])
        """The index's ids of all session files that may contain an entry with every term."""

    def entries_of(self, file: int) -> list[int]:
        """Return the candidate entries of a file.

        Raises:
            ValueError, sqlite3.Error: the index is damaged.
        """
        by_term = [set(chain.from_iterable(held.entries_of(file, rows) for held, rows in each)) for each in self._found]
        return sorted(by_term[0].intersection(*by_term[1:]))


class RowMap:
    """Maps rows of one text table to session files and entries; the rows of a file are runs of consecutive row ids."""

    def __init__(self, connection: sqlite3.Connection, table: str) -> None:
        self._connection = connection
        self._table = table
        self._bases, self._files, self._counts = read_runs(connection, table)
        self._last_read: tuple[int, list[Sequence[int]]] = (-1, [])

    def files_of(self, rows: Sequence[int]) -> Iterator[int]:
        """Yield the ids of the session files to which the given rows (sorted) belong."""
        at = 0
        while at < len(rows):
            run = bisect_right(self._bases, rows[at])
            if run:
                yield self._files[run - 1]
            at = bisect_left(rows, self._bases[run], at) if run < len(self._bases) else len(rows)

    def file_of(self, row: int) -> int | None:
        """Return the id of the session file to which a row belongs; None if the row belongs to no file."""
        run = bisect_right(self._bases, row) - 1
        return self._files[run] if run >= 0 and row < self._bases[run] + self._counts[run] else None

    def entries_of(self, file: int, rows: Sequence[int]) -> Iterator[int]:
        """Yield the indexes of the entries of one file whose text is in the given rows (sorted).

        Raises:
            ValueError, sqlite3.Error: the index is damaged.
        """
        for run in self._runs_of(file):
            base, count = self._bases[run], self._counts[run]
            low, high = bisect_left(rows, base), bisect_left(rows, base + count)
            if low < high:
                if self._last_read[0] != base:
                    # The last used entries are cached, because callers often query one file several times.
                    self._last_read = base, read_row_entries(self._connection, self._table, (base, file, count))
                for row in rows[low:high]:
                    yield from self._last_read[1][row - base]

    def runs_of(self, file: int) -> list[tuple[int, int]]:
        """Return (first row, number of rows) for each run of consecutive rows that belongs to a session file."""
        return [(self._bases[run], self._counts[run]) for run in self._runs_of(file)]

    def _runs_of(self, file: int) -> Sequence[int]:
        last = self._last_runs.get(file)
        return (*self._earlier_runs.get(file, ()), last) if last is not None else ()

    @cached_property
    def _last_runs(self) -> dict[int, int]:
        return dict(zip(self._files, range(len(self._files)), strict=True))

    @cached_property
    def _earlier_runs(self) -> dict[int, list[int]]:
        """Maps a session file to its runs of rows, except the last; most files have only one run and are left out."""
        found: dict[int, list[int]] = {}
        last = self._last_runs
        for run in [run for run, file in enumerate(self._files) if last[file] != run]:
            found.setdefault(self._files[run], []).append(run)
        return found


_RowsWithTerm = tuple[RowMap, Sequence[int]]
"""A pair: the `RowMap` of a text table, and the sorted ids of the table's rows that contain a term."""
