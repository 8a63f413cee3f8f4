"""Commands that fold or unfold a tree's branches, or move the cursor where there is nothing to fold or unfold."""

from __future__ import annotations

from msgspec.structs import replace

from sessionbrowse.tui.session.screen import SessionScreen
from sessionbrowse.tui.session.tree_pane import TreePane


def do_toggle_fold(screen: SessionScreen) -> None:
    """Fold or unfold the branches below the row under the cursor."""
    row = screen.tree_pane.row
    if row is not None:
        _fold(screen.tree_pane, row.index, not row.folded)


def do_fold_all(screen: SessionScreen) -> None:
    """Fold all branches of the tree; if all branches are folded, unfold all."""
    tree = screen.tree_pane
    made = tree.shown.made
    if made is None:
        return
    rows = made.unfolded
    branches = frozenset([rows[at].index for at in rows.connected if rows[at].foldable])
    if not branches:
        screen.browser.say("This session has no branches to fold.", "warning")
        return
    folded = tree.state.folded - branches if branches <= tree.state.folded else tree.state.folded | branches
    tree.show(replace(tree.state, folded=folded))


def do_fold(screen: SessionScreen) -> None:
    """Fold the branch under the cursor; if the row cannot be folded, move up to the row where its branch starts."""
    tree = screen.tree_pane
    row, session = tree.row, tree.session
    if row is None or session is None:
        return
    if row.foldable and not row.folded:
        _fold(screen.tree_pane, row.index, True)
        return
    shown, parents = tree.shown, session.parents
    above = shown.parent_position(parents, row.index)
    while above is not None and not shown.starts_segment(parents, above):
        above = shown.parent_position(parents, shown.rows[above].index)
    tree.row_list.go(above if above is not None else 0)


def do_unfold(screen: SessionScreen) -> None:
    """Unfold the branch under the cursor; if it is not folded, move down to the next branch or this branch's end."""
    tree = screen.tree_pane
    row, session = tree.row, tree.session
    if row is None or session is None:
        return
    if row.folded:
        _fold(screen.tree_pane, row.index, False)
        return
    shown, parents = tree.shown, session.parents
    rows, position = shown.rows, tree.row_list.cursor
    while position + 1 < len(rows) and shown.parent_position(parents, rows[position + 1].index) == position:
        position += 1
        if rows[position].connector is not None:
            break
    tree.row_list.go(position)


def do_go_in(screen: SessionScreen) -> None:
    """Unfold the branch under the cursor; if it is not folded, focus the view of the entry."""
    row = screen.tree_pane.row
    if row is not None and row.folded:
        _fold(screen.tree_pane, row.index, False)
    else:
        screen.do_browse()


def _fold(tree: TreePane, index: int, folded: bool) -> None:
    chosen = tree.state.folded | {index} if folded else tree.state.folded - {index}
    tree.show(replace(tree.state, folded=frozenset(chosen)))
