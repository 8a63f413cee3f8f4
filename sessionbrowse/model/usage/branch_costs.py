"""The cost of each entry of a session and of each branch, as the session's agent counts it."""

from __future__ import annotations

from array import array
from collections.abc import Container, Mapping

from msgspec import Struct

from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree.display_order import display_order
from sessionbrowse.model.usage.agent_total import counted
from sessionbrowse.model.usage.request import price_of


class BranchCosts(Struct, frozen=True, eq=False):
    """Costs in US dollars by entry index: `own` of the entry alone, `branch` of its whole branch; 0 without a price.

    The branch of an entry begins after the branch point above it and includes all entries below.
    """

    own: array[float]
    branch: array[float]


def branch_costs(session: Session, before: BranchCosts | None = None) -> BranchCosts:
    """Return the costs of all entries and branches of a session.

    `before` are the costs computed before the file grew; only the entries that were added later are read.

    Raises:
        Unreadable: the file is gone or cannot be read.
    """
    count = len(session.parents)
    if before is not None and len(before.own) == count:
        return before
    own = array("d", before.own if before is not None else ())
    for index in range(len(own), count):
        spent = counted(session.rules, session.envelopes[index])
        own.append(price_of(spent.cost) if spent is not None else 0)
    parents, order = session.parents, display_order(session, None)
    branch = array("d", own)
    for index in reversed(order):
        if parents[index] != ROOT:
            branch[parents[index]] += branch[index]
    for index in order:
        if _continues(session, index):
            branch[index] = branch[parents[index]]
    return BranchCosts(own, branch)


def row_costs(session: Session, costs: BranchCosts, rows: Container[int]) -> Mapping[int, float]:
    """Return the cost in US dollars of each row of the tree view, by entry index; `rows` are the entries with a row.

    The cost of a row includes the costs of entries directly above that have no row, such as assistant messages with
    only tool calls.
    """
    spent: dict[int, float] = {}
    hidden: dict[int, float] = {}
    for index in display_order(session, None):
        parent = session.parents[index]
        since = costs.own[index] + (hidden.pop(parent, 0) if _continues(session, index) else 0)
        (spent if index in rows else hidden)[index] = since
    return spent


def _continues(session: Session, index: int) -> bool:
    """Return True if an entry continues the branch of its parent, because it is the parent's only child."""
    parent = session.parents[index]
    return parent != ROOT and len(session.children(parent)) == 1
