"""Replace standard streams that were closed when the program started, as by `<&-` in a shell."""

from __future__ import annotations

import os
import sys
from typing import Literal, TextIO


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
