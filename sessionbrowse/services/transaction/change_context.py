"""The environment in which changes are made (directories, clock, journal), as one value; progress and stopping."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable

from msgspec import Struct

from sessionbrowse.agents import Surroundings
from sessionbrowse.config import state_dir
from sessionbrowse.store.find.roots import real_surroundings
from sessionbrowse.store.write.in_use import PROC
from sessionbrowse.store.write.journal import Change, Journal

Progress = Callable[[int, int, str], object]
"""A function that is told how far work is: numbers of done and of all items (0: unknown), name of the current item."""
Cancelled = Callable[[], bool]
"""A function that returns True once the user has stopped the work; the work asks it before each item."""


class ChangeContext(Struct, frozen=True, kw_only=True):
    """The environment of a change: `around` (home and environment variables), state directory, journal, clock in ms.

    `new_id` generates ids of changes and entries; `proc` is the directory `/proc`. `told` filters changes of the
    journal: it returns those that may be listed, named and undone. Inside an agent it leaves out changes of sessions
    that the user hides from agents.
    """

    around: Surroundings
    state: str
    journal: Journal
    now_ms: Callable[[], float]
    new_id: Callable[[], str]
    proc: str = PROC
    told: Callable[[Iterable[Change]], list[Change]] = list

    @classmethod
    def real(cls) -> ChangeContext:
        """Return the change context of this process: its real home, clock and journal."""
        around = real_surroundings()
        directory = str(state_dir(around.environ))
        return cls.at(around, directory, lambda: time.time() * 1000)

    @classmethod
    def at(
        cls,
        around: Surroundings,
        state: str,
        now_ms: Callable[[], float],
        new_id: Callable[[], str] = lambda: secrets.token_hex(4),
        proc: str = PROC,
    ) -> ChangeContext:
        """Return a change context whose journal is in the directory `state`."""
        journal = Journal(state, now_ms, new_id)
        return cls(around=around, state=state, journal=journal, now_ms=now_ms, new_id=new_id, proc=proc)
