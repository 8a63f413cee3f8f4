"""Throttle updates about changed sessions, so that drawing them does not block the interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.tui.data.source import SessionUpdates

REST = 4
"""Factor for the pause after an update: the pause is this many times as long as the update, to leave time for keys."""


class UpdateThrottle:
    """Collects changed and removed sessions and publishes them to the screens, with pauses between two updates."""

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
        """Publish changed sessions and the paths of removed ones now, or when the pause after the last update ends."""
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
