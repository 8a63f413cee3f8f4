"""Ctrl+C on the command line: it ends the process at once, except during a change, which cleans up first.

Commands that only read have nothing to clean up. Python's own handler raises an exception at any moment: it would
print a traceback during imports and at exit, and crash msgspec while msgspec prepares a decoder.
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
