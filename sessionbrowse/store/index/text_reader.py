"""Search one text directory: the best entries for weighted words, all entries with given words, the indexed words."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from sessionbrowse.store.index.texts import analyser, guarded

KEPT_OF_WORD = 1_000
MAX_FILES = 50_000
"""Maximum number of files that are listed for one term."""
DONE_SHARE = 0.4
"""Weight of a word in the names of tool calls, relative to a word in a message."""
_SPARE, _EQUAL = 28, 1e-4
"""Number of entries requested beyond the wanted ones, and the largest difference between scores taken as equal."""
_SHARES = (("said", 1.0), ("done", DONE_SHARE))

Form = tuple[str, ...]
"""Indexed words that together match one term; an entry must contain all of them."""
Place = tuple[int, int]
"""The id of a file, and the number of an entry in it."""


class WantedTerm(Struct):
    """A term to look up: its forms with their weights, and its rarity (idf).

    If `inside` is not empty, words that contain this text match too.
    """

    forms: dict[Form, float]
    rarity: float = 0.0
    is_required: bool = False
    inside: str = ""


class TextReader:
    """Searches one text directory, in the version that was opened."""

    def __init__(self, index: Any) -> None:
        from tantivy import Occur, Query

        self._query: Any = Query
        self._must, self._should = Occur.Must, Occur.Should
        self._schema = index.schema
        self._searcher: Any = index.searcher()
        self.documents: int = self._searcher.num_docs
        self._counts: dict[tuple[str, str], int] = {}
        self._counts_inside: dict[str, int] = {}

    def close(self) -> None:
        """Release the engine's files; the reader cannot be used afterwards."""
        self._searcher = None

    def words(self, beginning: str, most: int) -> dict[str, int]:
        """Return the `most` most frequent words that begin with `beginning`, and the number of entries with each."""
        found: dict[str, int] = {}
        with guarded():
            for field, _ in _SHARES:
                for word, count in self._searcher.terms_with_prefix(field, beginning, limit=most):
                    self._counts[field, word] = count
                    found[word] = found.get(word, 0) + count
        return found

    def count(self, form: Form) -> int:
        """Return an upper bound of the number of entries that contain a form."""
        return min(sum(self._count(field, word) for field, _ in _SHARES) for word in form)

    def count_inside(self, piece: str) -> int:
        """Return the number of entries with a word that contains a piece."""
        if piece not in self._counts_inside:
            # The engine would go through all words. This is not needed if it has already found no word with a part of
            # this piece, as happens while the user types a word.
            is_lacking = any(not count and other in piece for other, count in self._counts_inside.items())
            with guarded():
                found = 0 if is_lacking else self._searcher.search(self._inside(piece), 1).count
            self._counts_inside[piece] = found
        return self._counts_inside[piece]

    def best(
        self,
        terms: Sequence[WantedTerm],
        most: int,
        *,
        every: bool = False,
        files: Collection[int] | None = None,
        roles: Collection[int] | None = None,
    ) -> list[tuple[float, int, Place]]:
        """Return about `most` entries with the best scores, as (score, role, place); with `every`, only with all terms.

        All entries whose score equals the last one are returned too; otherwise the order in which entries were indexed
        would decide which are returned. `files` and `roles` limit the result to entries of these files and roles.
        """
        with guarded():
            clauses = [self._clauses(term) for term in terms]
            asked: list[tuple[Any, Any]] = []
            if every:
                asked += [(self._must, self._any(own)) for own in clauses]
            else:
                # One flat list of alternatives lets the engine skip entries that cannot be among the best.
                asked.append((self._must, self._any([each for own in clauses for each in own])))
                asked += [
                    (self._must, self._unscored(self._any(own)))
                    for term, own in zip(terms, clauses, strict=True)
                    if term.is_required
                ]
            for field, allowed in (("file", files), ("role", roles)):
                if allowed is not None:
                    only = self._query.term_set_query(self._schema, field, list(allowed))
                    asked.append((self._must, self._unscored(only)))
            query = asked[0][1] if len(asked) == 1 else self._query.boolean_query(asked)
            hits = self._best_and_equal(query, most)
            addresses = [address for _, address in hits]
            # The last digits of a score depend on the order in which the engine adds the scores of terms.
            scores = [round(score, 4) for score, _ in hits]
            values = [self._searcher.fast_field_values(field, addresses) for field in ("role", "file", "entry")]
        return [(score, role, (file, entry)) for score, role, file, entry in zip(scores, *values, strict=True)]

    def _best_and_equal(self, query: Any, most: int) -> list[tuple[float, Any]]:
        asked = most + _SPARE
        while True:
            hits: list[tuple[float, Any]] = self._searcher.search(query, asked, count=False).hits
            least = hits[most - 1][0] - _EQUAL if len(hits) >= most else 0.0
            if len(hits) < asked or hits[-1][0] < least:
                return [each for each in hits if each[0] >= least]
            asked *= 4

    def every(self, words: Iterable[tuple[Form, bool]]) -> Iterator[Place]:
        """Yield the places of all entries with all words; in a form with True, the last word may be longer."""
        with guarded():
            asked = [
                (self._must, self._one_of([self._word(field, word, begins=begins) for field, _ in _SHARES]))
                for form, is_open in words
                for number, word in enumerate(form, 1)
                for begins in [len(word) >= KEPT_OF_WORD or (is_open and number == len(form))]
            ]
            query = self._unscored(self._query.boolean_query(asked), 1.0)
            hits = self._searcher.search(query, max(1, self.documents), count=False).hits
            addresses = [address for _, address in hits]
            files = self._searcher.fast_field_values("file", addresses)
            entries = self._searcher.fast_field_values("entry", addresses)
        yield from zip(files, entries, strict=True)

    def files_with(self, term: WantedTerm, files: Collection[int] | None = None) -> set[int]:
        """Return the files (among `files`, if given) that contain a term in any form."""
        with guarded():
            query = self._any(self._clauses(term))
            if files is not None:
                only = self._query.term_set_query(self._schema, "file", list(files))
                query = self._query.boolean_query([(self._must, query), (self._must, only)])
            buckets = {"files": {"terms": {"field": "file", "size": MAX_FILES}}}
            found = self._searcher.aggregate(query, buckets)
        return {int(each["key"]) for each in found["files"]["buckets"]}

    def _clauses(self, term: WantedTerm) -> list[Any]:
        clauses = []
        for form, weight in term.forms.items():
            if len(form) > 1:
                parts = [self._any(self._scored((word,), 1.0, None)) for word in form]
                worth = sum(self._idf(self.count((word,))) for word in form) or 1.0
                together = self._query.boolean_query([(self._must, part) for part in parts])
                clauses.append(self._query.boost_query(together, weight * term.rarity / worth))
            else:
                clauses += self._scored(form, weight, term.rarity)
        if term.inside:
            clauses.append(self._unscored(self._inside(term.inside), term.rarity * INSIDE_SHARE))
        return clauses

    def _scored(self, form: Form, weight: float, rarity: float | None) -> list[Any]:
        clauses = []
        for field, share in _SHARES:
            count = self._count(field, form[0])
            if count:
                # The engine multiplies by the rarity of the form. This is undone, because a rare form would count more
                # than its word.
                boost = share * weight * (1.0 if rarity is None else rarity / self._idf(count))
                clauses.append(self._query.boost_query(self._word(field, form[0]), boost))
        return clauses

    def _count(self, field: str, word: str) -> int:
        known = self._counts.get((field, word))
        if known is None:
            known = self._counts[field, word] = self._searcher.doc_freq(field, word)
        return known

    def _idf(self, count: int) -> float:
        return idf(self.documents, count)

    def _word(self, field: str, word: str, *, begins: bool = False) -> Any:
        if begins:
            return self._query.regex_query(self._schema, field, f"{_escaped(word)}.*")
        return self._query.term_query(self._schema, field, word, "freq")

    def _inside(self, piece: str) -> Any:
        pattern = f".*{_escaped(piece)}.*"
        return self._one_of([self._query.regex_query(self._schema, field, pattern) for field, _ in _SHARES])

    def _any(self, clauses: Sequence[Any]) -> Any:
        return self._one_of(clauses) if clauses else self._query.empty_query()

    def _one_of(self, clauses: Sequence[Any]) -> Any:
        return self._query.boolean_query([(self._should, clause) for clause in clauses])

    def _unscored(self, query: Any, score: float = 0.0) -> Any:
        return self._query.const_score_query(query, score)


INSIDE_SHARE = 0.5


def idf(documents: int, count: int) -> float:
    """Return the rarity of a word that `count` of all documents contain, as BM25 computes it."""
    return math.log(1 + (max(documents, count) - count + 0.5) / (count + 0.5))


def engine_words(word: str) -> Form:
    """Return the words into which the engine splits a word of a query, such as two for `foo_bar`."""
    if word.isascii() and word.isalnum() and len(word) <= KEPT_OF_WORD:
        return (word,)
    return tuple([each[:KEPT_OF_WORD] for each in _analyser().analyze(word)])


@cache
def _analyser() -> Any:
    import tantivy

    return analyser(tantivy)


_SPECIAL = re.compile(r"[^\w]|_")


def _escaped(word: str) -> str:
    return _SPECIAL.sub(lambda found: "\\" + found[0], word)
