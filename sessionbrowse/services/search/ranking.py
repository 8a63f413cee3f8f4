"""Rank sessions by their relevance for a query; words in different entries of a session count together.

The index returns which sessions contain which words. The most promising sessions are read, usually at most READ_ENTRIES
entries in total, and ranked by the text of these entries. Files that are not indexed are read completely.
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

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
from sessionbrowse.model.search.word_forms import EXACT as EXACT_FORM
from sessionbrowse.model.search.word_forms import LEAST_MISSPELT, is_misspelt
from sessionbrowse.model.search.words import literal, words_of
from sessionbrowse.services.search.entry_lines import lines_at, streamed_lines
from sessionbrowse.services.search.hits import MATCHES
from sessionbrowse.services.search.ranked_page import (
    LOOKED_AT,
    SESSION,
    SOME,
    TYPO,
    Found,
    MatchingSession,
    Page,
    RankedSession,
    Ranking,
    class_of,
    combined,
    likely,
    worth,
)
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.services.search.word_rows import TermRow, TermRows, Weights, misspelt
from sessionbrowse.store.index.rows import FileRow
from sessionbrowse.store.index.schema import is_damage

READ_ENTRIES = 200
"""Usual maximum number of entries read from session files for a page of results."""
HALF_LIFE_DAYS = 30.0
READ_OF_ONE = 12
"""Number of entries read from one session, unless the caller requests more hits per session."""
_MOST_OF_ONE = 8
"""The limit of entries to read from one session is multiplied by this number if more entries may match better."""
_SESSION_SHARE, _SECOND_SHARE, _NAME_SHARE, _LABEL_SHARE, _PLACE_SHARE = 0.4, 0.15, 0.5, 0.4, 0.25
_AGE_SHARE = 0.12
_LEAST_SHARE = 0.2
"""Minimum share of the query's terms, weighted by rarity, that a session must contain to be a result."""
_LEAST_ID = 4
_DAY_MS = 86_400_000


def can_rank(query: SearchQuery) -> bool:
    """Return True if sessions can be ranked for a query: it has words or phrases, and no regular expression."""
    return query.pattern is None and bool(query.tokens())


