"""The task of `pick`: the first screen, the kind of choice, and the agent session that called."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary


class Caller(Struct, frozen=True):
    """The session that an agent has open while it lends its terminal; `leaf` is the agent's leaf in memory."""

    agent: str
    path: str
    leaf: str | None = None

    def has_open(self, path: str) -> bool:
        """Return True if a session file is the one that the agent has open."""
        # Most rows differ in the name already, which needs no look at the disk.
        if os.path.basename(path) != os.path.basename(self.path):
            return False
        return path == self.path or os.path.realpath(path) == os.path.realpath(self.path)


class Picking(Struct, frozen=True, kw_only=True):
    """The task of `pick`.

    `choose` is called with the chosen session, and with the id of the chosen entry or None; then the browser ends.
    `session` is the session whose tree is shown first. `query` filters the sessions, or with `needs_entry` is searched
    for in all of them. `here` limits the list to the current directory.
    """

    choose: Callable[[Summary, str | None], None]
    session: Summary | None = None
    query: str = ""
    here: bool = False
    needs_entry: bool = False
    caller: Caller | None = None


def pick_path(choose: Callable[[str], None]) -> Picking:
    """Return the task of choosing a session, of which `choose` is given the path."""
    return Picking(choose=partial(_choose_path, choose))


def _choose_path(choose: Callable[[str], None], summary: Summary, entry_id: str | None) -> None:
    choose(summary.path)
