"""Search the list of all words in a full-text table of the index, and find the rows that contain words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import cached_property

from sessionbrowse.model.search.word_forms import LEAST_INSIDE, LEAST_MISSPELT, fit, is_misspelt, key_of
from sessionbrowse.store.index.rows import damaged
from sessionbrowse.store.index.text_rows import read_words

MAX_FORMS = 200
"""Maximum number of other words (forms) that are searched for one word of a query."""


class Vocabulary:
    """All words in one full-text table of one database of the index."""

    def __init__(self, connection: sqlite3.Connection, table: str) -> None:
        self._connection = connection
        self._table = table

    def forms(self, wanted: str) -> dict[str, float]:
        """Return other words in the table that match `wanted` (same stem, same beginning, …), with their weights."""
        if len(wanted) < 2:
            return {}
        key = key_of(wanted)
        if len(key) >= LEAST_INSIDE:
            # Words with the stem of `wanted`, and words that contain `wanted`, contain `key`: one search finds both.
            found = set(self._with(key))
        else:
            pieces = [wanted] if len(wanted) >= LEAST_INSIDE else [f"_{wanted}_", f"_{wanted}\n"]
            found = {word for piece in ("\n" + key, *pieces) for word in self._with(piece)}
        found.discard(wanted)
        weights = {word: weight for word in found if (weight := fit(wanted, word))}
        best = sorted(weights, key=lambda word: (-weights[word], len(word), word))[:MAX_FORMS]
        return {word: weights[word] for word in best}

    def misspelt(self, wanted: str) -> list[str]:
        """Return the words in the table that differ from `wanted` by one letter."""
        if len(wanted) < LEAST_MISSPELT:
            return []
        # One typing mistake leaves the first or the second half of a word unchanged, so both halves are searched.
        half = len(wanted) // 2
        near = {*self._with("\n" + wanted[: half - 1]), *self._with(wanted[half + 1 :] + "\n")}
        return sorted(word for word in near if is_misspelt(wanted, word))

    def rows(self, expression: str, most: int = -1) -> list[int]:
        """Return the sorted ids of the first `most` rows that match an FTS5 expression; `most` -1 means all rows."""
        ask = f"SELECT rowid FROM {self._table} WHERE {self._table} MATCH ? ORDER BY rowid LIMIT ?"
        return [row[0] for row in self._connection.execute(ask, (expression, most))]

    def rows_between(self, expression: str, first: int, count: int) -> list[int]:
        """Return the sorted ids of rows that match an FTS5 expression, among the `count` row ids from `first` on."""
        ask = f"SELECT rowid FROM {self._table} WHERE {self._table} MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid"
        return [row[0] for row in self._connection.execute(ask, (expression, first, first + count - 1))]

    def _with(self, piece: str) -> Iterator[str]:
        """Yield the words that contain `piece`; a newline in `piece` stands for the beginning or end of a word."""
        text, wanted = self._all, piece.encode("utf-8", "surrogatepass")
        at = text.find(wanted)
        while at >= 0:
            begin = at if piece[0] == "\n" else text.rfind(b"\n", 0, at)
            end = text.find(b"\n", at + 1)
            yield text[begin + 1 : end].decode()
            at = text.find(wanted, end)

    @cached_property
    def _all(self) -> bytes:
        try:
            return read_words(self._connection, self._table)
        except ValueError as error:
            raise damaged("the index's list of words is damaged") from error
