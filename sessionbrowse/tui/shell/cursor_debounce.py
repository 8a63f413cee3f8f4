"""Debounce of cursor moves: update panes at once after a single move, after quick moves only when the cursor rests.

While a key is held, only the cursor itself is painted.
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
    """Calls the function `do` when the cursor rests after quick moves."""

    def __init__(self, widget: Widget, do: Callable[[], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._widget = widget
        self._do = do
        self._clock = clock
        self._moved_at = float("-inf")
        self._timer: Timer | None = None

    @property
    def due(self) -> bool:
        """True while the call of `do` after quick cursor moves is still to come."""
        return self._timer is not None

    def moved(self) -> bool:
        """Note a cursor move; return True if the caller should act at once, because the cursor rested before."""
        now = self._clock()
        is_quick, self._moved_at = now - self._moved_at < QUICK_SECONDS, now
        self.cancel()
        if is_quick:
            self._timer = self._widget.set_timer(PAUSE_SECONDS, self._rests)
        return not is_quick

    def cancel(self) -> None:
        """Cancel the call of `do` for the cursor moves so far."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _rests(self) -> None:
        self._timer = None
        self._do()
