"""Throttle updates of changed sessions, so that screens get them no faster than they can draw them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.tui.data.source import SessionUpdates

REST = 4
"""Pause after an update, as a multiple of the update's duration, so that key presses are handled meanwhile."""


class UpdateThrottle:
    """Collects changed and removed sessions, and passes them to the screens at once, or after a pause."""

    def __init__(
        self,
        publish: Callable[[SessionUpdates], None],
        set_timer: Callable[[float, Callable[[], None]], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._publish = publish
        self._set_timer = set_timer
        self._clock = clock
        self._changed: dict[str, Summary] = {}
        self._gone: set[str] = set()
        self._rested = 0.0
        self.due = False

    def add(self, changed: Sequence[Summary], gone: Sequence[str]) -> None:
        """Pass sessions that changed or are gone to the screens, at once or after a pause."""
        for summary in changed:
            self._changed[summary.path] = summary
            self._gone.discard(summary.path)
        for path in gone:
            self._changed.pop(path, None)
            self._gone.add(path)
        if self.due:
            return
        wait = self._rested - self._clock()
        if wait <= 0:
            self._tell()
        else:
            self.due = True
            self._set_timer(wait, self._tell)

    def _tell(self) -> None:
        updates = SessionUpdates(summaries=tuple(self._changed.values()), gone=frozenset(self._gone))
        self._changed, self._gone, self.due = {}, set(), False
        began = self._clock()
        self._publish(updates)
        now = self._clock()
        self._rested = now + REST * (now - began)
