"""State of a session's tree: the requested rows, the computed rows, and the positions of entries among the rows."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree.rows import Rows, hit_rows


class TreeState(Struct, frozen=True):
    """The state that decides which rows a tree has: name of the filter, search query, indexes of folded entries.

    With `whole`, the tree shows also the entries that do not match the query.
    """

    filter: str = "default"
    query: str = ""
    folded: frozenset[int] = frozenset()
    whole: bool = False


class TreeRows(Struct, frozen=True):
    """A tree's rows for a filter, search and folds (`state`); `unfolded` also contains the rows in folded branches.

    `found` are the indexes of all entries that match the query, even if filter or folds hide them. `entries` is the
    number of entries to search, and `searched` the number of entries searched so far. `some` is True if no entry has
    all terms of the query, so that the found entries have only some of them.
    """

    state: TreeState
    rows: Rows
    unfolded: Rows
    session: Session
    found: Sequence[int] = ()
    searched: int = 0
    entries: int = 0
    some: bool = False

    @property
    def finished(self) -> bool:
        """True when the search has ended."""
        return self.searched >= self.entries


class ShownTree(Struct, frozen=True, eq=False):
    """The rows of the tree on the screen; `position_of` finds the row of an entry, given the entry's index.

    `hits` are the positions of the rows that match the search. `made` is the result of the background job that computed
    the rows; None before the first rows.
    """

    made: TreeRows | None
    rows: Rows
    position_of: dict[int, int]
    branch_points: list[int]
    hits: list[int]

    @property
    def stops(self) -> list[int] | None:
        """The positions of the rows that the cursor may stand on; None if it may stand on all rows."""
        return self.hits if self.made is not None and self.made.state.query and not self.made.state.whole else None

    def nearest(self, parents: Sequence[int], index: int | None) -> int | None:
        """Return `index` if that entry has a row, else the index of its nearest ancestor with a row, else None."""
        if not self.position_of:
            return None
        while index is not None and index != ROOT and index not in self.position_of:
            index = parents[index]
        return None if index == ROOT else index

    def nearest_hit(self, index: int) -> int | None:
        """Return the index of the matching entry that is nearest to an entry in the file; None if nothing matches."""
        found = [self.rows[position].index for position in self.hits]
        return min(found, key=lambda hit: abs(hit - index), default=None)

    def parent_position(self, parents: Sequence[int], index: int) -> int | None:
        """Return the row position of an entry's nearest ancestor that has a row; None if no ancestor has a row."""
        above = self.nearest(parents, parents[index])
        return None if above is None else self.position_of[above]

    def starts_segment(self, parents: Sequence[int], position: int) -> bool:
        """Return True if the row at `position` is a root of the tree or the first row of a branch."""
        row = self.rows[position]
        return row.connector is not None or self.parent_position(parents, row.index) is None


def shown_tree(made: TreeRows) -> ShownTree:
    """Return the rows of a tree for the screen, with the positions of its entries, branch points and hits."""
    positions = made.rows.position_of
    hits = hit_rows(made.session, made.state.filter, made.found) if made.found else ()
    return ShownTree(
        made=made,
        rows=made.rows,
        position_of=positions,
        branch_points=made.rows.connected,
        hits=sorted([positions[index] for index in hits if index in positions]),
    )


NOTHING_SHOWN = ShownTree(made=None, rows=Rows([]), position_of={}, branch_points=[], hits=[])
