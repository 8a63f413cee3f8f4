"""Update the project and session lists during a scan of the disk: add and remove sessions, show the progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property

from textual.widget import Widget

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.monitor_messages import (
    IndexProgress,
    IndexRead,
    MonitorFailed,
    Notice,
    ScanComplete,
    SessionsFound,
    SessionsGone,
    SessionsInUse,
)
from sessionbrowse.store.own.pins import Pins
from sessionbrowse.tui.data.jobs import Outcome
from sessionbrowse.tui.data.source import DirectoryFacts, SessionUpdates, directory_facts
from sessionbrowse.tui.lists.rows import ScanProgress, advanced
from sessionbrowse.tui.paint.spans import one_line
from sessionbrowse.tui.shell.paned_screen import Delayed, ListScreen

PROJECT_SECONDS = 0.05
"""Seconds that the list waits after the first sessions are found; the scan reads those of the project to open first."""
REFRESH_DELAY = 0.08
"""Seconds to wait after a session is found before computing the lists' rows again, in case more sessions follow."""


class ScanUpdates:
    """Adds the results of scans to the library (the summaries of all sessions), then updates the rows of the lists."""

    def __init__(self, screen: ListScreen) -> None:
        self._screen = screen
        self.progress: ScanProgress | None = None
        self.in_use: frozenset[str] = frozenset()
        self.failure: str | None = None
        self.refreshing = Delayed(screen, screen.refresh_rows)
        self._waits_little = False

    @cached_property
    def throttle(self) -> UpdateThrottle:
        """The throttle that limits how often all screens are updated for sessions that changed on disk."""
        return UpdateThrottle(self._screen.browser.publish, self._screen)

    def begin(self) -> None:
        """Mark the scan as running and clear the previous failure, because a new scan of the disk begins."""
        self._screen.state.scanning, self.failure = True, None

    def wait_little(self) -> None:
        """From the first found sessions on, wait only `PROJECT_SECONDS` more for those of the project to open."""
        if self._screen.state.awaits_project and not self._waits_little:
            self._waits_little = True
            self._screen.set_timer(PROJECT_SECONDS, self.stop_waiting)

    def stop_waiting(self) -> None:
        """List the sessions found so far, instead of waiting for the project to open."""
        if self._screen.state.awaits_project:
            self._screen.state.awaits_project = False
            self._screen.refresh_rows()

    def receive_event(self, outcome: Outcome) -> None:
        """Handle an event of the disk monitor or of a scan: sessions found or gone, progress, or a failure."""
        screen = self._screen
        match MonitorFailed(outcome.sentence) if outcome.error is not None else outcome.value:
            case SessionsFound(summaries, done, total):
                self.advance("reading", done, total)
                self._receive_found(summaries)
                self.wait_little()
                if total and screen.state.library.uses_first_rows:
                    # The monitor is reading session files already. Before that it sends all sessions of the index and
                    # then `IndexRead`. As that message has not come, there is no usable index to wait for.
                    screen.state.library.drop_first_rows()
                    self.refreshing.start(REFRESH_DELAY)
            case IndexRead():
                screen.state.library.drop_first_rows()
                screen.state.library.is_complete = True
                # The index has all but the newest sessions, so a project that it lacks most likely has no sessions.
                screen.state.awaits_project = False
                self.refreshing.start(REFRESH_DELAY)
            case SessionsGone(paths):
                self.throttle.add((), paths)
            case ScanComplete(skipped):
                screen.state.library.drop_first_rows()
                screen.state.library.is_complete = True
                self._complete(skipped)
            case IndexProgress(done, total):
                self.advance("indexing", done, total)
                screen.refresh_header()
            case SessionsInUse(paths):
                self.in_use = frozenset(paths)
                screen.sessions_list.refresh()
            case Notice(sentence):
                screen.browser.say(sentence, "warning")
            case MonitorFailed(sentence):
                self.failure, screen.state.scanning, self.progress = one_line(sentence, 80), False, None
                screen.state.awaits_project = False
                screen.browser.say(f"{sentence} {screen.browser.keys.key_of('reload')} reads again.", "error")
                self.refreshing.start(REFRESH_DELAY)

    def _receive_found(self, summaries: Sequence[Summary]) -> None:
        screen, library = self._screen, self._screen.state.library
        before = len(library)
        # During a scan, update all screens only for changed sessions: there may be thousands of new sessions.
        same = (None,) if screen.state.scanning else ()
        changed = [each for each in summaries if library.get(each.path) not in (*same, each)]
        library.add(summaries)
        if not before and len(library):
            screen.browser.sessions_found()
        if changed and not library.uses_first_rows:
            self.throttle.add(changed, ())
        elif not before or screen.state.is_waiting:
            screen.refresh_rows()
        elif not library.uses_first_rows or screen.state.searched or screen.state.shown_project is not None:
            self.refreshing.start(REFRESH_DELAY)

    def advance(self, verb: str, done: int, total: int) -> None:
        """Show the progress of a scan or of a look at another machine; none once all is done."""
        self.progress = advanced(self.progress, verb, done, total, self._screen.browser.now_ms())

    def _complete(self, skipped: Sequence[tuple[str, str]]) -> None:
        self.progress = None
        self._screen.state.scanning = self._screen.state.awaits_project = False
        self._screen.refresh_rows()
        self._ask_directories()
        self._screen.browser.scanned(len(self._screen.state.library), tuple(skipped))

    # -- directories and pins -----------------------------------------------------------------------------------

    def _ask_directories(self) -> None:
        """Check in the background which projects exist, which were moved, and which are inside repositories."""
        source, directories = self._screen.browser.source, self._screen.state.directories()
        lane = self._screen.lane("directories", self._receive_directories)
        lane.ask(lambda job: directory_facts(source, directories))

    def _receive_directories(self, outcome: Outcome) -> None:
        facts, state = outcome.value, self._screen.state
        if isinstance(facts, DirectoryFacts):
            state.exists.update(facts.exists)
            state.moved, state.machines = facts.moved, facts.machines
            before = len(state.projects)
            state.library.know_directories(facts.repositories, facts.links)
            if state.library.by_repository or len(state.project_rows()) != before:
                self._screen.refresh_rows()
            self._screen.projects_list.refresh()

    def ask_pins(self) -> None:
        """Read in the background which sessions are pinned."""
        browser = self._screen.browser
        self._screen.lane("pins", self._receive_pins).ask(lambda job: browser.source.pins())

    def _receive_pins(self, outcome: Outcome) -> None:
        if outcome.error is not None:
            self._screen.browser.say(outcome.sentence, "error")
        elif isinstance(outcome.value, Pins):
            self.show_pins(outcome.value)

    def show_pins(self, pins: Pins) -> None:
        """Show the pinned sessions at the top of the list."""
        self._screen.state.library.pins = pins
        self._screen.refresh_sessions()


