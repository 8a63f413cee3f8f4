"""Patterns that users type, and an end to those that would search for ever, as `(a+)+x` does in many texts.

`re` holds the interpreter while it searches and minds nothing but signals, so a timer's signal is what ends it: in the
main thread, where the system has such timers. Elsewhere a search takes the time it takes.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sessionbrowse.errors import SessionBrowseError

TICK_SECONDS = 0.05


class TooSlow(SessionBrowseError):
    """The pattern took too long, or nobody waits for it any more."""


def search(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return a pattern's first match in a text.

    Raises:
        TooSlow: the patience that `within` was given is at its end.
    """
    global _searching
    _searching = True
    try:
        return pattern.search(text)
    finally:
        _searching = False


@contextmanager
def within(seconds: float, is_over: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Let patterns search for so many seconds in all, and not longer than until something is over.

    Other threads run now and then meanwhile. Nothing else than a pattern's search is ever broken off.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    end = time.monotonic() + seconds

    def tick(_number: int, _frame: object) -> None:
        if _searching and (time.monotonic() > end or is_over()):
            raise TooSlow("The pattern takes too long here. One without a repetition in a repetition may not.")

    before = signal.signal(signal.SIGALRM, tick)
    signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS, TICK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        # A signal that comes late finds nobody searching.
        signal.signal(signal.SIGALRM, before if before is not None else signal.SIG_DFL)


_searching = False
