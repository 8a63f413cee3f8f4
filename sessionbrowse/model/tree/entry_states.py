"""The state of an entry: active, abandoned (not on the active branch), or compacted.

A compacted entry is on the active branch, but the model no longer receives it after a compaction or a `/clear`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sessionbrowse.model.session.session import Session

BOUNDARIES = ("compaction", "reset_boundary")
"""The types of entries that end older history: a compaction, or a `/clear` of omp.

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
        if not any(entry.type in BOUNDARIES for entry in self._session.envelopes):
            return 0
        from sessionbrowse.model.context.message import last_of_type

        return last_of_type(self._session, self._branch, *BOUNDARIES) or 0

    @cached_property
    def _before_boundary(self) -> frozenset[int]:
        return frozenset(self._branch[: self._boundary])

    @cached_property
    def compacted(self) -> frozenset[int]:
        """The indexes of the entries on the active branch that are no longer sent to the model."""
        if not self._boundary:
            return frozenset()
        # Imported here because few searches need this import, and it takes 10 % of the time in which a search starts.
        from sessionbrowse.model.context.build import first_place_sent

        kept = first_place_sent(self._session, self._boundary)
        return frozenset(self._branch[: self._boundary if kept is None else kept])
