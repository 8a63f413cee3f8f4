"""The search server: a background program that answers the newest search request with messages of several sessions.

The server first searches the sessions in the index. It then scans the disk and repeats the search if sessions changed.
"""

from __future__ import annotations

import gc
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

from msgspec.structs import replace

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.query import BadSearch, parse_question
from sessionbrowse.services.background.channel import Channel
from sessionbrowse.services.background.pattern_worker import PatternWorker
from sessionbrowse.services.background.search_messages import (
    Find,
    FindInSession,
    FindMore,
    FindPaths,
    FoundPaths,
    ListScope,
    Refresh,
    SearchAnswer,
    SearchRefused,
    SearchRequest,
    SearchSessions,
    SearchStatus,
    StopSearch,
)
from sessionbrowse.services.background.search_results import Results
from sessionbrowse.services.list.gather import Snapshot, indexed_snapshot, scan, take_snapshot
from sessionbrowse.services.search.ranking import HALF_LIFE_DAYS
from sessionbrowse.services.search.searcher import Searcher, is_outdated
from sessionbrowse.services.search.text_index import why_no_engine
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.index.index import Index, discard_index, open_index

RESCAN_SECONDS = 10.0
IDLE_SECONDS = 60.0
"""Seconds without a request after which the text directories of the index are closed."""

YOUNG_OBJECTS = 50_000
"""Number of new objects after which Python's garbage collection runs."""

_DONE = object()

Send = Callable[[SearchAnswer], object]


