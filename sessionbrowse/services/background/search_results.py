"""The results of one search for the browser: sessions, best or newest first, several in each message (a page)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Protocol

from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.query import SearchQuery
from sessionbrowse.services.background.pattern_worker import PatternStopped
from sessionbrowse.services.background.search_messages import Find, HitPage, SearchAnswer, SearchProgress, SessionHits
from sessionbrowse.services.search.ranked_page import PER_SESSION, RankedSession, newest_first
from sessionbrowse.services.search.ranking import Ranker, can_rank
from sessionbrowse.services.search.searcher import Searcher

FIRST_PAGE_SECONDS = 0.008
"""Number of seconds after which the first page (message with results) is sent; later pages contain more."""
PAGE_SECONDS = 0.1
FIRST_PAGE_SESSIONS, FIRST_PAGE_HITS = 20, 40
HITS_OF_ONE = 200
"""Maximum number of hits (matching entries) that are returned for one session."""
RANKED_BYTES = 32_000_000
"""With more bytes in unindexed files, results are not ranked, because ranking must read all these files first."""
SHOWN_FIRST_CHARACTERS = 300


class Asking(Protocol):
    """Interface of the search server for one search: it sends answers, and reports whether they are still needed."""

    def send(self, answer: SearchAnswer, /) -> object:
        """Send an answer to the browser."""

    def is_stale(self, stamp: int) -> bool:
        """Return True if the search with the number `stamp` was stopped, or another search was requested since."""

    def is_superseded(self, stamp: int) -> bool:
        """Return True if another search was requested after the search with the number `stamp`."""

    def stop(self, stamp: int) -> None:
        """Mark the search with the number `stamp` as stopped, so that the server does not repeat it."""


class Results:
    """Collects the results of one search, and sends them to the browser in pages: messages with several sessions."""

    def __init__(
        self, searcher: Searcher, query: SearchQuery, wanted: Find, half_life_days: float, server: Asking
    ) -> None:
        self.stamp = wanted.stamp
        self.sent = 0
        self._searcher = searcher
        self._query, self._tools = query, wanted.tools
        self._server = server
        self._searched = 0
        # `_last` is the session sent last, which may get more matching entries. `_next` is the session to send next.
        self._last: RankedSession | None = None
        self._next: RankedSession | None = None
        # The sessions that were sent, by path, with all their hits (matching entries), newest first.
        self._hits: dict[str, RankedSession] = {}
        if query.is_about_labels:
            hits = searcher.checkpoints(query, self._is_stale)
        else:
            hits = searcher.find(
                query,
                tools=wanted.tools,
                cancelled=self._is_stale,
                wait_for_labels=False,
                looked_at=self._count_searched,
            )
        self._listed = newest_first(hits, searcher.summary, HITS_OF_ONE)
        self._ranker: Ranker | None = None
        unindexed = _unindexed_bytes(searcher, wanted.tools)
        # If all files are indexed, the ranked answer comes sooner than the newest exact matches could be found and
        # drawn.
        self._is_slow = unindexed > 0
        if not wanted.newest and can_rank(query) and unindexed <= RANKED_BYTES:
            self._ranker = Ranker(
                searcher, query, tools=wanted.tools, half_life_days=half_life_days, cancelled=self._is_stale
            )

    def send_to(self, limit: int, at_least: int = 0) -> None:
        """Send up to `limit` found sessions; the first message has at least `at_least`, if enough are found."""
        if self._ranker is None:
            self._list(limit, at_least)
            return
        if not self.sent and not at_least and self._is_slow:
            self._send_first(self._listed)
        self._rank(self._ranker, limit)

    def send_more_of(self, path: str) -> None:
        """Send up to `HITS_OF_ONE` hits (matching entries) of one session that the search has found."""
        summary = self._searcher.summary(path)
        if summary is None:
            return
        found = self._ranker.more_in(summary, HITS_OF_ONE) if self._ranker is not None else self._hits.get(path)
        if found is not None and not self._is_stale():
            self._server.send(SessionHits(self.stamp, _shown(found, HITS_OF_ONE)))

    def _is_stale(self) -> bool:
        return self._server.is_stale(self.stamp)

    def _count_searched(self, count: int) -> None:
        self._searched = count

    def _notes(self, shown: list[RankedSession]) -> tuple[str, ...]:
        return () if shown else tuple(self._searcher.unmatched(self._query))

    # ---- best first ----------------------------------------------------------------------------------------

    def _send_first(self, listed: Iterator[RankedSession]) -> None:
        """Send the newest exact matches found within a few milliseconds; the ranked sessions replace them."""
        due = time.monotonic() + FIRST_PAGE_SECONDS
        page: list[RankedSession] = []
        for session in listed:
            if not page or page[-1] is not session:
                page.append(session)
            if len(page) >= FIRST_PAGE_SESSIONS or time.monotonic() >= due:
                break
        if page and not self._is_stale():
            self._send_page(page)

    def _rank(self, ranker: Ranker, limit: int) -> None:
        ranking = ranker.rank(limit)
        if self._server.is_superseded(self.stamp):
            return
        stopped = self._is_stale()
        if not stopped:
            self.sent = len(ranking.sessions)
            shown = [_shown(each) for each in ranking.sessions]
            notes = self._notes(shown)
            found = HitPage(self.stamp, 0, shown, True, False, ranking.instead, ranking.unread, ranking.nowhere, notes)
            self._server.send(found)
        paused = not stopped and len(ranking.sessions) >= limit
        self._send_progress(len(self._searcher.summaries), not stopped and not paused, paused, stopped)

    # ---- newest first --------------------------------------------------------------------------------------

    def _list(self, limit: int, at_least: int) -> None:
        page: list[RankedSession] = []
        first = self.sent == 0
        due = time.monotonic() + (FIRST_PAGE_SECONDS if first else PAGE_SECONDS)
        finished, paused = True, False
        problem: str | None = None
        while True:
            session, self._next = self._next, None
            try:
                session = session or next(self._listed, None)
            except PatternStopped as error:
                session, problem = None, error.sentence
            if self._is_stale():
                finished, problem = False, None
                break
            if problem is not None:
                finished = False
                self._server.stop(self.stamp)
            if session is None:
                break
            grows = session is (page[-1] if page else self._last)
            if grows and not page:
                # The session was already sent with its first matching entries, so it is sent again with all of them.
                self.sent -= 1
                page.append(session)
            elif not grows and self.sent + len(page) >= limit:
                finished, paused, self._next = False, True, session
                break
            elif not grows:
                page.append(session)
            is_due = time.monotonic() >= due or (first and sum([len(each.hits) for each in page]) >= FIRST_PAGE_HITS)
            if is_due and self.sent + len(page) >= at_least:
                self._send_page(page)
                page, first = [], False
                self._send_progress(self._searched)
                due = time.monotonic() + PAGE_SECONDS
        if self._server.is_superseded(self.stamp):
            return
        stopped = not (finished or paused)
        if stopped and self.sent + len(page) < at_least:
            # A repeated search was stopped before it found as many sessions as the browser shows. So nothing is sent,
            # and the browser keeps the sessions of the first search.
            self.sent = at_least
        else:
            self._send_page(page)
        self._send_progress(self._searched, finished, paused, stopped, problem)

    def _send_page(self, page: list[RankedSession]) -> None:
        if page or not self.sent:
            self._hits |= {each.summary.path: each for each in page}
            shown = [_shown(each) for each in page]
            found = HitPage(self.stamp, self.sent, shown, ranking_follows=self._ranker is not None)
            if not page and can_rank(self._query):
                # Nothing was found: the ranking finds the words that are in no session.
                ranker = Ranker(self._searcher, self._query, tools=self._tools, cancelled=self._is_stale)
                found = replace(found, nowhere=ranker.rank(1, 0).nowhere)
            self._server.send(found if page else replace(found, notes=self._notes(shown)))
            self.sent += len(page)
            self._last = page[-1] if page else None

    def _send_progress(
        self,
        searched: int,
        finished: bool = False,
        paused: bool = False,
        stopped: bool = False,
        problem: str | None = None,
    ) -> None:
        sessions = len(self._searcher.summaries)
        self._server.send(SearchProgress(self.stamp, searched, sessions, finished, paused, stopped, problem))


def _shown(session: RankedSession, hits: int = PER_SESSION) -> RankedSession:
    """Return a found session for the browser: with its first `hits` matching entries, and a shortened first message."""
    more = session.more + max(0, len(session.hits) - hits)
    return replace(session, summary=shortened(session.summary), hits=session.hits[:hits], more=more)


def shortened(summary: Summary) -> Summary:
    """Return a summary with its first message cut to `SHOWN_FIRST_CHARACTERS` characters."""
    first = summary.first_message
    if first is None or len(first) <= SHOWN_FIRST_CHARACTERS:
        return summary
    return replace(summary, first_message=first[:SHOWN_FIRST_CHARACTERS])


def _unindexed_bytes(searcher: Searcher, tools: bool) -> int:
    """Return the number of bytes in files that a ranking must read completely, because the index lacks their texts."""
    return sum([summary.bytes for summary in searcher.asked(tools).others])
