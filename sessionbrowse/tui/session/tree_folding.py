"""Commands that fold the branches of a tree; where nothing can be folded they jump along the branch."""

from __future__ import annotations

from sessionbrowse.tui.session.state import TreeState
from sessionbrowse.tui.session.tree_pane import HasTree


class TreeFolding:
    """Commands that fold and unfold."""

    def __init__(self, screen: HasTree) -> None:
        self._tree = screen.tree_pane

    def do_toggle_fold(self) -> None:
        """Fold or unfold the row."""
        row = self._tree.row
        if row is not None:
            self._fold(row.index, not row.folded)

    def do_fold(self) -> None:
        """Fold the branch, or jump to the start of the segment above."""
        tree = self._tree
        row, session = tree.row, tree.session
        if row is None or session is None:
            return
        if row.foldable and not row.folded:
            self._fold(row.index, True)
            return
        shown, parents = tree.shown, session.parents
        above = shown.parent_position(parents, row.index)
        while above is not None and not shown.starts_segment(parents, above):
            above = shown.parent_position(parents, shown.rows[above].index)
        tree.go(above if above is not None else 0)

    def do_unfold(self) -> None:
        """Unfold the branch, or jump to the start of the next segment or the end of the branch."""
        tree = self._tree
        row, session = tree.row, tree.session
        if row is None or session is None:
            return
        if row.folded:
            self._fold(row.index, False)
            return
        shown, parents = tree.shown, session.parents
        rows, position = shown.rows, tree.row_list.cursor
        while position + 1 < len(rows) and shown.parent_position(parents, rows[position + 1].index) == position:
            position += 1
            if rows[position].connector is not None:
                break
        tree.go(position)

    def _fold(self, index: int, folded: bool) -> None:
        state = self._tree.state
        chosen = state.folded | {index} if folded else state.folded - {index}
        self._tree.show(TreeState(state.filter, state.query, frozenset(chosen)))
