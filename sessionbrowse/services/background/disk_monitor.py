"""What the companion does: hand over what the index remembers, then what the disk says, then every change.

It tells each thing once: a session again only when something of it is new. It keeps the index current on the way and
works without one. Everything happens in one thread; others only put into its inbox.
"""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.agents import Place
from sessionbrowse.errors import NotFound
from sessionbrowse.model.listing.picker import ordered
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.events import (
    Complete,
    Failed,
    Folder,
    Found,
    Gone,
    Indexed,
    Indexing,
    InUse,
    News,
    Note,
    Opening,
)
from sessionbrowse.services.background.indexer import start_indexing
from sessionbrowse.services.list.scope import Scope, scan_of
from sessionbrowse.services.list.summary_cache import Readings
from sessionbrowse.store.find.discover import FoundFile, Skipped, is_session_name, newest_first
from sessionbrowse.store.find.parent_links import link_parents
from sessionbrowse.store.find.roots import real_surroundings
from sessionbrowse.store.find.scan_passes import turns
from sessionbrowse.store.index.overview import Brief
from sessionbrowse.store.own.remembered_views import recall, scope_key
from sessionbrowse.store.watch import Watcher
from sessionbrowse.store.write.sessions_in_use import sessions_in_use

FIRST_ROWS = 120
"""Sessions that the first look at the list can show, on any screen."""
SLICE = 400
"""Sessions handed over at once: the browser takes them between two keys."""
BATCH_SECONDS = 0.05
LONG_BYTES = 16 * 1024 * 1024
"""A file of so many takes longer to read than rows before it are to wait."""
CALM_SECONDS = 0.15
"""Least time between two looks at changed files."""
WALK_SHARE = 10
"""Walks that changes ask for may take a tenth of the time."""
LOOK_AROUND_SECONDS = 3.0
"""How often running programs, and places that were missing, are looked for."""
GO_SECONDS = 2.0
"""How long the browser's first paint is waited for."""


class Request(Struct, frozen=True, kw_only=True):
    """What the browser wants to see: roots and agents of the command line, places and order of the settings.

    `state` is the directory in which is remembered how the browser was left; None where that does not count.
    """

    home: str
    environ: dict[str, str]
    cache: str
    roots: Sequence[str] = ()
    agents: Sequence[str] = ()
    extra_roots: Sequence[str] = ()
    sort: str = "recent"
    state: str | None = None
    tools: bool = False


