"""Ctrl+C on the command line: it ends the process at once, except while a change is made, which cleans up first.

Reading commands leave nothing behind. Python's own reaction, an exception at any moment, would print a traceback
during imports and at the exit, and crash msgspec while it prepares a decoder.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager


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
