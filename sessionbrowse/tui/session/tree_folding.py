"""Folding a tree's branches, and jumping along them where there is nothing to fold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessionbrowse.tui.session.tree_search import TreeState

if TYPE_CHECKING:
    from sessionbrowse.tui.session.screen import SessionScreen


class TreeFolding:
    """The commands that fold."""

    def __init__(self, screen: SessionScreen) -> None:
        self._screen = screen

    def do_toggle_fold(self) -> None:
        """Fold or unfold the row."""
        row = self._screen.row
        if row is not None:
            self._fold(row.index, not row.folded)

    def do_fold(self) -> None:
        """Fold the branch, or jump to where the segment above starts."""
        screen = self._screen
        row, session = screen.row, screen.session
        if row is None or session is None:
            return
        if row.foldable and not row.folded:
            self._fold(row.index, True)
            return
        shown, parents = screen.shown, session.parents
        above = shown.parent_position(parents, row.index)
        while above is not None and not shown.starts_segment(parents, above):
            above = shown.parent_position(parents, shown.rows[above].index)
        screen.tree_list.go(above if above is not None else 0)

    def do_unfold(self) -> None:
        """Unfold the branch, or jump to the next segment's start or the branch's end."""
        screen = self._screen
        row, session = screen.row, screen.session
        if row is None or session is None:
            return
        if row.folded:
            self._fold(row.index, False)
            return
        shown, parents = screen.shown, session.parents
        rows, position = shown.rows, screen.tree_list.cursor
        while position + 1 < len(rows) and shown.parent_position(parents, rows[position + 1].index) == position:
            position += 1
            if rows[position].connector is not None:
                break
        screen.tree_list.go(position)

    def _fold(self, index: int, folded: bool) -> None:
        state = self._screen.state
        chosen = state.folded | {index} if folded else state.folded - {index}
        self._screen.ask_rows(TreeState(state.filter, state.query, frozenset(chosen)))
