"""The session preview: shows a session's facts at once, and its conversation when the cursor rests on it."""

from __future__ import annotations

from textual.timer import Timer

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.text import clean
from sessionbrowse.tui.data.jobs import Job, Outcome
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.lists.state import ListState
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.shell.cursor_debounce import Resting
from sessionbrowse.tui.widgets.text_view import TextView

PREVIEW_DELAY = 0.12
"""Seconds the cursor rests on a session before its file is opened for the preview."""


class Preview:
    """Controls the preview pane: decides which session it shows, and when the session's file is read."""

    def __init__(self, screen: CommandScreen[None], state: ListState) -> None:
        self._screen = screen
        self._state = state
        self._painted = False
        self._is_stale = False
        self._timer: Timer | None = None
        self._resting = Resting(screen, self._rests)
        self._asked: str | None = None
        self._shown: str | None = None
        self._is_due = False

    @property
    def due(self) -> bool:
        """True if the preview does not show the session under the cursor yet."""
        return self._is_due or self._resting.due

    @property
    def _view(self) -> TextView:
        return self._screen.query_one("#preview", TextView)

    def show(self) -> None:
        """Show the session under the cursor in the preview: its facts, after a short delay its conversation."""
        summary = self._screen.subject
        if self._timer is not None:
            self._timer.stop()
            self._is_due = False
        self._screen.lane("preview", self.take).cancel()
        if summary is None:
            self._resting.cancel()
            self._asked = None
            self._view.show([], empty="")
            return
        self._asked = summary.path
        self._shown = None
        rested = self._resting.moved()
        if rested or not self._painted:
            # The list rows are painted first, because the preview takes as long as they do, and longer if it must
            # import modules.
            self._screen.after_frame(self._show_facts)
        if rested and self._screen.has_class("-preview-shown"):
            self._is_due = True
            self._timer = self._screen.set_timer(PREVIEW_DELAY, self.load)

    def set_shown(self, shown: bool) -> None:
        """Show or hide the preview pane."""
        screen = self._screen
        if shown == screen.has_class("-preview-shown"):
            return
        screen.set_class(shown, "-preview-shown")
        if shown:
            self.show()
        elif screen.focused is self._view:
            screen.set_focus(screen.query_one("#sessions"))

    def _rests(self) -> None:
        """Show the session on which the cursor rests after quick moves."""
        self._show_facts()
        if self._screen.has_class("-preview-shown"):
            self.load()

    def load(self, *, follows: bool = False) -> None:
        """Read the session under the cursor in the background, for its conversation in the preview."""
        self._is_due = False
        summary, browser = self._screen.subject, self._screen.browser
        if summary is None:
            return

        def load(job: Job) -> object:
            from sessionbrowse.tui.reading.documents import conversation

            return conversation(browser.open_session(summary.path, summary.agent), summary)

        lane = self._screen.lane("preview", self.take)
        (lane.follow if follows else lane.ask)(load)

    def changed(self) -> None:
        """Read the previewed session again after a change; the preview keeps its scroll position."""
        # While another screen covers the preview, reading the session again can wait.
        self._is_stale = not self._screen.is_seen
        if self._screen.is_seen:
            self.load(follows=True)

    def seen_again(self) -> None:
        """Read the previewed session again if it changed while another screen covered the preview."""
        if self._is_stale:
            self._is_stale = False
            self.load()

    def take(self, outcome: Outcome) -> None:
        """Show the conversation that was read, if the cursor is still on that session."""
        summary = self._screen.subject
        if summary is None or summary.path != self._asked:
            return
        from sessionbrowse.tui.reading.documents import rule

        if outcome.error is not None:
            reason = LinePart([("✗ ", "error"), (clean(outcome.sentence), "error")])
            self._view.show([*self._facts(summary), rule(), reason])
            return
        parts = [*self._facts(summary), *outcome.value]
        self._view.show(parts, keep_place=self._shown == summary.path)
        self._shown = summary.path

    def _show_facts(self) -> None:
        self._painted = True
        summary = self._screen.subject
        if summary is not None and self._shown != summary.path:
            self._view.show(self._facts(summary))

    def _facts(self, summary: Summary) -> list[Part]:
        from sessionbrowse.tui.reading.documents import summary_parts

        browser = self._screen.browser
        exists = self._state.exists.get(summary.cwd)
        return summary_parts(summary, browser.home, browser.now_ms(), exists=exists)