REST = 4
"""Factor for the pause after an update: the pause is this many times as long as the update, to leave time for keys."""


class UpdateThrottle:
    """Collects changed and removed sessions and publishes them to the screens, with pauses between two updates."""

    def __init__(
        self,
        publish: Callable[[SessionUpdates], None],
        screen: Widget,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._publish = publish
        self._clock = clock
        self._changed: dict[str, Summary] = {}
        self._gone: set[str] = set()
        self._rested = 0.0
        self.pause = Delayed(screen, self._tell)
        """The pause after an update, at whose end the next one follows."""

    def add(self, changed: Sequence[Summary], gone: Sequence[str]) -> None:
        """Publish changed sessions and the paths of removed ones now, or when the pause after the last update ends."""
        for summary in changed:
            self._changed[summary.path] = summary
            self._gone.discard(summary.path)
        for path in gone:
            self._changed.pop(path, None)
            self._gone.add(path)
        wait = self._rested - self._clock()
        if wait > 0 or self.pause.due:
            self.pause.start(wait)
        else:
            self._tell()

    def _tell(self) -> None:
        updates = SessionUpdates(summaries=tuple(self._changed.values()), gone=frozenset(self._gone))
        self._changed, self._gone = {}, set()
        began = self._clock()
        self._publish(updates)
        now = self._clock()
        self._rested = now + REST * (now - began)
