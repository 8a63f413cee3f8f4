"""What of a tree is on the screen: its rows, where each entry stands among them, branch points and hits."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sessionbrowse.model.session.session import ROOT
from sessionbrowse.model.tree import rows as tree
from sessionbrowse.tui.session.tree_search import TreeRows


class ShownTree(Struct, frozen=True, eq=False):
    """The rows of a tree, and positions among them; `made` is None before the first rows."""

    made: TreeRows | None
    rows: tree.Rows
    position_of: dict[int, int]
    branch_points: list[int]
    hits: list[int]

    def nearest(self, parents: Sequence[int], index: int | None) -> int | None:
        """Return the entry, or the nearest above it that has a row; None if there is none."""
        if not self.position_of:
            return None
        while index is not None and index != ROOT and index not in self.position_of:
            index = parents[index]
        return None if index == ROOT else index

    def parent_position(self, parents: Sequence[int], index: int) -> int | None:
        """Return the position of the nearest row above an entry, None for a root."""
        above = self.nearest(parents, parents[index])
        return None if above is None else self.position_of[above]

    def starts_segment(self, parents: Sequence[int], position: int) -> bool:
        """Whether a row is a root or the first one of a branch."""
        row = self.rows[position]
        return row.connector is not None or self.parent_position(parents, row.index) is None


def shown_tree(made: TreeRows) -> ShownTree:
    """Return what is asked of rows again and again; the rows keep it, for those that come back unfolded."""
    return ShownTree(
        made=made,
        rows=made.rows,
        position_of=made.rows.position_of,
        branch_points=made.rows.connected,
        hits=made.rows.hits if made.state.query else [],
    )


NOTHING_SHOWN = ShownTree(made=None, rows=tree.Rows([]), position_of={}, branch_points=[], hits=[])
