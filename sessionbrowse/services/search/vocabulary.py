"""The words in a table of texts, and the rows that contain them; the index has this table of words already."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection
from functools import cached_property

from sessionbrowse.model.search.word_forms import LEAST_INSIDE, LEAST_MISSPELT, fit, is_misspelt, key_of

MAX_FORMS = 200
"""Maximum number of words that one word of a query stands for."""


class Vocabulary:
    """The words of one text table of one database."""

    def __init__(self, connection: sqlite3.Connection, table: str) -> None:
        self._connection = connection
        self._table = table
        # The table is temporary: it is a view of the text table, so nothing is written.
        make = f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_words USING fts5vocab('main', '{table}', 'row')"
        connection.execute(make)

    def forms(self, wanted: str) -> list[str]:
        """Return the words that fit `wanted`, without the word itself, the best first."""
        key = key_of(wanted)
        ask = f"SELECT term FROM temp.{self._table}_words WHERE term >= ? AND term < ?"
        found = {row[0] for row in self._connection.execute(ask, (key, key + "\U0010ffff"))}
        if len(wanted) >= LEAST_INSIDE:
            found.update(self._lines(re.escape(wanted)))
        elif len(wanted) > 1:
            found.update(
                self._lines(f"(?:_{re.escape(wanted)}_|_{re.escape(wanted)}(?=\n)|(?<=\n){re.escape(wanted)}_)")
            )
        found.discard(wanted)
        weights = {word: weight for word in found if (weight := fit(wanted, word))}
        return sorted(weights, key=lambda word: (-weights[word], len(word), word))[:MAX_FORMS]

    def misspelt(self, wanted: str) -> list[str]:
        """Return the words that differ from `wanted` by one letter."""
        if len(wanted) < LEAST_MISSPELT:
            return []
        # One mistake leaves the first or the second half of the word as it is.
        half = len(wanted) // 2
        begin, end = re.escape(wanted[: half - 1]), re.escape(wanted[half + 1 :])
        length = len(wanted)
        ask = rf"(?<=\n)(?:{begin}[^\n]{{{length - half},{length - half + 2}}}|[^\n]{{{half},{half + 2}}}{end})(?=\n)"
        return sorted({word for word in re.findall(ask, self._all) if is_misspelt(wanted, word)})

    def rows_with(self, words: Collection[str]) -> list[int]:
        """Return the ids of the rows that contain any of these words, in order."""
        return self._rows(" OR ".join(f'"{word}"' for word in words))

    def rows_with_all(self, words: Collection[str]) -> list[int]:
        """Return the ids of the rows that contain all of these words; a word may only begin there."""
        return self._rows(" AND ".join(f'"{word}"*' for word in words))

    def _rows(self, asked: str) -> list[int]:
        ask = f"SELECT rowid FROM {self._table} WHERE {self._table} MATCH ? ORDER BY rowid"
        return [row[0] for row in self._connection.execute(ask, (asked,))] if asked else []

    def _lines(self, pattern: str) -> list[str]:
        """Return the words that contain a pattern."""
        found: list[str] = []
        text = self._all
        for match in re.finditer(pattern, text):
            found.append(text[text.rfind("\n", 0, match.start() + 1) + 1 : text.find("\n", match.end() - 1)])
            if len(found) >= 10 * MAX_FORMS:
                break
        return [word.strip("\n") for word in found]

    @cached_property
    def _all(self) -> str:
        rows = self._connection.execute(f"SELECT term FROM temp.{self._table}_words")
        return "\n" + "\n".join([row[0] for row in rows]) + "\n"
