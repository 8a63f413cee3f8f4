"""The disk monitor: a background process that sends the browser the sessions in the index, then every change on disk.

A session is sent again only if its summary has changed. The monitor updates the index, and also works without an
index; many files are indexed by one more process of low priority. One thread does all the work; other threads only put
messages into its inbox.
"""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict, replace

from sessionbrowse.agents import Place
from sessionbrowse.errors import NotFound
from sessionbrowse.model.listing.picker import ordered
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.channel import Channel
from sessionbrowse.services.background.first_rows import FIRST_ROWS, count_directories, first_order, make_first_rows
from sessionbrowse.services.background.monitor_messages import (
    FirstRows,
    IndexProgress,
    IndexRead,
    MonitorDisk,
    MonitorEvent,
    MonitorFailed,
    MonitorRequest,
    Notice,
    Painted,
    Rescan,
    ScanComplete,
    SessionsFound,
    SessionsGone,
    SessionsInUse,
)
from sessionbrowse.services.background.programs import start_job
from sessionbrowse.services.list.summary_cache import SummaryCache
from sessionbrowse.store.find.discover import FoundFile, Skipped, is_session_name, link_parents, newest_first, stamp_of
from sessionbrowse.store.find.roots import places_of, scan_passes
from sessionbrowse.store.index.index import UpdateProgress, open_index
from sessionbrowse.store.index.schema import IndexUnavailable
from sessionbrowse.store.watch import Watcher
from sessionbrowse.store.write.in_use import sessions_in_use

SLICE = 400
"""Maximum number of sessions in one message: so few that the browser can process them between two key presses."""
BATCH_SECONDS = 0.05
LONG_BYTES = 16 * 1024 * 1024
"""Size in bytes from which a file takes long to read; the summaries read so far are sent before such a file is read."""
REREAD_SECONDS = 0.15
"""Minimum time between two readings of changed files."""
SCAN_SHARE = 10
"""Scans caused by file changes may take at most a tenth (1/SCAN_SHARE) of the time."""
CHECK_SECONDS = 3.0
"""Interval of the checks for running agents, and for session directories that did not exist before."""
PAINT_SECONDS = 2.0
"""Maximum time that the monitor waits until the browser has painted its first screen."""

Message = MonitorRequest | IndexProgress | frozenset[str]
"""A message in the monitor's inbox: from the browser, progress of the indexer, or changed paths from the watcher."""


