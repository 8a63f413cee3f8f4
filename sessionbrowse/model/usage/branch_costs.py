"""The cost of each entry of a session and of each branch, as the session's agent counts it."""

from __future__ import annotations

from array import array
from collections.abc import Container

from msgspec import Struct

from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree.display_order import display_order
from sessionbrowse.model.usage.agent_total import counted
from sessionbrowse.model.usage.identity import MAX_DOLLARS


class BranchCosts(Struct, frozen=True, eq=False):
    """US dollars by entry index: of the entry alone, and of the entry with all below it. Without a price they are 0."""

    own: array[float]
    below: array[float]

    def branch(self, session: Session, index: int) -> float:
        """Return the dollars of the branch that an entry is on, from the entry after the branch point on."""
        parent = session.parents[index]
        while parent != ROOT and len(session.children(parent)) == 1:
            index, parent = parent, session.parents[parent]
        return self.below[index]

    def since(self, session: Session, index: int, rows: Container[int]) -> float:
        """Return the dollars of an entry and of the entries before it that have no row, such as answers of only calls.

        `rows` are the entries that have rows.
        """
        spent, parent = self.own[index], session.parents[index]
        while parent != ROOT and parent not in rows and len(session.children(parent)) == 1:
            spent, parent = spent + self.own[parent], session.parents[parent]
        return spent


def branch_costs(session: Session) -> BranchCosts:
    """Return the costs in a session, in one pass over its entries.

    Raises:
        Unreadable: the file is gone or cannot be read.
    """
    rules, parents = session.rules, session.parents
    own = array("d", bytes(8 * len(parents)))
    for index, envelope in enumerate(session.envelopes):
        spent = counted(rules, envelope)
        if spent is not None and 0 < spent.cost <= MAX_DOLLARS:
            own[index] = spent.cost
    below = array("d", own)
    for index in reversed(display_order(session, None)):
        if parents[index] != ROOT:
            below[parents[index]] += below[index]
    return BranchCosts(own, below)
