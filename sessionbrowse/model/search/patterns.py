"""Patterns that users type, and an end to those that would search for ever, as `(a+)+x` does in many texts.

`re` holds the interpreter while it searches and minds nothing but signals, so a timer's signal is what ends it: in the
main thread, where the system has such timers. Elsewhere a search takes the time it takes.
"""

from __future__ import annotations

import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sessionbrowse.errors import SessionBrowseError

TICK_SECONDS = 0.05


class BadPattern(SessionBrowseError):
    """The pattern is empty or no regular expression."""


class TooSlow(SessionBrowseError):
    """The pattern took too long, or nobody waits for it any more."""


def compiled(text: str) -> re.Pattern[str]:
    """Return the pattern; case does not matter.

    Raises:
        BadPattern: it is empty, or no regular expression.
    """
    if not text:
        raise BadPattern("Type a pattern behind re:")
    try:
        with warnings.catch_warnings():
            # What may mean something else one day means what it means today.
            warnings.simplefilter("ignore")
            return re.compile(text, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPattern(f"The pattern is not valid: {error}") from None


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


def places(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """Return where a pattern matches in a text; nowhere where nothing is matched.

    Raises:
        TooSlow: the patience that `within` was given is at its end.
    """
    global _searching
    _searching = True
    try:
        return [found.span() for found in pattern.finditer(text) if found[0]]
    finally:
        _searching = False


@contextmanager
def within(seconds: float, is_over: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Let patterns search for so many seconds in all, and not longer than until something is over.

    Other threads run now and then meanwhile. Nothing else than a pattern's search is ever broken off.
    """
    global _must_end
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    end = time.monotonic() + seconds
    _must_end = lambda: time.monotonic() > end or is_over()  # noqa: E731
    # The handler stays: a signal that comes late must find one.
    signal.signal(signal.SIGALRM, _tick)
    signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS, TICK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


_searching = False
_must_end: Callable[[], bool] = lambda: False  # noqa: E731


def _tick(_number: int, _frame: object) -> None:
    if _searching and _must_end():
        raise TooSlow("The pattern takes too long here. One without a repetition in a repetition may not.")