class DiskMonitor:
    """Keeps one browser's list of sessions current; call `take` from any thread, and `run` in one thread."""

    def __init__(self, request: MonitorDisk, send: Callable[[MonitorEvent], object]) -> None:
        self._request = request
        self._send = send
        self._scope = request.as_scope()
        self._inbox: queue.Queue[Message] = queue.Queue()
        self._summaries = SummaryCache(Path(request.cache), self._notify)
        self._files: dict[str, FoundFile] = {}
        self._sent: dict[str, Summary] = {}
        self._places: tuple[Place, ...] = ()
        self._watcher = Watcher(self.take)
        self._is_watching = False
        self._changed: set[str] = set()
        self._scan_wanted = True
        self._next_reread = self._next_scan = self._next_check = 0.0
        self._in_use: tuple[str, ...] = ()

    def take(self, message: Message) -> None:
        """Put a message into the monitor's inbox; callable from any thread."""
        self._inbox.put(message)

    def run(self) -> None:
        """Process messages until the process ends; send `MonitorFailed` if a `--root` or `--agent` does not exist."""
        try:
            self.begin()
            while True:
                self.step(self._pause())
        except NotFound as error:
            self._send(MonitorFailed(error.sentence))

    def end(self) -> None:
        """Stop watching the file system."""
        self._watcher.stop()

    # -- sending the sessions of the index ----------------------------------------------------------------------

    def begin(self) -> None:
        """Send the sessions in the index: first those that fill the screen, and once the browser has painted them, all.

        Raises:
            NotFound: a `--root` is not a directory, or a `--agent` is unknown.
        """
        self._places = places_of(self._scope)
        is_listed = _listed(self._places)
        order = first_order(self._request)
        are_sent = order == "newest" and self._send_newest(is_listed)
        if are_sent:
            self._wait_for_paint()
        summaries = [summary for summary in self._summaries.load(is_listed) if self._is_wanted(summary)]
        if not summaries:
            return
        known = {summary.path: summary for summary in summaries}
        known.update({summary.path: summary for summary in link_parents(summaries)})
        in_order = ordered(known.values(), order)
        if not are_sent:
            self._send(make_first_rows(known.values(), order))
            self._wait_for_paint()
        self._send_changed(in_order)
        self._send(IndexRead())

    def _send_newest(self, is_listed: Callable[[str], bool]) -> bool:
        """Send the newest indexed sessions, and each directory's number of sessions; return False if there are none."""
        listed = [row.summary for row in self._summaries.rows(is_listed) if self._is_wanted(row.summary)]
        newest = sorted(listed, key=lambda each: (-(each.modified or 0), -each.mtime_ns))[:FIRST_ROWS]
        if newest:
            self._send(FirstRows(tuple(newest), count_directories(listed), len(listed)))
        return bool(newest)

    def _wait_for_paint(self) -> None:
        """Wait until the browser has painted its first screen, because the monitor would slow the browser down."""
        end = time.monotonic() + PAINT_SECONDS
        others: list[Message] = []
        with suppress(queue.Empty):
            while not isinstance(message := self._inbox.get(timeout=max(0.0, end - time.monotonic())), Painted):
                others.append(message)
        for message in others:
            self._inbox.put(message)

    # -- the main loop: one step after the other ----------------------------------------------------------------

    def step(self, seconds: float) -> None:
        """Wait up to `seconds` for messages and process them; then scan, read changed files or check agents, if due."""
        with suppress(queue.Empty):
            self._process(self._inbox.get(timeout=seconds))
            while True:
                self._process(self._inbox.get_nowait())
        now = time.monotonic()
        if self._scan_wanted and now >= self._next_scan:
            self._scan()
        elif self._changed and now >= self._next_reread:
            self._reread_changed()
        if time.monotonic() >= self._next_check:
            self._check_agents_and_stores()

    def _pause(self) -> float:
        """Return the number of seconds until the next scan, reading of changed files, or check for running agents."""
        due = [self._next_check]
        if self._scan_wanted:
            due.append(self._next_scan)
        if self._changed:
            due.append(self._next_reread)
        return max(0.0, min(due) - time.monotonic())

    def _process(self, message: Message) -> None:
        match message:
            case Rescan(hidden=hidden):
                self._scope = replace(self._scope, hidden=hidden, archived=hidden)
                self._scan_wanted, self._next_scan = True, 0.0
            case IndexProgress():
                self._send(message)
            case frozenset():
                self._changed |= message

    # -- scanning the whole disk --------------------------------------------------------------------------------

    def _scan(self) -> None:
        """Scan all session directories, read new and changed files, and report deleted ones."""
        began = time.monotonic()
        self._scan_wanted = False
        self._changed.clear()
        is_unwatched = not self._is_watching and not self._sent
        if not is_unwatched:
            self._watch()
        skipped: list[Skipped] = []
        found: dict[str, Summary] = {}
        files: dict[str, FoundFile] = {}
        for places, scanned in scan_passes(self._scope, found.values, skipped=skipped.append):
            # New places come from settings of projects, or from a machine whose sessions were fetched since the start.
            if new := [place for place in places if place not in self._places]:
                self._places = (*self._places, *new)
                self._watch()
            files.update({file.path: file for file in scanned})
            self._read(self._in_reading_order(scanned), found)
        self._files = files
        self._summaries.forget([path for path in self._summaries.paths() if path not in files])
        self._send_gone([path for path in self._sent if path not in found])
        self._send_changed(link_parents(found.values()))
        self._send(ScanComplete(tuple([(each.path, each.reason) for each in skipped])))
        self._index_unindexed()
        self._next_scan = time.monotonic() + SCAN_SHARE * (time.monotonic() - began)
        if is_unwatched:
            # A second scan finds the changes that were made between the first scan and the start of the watcher.
            self._watch()
            self._scan_wanted, self._next_scan = True, 0.0

    def _watch(self) -> None:
        """Watch the session directories for changes.

        Starting to watch visits every directory, which takes time. If no sessions were sent from the index, the
        browser's list is still empty, so the first sessions are read and sent before watching starts.
        """
        self._is_watching = True
        self._watcher.watch([place.root for place in self._places])

    def _read(self, files: Sequence[FoundFile], found: dict[str, Summary]) -> None:
        """Send the cached summaries of unchanged files; then read the changed files, and send their summaries."""
        stale: list[FoundFile] = []
        known: list[Summary] = []
        for file in files:
            summary = self._summaries.get(file)
            if summary is None:
                stale.append(file)
            elif self._is_wanted(summary):
                found[file.path] = summary
                known.append(summary)
        self._send_changed(known)
        done = len(files) - len(stale)
        pending: list[Summary] = []
        # Summaries are sent every `BATCH_SECONDS`: the browser needs this time to lay out its screen, and in this time
        # enough files are read to fill the screen.
        deadline = time.monotonic() + BATCH_SECONDS
        before_long = {file.path for file, following in pairwise(stale) if following.size >= LONG_BYTES}
        for file, summary in self._summaries.read(stale):
            done += 1
            if summary is not None and self._is_wanted(summary):
                found[file.path] = summary
                pending.append(summary)
            if pending and (time.monotonic() >= deadline or file.path in before_long):
                self._send_changed(pending, done, len(files))
                self._watch()
                pending = []
                deadline = time.monotonic() + BATCH_SECONDS
        self._send_changed(pending, done, len(files))

    def _in_reading_order(self, files: Iterable[FoundFile]) -> list[FoundFile]:
        """Sort files newest first; before the first sessions are sent, put those of the current project first.

        Without an index, the browser first lists the sessions of the current directory, or all sessions if it has none.
        A folder of sessions belongs to this directory if its name has the letters of the directory's path, or of the
        path's end: agents replace slashes by other characters, and may leave out the home directory.
        """
        if self._sent:
            return newest_first(files)
        here = _letters(self._scope.around.cwd)
        is_here = cache(lambda folder: bool(_letters(folder)) and here.endswith(_letters(folder)))
        return sorted(newest_first(files), key=lambda file: not is_here(os.path.basename(os.path.dirname(file.path))))

    def _is_wanted(self, summary: Summary) -> bool:
        scope = self._scope
        return (scope.hidden or not summary.hidden) and (not scope.agents or summary.agent in scope.agents)

    def _index_unindexed(self) -> None:
        files, self._summaries.unindexed = self._summaries.unindexed, []
        if files and self._summaries.has_index:
            request = IndexFiles(cache=self._request.cache, files=files, tools=self._request.tools)
            if not start_indexing(request, self.take):
                self._notify("The index is not updated: the indexing process cannot be started.")

    # -- reading changed files ----------------------------------------------------------------------------------

    def _reread_changed(self) -> None:
        """Read the known session files that changed; request a scan if another changed path may be a new session."""
        changed, self._changed = self._changed, set()
        listed = _listed(self._places)
        found: list[Summary] = []
        gone: list[str] = []
        stale: list[FoundFile] = []
        for path in changed:
            file = self._files.get(path)
            if file is None:
                self._scan_wanted = self._scan_wanted or self._may_matter(path, listed)
                continue
            try:
                status = os.stat(path)
            except OSError:
                gone.append(path)
                self._files.pop(path)
                continue
            file = replace(file, **asdict(stamp_of(path, status)))
            self._files[path] = file
            if self._summaries.get(file) is None:
                stale.append(file)
        for file, summary in self._summaries.read(stale):
            if summary is not None and self._is_wanted(summary):
                found.append(self._with_parent(summary))
            elif file.path in self._sent:
                gone.append(file.path)
        self._summaries.forget(gone)
        self._send_gone([path for path in gone if path in self._sent])
        self._send_changed(found)
        self._index_unindexed()
        self._next_reread = time.monotonic() + REREAD_SECONDS

    def _may_matter(self, path: str, listed: Callable[[str], bool]) -> bool:
        if is_session_name(path):
            return self._scope.hidden or listed(path) or self._is_registry(path)
        # The changed path may be the directory of a new project, or a deleted directory that contained sessions.
        return os.path.isdir(path) or any(known.startswith(path + os.sep) for known in self._files)

    def _is_registry(self, path: str) -> bool:
        return any(
            place.kind in ("registry", "archive") and path.startswith(place.root + os.sep) for place in self._places
        )

    def _with_parent(self, summary: Summary) -> Summary:
        """Return a summary with its parent session's path added, if the browser already knows the parent session."""
        before = self._sent.get(summary.path)
        if not summary.parent_session or summary.parent_path is not None:
            return summary
        if before is not None and before.parent_session == summary.parent_session:
            return replace(summary, parent_path=before.parent_path)
        linked = link_parents([*self._sent.values(), summary])
        return next((one for one in linked if one.path == summary.path), summary)

    def _check_agents_and_stores(self) -> None:
        """Report the sessions that running agents have open; request a scan if a session directory has appeared."""
        in_use = tuple(sorted(sessions_in_use(self._sent.values(), self._scope.around)))
        if in_use != self._in_use:
            self._in_use = in_use
            self._send(SessionsInUse(in_use))
        if self._watcher.has_appeared():
            self._scan_wanted = True
        self._next_check = time.monotonic() + CHECK_SECONDS

    # -- sending changes to the browser -------------------------------------------------------------------------

    def _notify(self, sentence: str) -> None:
        self._send(Notice(sentence))

    def _send_changed(self, summaries: Iterable[Summary], done: int = 0, total: int = 0) -> None:
        """Send the summaries that differ from those sent before, in messages of limited size."""
        changed = []
        for summary in summaries:
            before = self._sent.get(summary.path)
            if before is not None and before.parent_session == summary.parent_session and not summary.parent_path:
                # Parents are found only after all sessions are read; until then a summary keeps the parent path that
                # was last sent.
                summary = replace(summary, parent_path=before.parent_path) if before.parent_path else summary
            if before != summary:
                self._sent[summary.path] = summary
                changed.append(summary)
        for start in range(0, len(changed), SLICE):
            self._send(SessionsFound(tuple(changed[start : start + SLICE]), done, total))

    def _send_gone(self, paths: Sequence[str]) -> None:
        for path in paths:
            del self._sent[path]
        if paths:
            self._send(SessionsGone(tuple(paths)))


