"""Search all sessions: first their names and labels, then their texts, newest session first.

In an indexed file, the index finds candidate entries by the words of the query, and only the lines of these entries are
read. A file that is not indexed, or has changed since, is read completely. Both ways find the same entries.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.listing.title_search import Titles
from sessionbrowse.model.search.entry_facts import EntryFacts, facts_of, fits_facts, is_in_time
from sessionbrowse.model.search.patterns import FindFirst, MatchSpan, first_spans
from sessionbrowse.model.search.query import SearchQuery, has_words, is_as_typed, may_be_in, snippet, word_spans
from sessionbrowse.model.search.words import literal, words_of
from sessionbrowse.services.list.gather import Snapshot
from sessionbrowse.services.search.entry_lines import lines_at, streamed_lines
from sessionbrowse.services.search.hits import (
    DONE_ROLE,
    LABEL_SCORE,
    NAME_SCORE,
    NEAR_SCORE,
    TEXT_SCORE,
    Hit,
    entry_hit,
    recent_score,
)
from sessionbrowse.services.search.session_filters import SessionFilters, fits
from sessionbrowse.services.search.session_trees import SessionTreeCache
from sessionbrowse.services.search.text_index import TextIndex, why_no_engine
from sessionbrowse.store.index.index import Index
from sessionbrowse.store.index.rows import FileRow, StoredEntries

PATTERN_TEXTS, PATTERN_CHARACTERS = 100, 200_000
"""Limits of a batch of texts for the process that matches regular expressions; sending a batch takes 0.1 ms."""

Cancelled = Callable[[], bool]
LookedAt = Callable[[int], object]
T = TypeVar("T")
WordMatches = Iterable[tuple[T, str, list[MatchSpan]]]
"""Items that match the words of a query, as tuples: (item, text of the item, positions of the words in the text)."""


class AskedFiles(Struct, frozen=True):
    """The files whose texts the index can search (rows by path, sessions by file id), and all other sessions."""

    rows: Mapping[str, FileRow]
    by_file: Mapping[int, Summary]
    others: Sequence[Summary]


class Searcher:
    """Searches a fixed set of sessions (a `Snapshot`); without an index, every search reads all files.

    Caches are kept between searches, and are taken over from `before`, the searcher of an earlier snapshot.
    `find_first` matches the regular expression of a query.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        index: Index | None = None,
        before: Searcher | None = None,
        *,
        find_first: FindFirst = first_spans,
    ) -> None:
        self.index = index
        self._find_first = find_first
        self.words = TextIndex(index) if index is not None and why_no_engine(index) is None else None
        self.rows = snapshot.rows if self.words is not None else {}
        self._generation = snapshot.generation
        self.summaries = snapshot.summaries
        self._filters = SessionFilters(self.summaries)
        self.trees: SessionTreeCache = SessionTreeCache(before.trees if before else None)
        self.titles = Titles(self.summaries, lambda: self._newest)
        self._snapshot = snapshot
        self._known: dict[bool, AskedFiles] = {}

    def asked(self, tools: bool) -> AskedFiles:
        """Return the files whose texts the index can search; the other files must be read."""
        if self.words is None or self.is_outdated():
            return AskedFiles({}, {}, self.summaries)
        if tools not in self._known:
            try:
                files = self.words.files(tools)
            except sqlite3.DatabaseError as error:
                self.words.note_damage(error)
                return AskedFiles({}, {}, self.summaries)
            rows = {path: row for path, row in self.rows.items() if row.row in files and (row.has_tools or not tools)}
            by_file = {row.row: each for each in self.summaries if (row := rows.get(each.path)) is not None}
            self._known[tools] = AskedFiles(rows, by_file, [each for each in self.summaries if each.path not in rows])
        return self._known[tools]

    @cached_property
    def name_words(self) -> str:
        """The different words of all names, labels and directories, each in a line."""
        texts = [" ".join([each.name or "", *each.labels, each.cwd]) for each in self.summaries]
        return "\n".join(sorted({word for text in texts for word in words_of(text)}))

    def rest(self) -> None:
        """Close the text directories of the index; the next search opens their newest version."""
        if self.words is not None:
            self.words.close()
        self._known.clear()

    def is_outdated(self) -> bool:
        """Return True if the index was rebuilt since the sessions were listed, so that their index rows are invalid."""
        return is_outdated(self.index, self._generation)

    def summary(self, path: str) -> Summary | None:
        """Return the summary of the session with a given path, None if the searcher does not cover it."""
        return self._by_path.get(path)

    def fits(self, query: SearchQuery, summary: Summary) -> bool:
        """Return True if a session fits the query's agent, project, label and name filters."""
        return self._filters.fits(query, summary)

    def fits_entry(self, query: SearchQuery, summary: Summary, index: int) -> bool:
        """Return True if the state and the labels of an entry fit the query's filters."""
        if query.states:
            outline = self.trees.outline(summary)
            if outline is None or outline.state(index) not in query.states:
                return False
        marks = self.trees.labels(summary) if query.labels else []
        own = [literal(mark.label) for mark in marks if mark.entry_index == index]
        return not query.labels or any(wanted in label for label in own for wanted in query.labels)

    def unmatched(self, query: SearchQuery) -> list[str]:
        """Return a sentence for each filter value without a match, with the known value that may be meant."""
        return self._filters.unmatched(query)

    @cached_property
    def _newest(self) -> Sequence[Summary]:
        """The sessions, newest first; a ranked search does not sort them."""
        return sorted(self.summaries, key=lambda summary: (-(summary.modified or 0), summary.path))

    @cached_property
    def _by_path(self) -> dict[str, Summary]:
        return {summary.path: summary for summary in self.summaries}

    def limited(self, holds: Callable[[Summary], bool]) -> Searcher:
        """Return a searcher of only the sessions for which `holds` returns True."""
        snapshot = replace(self._snapshot, summaries=[each for each in self.summaries if holds(each)])
        limited = Searcher(snapshot, self.index, self, find_first=self._find_first)
        limited.words = self.words
        return limited

    def find(
        self,
        query: SearchQuery,
        *,
        tools: bool = False,
        cancelled: Cancelled = lambda: False,
        wait_for_labels: bool = True,
        looked_at: LookedAt = lambda count: None,
    ) -> Iterator[Hit]:
        """Yield hits in names and labels, then in texts of the newest sessions first, until `cancelled` returns True.

        With `tools` or a `tool:` filter, tool calls and results are searched too. If `wait_for_labels` is False, only
        labels in the cache are searched. `looked_at` is called with the number of sessions searched so far.
        """
        found: set[str] = set()
        entries: set[tuple[str, int | None]] = set()
        for hit in self._sure(query, tools or bool(query.tools), cancelled, wait_for_labels, looked_at):
            found.add(hit.path)
            if query.is_about_labels:
                entries.add((hit.path, hit.entry_index))
            yield hit
        if query.is_about_labels:
            # Labels may also be at entries without text.
            yield from (hit for hit in self.checkpoints(query, cancelled) if (hit.path, hit.entry_index) not in entries)
        if query.has_text and not query.is_about_entries:
            # Sessions that match only by their title, and only with typing mistakes, are yielded last.
            for summary in self.titles.near(query, cancelled):
                if summary.path not in found and self.fits(query, summary) and is_in_time(query, summary.modified):
                    yield _named_hit(summary, self.titles.title(summary), [], NEAR_SCORE, "typo")

    def _sure(
        self, query: SearchQuery, tools: bool, cancelled: Cancelled, wait_for_labels: bool, looked_at: LookedAt
    ) -> Iterator[Hit]:
        """Yield the hits of `find` but those with typing mistakes."""
        if query.is_empty:
            return
        if query.has_text and not query.is_about_entries:
            yield from self._named(query, cancelled)
            for summary in self._newest:
                if cancelled():
                    return
                if (
                    summary.labels
                    and self.fits(query, summary)
                    and (wait_for_labels or self.trees.knows_labels(summary))
                ):
                    yield from self._labels(query, summary, cancelled)
        rows = self.asked(tools and query.has_text).rows
        candidates = self.words.every(query, tools) if rows and self.words is not None else None
        if candidates is None:
            # A query without words that the index can look up reads all files.
            rows = {}
        for number, summary in enumerate(self._newest):
            if cancelled():
                return
            looked_at(number)
            if not self.fits(query, summary):
                continue
            row = rows.get(summary.path)
            if row is None:
                yield from self._streamed(query, summary, tools, cancelled)
            elif candidates is not None and row.row in candidates:
                yield from self._by_index(query, summary, row, candidates[row.row], tools, cancelled)

    def paths_of(self, query: SearchQuery, cancelled: Cancelled = lambda: False) -> list[str]:
        """Return the paths of the sessions with a hit, then of sessions whose directory or id matches the query.

        Matches with typing mistakes do not count.
        """
        found = [hit.path for hit in self.find(query, cancelled=cancelled) if hit.match != "typo"]
        if query.has_text and not query.is_about_entries:
            texts: WordMatches[Summary] = (
                (summary, text, [])
                for summary in self._newest
                if self.fits(query, summary) and is_in_time(query, summary.modified)
                for text in (summary.cwd, summary.id or "")
                if has_words(query, text)
            )
            found += [summary.path for summary, _ in self._matching(query, texts, cancelled)]
        return list(dict.fromkeys(found))

    def _matching(
        self, query: SearchQuery, matches: WordMatches[T], cancelled: Cancelled
    ) -> Iterator[tuple[T, list[MatchSpan]]]:
        """Yield those items whose text also matches the query's regular expression, with the positions of matches."""
        if query.pattern is None:
            yield from ((value, spans) for value, _, spans in matches)
            return
        for batch in _batches(matches):
            firsts = self._find_first(query.pattern, [text for _, text, _ in batch], cancelled)
            for (value, _, spans), first in zip(batch, firsts, strict=True):
                if first is not None:
                    yield value, sorted({*spans, first})

    # ---- names and labels ----------------------------------------------------------------------------------

    def _named(self, query: SearchQuery, cancelled: Cancelled) -> Iterator[Hit]:
        named = ((summary, summary.name or "", spans) for summary, spans in self.titles.named(query))
        for summary, spans in self._matching(query, named, cancelled):
            if cancelled():
                return
            if self.fits(query, summary) and is_in_time(query, summary.modified):
                yield _named_hit(summary, summary.name or "", spans, NAME_SCORE, _match(query, summary.name or ""))

    def _labels(self, query: SearchQuery, summary: Summary, cancelled: Cancelled) -> Iterator[Hit]:
        texts = [text for text in summary.labels if has_words(query, text)]
        if not any(True for _ in self._matching(query, [(text, text, []) for text in texts], cancelled)):
            # No label of this session matches, so its file need not be read for the labelled entries.
            return
        labels = [
            (label, label.label, spans)
            for label in self.trees.labels(summary)
            if (spans := word_spans(query, label.label)) is not None
            and is_in_time(query, label.entry_ms if label.entry_ms is not None else summary.modified)
        ]
        for label, spans in self._matching(query, labels, cancelled):
            shown, score = snippet(label.label, spans), recent_score(summary, LABEL_SCORE)
            match, moment = _match(query, label.label), label.entry_ms
            yield entry_hit(
                summary, label.entry_index, label.entry_id, "label", label.state, shown, score, moment, match
            )

    def checkpoints(self, query: SearchQuery, cancelled: Cancelled) -> Iterator[Hit]:
        """Yield a hit for each label that fits a query without text, newest session first."""
        for summary in self._newest:
            if cancelled():
                return
            if not summary.labels or not self.fits(query, summary):
                continue
            for mark in self.trees.labels(summary):
                if fits(query, mark):
                    shown = snippet(f"{mark.label}  {mark.preview}", [(0, len(mark.label))])
                    at = (mark.entry_index, mark.entry_id, "label", mark.state)
                    yield entry_hit(summary, *at, shown, recent_score(summary, TEXT_SCORE), mark.time_ms)

    # ---- text ----------------------------------------------------------------------------------------------

    def _by_index(
        self, query: SearchQuery, summary: Summary, row: FileRow, chosen: list[int], tools: bool, cancelled: Cancelled
    ) -> Iterator[Hit]:
        assert self.index is not None
        given: set[int | None] = set()
        try:
            places = self.index.entries(row)
            lines = lines_at(summary.path, [(i, *places.place(i)) for i in reversed(chosen)])
            for hit in self._in_lines(query, summary, lines, tools, cancelled, (row, places)):
                given.add(hit.entry_index)
                yield hit
        except (ValueError, IndexError, sqlite3.Error):
            # The index is damaged or the file has changed, so the whole file is read.
            for hit in self._streamed(query, summary, tools, cancelled):
                if hit.entry_index not in given:
                    yield hit

    def _streamed(self, query: SearchQuery, summary: Summary, tools: bool, cancelled: Cancelled) -> Iterator[Hit]:
        hits = list(self._in_lines(query, summary, streamed_lines(summary), tools, cancelled))
        yield from reversed(hits)

    def _in_lines(
        self,
        query: SearchQuery,
        summary: Summary,
        lines: Iterable[tuple[int, bytes]],
        tools: bool,
        cancelled: Cancelled,
        indexed: tuple[FileRow, StoredEntries] | None = None,
    ) -> Iterator[Hit]:
        found = _lines_with_words(query, lines, tools, cancelled)
        for (index, facts), spans in self._matching(query, found, cancelled):
            if self.fits_entry(query, summary, index):
                outline = self.trees.outline(summary, indexed)
                entry_id, state = (outline.entry_id(index), outline.state(index)) if outline else (None, "active")
                role = DONE_ROLE if spans and spans[0][0] >= facts.said else facts.role
                shown, score = snippet(facts.text, spans), recent_score(summary, TEXT_SCORE)
                match = _match(query, facts.text)
                yield entry_hit(summary, index, entry_id, role, state, shown, score, facts.time_ms, match)