class Ranker:
    """Ranks the sessions that a `Searcher` covers by their relevance for one query."""

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
        # If the query filters entries, words in a full-text row do not count: their entry may be filtered out.
        self._is_filtered = query.is_about_entries or query.after_ms is not None or query.before_ms is not None
        self._now = time.time() * 1000 if now_ms is None else now_ms
        self._half_life = half_life_days
        self._cancelled = cancelled
        self._set_terms(terms_of(query))
        self._rarities: list[float] = []
        self._worths: dict[Weights, float] = {}
        self._instead: dict[str, tuple[str, ...]] = {}
        self._known: list[MatchingSession] | None = None

    def _set_terms(self, terms: list[Term]) -> None:
        self._terms = terms
        self._keys = keys_of(terms)
        self._line_keys = [key.encode("utf-8", "surrogatepass") for key in self._keys]
        self._ids = tuple([term.text for term in terms if len(term.text) >= _LEAST_ID])
        self._rows: TermRows | None = None
        # A session's name need not contain the query's quoted phrases, because an entry may contain them.
        self._optional = [replace(term, is_required=False) for term in terms]
        self._nothing: Weights = (0.0,) * len(terms)

    def rank(self, sessions: int, per_session: int | None = None, *, copies: bool = False) -> Ranking:
        """Return the best sessions, each with at most `per_session` of its best entries.

        By default, the first sessions have up to PER_SESSION entries and later sessions usually one; entries far worse
        than the session's best entry are left out. If `per_session` is 0, the sessions have no entries, which is
        faster. With `copies`, sessions that only contain copies of entries in better sessions are kept too. A later
        call for more sessions reuses the entries that were read.
        """
        if self._known is None:
            self._known = self._by_guess()
        candidates = self._known
        unread = self._read(candidates, sessions, per_session)
        ranked = [each for each in candidates if each.was_read and self._judge(each)]
        ranked.sort(key=lambda each: (each.match, -each.score, -(each.summary.modified or 0), each.summary.path))
        if self._instead:
            ranked = _with_corrections(ranked)
        page = Page(self._searcher, self._terms, self._rarities)
        shown = page.sessions(ranked, sessions, per_session, copies=copies)
        is_cut = len(shown) >= sessions and (len(ranked) > len(shown) or not all(each.was_read for each in candidates))
        return Ranking(shown, self._instead, unread, is_cut)

    def more_in(self, summary: Summary, entries: int) -> RankedSession | None:
        """Return one session of the results with up to `entries` entries; None if it no longer matches.

        Call `rank` first.
        """
        rows = self._rows
        candidates = self._candidates([summary])
        for candidate in candidates:
            self._read_one(candidate, entries)
        # Restore the full-text rows of all sessions, which `rank` needs: `_candidates` kept only this session's rows.
        self._rows = rows
        ranked = [candidate for candidate in candidates if self._judge(candidate)]
        page = Page(self._searcher, self._terms, self._rarities)
        return next(iter(page.sessions(ranked, 1, entries, copies=True)), None)

    def _by_guess(self) -> list[MatchingSession]:
        """Return the sessions that contain terms of the query, most promising first; they are read in this order."""
        query, fitting = self._query, self._searcher.summaries
        if query.agents or query.projects or query.labels or query.names:
            fitting = [each for each in fitting if self._searcher.fits(query, each)]
        candidates = self._candidates(fitting)
        if not self._cancelled() and self._take_misspelt(candidates):
            candidates = self._candidates(fitting)
        self._rarities, self._worths = self._rarities_in(candidates, len(fitting)), {}
        known: dict[tuple[Weights, ...], tuple[float, int]] = {}
        for candidate in candidates:
            guess = known.get(candidate.expected)
            if guess is None:
                guess = known[candidate.expected] = self._guess(candidate.expected)
            candidate.guess, candidate.likely = guess
        # Sessions whose full-text rows allow the best match (`MATCHES`) come first, so that they are read first.
        candidates.sort(key=lambda each: (each.likely, -each.guess, -(each.summary.modified or 0), each.summary.path))
        return candidates

    # ---- candidates ----------------------------------------------------------------------------------------

    def _candidates(self, summaries: Sequence[Summary]) -> list[MatchingSession]:
        searcher = self._searcher
        rows = searcher.rows if not searcher.is_outdated() else {}
        by_file: dict[int, list[TermRow]] = {}
        if rows and searcher.words is not None:
            try:
                self._rows = TermRows(
                    searcher.words,
                    self._terms,
                    self._tools,
                    lambda: (row.row for each in summaries if (row := rows.get(each.path)) is not None),
                    self._cancelled,
                )
                by_file = self._rows.by_file
            except sqlite3.DatabaseError as error:
                searcher.words.damage = error if is_damage(error) else None
                rows = {}
        found: list[MatchingSession] = []
        titled = searcher.titles.having((*self._keys, *self._ids))
        for summary in summaries:
            row = rows.get(summary.path)
            is_streamed = row is None or (self._tools and not row.has_tools)
            is_titled = summary.path in titled
            if not (is_titled or is_streamed or (row is not None and row.row in by_file)):
                continue
            if self._cancelled():
                return []
            named = self._named(summary) if is_titled else self._nothing
            if row is None or is_streamed:
                candidate = MatchingSession(summary, None, [], named, [], was_read=True)
                candidate.found = list(self._in_states(candidate, self._judged(streamed_lines(summary))))
                if candidate.found or any(named):
                    candidate.expected = (named, *dict.fromkeys([each.evidence.weights for each in candidate.found]))
                    found.append(candidate)
            elif row.row in by_file or named is not self._nothing:
                term_rows = by_file.get(row.row, [])
                expected = (named, *dict.fromkeys([each.weights for each in term_rows]))
                found.append(MatchingSession(summary, row, term_rows, named, [], expected))
        return found

    def _take_misspelt(self, candidates: Sequence[MatchingSession]) -> bool:
        """Correct the words of the query that no session contains: search similar words, one letter different, instead.

        Return True if a word was corrected.
        """
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
            # The index is damaged, so words are taken from all session files instead.
            rows = {}
        for summary in searcher.summaries:
            texts = [summary.name or "", *summary.labels, summary.cwd]
            if summary.path not in rows:
                texts += [facts.text for _, facts in self._facts(streamed_lines(summary), ())]
            for text in texts:
                found.update(other for other in words_of(text) if is_misspelt(word, other))
        return tuple(sorted(found))

    def _named(self, summary: Summary) -> Weights:
        """Return how well each term matches the name, labels, directory and id of a session: 0 (missing) to 1."""
        own = (summary.id or "").lower()
        by_id = own.startswith(self._ids)
        query = self._query
        if query.is_about_entries or not is_in_time(query, summary.modified):
            return self._nothing
        text = "\n".join([summary.name or "", *summary.labels, *summary.cwd.split("/")[-2:]])
        evidence = evidence_in(self._optional, text, "name")
        weights = list(evidence.weights) if evidence is not None else [0.0] * len(self._terms)
        if by_id:
            for number, term in enumerate(self._terms):
                # A query splits an id at its hyphens into several words, so each part is compared.
                if own.startswith(term.text) or f"-{term.text}" in own:
                    weights[number] = EXACT_FORM
        return tuple(weights) if any(weights) else self._nothing

    def _rarities_in(self, candidates: Sequence[MatchingSession], sessions: int) -> list[float]:
        # A term that no session contains gets the rarity 0, because it cannot distinguish sessions.
        counts = [0] * len(self._terms)
        for candidate in candidates:
            for number, weight in enumerate(candidate.weights()):
                counts[number] += weight > 0
        for number, is_frequent in enumerate(self._rows.is_frequent if self._rows is not None else ()):
            if is_frequent:
                # Frequent terms were not searched in all sessions, so their number of sessions is estimated.
                counts[number] = max(counts[number], sessions // 3)
        return [math.log(1 + (sessions - count + 0.5) / (count + 0.5)) if count else 0.0 for count in counts]

    def _guess(self, expected: tuple[Weights, ...]) -> tuple[float, int]:
        """Estimate a session's relevance and best possible match (a position in `MATCHES`).

        `expected` says how well the terms match in the session's name, and in each of its full-text rows.
        """
        named, *rows = expected
        weights = combined(expected)
        best = max(map(self._worth, rows), default=0.0)
        score = (best + _SESSION_SHARE * self._worth(weights)) * self._share(weights)
        match = min(map(likely, expected))
        match = SOME if match == SESSION and min(weights) == 0 else match
        return score + _NAME_SHARE * self._worth(named), match

    def _worth(self, weights: Weights) -> float:
        known = self._worths.get(weights)
        if known is None:
            known = self._worths[weights] = worth(self._rarities, weights)
        return known

    def _share(self, weights: Sequence[float]) -> float:
        return self._worth(tuple([float(weight > 0) for weight in weights])) / (sum(self._rarities) or 1.0)

    # ---- reading -------------------------------------------------------------------------------------------

    def _read(self, candidates: Sequence[MatchingSession], sessions: int, per_session: int | None) -> int:
        """Read the most promising sessions until no other can come onto the page, or enough entries have been read.

        Return the number of unread sessions that might belong on the page.
        """
        room = max(READ_ENTRIES, sessions * (per_session or 1))
        read_of_one = max(READ_OF_ONE, per_session or 0)
        # A better match (`MATCHES`) comes first whatever its score, so reading stops when enough sessions are read that
        # match better than the unread sessions can.
        enough, by_class = LOOKED_AT * sessions, [0] * len(MATCHES)
        for number, candidate in enumerate(candidates):
            if self._cancelled() or sum(by_class[: min(candidate.likely, SESSION)]) >= enough:
                return 0
            if room <= 0:
                return sum(not each.was_read for each in candidates[number:])
            if not candidate.was_read:
                self._read_one(candidate, read_of_one)
                room -= len(candidate.found) if candidate.row is not None else 0
            if candidate.found and not self._instead:
                by_class[min(map(class_of, candidate.found))] += 1
        return 0

    def _read_one(self, candidate: MatchingSession, entries: int) -> None:
        candidate.was_read = True
        if candidate.row is not None and candidate.rows:
            candidate.found = self._entries(candidate, candidate.row, entries)
            if self._rows is not None and not self._is_filtered:
                frequent = self._rows.weights_in(candidate.row.row)
                candidate.elsewhere = combined((frequent, *candidate.expected))

    def _entries(self, candidate: MatchingSession, row: FileRow, limit: int) -> list[Found]:
        index = self._searcher.index
        assert index is not None
        found: dict[int, Found] = {}
        try:
            places = index.places(row)
            ordered = sorted(
                candidate.rows, key=lambda each: (likely(each.weights), -self._worth(each.weights), each.row)
            )
            best = SOME
            for each in ordered:
                # After `limit` entries, only the entries of full-text rows that may match better than all entries found
                # are read. Reading stops at `_MOST_OF_ONE` times `limit` entries.
                if len(found) >= limit and (likely(each.weights) >= best or len(found) >= limit * _MOST_OF_ONE):
                    break
                chosen = [entry for entry in each.rows.entries_of(row.row, [each.row]) if entry not in found]
                spots = [(entry, places.offsets[entry], places.sizes[entry]) for entry in chosen]
                for judged in self._in_states(candidate, self._judged(lines_at(candidate.summary.path, spots))):
                    found[judged.index] = judged
                    best = min(best, class_of(judged))
        except (ValueError, IndexError, sqlite3.Error):
            # The index is damaged or the file has changed, so the whole file is read.
            return list(self._in_states(candidate, self._judged(streamed_lines(candidate.summary))))
        return list(found.values())

    def _judged(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[Found]:
        for index, facts in self._facts(lines, self._line_keys):
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
        """Set the match (a position in `MATCHES`) and score of a session that was read; False if it is no result."""
        weights = candidate.weights()
        if not any(weights) or (self._query.is_about_entries and not candidate.found):
            return False
        if any(term.is_required and not weight for term, weight in zip(self._terms, weights, strict=True)):
            return False
        for each in candidate.found:
            each.score = score_of(each.evidence, self._rarities)
        candidate.found.sort(key=lambda each: (class_of(each), -each.score, -each.index))
        groups = [candidate.named, *(each.evidence.weights for each in candidate.found)]
        candidate.match = min([likely(group) for group in groups], default=SESSION)
        if candidate.match == SESSION and min(weights) == 0:
            candidate.match = SOME
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

    def _in_states(self, candidate: MatchingSession, found: Iterable[Found]) -> Iterable[Found]:
        """Return the found entries whose state and labels fit the filters of the query."""
        query = self._query
        if not (query.labels or query.states):
            return found
        tree = self._searcher.trees.tree(candidate.summary)
        if tree is None:
            return []
        marks: dict[int, list[str]] = {}
        for label in self._searcher.trees.labels(candidate.summary) if query.labels else ():
            marks.setdefault(label.index, []).append(literal(label.text))
        return [
            each
            for each in found
            if not query.states or tree.state(each.index) in query.states
            if not query.labels or any(w in mark for mark in marks.get(each.index, ()) for w in query.labels)
        ]


def _with_corrections(ranked: list[MatchingSession]) -> list[MatchingSession]:
    """Return the sessions found for a query with corrected words.

    These are the sessions with a corrected word, and other sessions only if their score is higher.
    """
    best = max((each.score for each in ranked if each.match == TYPO), default=0.0)
    return [each for each in ranked if each.match == TYPO or each.score > best]
