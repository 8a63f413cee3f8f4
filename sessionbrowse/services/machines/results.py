"""The values of a look at another machine: the machine, and the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

Progress = Callable[[int, int, str], None]
"""Called while files come, with their number so far, the number of files that come, and the path over there."""


class Machine(Struct, frozen=True):
    """Another machine: its name in lists, its name for ssh, and further directories with sessions over there."""

    name: str
    host: str
    roots: tuple[str, ...] = ()


class LookResult(Struct, frozen=True, kw_only=True):
    """The result of a look: numbers of session files, bytes over the line, and a sentence if it failed.

    `left_out` maps reasons to numbers of files that were left out. `asleep` is True if the machine did not answer,
    which is no error for a machine that sleeps; `stopped` is True if the user stopped the look.
    """

    name: str
    files: int = 0
    new: int = 0
    grown: int = 0
    replaced: int = 0
    gone: int = 0
    left_out: Mapping[str, int] = {}
    sent: int = 0
    received: int = 0
    error: str | None = None
    asleep: bool = False
    stopped: bool = False
