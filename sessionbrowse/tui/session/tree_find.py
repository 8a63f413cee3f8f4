"""Commands of the search in a tree: the line it is typed in, the next hit and the previous one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from sessionbrowse.tui.session.tree_pane import HasTree


class TreeFind:
    """Commands that search the tree."""

    def __init__(self, screen: HasTree) -> None:
        self._tree = screen.tree_pane

    def do_filter(self) -> None:
        """Search the tree while typing."""
        tree = self._tree
        tree.filter_line.open("/", tree.state.query, "words that an entry must all hold", replacing=True)
        tree.show_found()

    def do_accept_filter(self) -> None:
        """Focus the tree and keep the search."""
        self._tree.focus()
        if not self._tree.state.query:
            self._tree.filter_line.close()

    def do_clear_filter(self) -> None:
        """Show all rows again."""
        self._tree.focus()
        self._tree.filter_line.close()
        self._tree.search("")

    def do_next_hit(self) -> None:
        """Jump to the next hit, from the last to the first."""
        hits = self._tree.shown.hits
        if hits:
            self._tree.go(hits[bisect_right(hits, self._tree.row_list.cursor) % len(hits)])

    def do_previous_hit(self) -> None:
        """Jump to the previous hit, from the first to the last."""
        hits = self._tree.shown.hits
        if hits:
            self._tree.go(hits[bisect_left(hits, self._tree.row_list.cursor) - 1])
