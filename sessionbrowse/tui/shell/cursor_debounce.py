"""Debounce of cursor moves: delay the update of other panes while the cursor moves quickly.

A single move updates the panes at once. While an arrow key is held down, only the cursor itself is painted.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

QUICK_SECONDS = 0.2
"""Maximum seconds between two cursor moves that count as quick moves."""
PAUSE_SECONDS = 0.15
"""Seconds without a move after which the cursor counts as resting."""


class Resting:
    """Calls the function `do`, which updates other panes, when the cursor has stopped after quick moves."""

    def __init__(self, widget: Widget, do: Callable[[], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._widget = widget
        self._do = do
        self._clock = clock
        self._moved_at = float("-inf")
        self._timer: Timer | None = None

    @property
    def due(self) -> bool:
        """True if the cursor moved quickly and the update of the other panes is still pending."""
        return self._timer is not None

    def moved(self) -> bool:
        """Register a cursor move; return True for a single move, which the caller should handle at once."""
        now = self._clock()
        is_quick, self._moved_at = now - self._moved_at < QUICK_SECONDS, now
        self.cancel()
        if is_quick:
            self._timer = self._widget.set_timer(PAUSE_SECONDS, self._rests)
        return not is_quick

    def cancel(self) -> None:
        """Cancel the pending update of the other panes, if any."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _rests(self) -> None:
        self._timer = None
        self._do()