class Live:
    """One browser's view of the disk. It is asked for `go` (painted), `hidden` (or not), `scan`, `look` (a path)."""

    def __init__(self, request: Request, tell: Callable[[News], None]) -> None:
        self._request = request
        self._tell = tell
        self._scope = Scope(
            around=replace(real_surroundings(), home=request.home, environ=request.environ),
            roots=tuple(request.roots),
            extra_roots=tuple(request.extra_roots),
            agents=tuple(request.agents),
        )
        self._inbox: queue.Queue[tuple[str, object]] = queue.Queue()
        self._readings = Readings(Path(request.cache), self._scope.override, lambda sentence: tell(Note(sentence)))
        self._files: dict[str, FoundFile] = {}
        self._shown: dict[str, Summary] = {}
        self._places: tuple[Place, ...] = ()
        self._watcher = Watcher(lambda paths: self.ask("changed", paths))
        self._is_watching = False
        self._changed: set[str] = set()
        self._walk_wanted = True
        self._next_look = self._next_walk = self._next_around = 0.0
        self._in_use: tuple[str, ...] = ()

    def ask(self, what: str, value: object = None) -> None:
        """Put something into the inbox, from any thread."""
        self._inbox.put((what, value))

    def run(self) -> None:
        """Work until the process ends, or a root that was given is not there, or no more."""
        try:
            self.begin()
            while True:
                self.step(self._pause())
        except NotFound as error:
            self._tell(Failed(error.sentence))

    def end(self) -> None:
        """Stop watching."""
        self._watcher.stop()

    # -- the beginning ------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Hand over what the index holds below the places, the first rows before the browser paints.

        Raises:
            NotFound: a root is no directory, or an agent none of the four.
        """
        self._places = scan_of(self._scope).places
        is_listed = _listed(self._places)
        order = self._first_order()
        opened = order == "recent" and self._open_in_brief(is_listed)
        if opened:
            self._wait_for_paint()
        summaries = [summary for summary in self._readings.remember(is_listed) if self._is_wanted(summary)]
        if not summaries:
            return
        known = {summary.path: summary for summary in summaries}
        known.update({summary.path: summary for summary in link_parents(summaries)})
        in_order = ordered(known.values(), order)
        if not opened:
            self._tell(Opening(tuple(in_order[:FIRST_ROWS]), _folders(in_order), len(in_order)))
            self._wait_for_paint()
        self._show(in_order)
        self._tell(Indexed())

    def _first_order(self) -> str:
        """Return the order in which the browser was left, unless the settings name another one since."""
        order = self._request.sort
        if self._request.state is not None:
            view, _ = recall(self._request.state, scope_key(self._request.roots, self._request.agents))
            order = view.sort if view is not None and view.holds("sort", order) else order
        # A thread is as new as its newest session; relevance is an order of hits only.
        return "recent" if order in ("threaded", "relevance") else order

    def _open_in_brief(self, is_listed: Callable[[str], bool]) -> bool:
        """Hand over the newest rows and the counts of all, without reading what is known of all; False for none."""
        briefs = [brief for brief in self._readings.briefs(is_listed) if self._is_wanted(brief)]
        newest = sorted(briefs, key=lambda brief: (-(brief.modified or 0), -brief.mtime_ns))[:FIRST_ROWS]
        rows = self._readings.recall(newest)
        if rows:
            self._tell(Opening(tuple(rows), _folders(briefs), len(briefs)))
        return bool(rows)

    def _wait_for_paint(self) -> None:
        """Leave the processor to the browser until it has painted."""
        end = time.monotonic() + GO_SECONDS
        kept: list[tuple[str, object]] = []
        with suppress(queue.Empty):
            while (asked := self._inbox.get(timeout=max(0.0, end - time.monotonic())))[0] != "go":
                kept.append(asked)
        for asked in kept:
            self._inbox.put(asked)

    # -- one thing after the other ------------------------------------------------------------------------------

    def step(self, seconds: float) -> None:
        """Wait for something to do, no longer than some seconds, and do it."""
        with suppress(queue.Empty):
            self._take(*self._inbox.get(timeout=seconds))
            while True:
                self._take(*self._inbox.get_nowait())
        now = time.monotonic()
        if self._walk_wanted and now >= self._next_walk:
            self._walk()
        elif self._changed and now >= self._next_look:
            self._look_again()
        if time.monotonic() >= self._next_around:
            self._look_around()

    def _pause(self) -> float:
        due = [self._next_around]
        if self._walk_wanted:
            due.append(self._next_walk)
        if self._changed:
            due.append(self._next_look)
        return max(0.0, min(due) - time.monotonic())

    def _take(self, what: str, value: object) -> None:
        match what, value:
            case "changed", frozenset():
                self._changed |= value
            case "look", str():
                self._changed.add(value)
            case "hidden", bool():
                self._scope = replace(self._scope, hidden=value, archived=value)
                self._walk_wanted, self._next_walk = True, 0.0
            case "scan", _:
                self._walk_wanted, self._next_walk = True, 0.0
            case "indexing", (int(done), int(total)):
                self._tell(Indexing(done, total))

    # -- the whole disk -----------------------------------------------------------------------------------------

    def _walk(self) -> None:
        """Look at every place, read what is new, and say what is gone."""
        began = time.monotonic()
        self._walk_wanted = False
        self._changed.clear()
        is_unwatched = not self._is_watching and not self._shown
        if not is_unwatched:
            self._watch()
        skipped: list[Skipped] = []
        found: dict[str, Summary] = {}
        files: dict[str, FoundFile] = {}
        for places, walked in turns(scan_of(self._scope), found.values, skipped=skipped.append):
            if places and places[0] not in self._places:
                self._places = (*self._places, *places)
                self._watch()
            files.update({file.path: file for file in walked})
            self._read(newest_first(walked), found)
        self._files = files
        self._readings.forget([path for path in self._readings.paths() if path not in files])
        self._leave([path for path in self._shown if path not in found])
        self._show(link_parents(found.values()))
        self._tell(Complete(tuple([(each.path, each.reason) for each in skipped])))
        self._index_the_rest()
        self._next_walk = time.monotonic() + WALK_SHARE * (time.monotonic() - began)
        if is_unwatched:
            # What came before anybody watched is found now.
            self._watch()
            self._walk_wanted, self._next_walk = True, 0.0

    def _watch(self) -> None:
        """Watch the places. It looks at every folder, which would hold up the first rows where none are known."""
        self._is_watching = True
        self._watcher.watch([place.root for place in self._places])

    def _read(self, files: Sequence[FoundFile], found: dict[str, Summary]) -> None:
        """Show what is known of the files, then read the others, and say how far that is."""
        stale: list[FoundFile] = []
        known: list[Summary] = []
        for file in files:
            summary = self._readings.get(file)
            if summary is None:
                stale.append(file)
            elif self._is_wanted(summary):
                found[file.path] = summary
                known.append(summary)
        self._show(known)
        done = len(files) - len(stale)
        pending: list[Summary] = []
        # Not the first row alone: while the browser is laid out there is time for a screen full of them.
        deadline = time.monotonic() + BATCH_SECONDS
        before_long = {file.path for file, following in pairwise(stale) if following.size >= LONG_BYTES}
        for file, summary in self._readings.read(stale):
            done += 1
            if summary is not None and self._is_wanted(summary):
                found[file.path] = summary
                pending.append(summary)
            if pending and (time.monotonic() >= deadline or file.path in before_long):
                self._show(pending, done, len(files))
                self._watch()
                pending = []
                deadline = time.monotonic() + BATCH_SECONDS
        self._show(pending, done, len(files))

    def _is_wanted(self, summary: Summary | Brief) -> bool:
        scope = self._scope
        return (scope.hidden or not summary.hidden) and (not scope.agents or summary.agent in scope.agents)

    def _index_the_rest(self) -> None:
        files, self._readings.unindexed = self._readings.unindexed, []
        if files and self._readings.has_index:
            start_indexing(
                Path(self._request.cache),
                files,
                self._scope.override,
                tools=True if self._request.tools else None,
                progress=lambda done, total: self.ask("indexing", (done, total)),
            )

    # -- changes ------------------------------------------------------------------------------------------------

    def _look_again(self) -> None:
        """Read the files that changed; for others that may be sessions, or folders, look at everything."""
        changed, self._changed = self._changed, set()
        listed = _listed(self._places)
        found: list[Summary] = []
        gone: list[str] = []
        now: list[FoundFile] = []
        for path in changed:
            file = self._files.get(path)
            if file is None:
                self._walk_wanted = self._walk_wanted or self._may_matter(path, listed)
                continue
            try:
                status = os.stat(path)
            except OSError:
                gone.append(path)
                self._files.pop(path)
                continue
            file = _at(file, status)
            self._files[path] = file
            if self._readings.get(file) is None:
                now.append(file)
        for file, summary in self._readings.read(now):
            if summary is not None and self._is_wanted(summary):
                found.append(self._with_parent(summary))
            elif file.path in self._shown:
                gone.append(file.path)
        self._readings.forget(gone)
        self._leave([path for path in gone if path in self._shown])
        self._show(found)
        self._index_the_rest()
        self._next_look = time.monotonic() + CALM_SECONDS

    def _may_matter(self, path: str, listed: Callable[[str], bool]) -> bool:
        if is_session_name(path):
            return self._scope.hidden or listed(path) or self._is_registry(path)
        # A folder: of a project that is new, or gone with all that it held.
        return os.path.isdir(path) or any(known.startswith(path + os.sep) for known in self._files)

    def _is_registry(self, path: str) -> bool:
        return any(
            place.kind in ("registry", "archive") and path.startswith(place.root + os.sep) for place in self._places
        )

    def _with_parent(self, summary: Summary) -> Summary:
        """Keep what is known of a session's parent, or look for it."""
        before = self._shown.get(summary.path)
        if not summary.parent_session or summary.parent_path is not None:
            return summary
        if before is not None and before.parent_session == summary.parent_session:
            return replace(summary, parent_path=before.parent_path)
        linked = link_parents([*self._shown.values(), summary])
        return next((one for one in linked if one.path == summary.path), summary)

    def _look_around(self) -> None:
        """Say which sessions running programs speak for; look at places that have appeared."""
        in_use = tuple(sorted(sessions_in_use(self._shown.values(), self._scope.around)))
        if in_use != self._in_use:
            self._in_use = in_use
            self._tell(InUse(in_use))
        if self._watcher.has_appeared():
            self._walk_wanted = True
        self._next_around = time.monotonic() + LOOK_AROUND_SECONDS

    # -- what is told -------------------------------------------------------------------------------------------

    def _show(self, summaries: Iterable[Summary], done: int = 0, total: int = 0) -> None:
        """Hand over what differs from what was handed over before, in slices."""
        new = []
        for summary in summaries:
            before = self._shown.get(summary.path)
            if before is not None and before.parent_session == summary.parent_session and not summary.parent_path:
                # Parents are linked when all are known; until then the old link stands.
                summary = replace(summary, parent_path=before.parent_path) if before.parent_path else summary
            if before != summary:
                self._shown[summary.path] = summary
                new.append(summary)
        for start in range(0, len(new), SLICE):
            self._tell(Found(tuple(new[start : start + SLICE]), done, total))

    def _leave(self, paths: Sequence[str]) -> None:
        for path in paths:
            del self._shown[path]
        if paths:
            self._tell(Gone(tuple(paths)))


def _listed(places: Sequence[Place]) -> Callable[[str], bool]:
    """Return what tells by its path alone whether a session is one that its program lists."""
    deep = {place.root.rstrip(os.sep) for place in places if place.kind == "projects"}
    flat = {place.root.rstrip(os.sep) for place in places if place.kind in ("folder", "flat")}

    def listed(path: str) -> bool:
        folder = os.path.dirname(path)
        return folder in flat or os.path.dirname(folder) in deep

    return listed


def _folders(summaries: Sequence[Summary] | Sequence[Brief]) -> tuple[Folder, ...]:
    by_cwd: dict[str, list[Summary | Brief]] = {}
    for summary in summaries:
        by_cwd.setdefault(summary.cwd, []).append(summary)
    return tuple(
        [
            Folder(
                cwd,
                len(own),
                sum([summary.name is not None for summary in own]),
                max([summary.modified or 0 for summary in own]),
                tuple(sorted({summary.agent for summary in own})),
            )
            for cwd, own in by_cwd.items()
        ]
    )


def _at(file: FoundFile, status: os.stat_result) -> FoundFile:
    return replace(
        file,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        inode=status.st_ino,
        device=status.st_dev,
    )
