"""The cost of each branch and each entry of one session file.

Every request that the file records is counted, also one that was copied from another file; `stats` counts each request
once over all files. A request on the active branch belongs to that branch; any other belongs to the branch of the
newest leaf below it. So a branch begins where it leaves another branch, and ends at its leaf.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Container, Mapping, Sequence

from msgspec import Struct

from sessionbrowse.format.envelope import Envelope, read_envelope
from sessionbrowse.model.session.parents import ROOT
from sessionbrowse.model.session.records import MARGIN
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree.shape import display_order
from sessionbrowse.model.usage.request import (
    ABANDONED,
    COST,
    MODEL_USAGE,
    NO_USAGE,
    PER_DOLLAR,
    USAGE,
    FileRequests,
    Request,
    Totals,
    add,
    amounts_of,
    cost_of,
)
from sessionbrowse.model.usage.request_reader import RequestReader, branch_places, carrier, is_user_move


class BranchCosts(Struct, frozen=True, eq=False):
    """The paid requests of a session (`usage`), and the costs of its branches and entries.

    `leaf_of` has the index of each entry's leaf: the end of the branch to which the entry belongs. `totals` has the
    sums of each branch, by the index of its leaf. `own` is the cost of each entry alone, in US dollars; 0 without a
    price.
    """

    usage: FileRequests
    leaf_of: array[int]
    totals: Mapping[int, Totals]
    own: array[float]

    def of(self, index: int) -> Totals:
        """Return the sums of the branch to which an entry belongs."""
        return self.totals.get(self.leaf_of[index]) or Totals()

    def requests_in(self, entries: Container[int]) -> list[Request]:
        """Return the paid requests that some entries record."""
        return [request for request in self.usage.requests if request.entry in entries and request.is_paid]


def branch_costs(session: Session, before: BranchCosts | None = None) -> BranchCosts:
    """Return the costs of all entries and branches of a session.

    `before` are the costs computed before the file grew; only the entries that were added later are read.

    Raises:
        Unreadable: the file is gone or cannot be read.
    """
    known = len(before.own) if before is not None else 0
    if before is not None and known == len(session.parents):
        return before
    reader = RequestReader(before.usage if before is not None else NO_USAGE, known)
    for run, block in session.blocks_of(range(known, len(session.ids))):
        start = session.offsets[run[0]]
        for index in run:
            at = session.offsets[index] - start
            raw = block[at : at + session.sizes[index]].strip(MARGIN)
            envelope = read_envelope(raw)
            if isinstance(envelope, Envelope):
                reader.add(index, envelope, raw)
    tree = _EntriesOf(session)
    leaf = session.leaf if session.is_transcript else None
    usage = reader.finish(tree, leaf)
    place = branch_places(tree, len(tree.ids) - 1 if leaf is None else leaf, usage.last_move)
    notes = {request.entry for request in usage.requests if request.kind in (USAGE, MODEL_USAGE)}
    leaf_of = array("q", [place(carrier(tree, index, notes))[1] for index in range(len(tree.ids))])
    own, totals = array("d", bytes(8 * len(leaf_of))), dict[int, Totals]()
    for request in usage.requests:
        own[request.entry] += max(request.amount, 0) / PER_DOLLAR
        into = totals.setdefault(leaf_of[request.entry], Totals())
        add(into.parts[request.part], amounts_of(request))
    return BranchCosts(usage, leaf_of, totals, own)


def active_entries(session: Session) -> set[int]:
    """Return the entries whose costs are active: those on the path to the leaf.

    If only notes, such as labels, were written after the newest message, the path to that message is active too.
    """
    tree, moved = _EntriesOf(session), ROOT
    for index in range(len(session.ids)):
        kind = session.envelopes[index]
        if kind.type != "message" and is_user_move(kind.type, kind.custom_type):
            moved = index
    leaf = len(tree.ids) - 1 if session.leaf is None or not session.is_transcript else session.leaf
    place = branch_places(tree, leaf, moved)
    return {index for index in range(len(tree.ids)) if place(index)[0]}


def first_rows(costs: BranchCosts, rows: Collection[int]) -> dict[int, float]:
    """Return the cost of each branch in US dollars, by the entry of the branch's first row in the tree view.

    `rows` are the entries with a row, parents before children. Branches without a price are left out.
    """
    first: dict[int, int] = {}
    for index in rows:
        # An entry that was added after the costs were computed has no branch yet.
        if index < len(costs.leaf_of):
            first.setdefault(costs.leaf_of[index], index)
    return {index: dollars for index in first.values() if (dollars := dollars_of(costs.of(index)))}


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


def dollars_of(totals: Totals) -> float | None:
    """Return the sum of all parts in US dollars; None if nothing was priced."""
    cost = cost_of(totals.total)
    return None if cost is None else cost / PER_DOLLAR


def abandoned_share(totals: Totals) -> float:
    """Return the part of a sum that was spent on abandoned branches, in US dollars."""
    return totals.parts[ABANDONED][COST] / PER_DOLLAR


class _EntriesOf:
    """The entries of a session as `RequestReader` needs them."""

    def __init__(self, session: Session) -> None:
        self.is_message = bytearray([session.envelopes[index].type == "message" for index in range(len(session.ids))])
        self._session = session

    @property
    def ids(self) -> Sequence[str | None]:
        return self._session.ids

    def parent(self, index: int) -> int:
        return self._session.parents[index]

    def is_chain(self) -> bool:
        return self._session.is_chain


def _continues(session: Session, index: int) -> bool:
    """Return True if an entry continues the branch of its parent, because it is the parent's only child."""
    parent = session.parents[index]
    return parent != ROOT and len(session.children(parent)) == 1