def _lines_with_words(
    query: SearchQuery, lines: Iterable[tuple[int, bytes]], tools: bool, cancelled: Cancelled
) -> WordMatches[tuple[int, EntryFacts]]:
    """Yield the entries in some lines that fit the filters and contain all words and phrases of a query."""
    for index, raw in lines:
        if cancelled():
            return
        facts = facts_of(raw, tools=tools) if may_be_in(query, raw) else None
        if facts is None or not facts.text or not fits_facts(query, facts):
            continue
        spans = word_spans(query, facts.text)
        if spans is not None:
            yield (index, facts), facts.text, spans


def _named_hit(summary: Summary, title: str, spans: list[MatchSpan], score: float, match: str) -> Hit:
    shown, score = snippet(title, spans), recent_score(summary, score)
    return entry_hit(summary, None, None, "name", "active", shown, score, summary.modified, match)


def _match(query: SearchQuery, text: str) -> str:
    return "exact" if is_as_typed(query, text) else "forms"


def _batches(matches: WordMatches[T]) -> Iterator[list[tuple[T, str, list[MatchSpan]]]]:
    """Yield the matches in batches, so that the texts of a batch are searched for the regular expression at once.

    A batch has at most `PATTERN_TEXTS` texts, or about `PATTERN_CHARACTERS` characters.
    """
    batch: list[tuple[T, str, list[MatchSpan]]] = []
    characters = 0
    for each in matches:
        batch.append(each)
        characters += len(each[1])
        if len(batch) >= PATTERN_TEXTS or characters >= PATTERN_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def is_outdated(index: Index | None, generation: int) -> bool:
    """Return True if the index was rebuilt since its rebuild counter had the value `generation`."""
    try:
        return index is not None and index.generation != generation
    except sqlite3.Error:
        return True