class SearchServer:
    """Answers the searches of one browser; call `take` from any thread, and `run` in one thread."""

    def __init__(
        self, scope: Scope, index_directory: Path, send: Send, *, half_life_days: float = HALF_LIFE_DAYS
    ) -> None:
        self._scope = scope
        self._directory = index_directory
        self.send = send
        self._requests: SimpleQueue[SearchRequest | None] = SimpleQueue()
        self._wanted = 0
        self._stopped = self._wanted_paths = -1
        self._ended = False
        self._patterns = PatternWorker()
        self._searcher = Searcher(Snapshot([]))
        self._limited: tuple[ListScope, Searcher, Searcher] | None = None
        self._index: Index | None = None
        self._note: str | None = None
        self._is_scanning = False
        self._scanned: tuple[Snapshot | None, bool] | None = None
        self._scanner: threading.Thread | None = None
        self._scan_again = False
        self._current: Find | None = None
        self._results: Results | None = None
        self._half_life_days = half_life_days
        self._next_rescan = 0.0
        self._preloading: Iterator[None] = iter(())

    # ---- from other threads --------------------------------------------------------------------------------

    def take(self, request: SearchRequest) -> None:
        """Put a request into the queue (any thread may call this); a new search ends the previous one at once."""
        if isinstance(request, Find):
            self._wanted = request.stamp
        elif isinstance(request, StopSearch):
            self._stopped = request.stamp
        elif isinstance(request, FindPaths):
            self._wanted_paths = request.stamp
        self._requests.put(request)

    def end(self) -> None:
        """Stop the loop of `run`."""
        self._ended = True
        self._patterns.close()
        self._wanted = -1
        self._requests.put(None)

    # ---- the answering thread ------------------------------------------------------------------------------

    def run(self) -> None:
        """Answer requests until `end` is called."""
        self._search_index()
        self._start_scan()
        while not self._ended:
            self._take_scan()
            if self._requests.empty() and next(self._preloading, _DONE) is not _DONE:
                continue
            try:
                request = self._requests.get(timeout=IDLE_SECONDS)
            except Empty:
                # Frees the engine's threads and mapped files until the next request.
                self._results = None
                self._searcher.rest()
                request = self._requests.get()
            if request is not None:
                self._answer(request)

    def _answer(self, request: SearchRequest) -> None:
        match request:
            case Find():
                self._find(request)
            case FindMore(stamp=stamp, limit=limit):
                if not self._restore(stamp, limit) and self._results is not None and stamp == self._results.stamp:
                    self._results.send_to(limit)
            case FindInSession(stamp=stamp, path=path):
                self._restore(stamp)
                if self._results is not None and stamp == self._results.stamp:
                    self._results.send_more_of(path)
            case FindPaths():
                self._find_paths(request)
            case Refresh():
                self._start_scan()
            case StopSearch():
                pass

    # ---- searching -----------------------------------------------------------------------------------------

    def _find(self, wanted: Find, at_least: int = 0) -> None:
        if wanted.stamp != self._wanted:
            return
        self._current, self._results = wanted, None
        is_useless = not self._searcher.rows or self._searcher.is_outdated()
        if not self._is_scanning and is_useless and time.monotonic() > self._next_rescan:
            # Another process may have built or rebuilt the index since the last scan.
            self._start_scan()
        try:
            query = parse_question(wanted.text)
        except BadSearch as error:
            self.send(SearchRefused(wanted.stamp, str(error)))
            return
        searcher = self._searcher_of(wanted.scope)
        self._results = Results(searcher, query, wanted, self._half_life_days, self)
        self._results.send_to(wanted.limit, at_least)
        words = searcher.words
        if self._index is not None and words is not None and words.damage is not None:
            # The files were read instead. The next writing of the index builds it anew.
            discard_index(self._index, words.damage, self._set_note)
            self._index, words.damage, self._limited = None, None, None
            self._send_status()

    def _restore(self, stamp: int, limit: int = 0) -> bool:
        """Repeat the last search if its results were dropped after a pause without requests; return True if so."""
        if self._results is not None or self._current is None or self._current.stamp != stamp:
            return False
        self._find(replace(self._current, limit=max(limit, self._current.limit)))
        return True

    def _find_paths(self, wanted: FindPaths) -> None:
        def is_stale() -> bool:
            return wanted.stamp != self._wanted_paths

        try:
            found = FoundPaths(wanted.stamp, self._searcher.paths_of(parse_question(wanted.text), is_stale))
        except SessionBrowseError as error:
            found = FoundPaths(wanted.stamp, problem=error.sentence)
        if not is_stale():
            self.send(found)

    def _searcher_of(self, scope: ListScope | None) -> Searcher:
        """Return the searcher of the sessions in a scope; it is kept until the scope or the sessions change."""
        if scope is None or scope == ListScope():
            return self._searcher
        if self._limited is None or self._limited[:2] != (scope, self._searcher):
            self._limited = scope, self._searcher, self._searcher.limited(scope.holds)
        return self._limited[2]

    def is_stale(self, stamp: int) -> bool:
        """Return True if the search with the number `stamp` was stopped, or another search was requested since."""
        return stamp != self._wanted or stamp == self._stopped

    def is_superseded(self, stamp: int) -> bool:
        """Return True if another search was requested after the search with the number `stamp`."""
        return stamp != self._wanted

    def stop(self, stamp: int) -> None:
        """Do not repeat the search with the number `stamp`: its pattern search failed, and would fail again."""
        self._stopped = stamp

    # ---- what is searched ----------------------------------------------------------------------------------

    def _search_index(self) -> None:
        """Use the sessions in the index for searches until the first disk scan is done."""
        self._open_index()
        if self._index is not None:
            self._use(indexed_snapshot(self._scope, self._index))
        self._is_scanning = True
        self._send_status()

    def _open_index(self) -> None:
        if self._index is None:
            self._index = open_index(self._directory, self._set_note)
            why = why_no_engine(self._index) if self._index is not None else None
            if why is not None:
                self._set_note(why)

    def _set_note(self, sentence: str) -> None:
        self._note = sentence

    def _start_scan(self) -> None:
        """Scan the disk in a thread while searches continue; if a scan is running, the new one begins after it."""
        is_scanning = self._scanner is not None and self._scanner.is_alive()
        if is_scanning or self._scanned is not None:
            # Two scans at once would take twice as long, and the older one might end last.
            self._scan_again = True
            return
        self._is_scanning, self._scan_again = True, False
        self._next_rescan = time.monotonic() + RESCAN_SECONDS
        self._scanner = threading.Thread(target=self._scan, name="sessionbrowse-scan", daemon=True)
        self._scanner.start()

    def _scan(self) -> None:
        try:
            self._scan_all()
        except SessionBrowseError as error:
            # A `--root` directory no longer exists, so the sessions found before stay in use.
            self._set_note(error.sentence)
            self._deliver(None, last=True)

    def _scan_all(self) -> None:
        found = self._scan_through_index()
        if found is not None:
            self._deliver(found, last=True)
            return
        summaries: dict[str, Summary] = {}
        enough = 20
        for batch in scan(self._scope, cancelled=lambda: self._ended):
            summaries.update({each.path: each for each in batch.summaries})
            if len(summaries) >= enough:
                # Each call of `_deliver` repeats the search. The number of sessions doubles from call to call, so all
                # repeated searches together cost about one full search.
                enough = len(summaries) * 2
                self._deliver(Snapshot(list(summaries.values())), last=False)
        self._deliver(Snapshot(list(summaries.values())), last=True)

    def _scan_through_index(self) -> Snapshot | None:
        index = open_index(self._directory, self._set_note)
        if index is None:
            return None
        try:
            return None if index.is_empty() else take_snapshot(self._scope, index, note=self._set_note)
        except sqlite3.Error:
            # The index is locked by another program, so the files are read instead.
            return None
        finally:
            index.close()

    def _deliver(self, gathered: Snapshot | None, *, last: bool) -> None:
        """Pass a scan's sessions to the thread that answers requests; None (a failed scan) keeps the old sessions."""
        self._scanned = (gathered, last)
        # A None in the queue wakes the thread that answers requests.
        self._requests.put(None)

    def _take_scan(self) -> None:
        """Use the sessions that a scan found for all later searches; repeat the last search if the sessions changed."""
        if self._scanned is None:
            return
        gathered, last = self._scanned
        self._scanned = None
        self._is_scanning = not last
        if last:
            self._scanner = None
            if self._scan_again:
                self._start_scan()
        if gathered is None:
            self._send_status()
            return
        if gathered.rows and is_outdated(self._index, gathered.generation):
            # Another process may have replaced the index file, so it is opened again.
            self._index = None
        self._open_index()
        before = {_identity(each) for each in self._searcher.summaries}
        changed = before != {_identity(each) for each in gathered.summaries}
        if changed or gathered.rows.keys() != self._searcher.rows.keys() or self._searcher.is_outdated():
            self._use(gathered)
        if changed and self._current is not None and not self.is_stale(self._current.stamp):
            # The browser keeps the old results until there are as many new ones, so that the cursor keeps its row.
            sent = self._results.sent if self._results is not None else 0
            self._find(replace(self._current, limit=max(self._current.limit, sent)), at_least=sent)
        # Sent after the repeated search, so that the browser never says that nothing was found while it runs.
        self._send_status()

    def _use(self, gathered: Snapshot) -> None:
        self._searcher = Searcher(
            gathered, self._index if gathered.rows else None, self._searcher, find_first=self._patterns.first_spans
        )
        self._preloading = self._preload()

    def _send_status(self) -> None:
        has_index = self._index is not None and bool(self._searcher.rows)
        has_tools = has_index and self._index is not None and self._index.has_tools
        self.send(
            SearchStatus(
                sessions=len(self._searcher.summaries),
                has_index=has_index,
                has_tools=has_tools,
                reading=self._is_scanning,
                note=self._note,
            )
        )

    def _preload(self) -> Iterator[None]:
        """Load all labels into memory; yield after each session."""
        searcher = self._searcher
        for summary in searcher.summaries:
            if summary.labels:
                searcher.trees.labels(summary)
                yield


def _identity(summary: Summary) -> tuple[object, ...]:
    return (summary.path, summary.bytes, summary.modified, summary.name, summary.labels)


def run_search(channel: Channel[SearchRequest]) -> None:
    """Answer the searches of the browser at the other end of the channel, until the browser exits."""
    request = channel.receive()
    if not isinstance(request, SearchSessions):
        return
    scope = request.as_scope(hidden=True, archived=True)
    server = SearchServer(scope, Path(request.cache), channel.send, half_life_days=request.half_life_days)
    # When the browser has exited, nobody needs unfinished work, so the process exits too.
    channel.listen(server.take, lambda: os._exit(0))
    # Python collects garbage after 700 new objects by default, which would take a sixth of the time of each search.
    gc.set_threshold(YOUNG_OBJECTS)
    server.run()
