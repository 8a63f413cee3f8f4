"""Answers searches as they are typed: the newest question only, a page at a time, and what is already known at once.

It runs in a process of its own, so that no key ever waits for it. At first it takes the index as it stands; then it
looks at the disk, and answers again if that changed something.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO

from msgspec.structs import replace

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.query import BadSearch, SearchQuery, parse_question
from sessionbrowse.services.background.pattern_worker import PatternStopped, PatternWorker
from sessionbrowse.services.background.search_messages import (
    Answer,
    Checkpoints,
    Find,
    Known,
    ListCheckpoints,
    More,
    Page,
    Refresh,
    Refused,
    Request,
    Searched,
    Start,
    Stop,
    read_message,
    write_message,
)
from sessionbrowse.services.list import index_access, indexed
from sessionbrowse.services.list.scope import Scope, scan_of
from sessionbrowse.services.list.snapshot import Gathered
from sessionbrowse.services.search.checkpoints import CheckpointCache
from sessionbrowse.services.search.hits import Checkpoint, Hit
from sessionbrowse.services.search.search import Searcher, is_outdated
from sessionbrowse.store.find.roots import real_surroundings
from sessionbrowse.store.index.index import Index
from sessionbrowse.store.read.scan import scan

FIRST_PAGE_SECONDS = 0.008
"""Hits that were found by then are shown; the others follow in larger pages."""
PAGE_SECONDS = 0.1
FIRST_PAGE_HITS = 40
RECENT_CHARACTERS = 6_000_000
"""So much of what was said last is held in memory: common words, which the index finds slowest, are found there."""
RECENT_SESSIONS = 400
LOOK_AGAIN_SECONDS = 10.0
CHECKPOINT_SECONDS = 0.1
SHOWN_FIRST_CHARACTERS = 300

_NOTHING_LEFT = object()

Send = Callable[[Answer], object]


class SearchServer:
    """Takes requests from any thread (`ask`), answers from one (`run`)."""

    def __init__(self, scope: Scope, index_directory: Path, send: Send) -> None:
        self._scope = scope
        self._directory = index_directory
        self._send = send
        self._requests: SimpleQueue[Request | None] = SimpleQueue()
        self._wanted = 0
        self._stopped = -1
        self._ended = False
        self._patterns = PatternWorker()
        self._searcher = Searcher(Gathered([], {}, {}, {}))
        self._checkpoints = CheckpointCache()
        self._index: Index | None = None
        self._note: str | None = None
        self._reading = False
        self._gathered: tuple[Gathered | None, bool] | None = None
        self._gatherer: threading.Thread | None = None
        self._looks_again = False
        self._current: Find | None = None
        self._hits: Iterator[Hit] | None = None
        self._given = 0
        self._looked_at = 0
        self._look_again = 0.0
        self._sent_paths: set[str] = set()
        self._warming: Iterator[None] = iter(())

    # ---- from other threads --------------------------------------------------------------------------------

    def ask(self, request: Request) -> None:
        """Take a request; a search makes the one before stale at once."""
        if isinstance(request, Find):
            self._wanted = request.stamp
        elif isinstance(request, Stop):
            self._stopped = request.stamp
        self._requests.put(request)

    def end(self) -> None:
        """Make `run` return."""
        self._ended = True
        self._patterns.close()
        self._wanted = -1
        self._requests.put(None)

    # ---- the answering thread ------------------------------------------------------------------------------

    def run(self) -> None:
        """Answer until the end."""
        self._take_index()
        self._look_at_disk()
        while not self._ended:
            self._adopt()
            if self._requests.empty() and next(self._warming, _NOTHING_LEFT) is not _NOTHING_LEFT:
                continue
            request = self._requests.get()
            if request is not None:
                self._answer(request)

    def _answer(self, request: Request) -> None:
        match request:
            case Find():
                self._find(request)
            case More(stamp=stamp, limit=limit):
                if self._current is not None and stamp == self._current.stamp:
                    self._go_on(limit)
            case ListCheckpoints(stamp=stamp):
                self._list_checkpoints(stamp)
            case Refresh():
                self._look_at_disk()
            case Stop():
                pass

    # ---- searching -----------------------------------------------------------------------------------------

    def _find(self, wanted: Find, at_least: int = 0) -> None:
        if wanted.stamp != self._wanted:
            return
        self._current, self._hits = wanted, None
        is_useless = not self._searcher.indexed_paths or self._searcher.is_outdated()
        if not self._reading and is_useless and time.monotonic() > self._look_again:
            # Somebody may have made an index meanwhile, or makes it anew.
            self._look_at_disk()
        self._sent_paths.clear()
        try:
            query = parse_question(wanted.text)
        except BadSearch as error:
            self._send(Refused(wanted.stamp, str(error)))
            return
        self._given = self._looked_at = 0
        self._hits = self._search(query, wanted)
        self._go_on(wanted.limit, at_least)

    def _search(self, query: SearchQuery, wanted: Find) -> Iterator[Hit]:
        def looked_at(count: int) -> None:
            self._looked_at = count

        return self._searcher.find(
            query,
            tools=wanted.tools,
            cancelled=lambda: self._is_stale(wanted.stamp),
            wait_for_labels=False,
            looked_at=looked_at,
        )

    def _is_stale(self, stamp: int) -> bool:
        return stamp != self._wanted or stamp == self._stopped

    def _go_on(self, limit: int, at_least: int = 0) -> None:
        """Send hits up to `limit`; the first page has `at_least` so many, or all; one stopped before gives none."""
        wanted, hits = self._current, self._hits
        if wanted is None or hits is None:
            return
        stamp, sessions = wanted.stamp, len(self._searcher.summaries)
        page: list[Hit] = []
        first = self._given == 0
        due = time.monotonic() + (FIRST_PAGE_SECONDS if first else PAGE_SECONDS)
        finished, paused = True, False
        problem: str | None = None
        while self._given + len(page) < limit:
            try:
                hit = next(hits, None)
            except PatternStopped as error:
                hit, problem = None, error.sentence
            if self._is_stale(stamp):
                finished, problem = False, None
                break
            if problem is not None:
                # It is not asked again when sessions change: it would not end then either.
                finished, self._stopped = False, stamp
            if hit is None:
                break
            page.append(hit)
            is_due = time.monotonic() >= due or (first and len(page) >= FIRST_PAGE_HITS)
            if is_due and self._given + len(page) >= at_least:
                self._give(stamp, page)
                page, first = [], False
                self._send(Searched(stamp, self._looked_at, sessions))
                due = time.monotonic() + PAGE_SECONDS
        else:
            finished, paused = False, True
        if stamp != self._wanted:
            return
        stopped = not (finished or paused)
        if stopped and self._given + len(page) < at_least:
            # The hits of before go on standing there.
            self._given = at_least
        else:
            self._give(stamp, page)
        self._send(Searched(stamp, self._looked_at, sessions, finished, paused, stopped, problem))

    def _give(self, stamp: int, page: list[Hit]) -> None:
        if page or not self._given:
            self._send(Page(stamp, self._given, page, self._unsent(page)))
            self._given += len(page)

    def _unsent(self, found: list[Hit] | list[Checkpoint]) -> list[Summary]:
        """Return the sessions of hits that the other side has not heard of since the search began."""
        paths = {hit.path for hit in found} - self._sent_paths
        self._sent_paths |= paths
        return [_shortened(each) for path in paths if (each := self._searcher.summary(path)) is not None]

    # ---- checkpoints ---------------------------------------------------------------------------------------

    def _list_checkpoints(self, stamp: int) -> None:
        labelled = [summary for summary in self._searcher.summaries if summary.labels]
        found: list[Checkpoint] = []
        self._sent_paths.clear()
        due = time.monotonic()
        for number, summary in enumerate(labelled, 1):
            found += self._checkpoints.of(summary, self._searcher.trees)
            if time.monotonic() >= due and found:
                self._send(Checkpoints(stamp, found, self._unsent(found), number, len(labelled)))
                found = []
                due = time.monotonic() + CHECKPOINT_SECONDS
            if self._ended or not self._requests.empty():
                # What is typed meanwhile comes first; the rest is looked at behind it.
                self._serve_waiting()
        self._send(Checkpoints(stamp, found, self._unsent(found), len(labelled), len(labelled), finished=True))

    def _serve_waiting(self) -> None:
        while not self._ended:
            try:
                request = self._requests.get_nowait()
            except Empty:
                return
            if request is not None:
                self._answer(request)

    # ---- what is searched ----------------------------------------------------------------------------------

    def _take_index(self) -> None:
        """Search what the index knows, before anything is known of the disk."""
        self._open_index()
        if self._index is not None:
            self._use(indexed.as_known(self._scope, self._index))
        self._reading = True
        self._tell()

    def _open_index(self) -> None:
        if self._index is None:
            self._index = index_access.open_if_there(self._directory, self._take_note)

    def _take_note(self, sentence: str) -> None:
        self._note = sentence

    def _look_at_disk(self) -> None:
        """Gather all sessions in a thread of its own; searches go on meanwhile. While one does, another has to wait."""
        is_looking = self._gatherer is not None and self._gatherer.is_alive()
        if is_looking or self._gathered is not None:
            # Two at once would take twice as long, and the older one may end last.
            self._looks_again = True
            return
        self._reading, self._looks_again = True, False
        self._look_again = time.monotonic() + LOOK_AGAIN_SECONDS
        self._gatherer = threading.Thread(target=self._gather, name="sessionbrowse-gather", daemon=True)
        self._gatherer.start()

    def _gather(self) -> None:
        try:
            self._gather_all()
        except SessionBrowseError as error:
            # A root that was given is gone.
            self._take_note(error.sentence)
            self._arrived(None, last=True)

    def _gather_all(self) -> None:
        found = self._gathered_by_index()
        if found is not None:
            self._arrived(found, last=True)
            return
        summaries: dict[str, Summary] = {}
        enough = 100
        for batch in scan(scan_of(self._scope), cancelled=lambda: self._ended):
            summaries.update({each.path: each for each in batch.summaries})
            if len(summaries) >= enough:
                # Each time twice as many, so that searching them again costs no more than searching them all.
                enough = len(summaries) * 2
                self._arrived(Gathered(list(summaries.values()), {}, {}, {}), last=False)
        self._arrived(Gathered(list(summaries.values()), {}, {}, {}), last=True)

    def _gathered_by_index(self) -> Gathered | None:
        index = index_access.open_if_there(self._directory, self._take_note)
        if index is None:
            return None
        try:
            return None if index.is_empty() else indexed.gathered_by(self._scope, index, note=self._take_note)
        except sqlite3.Error:
            # Another program holds it: what is read then comes from the files.
            return None
        finally:
            index.close()

    def _arrived(self, gathered: Gathered | None, *, last: bool) -> None:
        """Have it adopted; None where nothing can be told of the disk: what is known stays."""
        self._gathered = (gathered, last)
        # Whoever waits for a request wakes up.
        self._requests.put(None)

    def _adopt(self) -> None:
        """Search what was gathered meanwhile, and answer the last question again if that changed something."""
        if self._gathered is None:
            return
        gathered, last = self._gathered
        self._gathered = None
        self._reading = not last
        if last:
            self._gatherer = None
            if self._looks_again:
                self._look_at_disk()
        if gathered is None:
            self._tell()
            return
        if gathered.rows and is_outdated(self._index, gathered.generation):
            # Another one may stand in its place by now.
            self._index = None
        self._open_index()
        before = {_identity(each) for each in self._searcher.summaries}
        changed = before != {_identity(each) for each in gathered.summaries}
        if changed or gathered.rows.keys() != self._searcher.indexed_paths or self._searcher.is_outdated():
            self._use(gathered)
        self._tell()
        if changed and self._current is not None and not self._is_stale(self._current.stamp):
            # The hits of before stay until there are as many new ones: the cursor would lose its row.
            self._find(replace(self._current, limit=max(self._current.limit, self._given)), at_least=self._given)

    def _use(self, gathered: Gathered) -> None:
        self._searcher = Searcher(
            gathered, self._index if gathered.rows else None, self._searcher, find_first=self._patterns.first_spans
        )
        self._warming = self._warm()

    def _tell(self) -> None:
        has_index = self._index is not None and bool(self._searcher.indexed_paths)
        has_tools = has_index and self._index is not None and self._index.has_tools
        self._send(
            Known(
                sessions=len(self._searcher.summaries),
                has_index=has_index,
                has_tools=has_tools,
                reading=self._reading,
                note=self._note,
            )
        )

    def _warm(self) -> Iterator[None]:
        """Hold in memory what was said last, then the labels; a session at a time."""
        searcher = self._searcher
        held: set[str] = set()
        characters = 0
        for summary in searcher.summaries[:RECENT_SESSIONS]:
            characters += searcher.hold_recent(summary)
            if characters > RECENT_CHARACTERS:
                break
            held.add(summary.path)
            yield
        searcher.forget_recent(held)
        labelled = [summary for summary in searcher.summaries if summary.labels]
        for summary in labelled:
            searcher.trees.labels(summary)
            yield
        for summary in labelled:
            self._checkpoints.of(summary, searcher.trees)
            yield


def _identity(summary: Summary) -> tuple[object, ...]:
    return (summary.path, summary.bytes, summary.modified, summary.name, summary.labels)


def _shortened(summary: Summary) -> Summary:
    first = summary.first_message
    if first is None or len(first) <= SHOWN_FIRST_CHARACTERS:
        return summary
    return replace(summary, first_message=first[:SHOWN_FIRST_CHARACTERS])


def scope_of(start: Start) -> Scope:
    """Return where to look: everywhere, archived and hidden sessions too."""
    around = replace(real_surroundings(), home=start.home, environ=start.environ)
    return Scope(
        around=around,
        roots=start.roots,
        extra_roots=start.extra_roots,
        agents=start.agents,
        hidden=True,
        archived=True,
    )


def serve(requests: IO[bytes], answers: IO[bytes], ended: Callable[[], object] = lambda: None) -> None:
    """Answer requests from a pipe until it is closed; then `ended` is called, whatever is being worked on."""
    start = read_message(requests)
    if not isinstance(start, Start):
        return

    def send(answer: Answer) -> None:
        try:
            write_message(answers, answer)
        except OSError:
            server.end()

    server = SearchServer(scope_of(start), Path(start.index_directory), send)

    def listen() -> None:
        while (request := read_message(requests)) is not None:
            server.ask(request)  # type: ignore[arg-type]
        server.end()
        ended()

    threading.Thread(target=listen, name="sessionbrowse-requests", daemon=True).start()
    server.run()


if __name__ == "__main__":
    # Whoever asked is gone: nothing here is worth finishing.
    serve(sys.stdin.buffer, sys.stdout.buffer, lambda: os._exit(0))
