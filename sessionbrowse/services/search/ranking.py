"""Rank sessions by relevance: words that stand in several entries of a session count together.

The rows of the index say which sessions have which words. The best of them are read, at most READ_ENTRIES entries, and
ordered by their text. Files that are not indexed are read whole, and ranked in the same way.
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.entry_facts import EntryFacts, facts_of, fits_facts, is_in_time
from sessionbrowse.model.search.query import SearchQuery
from sessionbrowse.model.search.relevance import (
    Term,
    evidence_in,
    keys_of,
    may_have_keys,
    score_of,
    terms_of,
)
from sessionbrowse.model.search.word_forms import LEAST_MISSPELT, is_misspelt
from sessionbrowse.model.search.words import literal, words_of
from sessionbrowse.services.search.entry_lines import lines_at, streamed_lines
from sessionbrowse.services.search.ranked_page import (
    EXACT,
    FORMS,
    SESSION,
    SOME,
    TYPO,
    Found,
    MatchingSession,
    Page,
    Ranking,
    class_of,
    worth,
)
from sessionbrowse.services.search.searcher import Searcher, fits_session
from sessionbrowse.services.search.word_rows import TermRow, misspelt, rows_by_file
from sessionbrowse.store.index.rows import FileRow

READ_ENTRIES = 200
"""Number of entries with a term that are read for a page of results."""
HALF_LIFE_DAYS = 30.0
_READ_OF_ONE = 12
_LINES_PER_ENTRY = 8
_SESSION_SHARE, _SECOND_SHARE, _NAME_SHARE, _LABEL_SHARE, _PLACE_SHARE = 0.4, 0.15, 0.5, 0.4, 0.25
_AGE_SHARE = 0.12
_LEAST_SHARE = 0.2
"""Sessions that have less than this share of the query's worth are left out."""
_LEAST_ID = 4
_DAY_MS = 86_400_000


def can_rank(query: SearchQuery) -> bool:
    """Tell whether a query has words to rank by, and no pattern."""
    return query.pattern is None and bool(query.tokens())


