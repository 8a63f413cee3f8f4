"""The state of an entry: active, abandoned (not on the active branch), or compacted.

A compacted entry is on the active branch, but before the entries that the last compaction or `/clear` keeps, so the
model no longer receives it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sessionbrowse.model.session.rules import VERBATIM_STRATEGY

if TYPE_CHECKING:
    from sessionbrowse.model.session.session import Session

BOUNDARIES = ("compaction", "reset_boundary")
"""The types of entries that end older history: a compaction, or a `/clear`, which only omp has.

Entries before them are no longer sent to the model, except those that a compaction keeps.
"""


class EntryStates:
    """Computes the states of a session's entries; facts about the whole session are computed once and then cached."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of(self, index: int) -> str:
        """Return the state of the entry at `index`: "active", "abandoned" or "compacted"."""
        if index not in self.active:
            return "abandoned"
        # Few sessions need the parts below, because most entries are after the last compaction.
        return "compacted" if index in self._before_boundary and index in self.compacted else "active"

    @cached_property
    def _branch(self) -> list[int]:
        return self._session.active_branch()

    @cached_property
    def active(self) -> frozenset[int]:
        """The indexes of the entries on the active branch."""
        return frozenset(self._branch)

    @cached_property
    def _boundary(self) -> int:
        """The position, on the active branch, of the last compaction or `/clear`; 0 if there is none."""
        envelopes, context = self._session.envelopes, self._session.rules.context
        for place in range(len(self._branch) - 1, 0, -1):
            entry = envelopes[self._branch[place]]
            if entry.type == "compaction" and (context != "atomic" or entry.text == VERBATIM_STRATEGY):
                return place
            if entry.type == "reset_boundary" and context == "omp":
                return place
        return 0

    @cached_property
    def _before_boundary(self) -> frozenset[int]:
        return frozenset(self._branch[: self._boundary])

    @cached_property
    def compacted(self) -> frozenset[int]:
        """The indexes of the entries on the active branch before those that the last compaction or `/clear` keeps."""
        if not self._boundary:
            return frozenset()
        return frozenset(self._branch[: _first_place_kept(self._session, self._branch, self._boundary)])


def _first_place_kept(session: Session, path: list[int], boundary: int) -> int:
    """Return the position on `path` of the first entry that the boundary keeps; the boundary's own if it keeps none.

    `boundary` is the position of the compaction or `/clear`.
    """
    # Imported here because few searches need these imports, and they take 10 % of the time in which a search starts.
    from sessionbrowse.format.entries import Compaction
    from sessionbrowse.model.context.message import first_kept
    from sessionbrowse.model.context.omp import first_place_kept

    entry = session.entry(path[boundary])
    if not isinstance(entry, Compaction):
        return boundary
    match session.rules.context:
        case "omp":
            kept = first_place_kept(session, path, boundary, entry)
        case "atomic":
            kept = None  # The compaction quotes the entries that it keeps.
        case _:
            kept = first_kept(session, path, boundary, entry.first_kept_entry_id)
    return boundary if kept is None else kept