def _listed(places: Sequence[Place]) -> Callable[[str], bool]:
    """Return a function that returns True for a file directly in a project's folder or in a place without folders."""
    deep = {place.root.rstrip(os.sep) for place in places if place.kind == "projects"}
    flat = {place.root.rstrip(os.sep) for place in places if place.kind in ("folder", "flat")}

    def listed(path: str) -> bool:
        folder = os.path.dirname(path)
        return folder in flat or os.path.dirname(folder) in deep

    return listed


def run_monitor(channel: Channel[MonitorRequest]) -> None:
    """Run the disk monitor for the browser at the other end of the channel."""
    request = channel.receive()
    if not isinstance(request, MonitorDisk):
        return

    def send(event: MonitorEvent) -> None:
        if not channel.send(event):
            os._exit(0)

    monitor = DiskMonitor(request, send)
    # When the browser has exited, nobody needs unfinished work, so the process exits too.
    channel.listen(monitor.take, lambda: os._exit(0))
    try:
        monitor.run()
    except Exception as error:
        send(MonitorFailed(f"The program that reads the sessions has failed: {error!r}"))


def _letters(path: str) -> str:
    """Return the letters and digits of a path: the same for a directory and for a folder that is named after it."""
    return "".join(filter(str.isalnum, path))


# ---- the indexer, a process of its own ---------------------------------------------------------------------

