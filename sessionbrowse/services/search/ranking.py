"""Rank sessions by their relevance for a query; words in different entries of a session count together.

The index returns the entries that are best for the query's words. The most promising ones are read, at most
`MOST_ENTRIES`, and sessions are ranked by the text of these entries. Files that are not indexed are read completely.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.entry_facts import EntryFacts, facts_of, fits_facts, is_in_time
from sessionbrowse.model.search.entry_text import ROLES
from sessionbrowse.model.search.query import SearchQuery, has_excluded, in_parts, may_hold
from sessionbrowse.model.search.relevance import Term, evidence_in, keys_of, score_of, terms_of
from sessionbrowse.model.search.words import BEGINNING, EXACT
from sessionbrowse.services.search.entry_lines import lines_at, streamed_lines
from sessionbrowse.services.search.ranked_page import (
    FORMS,
    SESSION,
    SOME,
    TYPO,
    USUAL_PAGE,
    Found,
    MatchingSession,
    Page,
    RankedSession,
    Ranking,
    Weights,
    class_of,
    likely,
    place_of,
    worth,
)
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.services.search.text_index import Question, misspelt
from sessionbrowse.store.index.text_reader import idf

ASKED, ASKED_FILTERED, ASKED_TOGETHER = 100, 400, 30
"""Numbers of entries requested from the index: usually, if filters drop many, and of those that contain all terms."""
FIRST_OF_ONE, FIRST_ENTRIES = 2, 60
"""First, `FIRST_OF_ONE` entries of each promising session are read, until `FIRST_ENTRIES` are read in total."""
BEST_SESSIONS, MORE_OF_ONE = 15, 8
"""Then `MORE_OF_ONE` further entries are read of each of the `BEST_SESSIONS` best sessions."""
MOST_ENTRIES = 600
"""Maximum number of entries that are read if filters or phrases drop so many that more must be read."""
MOST_FILES = 1000
"""Maximum number of files that a question to the index names; with more, answers for other files are dropped later."""
HALF_LIFE_DAYS = 30.0
LEAST_NEARLY = 5
"""Words of at least this length are also searched with one letter changed, even if texts contain the word as typed."""
FEW, MISTAKEN_SHARE, MOST_MISTAKEN = 20, 0.02, 200
"""Such a word may occur in this share of all entries: at least in `FEW`, at most in `MOST_MISTAKEN` entries."""
_USER_FACTOR, _USER = 1.3, ROLES.index("user")
_SESSION_SHARE, _SECOND_SHARE, _NAME_SHARE = 0.4, 0.15, 0.5
_AGE_SHARE = 0.12
_LEAST_SHARE = 0.2
"""A session is a result if it contains at least this share of the query's terms, weighted by rarity."""
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
        # If the query filters entries, words in an entry that was not read do not count: it may be filtered out.
        self._is_filtered = bool(
            query.is_about_entries or query.excluded or query.after_ms is not None or query.before_ms is not None
        )
        self._now = time.time() * 1000 if now_ms is None else now_ms
        self._half_life = half_life_days
        self._cancelled = cancelled
        self._files = searcher.asked(self._tools)
        self._rows = self._files.rows
        self._terms: list[Term] = []
        self._question: Question | None = None
        self._rarities: list[float] = []
        self._instead: dict[str, tuple[str, ...]] = {}
        self._whole: tuple[str, ...] = ()
        """The identifiers of the query whose parts are searched instead."""
        self._nowhere: tuple[str, ...] = ()
        self._by_file: Mapping[int, Summary] = {}
        self._known: dict[str, MatchingSession] = {}
        self._titled: list[MatchingSession] = []
        """The sessions whose name, labels, directory or id have a term of the query; sorted by the key `_guess`."""
        self._is_begun = self._is_near = False
        self._asked = self._documents = 0
        self._is_all = False

    def _set_terms(self, terms: list[Term]) -> None:
        self._terms = terms
        self._keys = keys_of(terms)
        self._line_keys = [key.encode("utf-8", "surrogatepass") for key in self._keys]
        self._names = SessionNames(self._query, terms)
        self._nothing: Weights = (0.0,) * len(terms)
        if self._searcher.words is not None and self._rows:
            self._question = self._searcher.words.ask(terms, self._tools)

    def rank(self, sessions: int, per_session: int | None = None, *, copies: bool = False) -> Ranking:
        """Return the best sessions, each with at most `per_session` of its best entries.

        By default, the first sessions have up to PER_SESSION entries and later sessions usually one; entries far worse
        than the session's best entry are left out. If `per_session` is 0, the sessions have no entries. With `copies`,
        sessions that only contain copies of entries in better sessions are kept too.
        """
        try:
            return self._rank(sessions, per_session, copies=copies)
        except sqlite3.DatabaseError as error:
            # The index is damaged, so all files are read.
            if self._searcher.words is not None:
                self._searcher.words.note_damage(error)
            self._question, self._rows, self._is_begun = None, {}, False
            return self._rank(sessions, per_session, copies=copies)

    def _rank(self, sessions: int, per_session: int | None, *, copies: bool) -> Ranking:
        if not self._is_begun:
            self._begin()
        wanted = max(sessions, USUAL_PAGE)
        most, room, of_one = ASKED, FIRST_ENTRIES, FIRST_OF_ONE
        if sessions > USUAL_PAGE:
            most, room = 4 * sessions, 2 * sessions
        is_choosy = self._is_filtered or any(term.is_required for term in self._terms)
        while True:
            self._ask(most)
            self._read(room, of_one, 2 * wanted)
            ranked = self._ranked(4 * wanted)
            read = sum(len(each.read) for each in self._known.values())
            is_left = not self._is_all or any(each.hits.keys() - each.read for each in self._known.values() if each.row)
            if not (is_choosy and is_left) or len(ranked) >= wanted or read >= MOST_ENTRIES or self._cancelled():
                break
            most, room, of_one = most * 2, room * 2, of_one * 2
        if all(each.match > FORMS for each in ranked) and self._take_nearly_right():
            ranked = self._ranked(4 * wanted)
        if per_session is not None and per_session > FIRST_OF_ONE:
            for each in ranked[:sessions]:
                self._read_alone(each, per_session)
            ranked = self._ranked(4 * wanted)
        if not ranked and (apart := in_parts(self._query)) is not None:
            self._whole = tuple([word for word in self._query.words if word not in apart.words])
            self._query, self._instead, self._asked, self._is_begun, self._is_near = apart, {}, 0, False, False
            return self._rank(sessions, per_session, copies=copies)
        shown = self._page().sessions(ranked, sessions, per_session, copies=copies)
        unread = sum(not each.read and bool(each.hits) for each in self._known.values())
        is_cut = len(shown) >= sessions and (len(ranked) > len(shown) or unread > 0 or not self._is_all)
        return Ranking(shown, self._instead, unread, is_cut, (*self._whole, *self._nowhere))

    def more_in(self, summary: Summary, entries: int) -> RankedSession | None:
        """Return one session of the results with up to `entries` entries; None if it no longer matches.

        Call `rank` first.
        """
        candidate = self._known.get(summary.path)
        if candidate is None:
            return None
        with suppress(sqlite3.DatabaseError):
            self._read_alone(candidate, entries)
        ranked = [candidate] if self._judge(candidate) else []
        return next(iter(self._page().sessions(ranked, 1, entries, copies=True)), None)

    def _page(self) -> Page:
        return Page(self._searcher, self._terms, self._rarities)

    # ---- candidates ----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Look through the names of all sessions and the files that are not indexed, and rate the query's terms."""
        self._set_terms(terms_of(self._query))
        self._is_begun = True
        self._begin_with()
        if not self._cancelled() and self._take_misspelt():
            self._begin_with()

    def _begin_with(self) -> None:
        self._known = {}
        self._by_file = self._files.by_file if self._question is not None else {}
        if self._query.selects_sessions:
            self._by_file = {at: one for at, one in self._by_file.items() if self._searcher.fits(self._query, one)}
        titled = {each.path: each for each in self._searcher.titles.having((*self._keys, *self._names.ids))}
        others = self._files.others if self._question is not None else self._searcher.summaries
        counts = self._question.counts.copy() if self._question is not None else [0] * len(self._terms)
        self._documents = self._question.documents if self._question is not None else 0
        # Sessions that are indexed and have no term in their name, as most, are left out of the loop.
        for summary in [*titled.values(), *[each for each in others if each.path not in titled]]:
            if self._cancelled():
                break
            if not self._searcher.fits(self._query, summary):
                continue
            named = self._names.weights(summary) if summary.path in titled else self._nothing
            candidate = MatchingSession(summary, self._rows.get(summary.path), named)
            if candidate.row is None:
                self._documents += summary.message_count
                candidate.found = list(self._judged(summary, streamed_lines(summary)))
            if candidate.found or any(named):
                self._known[summary.path] = candidate
                self._documents += any(named)
                for weights in (named, *(each.evidence.weights for each in candidate.found)):
                    for number, weight in enumerate(weights):
                        counts[number] += weight > 0
        self._counts = counts
        self._rarities = [idf(self._documents, count) if count else 0.0 for count in counts]
        self._titled = sorted([each for each in self._known.values() if any(each.named)], key=self._guess)

    def _ask(self, most: int) -> None:
        """Add the sessions of the best `most` entries to the candidates."""
        question = self._question
        if question is None or most <= self._asked:
            self._is_all = question is None or self._is_all
            return
        self._asked = most
        only = self._by_file if len(self._by_file) <= MOST_FILES else None
        is_partial = only is None and len(self._by_file) < len(self._rows)
        wanted = self._query.indexed_roles
        roles = [number for number, role in enumerate(ROLES) if role.lower().startswith(wanted)] if wanted else None
        hits = question.best(max(most, ASKED_FILTERED) if is_partial else most, files=only, roles=roles)
        self._is_all = len(hits) < most
        self._take(hits)
        if len(self._terms) > 1:
            together = question.best(max(ASKED_TOGETHER, most // 3), every=True, files=only, roles=roles)
            self._take(together, is_complete=True)
            if len(together) < ASKED_TOGETHER and not self._is_filtered:
                self._take_apart(question)

    def _take_apart(self, question: Question) -> None:
        """Add the sessions that contain all terms, but in different entries, to the candidates."""
        numbers = [number for number, rarity in enumerate(self._rarities) if rarity and question.counts[number]]
        files = set(self._by_file) if len(numbers) > 1 else set()
        for number in sorted(numbers, key=lambda number: question.counts[number]):
            files &= question.files_with(number, files if len(files) <= MOST_FILES else None)
        if files and len(files) <= MOST_FILES:
            self._take(question.best(ASKED, files=files), is_complete=True)

    def _take(self, hits: Iterable[tuple[float, int, tuple[int, int]]], *, is_complete: bool = False) -> None:
        """Add the sessions of entries that the index has found to the candidates."""
        for score, role, (file, entry) in hits:
            summary = self._by_file.get(file)
            if summary is not None:
                new = MatchingSession(summary, self._rows[summary.path], self._nothing)
                each = self._known.setdefault(summary.path, new)
                factor = _USER_FACTOR if role == _USER else 1.0
                each.hits[entry] = max(each.hits.get(entry, 0.0), score * factor)
                each.is_complete = each.is_complete or is_complete

    def _guess(self, candidate: MatchingSession) -> tuple[float, float, str]:
        """Return the sort key by which candidates are read, the most promising first."""
        best, second = [*sorted(candidate.hits.values(), reverse=True)[:2], 0.0, 0.0][:2]
        guess = best + _SECOND_SHARE * second + _NAME_SHARE * worth(self._rarities, candidate.named)
        return -guess, -(candidate.summary.modified or 0), candidate.summary.path

    def _take_misspelt(self) -> bool:
        """Correct the words of the query that no session contains: search similar words, one letter different, instead.

        Return True if a word was corrected. Words for which nothing is found are kept in `_nowhere`.
        """
        terms = list(self._terms)
        nowhere: list[str] = []
        for number, term in enumerate(terms):
            if self._rarities[number] or not term.tokens():
                continue
            others = misspelt(term, self._question, self._texts()) if term.is_word else ()
            if others:
                self._instead[term.text] = others
                terms[number] = replace(term, instead=others)
            else:
                nowhere.append(term.run or term.text)
        self._nowhere = tuple(dict.fromkeys(nowhere))
        if self._instead:
            self._set_terms(terms)
        return bool(self._instead)

    def _take_nearly_right(self) -> bool:
        """Accept words with one letter changed too, and read the entries that then contain all terms.

        Return False if the index has no such words. A mistyped word can occur in other texts. So this is tried if no
        entry contains all terms as typed.
        """
        if self._is_near:
            return False
        self._is_near = True
        most = max(FEW, min(MOST_MISTAKEN, MISTAKEN_SHARE * self._documents))
        said = [each.facts.text for one in self._known.values() if one.row is None for each in one.found]
        terms = [
            replace(term, instead=misspelt(term, self._question, said))
            if term.is_word and not term.instead and len(term.text) >= LEAST_NEARLY and count <= most
            else term
            for term, count in zip(self._terms, self._counts, strict=True)
        ]
        if terms == self._terms:
            return False
        self._terms, self._line_keys = terms, [key.encode("utf-8", "surrogatepass") for key in keys_of(terms)]
        nearly = {path: each for path, each in self._known.items() if each.row is None}
        if self._question is not None and self._searcher.words is not None:
            files = self._by_file if len(self._by_file) <= MOST_FILES else None
            question = self._searcher.words.ask(terms, self._tools)
            hits = question.best(ASKED_TOGETHER, every=len(terms) > 1, files=files)
            self._take(hits, is_complete=True)
            paths = [self._by_file[file].path for _, _, (file, _) in hits if file in self._by_file]
            nearly |= {path: self._known[path] for path in paths}
        for candidate in nearly.values():
            for each in candidate.found:
                each.evidence = evidence_in(terms, each.facts.text, each.facts.role, each.facts.said) or each.evidence
            self._read_entries(candidate, len(candidate.read) + FIRST_OF_ONE)
        return True

    def _texts(self) -> Iterator[str]:
        """Yield the names of all sessions, and the texts of those that are not indexed."""
        yield self._searcher.name_words
        for summary in self._searcher.summaries if self._question is None else self._files.others:
            yield from (facts.text for _, facts in self._facts(streamed_lines(summary), ()))

    # ---- reading -------------------------------------------------------------------------------------------

    def _read(self, room: int, of_one: int, most: int) -> None:
        """Read the best entries of the most promising sessions, then more of those that turn out to be the best."""
        candidates = sorted([each for each in self._known.values() if each.hits], key=self._guess)
        read = sum(len(each.read) for each in candidates)
        for candidate in candidates:
            if read >= room or self._cancelled():
                break
            read += self._read_entries(candidate, of_one)
        # Without this, a session with all words could rank below one that lacks a word, because it was not read.
        complete = [each for each in candidates if each.is_complete and not each.read]
        for candidate in complete[: room // 2]:
            self._read_entries(candidate, 1)
        self._look_elsewhere(most)
        best = [each for each in self._ranked(most) if each.row is not None][:BEST_SESSIONS]
        files = [each.row.row for each in best if each.row is not None]
        if self._question is not None and files:
            self._take(self._question.best(BEST_SESSIONS * MORE_OF_ONE, files=files))
        for candidate in best:
            self._read_entries(candidate, of_one + MORE_OF_ONE)

    def _read_alone(self, candidate: MatchingSession, entries: int) -> None:
        """Read up to `entries` of the best entries of one session."""
        if self._question is not None and candidate.row is not None:
            self._take(self._question.best(entries, files=[candidate.row.row]))
        self._read_entries(candidate, entries)

    def _read_entries(self, candidate: MatchingSession, most: int) -> int:
        """Read the best entries of a session, until `most` of them are read; return the number of those just read.

        If none of them matches, as where the engine takes `test_login` for two words, the next ones are read too.
        """
        index, row = self._searcher.index, candidate.row
        best = sorted(candidate.hits.keys() - candidate.read, key=lambda entry: (-candidate.hits[entry], entry))
        chosen = sorted(best[: max(0, most - len(candidate.read))])
        if row is None or index is None or not chosen:
            return 0
        candidate.read.update(chosen)
        try:
            places = candidate.places = candidate.places or index.entries(row)
            lines = lines_at(candidate.summary.path, [(entry, *places.place(entry)) for entry in chosen])
            candidate.found += self._judged(candidate.summary, lines)
        except (ValueError, IndexError, sqlite3.Error):
            # The index is damaged or the file has changed, so the whole file is read.
            candidate.found = list(self._judged(candidate.summary, streamed_lines(candidate.summary)))
            candidate.row = None
        more = self._read_entries(candidate, len(candidate.read) + FIRST_OF_ONE) if not candidate.found else 0
        return len(chosen) + more

    def _look_elsewhere(self, most: int) -> None:
        """Look up in the index which terms the promising sessions contain in entries that were not read."""
        question = self._question
        if question is None or self._is_filtered or len(self._terms) < 2:
            return
        by_file = {each.row.row: each for each in self._promising(most) if each.row is not None}
        elsewhere = {file: list(self._nothing) for file in by_file}
        for number, rarity in enumerate(self._rarities):
            lacking = [file for file, each in by_file.items() if rarity and not each.weights()[number]]
            for file in question.files_with(number, lacking) if lacking else ():
                elsewhere[file][number] = BEGINNING
        for file, weights in elsewhere.items():
            by_file[file].elsewhere = tuple(map(max, weights, by_file[file].elsewhere or self._nothing))

    def _judged(self, summary: Summary, lines: Iterator[tuple[int, bytes]]) -> Iterator[Found]:
        for index, facts in self._facts(lines, self._line_keys):
            evidence = evidence_in(self._terms, facts.text, facts.role, facts.said)
            if evidence is not None and self._searcher.fits_entry(self._query, summary, index):
                yield Found(index, facts, evidence)

    def _facts(self, lines: Iterator[tuple[int, bytes]], keys: Sequence[bytes]) -> Iterator[tuple[int, EntryFacts]]:
        for index, raw in lines:
            if self._cancelled():
                return
            facts = facts_of(raw, tools=self._tools) if not keys or may_hold(keys, raw) else None
            if facts is not None and facts.text and fits_facts(self._query, facts):
                yield index, facts

    # ---- the order of answers ------------------------------------------------------------------------------

    def _promising(self, most: int) -> list[MatchingSession]:
        """Return the `most` most promising sessions, then the others in which an entry was found."""
        # `_titled` has thousands of sessions if the names of many directories contain a word: sort only some of them.
        named = [each for each in self._titled if not (each.hits or each.found)][:most]
        likely = [each for each in self._known.values() if each.hits or each.found]
        candidates = sorted([*likely, *named], key=self._guess)
        return [*candidates[:most], *[each for each in candidates[most:] if each.found]]

    def _ranked(self, most: int) -> list[MatchingSession]:
        """Return the sessions that are results, among the `most` most promising ones, in their order."""
        ranked = [each for each in self._promising(most) if (not each.hits or each.read) and self._judge(each)]
        ranked.sort(key=place_of)
        # If a word was corrected, a session without the correction is a result only if its score is higher than that
        # of every session with the correction.
        best = max((each.score for each in ranked if each.match == TYPO), default=0.0)
        return [each for each in ranked if each.match == TYPO or each.score > best] if self._instead else ranked

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
        if any(weight and term.text in self._instead for term, weight in zip(self._terms, weights, strict=True)):
            candidate.match = TYPO
        share = worth(self._rarities, tuple([float(weight > 0) for weight in weights])) / (sum(self._rarities) or 1.0)
        if share < _LEAST_SHARE:
            return False
        scores = [*sorted((each.score for each in candidate.found), reverse=True)[:2], 0.0, 0.0]
        score = (scores[0] + _SECOND_SHARE * scores[1] + _SESSION_SHARE * worth(self._rarities, weights)) * share
        score += _NAME_SHARE * worth(self._rarities, candidate.named)
        age = max(0.0, self._now - (candidate.summary.modified or 0)) / _DAY_MS / self._half_life
        candidate.score = score * (1 + _AGE_SHARE * 2.0 ** -min(age, 1000))
        return True


_LEAST_ID = 4


class SessionNames:
    """The weights of a query's terms in the names of sessions; each text is judged once."""

    def __init__(self, query: SearchQuery, terms: Sequence[Term]) -> None:
        self.ids = tuple([term.text for term in terms if len(term.text) >= _LEAST_ID])
        """The terms that may be the beginning of a session's id."""
        self._query = query
        # A session's name need not contain the query's quoted phrases, because an entry may contain them.
        self._terms = [replace(term, is_required=False) for term in terms]
        self._nothing = (0.0,) * len(terms)
        self._known: dict[tuple[str | None, ...], tuple[float, ...]] = {}

    def weights(self, summary: Summary) -> tuple[float, ...]:
        """Return how well each term matches the name, labels, directory and id of a session: 0 (missing) to 1."""
        query, own = self._query, (summary.id or "").lower()
        if query.is_about_entries or not is_in_time(query, summary.modified):
            return self._nothing
        names = (summary.name, summary.cwd, *summary.labels)
        known = self._known.get(names)
        if known is None:
            text = "\n".join([summary.name or "", *summary.labels, *summary.cwd.split("/")[-2:]])
            evidence = evidence_in(self._terms, text, "name") if not has_excluded(query, text) else None
            known = self._known[names] = evidence.weights if evidence is not None else self._nothing
        if not own.startswith(self.ids):
            return known
        # A query splits an id at its hyphens into several words, so each part is compared.
        return tuple(
            [
                EXACT if own.startswith(term.text) or f"-{term.text}" in own else weight
                for term, weight in zip(self._terms, known, strict=True)
            ]
        )
