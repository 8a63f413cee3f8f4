"""Commands that move the cursor of a tree further than a row: pages, branch points, turns, the leaf."""

from __future__ import annotations

from sessionbrowse.tui.session.tree_pane import HasTree


class TreeMoving:
    """Commands that move the cursor of the tree."""

    def __init__(self, screen: HasTree) -> None:
        self._tree = screen.tree_pane

    def do_tree_page_up(self) -> None:
        """Move up by a page."""
        self._tree.row_list.page_up()

    def do_tree_page_down(self) -> None:
        """Move down by a page."""
        self._tree.row_list.page_down()

    def do_leaf(self) -> None:
        """Jump to the leaf, or to its nearest ancestor that has a row."""
        position = self._tree.position_of_leaf()
        if position is not None:
            self._tree.go(position)

    def do_next_branch(self) -> None:
        """Jump to the next branch point."""
        cursor, points = self._tree.row_list.cursor, self._tree.shown.branch_points
        self._jump(next((position for position in points if position > cursor), None), "below")

    def do_previous_branch(self) -> None:
        """Jump to the previous branch point."""
        cursor, points = self._tree.row_list.cursor, self._tree.shown.branch_points
        self._jump(next((position for position in reversed(points) if position < cursor), None), "above")

    def do_next_turn(self) -> None:
        """Jump to the next message of the user or the assistant."""
        below = range(self._tree.row_list.cursor + 1, len(self._tree.rows))
        self._jump(next(filter(self._is_turn, below), None), "below")

    def do_previous_turn(self) -> None:
        """Jump to the previous message of the user or the assistant."""
        above = range(self._tree.row_list.cursor - 1, -1, -1)
        self._jump(next(filter(self._is_turn, above), None), "above")

    def _jump(self, position: int | None, where: str) -> None:
        if position is not None:
            self._tree.go(position)
        else:
            self._tree.say(f"There is no other one {where}.")

    def _is_turn(self, position: int) -> bool:
        session = self._tree.session
        assert session is not None
        kind = session.kind(self._tree.rows[position].index)
        return kind.type == "message" and kind.role in ("user", "assistant")
