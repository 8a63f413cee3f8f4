"""A queue that runs background work in order. Unlike in `jobs.Lane`, new work never cancels older work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

Deliver = Callable[[Callable[[], None]], object]
"""A function that calls another function in the thread of the user interface; callable from any thread."""
Take = Callable[[Any, Exception | None], None]
"""A function that receives the result of background work, or the error."""


class ChangeQueue:
    """Runs work in order in a background thread, and passes each result to the thread of the user interface."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Callable[[], Any], Take]] = deque()
        self._runs = False
        self._when_idle: Callable[[], None] | None = None

    def ask(self, work: Callable[[], Any], take: Take) -> None:
        """Add work to the queue; `take` receives the result or the error in the thread of the user interface."""
        with self._lock:
            self._waiting.append((work, take))
            if self._runs:
                return
            self._runs = True
        threading.Thread(target=self._run, name="sessionbrowse-changes", daemon=True).start()

    @property
    def busy(self) -> bool:
        """True if background work runs or waits, or its result is not delivered yet."""
        return self._runs

    def drain(self, then: Callable[[], None]) -> None:
        """Call `then` as soon as the queue of background work is empty."""
        with self._lock:
            if self._runs:
                self._when_idle = then
                return
        then()

    def _run(self) -> None:
        goes_on = True
        while goes_on:
            with self._lock:
                work, take = self._waiting[0]
            value, error = None, None
            try:
                value = work()
            except Exception as raised:
                error = raised
            turn = _Turn(take, value, error)
            try:
                self._deliver(partial(self._take, turn))
            except RuntimeError:
                return  # The event loop is closed: the program is ending, and nobody will take the result.
            turn.taken.wait()
            goes_on = turn.goes_on

    def _take(self, turn: _Turn) -> None:
        then = None
        try:
            turn.take(turn.value, turn.error)
        finally:
            with self._lock:
                self._waiting.popleft()
                turn.goes_on = self._runs = bool(self._waiting)
                if not self._runs:
                    then, self._when_idle = self._when_idle, None
            turn.taken.set()
        if then is not None:
            then()


class _Turn:
    """The result of finished work, on its way from the background thread to the thread of the user interface.

    That thread sets `goes_on` to True if more work is in the queue, and then sets `taken`.
    """

    def __init__(self, take: Take, value: Any, error: Exception | None) -> None:
        self.take, self.value, self.error = take, value, error
        self.taken = threading.Event()
        self.goes_on = False
