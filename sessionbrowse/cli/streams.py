"""The standard streams of a program that was started with some of them closed, as with `<&-`."""

from __future__ import annotations

import os
import sys
from typing import Literal, TextIO


def fill_closed_streams() -> None:
    """Let what is closed lead nowhere.

    Python has None for a closed stream, and the next file that is opened, a session maybe, would get its number.
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
