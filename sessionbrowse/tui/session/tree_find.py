"""The search in a tree: the line that is typed in, and the way from hit to hit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from sessionbrowse.tui.widgets.filter_line import FilterLine

if TYPE_CHECKING:
    from sessionbrowse.tui.session.screen import SessionScreen


class TreeFinding:
    """The commands of the search in a tree."""

    def __init__(self, screen: SessionScreen) -> None:
        self._screen = screen

    @property
    def _line(self) -> FilterLine:
        return self._screen.query_one(FilterLine)

    def do_filter(self) -> None:
        """Search the tree while typing."""
        self._line.open("/", self._screen.state.query, "words that an entry must all hold", replacing=True)
        self._screen.say_found()

    def do_accept_filter(self) -> None:
        """Give the keys back to the tree."""
        self._screen.set_focus(self._screen.tree_list)
        if not self._screen.state.query:
            self._line.close()

    def do_clear_filter(self) -> None:
        """Show all rows again."""
        self._screen.set_focus(self._screen.tree_list)
        self._line.close()
        self._screen.search("")

    def do_next_hit(self) -> None:
        """Jump to the next hit, after the last to the first."""
        hits, tree_list = self._screen.shown.hits, self._screen.tree_list
        if hits:
            tree_list.go(hits[bisect_right(hits, tree_list.cursor) % len(hits)])

    def do_previous_hit(self) -> None:
        """Jump to the hit before, from the first to the last."""
        hits, tree_list = self._screen.shown.hits, self._screen.tree_list
        if hits:
            tree_list.go(hits[bisect_left(hits, tree_list.cursor) - 1])
