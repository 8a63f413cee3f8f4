"""The process of a command: its end by Ctrl+C, and standard streams that were closed at its start.

Commands that only read have nothing to clean up. Python's own handler raises an exception at any moment: it would
print a traceback during imports and at exit, and crash msgspec while msgspec prepares a decoder.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TextIO


@contextmanager
def interrupts_clean_up() -> Iterator[None]:
    """Let Ctrl+C raise KeyboardInterrupt inside the `with` block, so that a change removes its temporary files."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def end_interrupted() -> None:
    """End this process by SIGINT, which shells report as status 130."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def fill_closed_streams() -> None:
    """Open the null device in place of every closed standard stream.

    Otherwise the next file to be opened, perhaps a session, would take the place of stdin, stdout or stderr.
    """
    if sys.stdin is None:
        sys.stdin = _nowhere(0, "r")
    if sys.stdout is None:
        sys.stdout = _nowhere(1, "w")
    if sys.stderr is None:
        sys.stderr = _nowhere(2, "w")


def _nowhere(number: int, mode: Literal["r", "w"]) -> TextIO:
    descriptor = os.open(os.devnull, os.O_RDWR)
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.set_inheritable(number, True)
    return open(number, mode, encoding="utf-8", closefd=False)
