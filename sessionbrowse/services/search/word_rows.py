"""Find the rows of the index's full-text tables that contain the terms of a query, grouped by session file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from msgspec import Struct

from sessionbrowse.model.search.relevance import Term
from sessionbrowse.model.search.word_forms import EXACT, INSIDE, MISSPELT, STEM
from sessionbrowse.model.search.words import is_cjk
from sessionbrowse.services.search.vocabulary import Vocabulary
from sessionbrowse.store.index.schema import TEXT_TABLES

if TYPE_CHECKING:
    from sessionbrowse.services.search.candidates import RowMap, WordIndex

FREQUENT_ROWS = 4000
"""A term that is in more rows of a full-text table than this number is frequent.

A frequent term is searched only in rows with a rarer term; if there is no rarer term, in the newest files.
"""
NEWEST_FILES = 100
"""Number of newest session files that are searched if all terms of the query are frequent."""
_GAP_ROWS = 1000
_FORMS_STEP = 0.25

Expressions = dict[float, str]
"""Maps weights, lowest first, to FTS5 expressions for word forms; a weight says how well the forms match a term."""


Weights = tuple[float, ...]
"""The weights of a query's terms in some text: one number per term, from 0 (missing) to 1 (the same word)."""


Newest = Callable[[], Iterable[int]]
"""A callback that returns the index's ids of session files, newest first."""


class TermRow(Struct):
    """A row of a full-text table, and how well each term of the query matches in this row (`weights`)."""

    rows: RowMap
    row: int
    weights: Weights


class TermRows:
    """Finds the full-text rows that contain terms of a query, grouped by session file in `by_file`.

    `newest` returns the ids of the searched files, newest first. The result is incomplete if `cancelled` returns True.

    Raises:
        sqlite3.Error: the index is damaged.
    """

    def __init__(
        self, index: WordIndex, terms: Sequence[Term], tools: bool, newest: Newest, cancelled: Callable[[], bool]
    ) -> None:
        self._count = len(terms)
        self._cancelled = cancelled
        # The index has only words, so a term without words, such as an emoji, counts as contained in every row.
        self._known = [0.0 if term.tokens() else EXACT for term in terms]
        self.is_frequent = [False] * len(terms)
        self._frequent: list[tuple[RowMap, Vocabulary, dict[int, Expressions]]] = []
        self.by_file: dict[int, list[TermRow]] = {}
        for rows, vocabulary in _tables(index, tools):
            expressions = {number: _expressions(term, vocabulary) for number, term in enumerate(terms) if term.tokens()}
            self._find(rows, vocabulary, expressions, newest)

    def weights_in(self, file: int) -> Weights:
        """Return for each frequent term the weight of its best match in a session file; 0 for all other terms."""
        weights = [0.0] * self._count
        for rows, vocabulary, expressions in self._frequent:
            for base, count in rows.runs_of(file):
                for number, by_weight in expressions.items():
                    for weight, expression in reversed(by_weight.items()):
                        if weights[number] < weight and vocabulary.rows_between(expression, base, count):
                            weights[number] = weight
        return tuple(weights)

    def _find(self, rows: RowMap, vocabulary: Vocabulary, expressions: dict[int, Expressions], newest: Newest) -> None:
        found: dict[int, list[float]] = {}
        frequent: dict[int, Expressions] = {}
        rare: list[str] = []
        for number, by_weight in expressions.items():
            if self._cancelled():
                return
            ids = {weight: vocabulary.rows(each, FREQUENT_ROWS + 1) for weight, each in by_weight.items()}
            if sum(map(len, ids.values())) > FREQUENT_ROWS:
                frequent[number] = by_weight
                self.is_frequent[number] = True
                continue
            if any(ids.values()):
                rare.append(f"({' OR '.join(by_weight.values())})")
            for weight, rows_with in ids.items():
                self._note(found, number, weight, rows_with)
        for number, by_weight in frequent.items():
            for weight, expression in by_weight.items():
                if rare:
                    near = f"({expression}) AND ({' OR '.join(rare)})"
                    self._note(found, number, weight, vocabulary.rows(near))
                else:
                    self._note_newest(found, rows, number, weight, expression, vocabulary, newest)
        if frequent:
            self._frequent.append((rows, vocabulary, frequent))
        for row in sorted(found):
            file = rows.file_of(row)
            if file is not None:
                self.by_file.setdefault(file, []).append(TermRow(rows, row, tuple(found[row])))

    def _note_newest(
        self,
        found: dict[int, list[float]],
        rows: RowMap,
        number: int,
        weight: float,
        expression: str,
        vocabulary: Vocabulary,
        newest: Newest,
    ) -> None:
        runs = list(chain.from_iterable(islice(filter(None, map(rows.runs_of, newest())), NEWEST_FILES)))
        wanted = {row for base, count in runs for row in range(base, base + count)}
        for base, count in _joined(runs):
            near = vocabulary.rows_between(expression, base, count)
            self._note(found, number, weight, [row for row in near if row in wanted])

    def _note(self, found: dict[int, list[float]], number: int, weight: float, ids: Sequence[int]) -> None:
        for row in ids:
            known = found.get(row)
            if known is None:
                known = found[row] = self._known.copy()
            if known[number] < weight:
                known[number] = weight


def _joined(runs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join runs of consecutive rows with a small gap between them, because a query for each run would be slower."""
    joined: list[tuple[int, int]] = []
    for base, count in sorted(runs):
        if joined and base <= sum(joined[-1]) + _GAP_ROWS:
            joined[-1] = joined[-1][0], base + count - joined[-1][0]
        else:
            joined.append((base, count))
    return joined


def misspelt(index: WordIndex, word: str, tools: bool) -> tuple[str, ...]:
    """Return all words in the index that differ from a given word by one letter.

    Raises:
        sqlite3.Error: the index is damaged.
    """
    return tuple(sorted({each for _, vocabulary in _tables(index, tools) for each in vocabulary.misspelt(word)}))


def _tables(index: WordIndex, tools: bool) -> list[tuple[RowMap, Vocabulary]]:
    tables = TEXT_TABLES if tools else TEXT_TABLES[:1]
    return [
        (index.rows_of(connection, table), index.vocabulary(connection, table))
        for _, connection in index.databases()
        for table in tables
    ]


def _expressions(term: Term, vocabulary: Vocabulary) -> Expressions:
    if not term.is_word:
        tokens = [f'"{token}"' for token in term.tokens()]
        if not is_cjk(term.tokens()[-1]):
            tokens[-1] += "*"
        return {EXACT: " AND ".join(tokens)}
    weights = vocabulary.forms(term.text)
    for other in term.instead:
        for word, weight in {other: EXACT, **vocabulary.forms(other)}.items():
            weights[word] = max(weights.get(word, 0.0), MISSPELT * weight)
    for spelling in term.spellings:
        weights[spelling] = max(weights.get(spelling, 0.0), STEM)
        for word in vocabulary.forms(spelling):
            weights[word] = max(weights.get(word, 0.0), INSIDE)
    by_weight: dict[float, list[str]] = {EXACT: [f'"{term.text}"']}
    for word, weight in weights.items():
        by_weight.setdefault(weight // _FORMS_STEP * _FORMS_STEP or _FORMS_STEP, []).append(f'"{word}"')
    if term.parts:
        parts = " AND ".join([f'"{part}"' for part in term.parts])
        by_weight.setdefault(STEM // _FORMS_STEP * _FORMS_STEP, []).append(f"({parts})")
    return {weight: " OR ".join(words) for weight, words in sorted(by_weight.items())}