NICENESS = 10
"""Process priority of the indexer: lower than that of the browser and of running agents."""


class IndexFiles(Struct, frozen=True, kw_only=True):
    """Request to read files into the index in the directory `cache`.

    With `tools`, tool calls and results are indexed too; without `tools` the index keeps its present setting.
    """

    cache: str
    files: Sequence[FoundFile]
    tools: bool


def start_indexing(request: IndexFiles, progress: Callable[[IndexProgress], object]) -> bool:
    """Start a process that indexes the files. A thread calls `progress` again and again with the number of files done.

    The last call of `progress` reports all files as done, even if the process has failed. If another process is
    already writing the index, the new process does nothing, because the other process reads the same files. Returns
    False if the process cannot be started.
    """
    # In the group of the disk monitor, so that the browser kills both at once.
    channel = start_job("index", request, IndexProgress, leads_group=False)
    if channel is None:
        return False

    def ended() -> None:
        channel.kill()
        progress(IndexProgress(len(request.files), len(request.files)))

    channel.listen(progress, ended)
    return True


def run_indexer(channel: Channel[IndexFiles]) -> None:
    """Index the files in the browser's request and report progress; exit early if the browser closes the channel.

    This function starts no threads, because it forks processes that share the reading.
    """
    request = channel.receive()
    if request is None:
        return
    os.nice(NICENESS)

    def report(step: UpdateProgress) -> None:
        if not channel.send(IndexProgress(step.files_done, step.files)):
            os._exit(0)

    index = open_index(Path(request.cache), create=True)
    if index is not None:
        with suppress(IndexUnavailable):
            tools = True if request.tools else None
            index.update(request.files, tools=tools, may_fork=True, progress=report)
