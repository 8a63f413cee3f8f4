"""Rows of the text index that contain the terms of a query, by session file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from sessionbrowse.model.search.relevance import Term
from sessionbrowse.model.search.word_forms import EXACT, fit
from sessionbrowse.services.search.vocabulary import Vocabulary
from sessionbrowse.store.index.schema import TEXT_TABLES

if TYPE_CHECKING:
    from sessionbrowse.services.search.candidates import RowMap, WordIndex

_FORMS_STEP = 0.25


class TermRow(Struct):
    """A row of a text table, and the best weight of each term in it."""

    rows: RowMap
    row: int
    weights: list[float]


def rows_by_file(index: WordIndex, terms: Sequence[Term], tools: bool) -> dict[int, list[TermRow]]:
    """Return the rows that contain a term, by the id of their file.

    Raises:
        sqlite3.Error: the index is damaged.
    """
    found: dict[int, list[TermRow]] = {}
    for rows, vocabulary in _tables(index, tools):
        by_row: dict[int, TermRow] = {}
        for number, term in enumerate(terms):
            for weight, words in _words_by_weight(term, vocabulary).items():
                for row in vocabulary.rows_with(words) if term.is_word else vocabulary.rows_with_all(words):
                    known = by_row.get(row)
                    if known is None:
                        known = by_row[row] = TermRow(rows, row, [0.0] * len(terms))
                    if known.weights[number] < weight:
                        known.weights[number] = weight
        for row in sorted(by_row):
            file = rows.file_of(row)
            if file is not None:
                found.setdefault(file, []).append(by_row[row])
    return found


def misspelt(index: WordIndex, word: str, tools: bool) -> tuple[str, ...]:
    """Return the indexed words that differ from a word by one letter.

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


def _words_by_weight(term: Term, vocabulary: Vocabulary) -> dict[float, list[str]]:
    """Return the words to look up for a term, by weight, the least weight first."""
    if not term.is_word:
        return {EXACT: list(term.tokens())}
    found: dict[float, list[str]] = {}
    for wanted in (term.text, *term.instead):
        found.setdefault(EXACT, []).append(wanted)
        for word in vocabulary.forms(wanted):
            found.setdefault(fit(wanted, word) // _FORMS_STEP * _FORMS_STEP, []).append(word)
    return dict(sorted(found.items()))
