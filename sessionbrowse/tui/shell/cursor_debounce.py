"""What follows the cursor, such as a preview: at once where the cursor rested before, else when it rests again.

While a key is held the cursor's own frames are all that is worth making.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

QUICK_SECONDS = 0.2
"""Moves that come sooner one after the other are one going through the rows."""
PAUSE_SECONDS = 0.15
"""How long the cursor stands after such moves until it is taken to rest."""


class Resting:
    """Calls `do` when the cursor that `moved` rests."""

    def __init__(self, widget: Widget, do: Callable[[], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._widget = widget
        self._do = do
        self._clock = clock
        self._moved_at = float("-inf")
        self._timer: Timer | None = None

    @property
    def due(self) -> bool:
        """Whether the end of quick moves is waited for."""
        return self._timer is not None

    def moved(self) -> bool:
        """Take a move; return whether the cursor rested before, so that it is up to the caller to `do` at once."""
        now = self._clock()
        is_quick, self._moved_at = now - self._moved_at < QUICK_SECONDS, now
        self.cancel()
        if is_quick:
            self._timer = self._widget.set_timer(PAUSE_SECONDS, self._rests)
        return not is_quick

    def cancel(self) -> None:
        """Wait no more."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _rests(self) -> None:
        self._timer = None
        self._do()