class Ranker:
    """Ranks the sessions of one searcher for one query."""

    def __init__(
        self,
        searcher: Searcher,
        query: SearchQuery,
        *,
        tools: bool = False,
        now_ms: float | None = None,
        half_life_days: float = HALF_LIFE_DAYS,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._searcher = searcher
        self._query = query
        self._tools = tools or bool(query.tools)
        self._now = time.time() * 1000 if now_ms is None else now_ms
        self._half_life = half_life_days
        self._cancelled = cancelled
        self._set_terms(terms_of(query))
        self._rarities: list[float] = []
        self._instead: dict[str, tuple[str, ...]] = {}

    def _set_terms(self, terms: list[Term]) -> None:
        self._terms = terms
        self._keys = keys_of(terms)
        # A phrase that is required need not stand in the name.
        self._optional = [replace(term, is_required=False) for term in terms]
        self._nothing = [0.0] * len(terms)

    def rank(self, sessions: int, per_session: int | None = None, *, copies: bool = False) -> Ranking:
        """Return the best sessions, each with its best entries: at most `per_session`.

        None shows up to PER_SESSION entries, only one of sessions that come late, and none far worse than the first.
        With `copies`, sessions that only have copies of entries in better ones are kept.
        """
        fitting = [each for each in self._searcher.summaries if fits_session(self._query, each)]
        candidates = self._candidates(fitting)
        if self._take_misspelt(candidates):
            candidates = self._candidates(fitting)
        self._rarities = self._rarities_in(candidates, len(fitting))
        for candidate in candidates:
            candidate.guess = self._guess(candidate)
        candidates.sort(key=lambda each: (-each.guess, -(each.summary.modified or 0), each.summary.path))
        unread = self._read(candidates, sessions, per_session)
        ranked = [each for each in candidates if each.was_read and self._judge(each)]
        ranked.sort(key=lambda each: (each.match, -each.score, -(each.summary.modified or 0), each.summary.path))
        if self._instead and any(each.match == TYPO for each in ranked):
            ranked = [each for each in ranked if each.match == TYPO]
        return Ranking(
            Page(self._searcher, self._terms, self._rarities).sessions(ranked, sessions, per_session, copies=copies),
            self._instead,
            unread,
        )

    # ---- candidates ----------------------------------------------------------------------------------------

    def _candidates(self, summaries: Sequence[Summary]) -> list[MatchingSession]:
        searcher = self._searcher
        rows = searcher.rows if not searcher.is_outdated() else {}
        by_file: dict[int, list[TermRow]] = {}
        if rows and searcher.words is not None:
            try:
                by_file = rows_by_file(searcher.words, self._terms, self._tools)
            except sqlite3.Error:
                rows = {}
        found: list[MatchingSession] = []
        for summary in summaries:
            if self._cancelled():
                return []
            named = self._named(summary)
            row = rows.get(summary.path)
            if row is None or (self._tools and not row.has_tools):
                entries = list(self._judged(streamed_lines(summary)))
                if entries or any(named):
                    found.append(MatchingSession(summary, None, [], named, entries, was_read=True))
            elif row.row in by_file or any(named):
                found.append(MatchingSession(summary, row, by_file.get(row.row, []), named, []))
        return found

    def _take_misspelt(self, candidates: Sequence[MatchingSession]) -> bool:
        """Replace the words that are found nowhere by words that differ by one letter; tell if there were any."""
        found = [any(column) for column in zip(*(each.weights() for each in candidates), strict=True)]
        found = found or [False] * len(self._terms)
        terms = list(self._terms)
        for number, term in enumerate(terms):
            if found[number] or not term.is_word or len(term.text) < LEAST_MISSPELT:
                continue
            others = self._misspelt(term.text)
            if others:
                self._instead[term.text] = others
                terms[number] = replace(term, instead=others)
        self._set_terms(terms)
        return bool(self._instead)

    def _misspelt(self, word: str) -> tuple[str, ...]:
        searcher = self._searcher
        found: set[str] = set()
        rows = searcher.rows
        try:
            if searcher.words is not None:
                found.update(misspelt(searcher.words, word, self._tools))
        except sqlite3.Error:
            # The index is damaged: its files are read too.
            rows = {}
        for summary in searcher.summaries:
            texts = [summary.name or "", *summary.labels, summary.cwd]
            if summary.path not in rows:
                texts += [facts.text for _, facts in self._facts(streamed_lines(summary), ())]
            for text in texts:
                found.update(other for other in words_of(text) if is_misspelt(word, other))
        return tuple(sorted(found))

    def _named(self, summary: Summary) -> list[float]:
        """Return how well each term fits the name, the labels, the directory and the id of a session."""
        text = "\n".join([summary.name or "", *summary.labels, *summary.cwd.split("/")[-2:], summary.id or ""])
        lowered = text.lower()
        if text.isascii() and not any(key in lowered for key in self._keys):
            return self._nothing
        query = self._query
        if query.is_about_entries or not is_in_time(query, summary.modified):
            return self._nothing
        evidence = evidence_in(self._optional, text[: len(text) - len(summary.id or "")], "name")
        weights = list(evidence.weights) if evidence is not None else [0.0] * len(self._terms)
        for number, term in enumerate(self._terms):
            if len(term.text) >= _LEAST_ID and summary.id and summary.id.lower().startswith(term.text):
                weights[number] = 1.0
        return weights

    def _rarities_in(self, candidates: Sequence[MatchingSession], sessions: int) -> list[float]:
        # A term that is nowhere says nothing about a session.
        counts = [0] * len(self._terms)
        for candidate in candidates:
            for number, weight in enumerate(candidate.weights()):
                counts[number] += weight > 0
        return [math.log(1 + (sessions - count + 0.5) / (count + 0.5)) if count else 0.0 for count in counts]

    def _guess(self, candidate: MatchingSession) -> float:
        """Return the relevance of a session as far as the rows of the index tell it."""
        worth_of = self._worth
        if candidate.was_read:
            best = max((worth_of(each.evidence.weights) for each in candidate.found), default=0.0)
        else:
            best = max((worth_of(row.weights) for row in candidate.rows), default=0.0)
        score = (best + _SESSION_SHARE * worth_of(candidate.weights())) * self._share(candidate.weights())
        return score + _NAME_SHARE * worth_of(candidate.named)

    def _worth(self, weights: Sequence[float]) -> float:
        return worth(self._rarities, weights)

    def _share(self, weights: Sequence[float]) -> float:
        return self._worth([float(weight > 0) for weight in weights]) / (sum(self._rarities) or 1.0)

    # ---- reading -------------------------------------------------------------------------------------------

    def _read(self, candidates: Sequence[MatchingSession], sessions: int, per_session: int | None) -> int:
        """Read the best candidates; return the number of those that were not read."""
        room = max(READ_ENTRIES, sessions * (per_session or 1))
        read_of_one = max(_READ_OF_ONE, per_session or 0)
        for number, candidate in enumerate(candidates):
            if self._cancelled():
                return 0
            if room <= 0:
                return sum(not each.was_read for each in candidates[number:])
            if candidate.was_read:
                continue
            candidate.was_read = True
            if candidate.row is None or not candidate.rows:
                continue
            candidate.found = self._entries(candidate, candidate.row, read_of_one)
            room -= len(candidate.found)
        return 0

    def _entries(self, candidate: MatchingSession, row: FileRow, limit: int) -> list[Found]:
        index = self._searcher.index
        assert index is not None
        found: dict[int, Found] = {}
        try:
            places = index.places(row)
            ordered = sorted(candidate.rows, key=lambda each: (-self._worth(each.weights), each.row))
            for number, each in enumerate(ordered):
                if len(found) >= limit and number:
                    break
                chosen = [entry for entry in each.rows.entries_of(row.row, [each.row]) if entry not in found]
                spots = [(entry, places.offsets[entry], places.sizes[entry]) for entry in chosen]
                for judged in self._judged(lines_at(candidate.summary.path, spots)):
                    found[judged.index] = judged
        except (ValueError, IndexError, sqlite3.Error):
            # The index is damaged, or the file changed meanwhile.
            return list(self._judged(streamed_lines(candidate.summary)))
        return list(found.values())

    def _judged(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[Found]:
        keys = [key.encode("utf-8", "surrogatepass") for key in keys_of(self._terms)]
        for index, facts in self._facts(lines, keys):
            evidence = evidence_in(self._terms, facts.text, facts.role)
            if evidence is not None:
                yield Found(index, facts, evidence)

    def _facts(self, lines: Iterator[tuple[int, bytes]], keys: Sequence[bytes]) -> Iterator[tuple[int, EntryFacts]]:
        for index, raw in lines:
            if self._cancelled():
                return
            facts = facts_of(raw, tools=self._tools) if not keys or may_have_keys(keys, raw) else None
            if facts is not None and facts.text and fits_facts(self._query, facts):
                yield index, facts

    # ---- the order of answers ------------------------------------------------------------------------------

    def _judge(self, candidate: MatchingSession) -> bool:
        """Set class and score of a session that was read; tell whether it is an answer at all."""
        if candidate.found and (self._query.labels or self._query.states):
            candidate.found = self._in_states(candidate)
        weights = candidate.weights()
        if not any(weights) or (self._query.is_about_entries and not candidate.found):
            return False
        if any(term.is_required and not weight for term, weight in zip(self._terms, weights, strict=True)):
            return False
        for each in candidate.found:
            each.score = score_of(each.evidence, self._rarities)
        candidate.found.sort(key=lambda each: (class_of(each), -each.score, -each.index))
        groups = [candidate.named, *(each.evidence.weights for each in candidate.found)]
        if any(min(group) == 1.0 for group in groups):
            candidate.match = EXACT
        elif any(min(group) > 0 for group in groups):
            candidate.match = FORMS
        else:
            candidate.match = SESSION if min(weights) > 0 else SOME
        if any(weight and term.instead for term, weight in zip(self._terms, weights, strict=True)):
            candidate.match = TYPO
        share = self._share(weights)
        if share < _LEAST_SHARE:
            return False
        scores = [*sorted((each.score for each in candidate.found), reverse=True)[:2], 0.0, 0.0]
        score = (scores[0] + _SECOND_SHARE * scores[1] + _SESSION_SHARE * self._worth(weights)) * share
        score += _NAME_SHARE * self._worth(candidate.named)
        age = max(0.0, self._now - (candidate.summary.modified or 0)) / _DAY_MS / self._half_life
        candidate.score = score * (1 + _AGE_SHARE * 2.0 ** -min(age, 1000))
        return True

    def _in_states(self, candidate: MatchingSession) -> list[Found]:
        query, tree = self._query, self._searcher.trees.tree(candidate.summary)
        marks = {label.index: literal(label.text) for label in tree.labels()} if tree is not None else {}
        return [
            each
            for each in candidate.found
            if not query.states or (tree is not None and tree.state(each.index) in query.states)
            if not query.labels or any(wanted in marks.get(each.index, "") for wanted in query.labels)
        ]
