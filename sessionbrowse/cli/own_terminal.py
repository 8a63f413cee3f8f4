"""Use the controlling terminal when stdin or stderr is redirected, as by a program that captures the output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CONTROLLING_TERMINAL = "/dev/tty"
_STREAMS = {"stdin": (0, "r"), "__stdin__": (0, "r"), "stderr": (2, "w"), "__stderr__": (2, "w")}


@contextmanager
def own_terminal() -> Iterator[bool]:
    """Inside the `with` block, connect stdin and stderr to the controlling terminal unless they are terminals.

    Without a controlling terminal the streams are unchanged. Yield True if both streams are terminals in the block.
    """
    elsewhere = [number for number in (0, 2) if not os.isatty(number)]
    terminal = None
    with suppress(OSError):
        terminal = os.open(_CONTROLLING_TERMINAL, os.O_RDWR) if elsewhere else None
    if terminal is None:
        yield not elsewhere
        return
    sys.stderr.flush()
    before = {number: os.dup(number) for number in elsewhere}
    streams = {name: getattr(sys, name) for name in _STREAMS}
    for number in elsewhere:
        os.dup2(terminal, number)
    os.close(terminal)
    for name, (number, mode) in _STREAMS.items():
        # The stream needs a new object, because a stream object caches properties of its file, such as being seekable.
        setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - the block of the caller uses it
    try:
        yield True
    finally:
        sys.stderr.flush()
        for number, kept in before.items():
            os.dup2(kept, number)
            os.close(kept)
        for name, stream in streams.items():
            setattr(sys, name, stream)
