"""What comes of the disk while the lists stand there: sessions found, changed and gone, and how the reading goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
from sessionbrowse.tui.lists.rows import one_line
from sessionbrowse.tui.lists.titles import Progress, advanced
from sessionbrowse.tui.lists.update_throttle import Announcing
from sessionbrowse.tui.shell.jobs import Outcome

if TYPE_CHECKING:
    from sessionbrowse.tui.lists.screen import BrowseScreen

REFRESH_DELAY = 0.08
"""Seconds that sessions which arrive one after the other wait for a common refresh of the rows."""


class Arrivals:
    """Takes the scan and the disk monitor's events into the library, and has the rows computed anew."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen
        self.under_way: Progress | None = None
        self.in_use: frozenset[str] = frozenset()
        self.scanning = True
        self.failure: str | None = None
        self.refresh_due = False
        self.announcing = Announcing(screen)

    def begin(self) -> None:
        """Show that the disk is read again."""
        self.scanning, self.failure = True, None

    def take_scan(self, outcome: Outcome) -> None:
        """Take a batch of sessions, or the end of the scan."""
        from sessionbrowse.services.list.scan import Batch

        screen = self._screen
        if outcome.error is not None:
            self.failure = one_line(str(outcome.error), 80)
        if isinstance(outcome.value, Batch):
            self._advance("reading", outcome.value.done, outcome.value.total)
            screen.library.add(outcome.value.summaries)
        if outcome.last:
            if isinstance(outcome.value, frozenset):
                screen.library.keep_only(outcome.value)
            self._complete([(each.path, each.reason) for each in screen.browser.source.skipped()])
        else:
            screen.refresh_rows()

    def take_event(self, outcome: Outcome) -> None:
        """Take an event of the disk monitor."""
        screen = self._screen
        match outcome.value:
            case SessionsFound(summaries, done, total):
                self._advance("reading", done, total)
                self._take_found(summaries)
            case IndexRead():
                screen.library.opened()
                self._refresh_soon()
            case SessionsGone(paths):
                self.announcing.add((), paths)
            case ScanComplete(skipped):
                screen.library.opened()
                self._complete(skipped)
            case IndexProgress(done, total):
                self._advance("indexing", done, total)
                screen.refresh_header()
            case SessionsInUse(paths):
                self.in_use = frozenset(paths)
                screen.sessions_list.refresh()
            case Notice(sentence):
                screen.browser.say(sentence, "warning")
            case MonitorFailed(sentence):
                self.failure, self.scanning, self.under_way = one_line(sentence, 80), False, None
                screen.browser.say(f"{sentence} {screen.browser.keys.key_of('reload')} reads again.", "error")
                self._refresh_soon()

    def _take_found(self, summaries: Sequence[Summary]) -> None:
        screen, library = self._screen, self._screen.library
        before = len(library)
        # Once all was read, a session that nobody knew is news to every screen too.
        same = (None,) if self.scanning else ()
        changed = [each for each in summaries if library.get(each.path) not in (*same, each)]
        library.add(summaries)
        if not before and len(library):
            screen.browser.sessions_found()
        if changed and not library.is_opening:
            self.announcing.add(changed, ())
        elif not before:
            screen.refresh_rows()
        elif not library.is_opening or not screen.filters["sessions"].is_empty or screen.folder is not None:
            self._refresh_soon()

    def _advance(self, verb: str, done: int, total: int) -> None:
        self.under_way = advanced(self.under_way, verb, done, total, self._screen.browser.now_ms())

    def _complete(self, skipped: Sequence[tuple[str, str]]) -> None:
        self.under_way = None
        self.scanning = False
        self._screen.refresh_rows()
        self._screen.ask_directories()
        self._screen.browser.scanned(len(self._screen.library), tuple(skipped))

    def _refresh_soon(self) -> None:
        """Have the rows computed anew once, however much arrives meanwhile."""
        if not self.refresh_due:
            self.refresh_due = True
            self._screen.set_timer(REFRESH_DELAY, self._refresh_now)

    def _refresh_now(self) -> None:
        self.refresh_due = False
        self._screen.refresh_rows()
