"""The search commands of a session's tree: open the search line, jump to the next or previous hit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from sessionbrowse.tui.session.screen import SessionScreen


def do_filter(screen: SessionScreen) -> None:
    """Open the search line of the tree, which searches while the user types."""
    tree = screen.tree_pane
    tree.filter_line.open("/", tree.state.query, "words that an entry must contain", replacing=True)
    tree.show_found()


def do_accept_filter(screen: SessionScreen) -> None:
    """Keep the search and focus the tree."""
    screen.set_focus(screen.tree_pane.row_list)
    if not screen.tree_pane.state.query:
        screen.tree_pane.filter_line.close()


def do_clear_filter(screen: SessionScreen) -> None:
    """Clear the search, so that the tree shows all rows again."""
    screen.set_focus(screen.tree_pane.row_list)
    screen.tree_pane.filter_line.close()
    screen.tree_pane.search("")


def do_next_hit(screen: SessionScreen) -> None:
    """Jump to the next hit of the tree's search; after the last hit, to the first."""
    hits = screen.tree_pane.shown.hits
    if hits:
        screen.tree_pane.row_list.go(hits[bisect_right(hits, screen.tree_pane.row_list.cursor) % len(hits)])


def do_previous_hit(screen: SessionScreen) -> None:
    """Jump to the previous hit of the tree's search; from the first hit, to the last."""
    hits = screen.tree_pane.shown.hits
    if hits:
        screen.tree_pane.row_list.go(hits[bisect_left(hits, screen.tree_pane.row_list.cursor) - 1])
