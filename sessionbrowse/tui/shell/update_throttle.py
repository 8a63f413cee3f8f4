"""What the disk says, handed to the screens no faster than they can draw it, however often a file changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.tui.shell.session_updates import SessionUpdates

REST = 4
"""After telling, the screens rest for so many times as long as that took: keys come first."""


class UpdateThrottle:
    """Gathers changed and vanished sessions, and tells them at once or when the screens have rested."""

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
        """Have every screen look again at sessions that changed or are gone."""
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
