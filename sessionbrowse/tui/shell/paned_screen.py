"""The base classes of screens with panes side by side, and the debounce of cursor moves between the panes."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.timer import Timer
from textual.widget import Widget

from sessionbrowse.tui.commands.command import MOVE, SESSION, SESSIONS, TREE, Command
from sessionbrowse.tui.data.list_state import ListState
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.row_list import RowList

if TYPE_CHECKING:
    from sessionbrowse.services.search.hits import Hit

ON_ROWS = frozenset({SESSIONS, TREE, SESSION})
STEP = 4
LEAST = 16
ROOM_FOR = {"projects": 80, "tree": 100, "preview": 120}
"""Minimum screen width in cells at which the user can resize a pane, because another pane is beside that pane."""

QUICK_SECONDS = 0.2
"""Maximum seconds between two cursor moves that count as quick moves."""
PAUSE_SECONDS = 0.15
"""Seconds without a move after which the cursor counts as resting."""


class PanedScreen(CommandScreen[None]):
    """A screen whose panes the user can widen, narrow and zoom."""

    HOLD_SECONDS: ClassVar[float] = 60.0
    """Most seconds that a key press which acts on a row waits, with later ones, for the rows."""

    def __init__(self, *, name: str) -> None:
        super().__init__(name=name)
        self.widths: dict[str, int] = {}
        self._held: Command | None = None
        self._may_hold = True

    @property
    @abstractmethod
    def awaits_rows(self) -> bool:
        """True while the list is empty in which the cursor moves, because its rows are not read yet."""

    def run_command(self, command: Command) -> None:
        """Run a command; while the rows are awaited, hold one that acts on a row, and with it all later keys."""
        if self._may_hold and self.awaits_rows and _acts_on_row(command):
            self._held = command
            self.browser.hold_keys()
            self.browser.set_timer(self.HOLD_SECONDS, self.run_held)
        else:
            super().run_command(command)

    def run_held(self) -> None:
        """Run the command that is held, and then the keys pressed after it; the rows are there or do not come soon."""
        self._may_hold = False
        if self._held is not None:
            command, self._held = self._held, None
            self.browser.release_keys()
            if self.is_top:
                self.run_command(command)

    def keep_view(self) -> None:
        """Save the screen's cursor, filter and folded rows, to restore them when the screen is opened again."""

    @property
    @abstractmethod
    def sized_pane(self) -> tuple[str, int]:
        """The name of the pane that "wider" resizes; and 1 if "wider" makes it wider, -1 if it makes it narrower."""

    def on_resize(self, event: events.Resize) -> None:
        """Fit the widths of the panes to the new width of the screen."""
        self.fit_panes()

    def do_wider(self) -> None:
        """Make the focused pane wider."""
        self._widen(STEP)

    def do_narrower(self) -> None:
        """Make the focused pane narrower."""
        self._widen(-STEP)

    def do_zoom(self) -> None:
        """Zoom the focused pane to the whole screen, or show all panes again."""
        self.toggle_class("-zoomed")

    def _widen(self, columns: int) -> None:
        pane, sign = self.sized_pane
        if self.size.width < ROOM_FOR[pane]:
            self.browser.say("The screen is too narrow for panes side by side.", "warning")
            return
        wide = self.query_one(f"#{pane}").outer_size.width + sign * columns
        self.widths[pane] = max(LEAST, min(wide, self.size.width * 2 // 3))
        self.fit_panes()

    def fit_panes(self) -> None:
        """Apply the pane widths that the user chose, where the screen has room for them."""
        for pane, wide in self.widths.items():
            for widget in self.query(f"#{pane}"):
                if self.size.width >= ROOM_FOR.get(pane, 0):
                    widget.styles.width = min(wide, self.size.width * 2 // 3)
                else:
                    widget.styles.clear_rule("width")


def _acts_on_row(command: Command) -> bool:
    """Return True if a command acts on a row of a list of sessions or entries, or moves its cursor."""
    if command.group == MOVE:
        return not command.id.startswith("pane_")
    return command.id == "actions" or (command.reason is not None and not ON_ROWS.isdisjoint(command.where))


class ListScreen(PanedScreen):
    """The screen of the lists, as its search, its preview and the updates by the scan use it."""

    state: ListState

    @property
    def projects_list(self) -> RowList:
        """The widget that lists the projects."""
        return self.query_one("#projects", RowList)

    @property
    def sessions_list(self) -> RowList:
        """The widget that lists the sessions."""
        return self.query_one("#sessions", RowList)

    @property
    def is_seen(self) -> bool:
        """True if every screen on top of this screen is transparent; Textual's `is_current` ignores transparency."""
        stack = self.app.screen_stack
        above = stack[stack.index(self) + 1 :] if self in stack else stack
        return all(screen.styles.background.a < 1 for screen in above)

    @property
    @abstractmethod
    def pane(self) -> str:
        """The name of the focused pane."""

    @property
    @abstractmethod
    def hit(self) -> tuple[Hit, str] | None:
        """The found entry under the cursor (of a session: its best), and the query that found it; None for none."""

    def refresh_rows(self, *, top: bool = False) -> None:
        """Compute the rows of projects and sessions again; `top` puts the cursor on the first session."""

    def refresh_sessions(self, *, top: bool = False) -> None:
        """Compute the rows of the session list again; `top` puts the cursor on the first row."""

    def refresh_header(self) -> None:
        """Update the top bar: number of sessions and projects, progress of the scan."""


class Delayed:
    """Calls `do` once, some time after the first of several requests."""

    def __init__(self, widget: Widget, do: Callable[[], object]) -> None:
        self._widget = widget
        self._do = do
        self._timer: Timer | None = None

    @property
    def due(self) -> bool:
        """True while the call is pending."""
        return self._timer is not None

    def start(self, seconds: float) -> None:
        """Request the call in some seconds; do nothing if it is pending already."""
        if self._timer is None:
            self._timer = self._widget.set_timer(seconds, self._call)

    def cancel(self) -> None:
        """Cancel the pending call, if any."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _call(self) -> None:
        self._timer = None
        self._do()


class Resting(Delayed):
    """Debounce of cursor moves: calls `do`, which updates other panes, when the cursor has stopped after quick moves.

    A single move updates the panes at once. While an arrow key is held down, only the cursor itself is painted.
    """

    def __init__(self, widget: Widget, do: Callable[[], object], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(widget, do)
        self._clock = clock
        self._moved_at = float("-inf")

    def moved(self) -> bool:
        """Register a cursor move; return True for a single move, which the caller should handle at once."""
        now = self._clock()
        is_quick, self._moved_at = now - self._moved_at < QUICK_SECONDS, now
        self.cancel()
        if is_quick:
            self.start(PAUSE_SECONDS)
        return not is_quick
