"""Parameters of `sessionbrowse pick`, which lets the user choose a session or entry for another program."""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary


class Caller(Struct, frozen=True):
    """The session that is open in the agent from which the user started `sessionbrowse pick`.

    `leaf` is the id of the agent's current leaf, which the agent keeps in memory, so the file may have another leaf.
    """

    agent: str
    path: str
    leaf: str | None = None

    def has_open(self, path: str) -> bool:
        """Return True if `path` is the session file that the calling agent has open."""
        # Comparing file names first avoids a slow disk access (`realpath`) for most rows of the list.
        if os.path.basename(path) != os.path.basename(self.path):
            return False
        return path == self.path or os.path.realpath(path) == os.path.realpath(self.path)


class Picking(Struct, frozen=True, kw_only=True):
    """Parameters of `sessionbrowse pick`.

    The browser calls `choose` with the chosen session, and with the id of the chosen entry or None; then it ends. If
    `needs_entry`, the user must choose an entry. If `session` is given, its tree is the first screen. The session list
    opens with the filter `query`; with `needs_entry`, `query` is instead searched in the entries of all sessions.
    `here` limits the list to sessions of the current directory.
    """

    choose: Callable[[Summary, str | None], None]
    session: Summary | None = None
    query: str = ""
    here: bool = False
    needs_entry: bool = False
    caller: Caller | None = None
