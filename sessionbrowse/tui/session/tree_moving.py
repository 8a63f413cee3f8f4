"""Ways through a tree: pages, branch points, turns, the leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sessionbrowse.tui.session.screen import SessionScreen


class TreeMoving:
    """The commands that move the tree's cursor further than a row."""

    def __init__(self, screen: SessionScreen) -> None:
        self._screen = screen

    def do_tree_page_up(self) -> None:
        """Move up by a page."""
        self._screen.tree_list.page_up()

    def do_tree_page_down(self) -> None:
        """Move down by a page."""
        self._screen.tree_list.page_down()

    def do_leaf(self) -> None:
        """Jump to the leaf, or to the nearest row above it."""
        screen = self._screen
        index = screen.cursor_for(screen.session.leaf) if screen.session is not None else None
        if index is not None:
            screen.tree_list.go_to_key(index)

    def do_next_branch(self) -> None:
        """Jump to the next branch point."""
        cursor, points = self._screen.tree_list.cursor, self._screen.shown.branch_points
        self._jump([position for position in points if position > cursor], "below")

    def do_previous_branch(self) -> None:
        """Jump to the branch point before."""
        cursor, points = self._screen.tree_list.cursor, self._screen.shown.branch_points
        self._jump([position for position in points if position < cursor][::-1], "above")

    def do_next_turn(self) -> None:
        """Jump to the next row of the user or the assistant."""
        below = range(self._screen.tree_list.cursor + 1, len(self._screen.rows))
        self._jump([position for position in below if self._is_turn(position)][:1], "below")

    def do_previous_turn(self) -> None:
        """Jump to the row of the user or the assistant before."""
        above = range(self._screen.tree_list.cursor - 1, -1, -1)
        self._jump([position for position in above if self._is_turn(position)][:1], "above")

    def _jump(self, positions: list[int], where: str) -> None:
        if positions:
            self._screen.tree_list.go(positions[0])
        else:
            self._screen.browser.say(f"There is no other one {where}.")

    def _is_turn(self, position: int) -> bool:
        session = self._screen.session
        assert session is not None
        kind = session.kind(self._screen.rows[position].index)
        return kind.type == "message" and kind.role in ("user", "assistant")
