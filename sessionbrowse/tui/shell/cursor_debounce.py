"""Debounce of cursor moves: a single move is followed at once, quick moves only when the cursor rests.

While a key is held, only the cursor itself is painted.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

QUICK_SECONDS = 0.2
"""Moves closer together than this are quick moves."""
PAUSE_SECONDS = 0.15
"""Seconds without a move until the cursor rests."""


class Resting:
    """Calls `do` when the cursor rests after quick moves."""

    def __init__(self, widget: Widget, do: Callable[[], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._widget = widget
        self._do = do
        self._clock = clock
        self._moved_at = float("-inf")
        self._timer: Timer | None = None

    @property
    def due(self) -> bool:
        """True if `do` is still to be called."""
        return self._timer is not None

    def moved(self) -> bool:
        """Note a move; return True if the cursor rested before: then the caller acts at once."""
        now = self._clock()
        is_quick, self._moved_at = now - self._moved_at < QUICK_SECONDS, now
        self.cancel()
        if is_quick:
            self._timer = self._widget.set_timer(PAUSE_SECONDS, self._rests)
        return not is_quick

    def cancel(self) -> None:
        """Do not call `do` for the moves so far."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _rests(self) -> None:
        self._timer = None
        self._do()
