"""Commands that move a tree's cursor by more than one row: by a page, or to a branch, a message or the leaf."""

from __future__ import annotations

from functools import partial

from sessionbrowse.tui.session.screen import SessionScreen
from sessionbrowse.tui.session.tree_pane import TreePane


def do_tree_page_up(screen: SessionScreen) -> None:
    """Move the tree's cursor up by a page."""
    screen.tree_pane.row_list.page_up()


def do_tree_page_down(screen: SessionScreen) -> None:
    """Move the tree's cursor down by a page."""
    screen.tree_pane.row_list.page_down()


def do_leaf(screen: SessionScreen) -> None:
    """Jump to the row of the leaf or, if the filter hides the leaf, of its nearest visible ancestor."""
    tree, session = screen.tree_pane, screen.session
    entry = tree.shown.nearest(session.parents, session.leaf) if session is not None else None
    if tree.shown.stops is not None and (entry is None or tree.shown.position_of[entry] not in tree.shown.stops):
        back = screen.browser.keys.key_of("back")
        screen.browser.say(f"The leaf does not match the search; {back} clears the search.", "warning")
    elif entry is not None:
        tree.row_list.go(tree.shown.position_of[entry])


def do_next_branch(screen: SessionScreen) -> None:
    """Jump down to the next row at which a branch begins."""
    cursor, points = screen.tree_pane.row_list.cursor, screen.tree_pane.shown.branch_points
    _jump(screen, next((position for position in points if position > cursor), None), "branch point below")


def do_previous_branch(screen: SessionScreen) -> None:
    """Jump up to the previous row at which a branch begins."""
    cursor, points = screen.tree_pane.row_list.cursor, screen.tree_pane.shown.branch_points
    _jump(screen, next((position for position in reversed(points) if position < cursor), None), "branch point above")


def do_branch_right(screen: SessionScreen) -> None:
    """Jump to the next branch that starts at the same branch point as the cursor's branch (cyclic)."""
    _go_beside(screen, 1)


def do_branch_left(screen: SessionScreen) -> None:
    """Jump to the previous branch that starts at the same branch point as the cursor's branch (cyclic)."""
    _go_beside(screen, -1)


def _go_beside(screen: SessionScreen, step: int) -> None:
    tree = screen.tree_pane
    session, shown = tree.session, tree.shown
    if session is None or tree.row is None:
        return
    parents = session.parents
    start: int | None = tree.row_list.cursor
    while start is not None and not shown.starts_segment(parents, start):
        start = shown.parent_position(parents, shown.rows[start].index)
    if start is None:
        return
    above = shown.parent_position(parents, shown.rows[start].index)
    beside = [at for at in shown.branch_points if shown.parent_position(parents, shown.rows[at].index) == above]
    if len(beside) < 2 or start not in beside:
        screen.browser.say("No other branch begins where this branch begins.", "warning")
        return
    tree.row_list.go(beside[(beside.index(start) + step) % len(beside)])


def do_next_turn(screen: SessionScreen) -> None:
    """Jump to the next message of the user or the assistant."""
    below = range(screen.tree_pane.row_list.cursor + 1, len(screen.tree_pane.rows))
    _jump(screen, next(filter(partial(_is_turn, screen.tree_pane), below), None), "message below")


def do_previous_turn(screen: SessionScreen) -> None:
    """Jump to the previous message of the user or the assistant."""
    above = range(screen.tree_pane.row_list.cursor - 1, -1, -1)
    _jump(screen, next(filter(partial(_is_turn, screen.tree_pane), above), None), "message above")


def _jump(screen: SessionScreen, position: int | None, wanted: str) -> None:
    if position is not None:
        screen.tree_pane.row_list.go(position)
    else:
        screen.browser.say(f"There is no {wanted}.")


def _is_turn(tree: TreePane, position: int) -> bool:
    session = tree.session
    assert session is not None
    kind = session.kind(tree.rows[position].index)
    return kind.type == "message" and kind.role in ("user", "assistant")
