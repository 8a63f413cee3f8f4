"""The search commands of a session's tree: open the search line, jump to the next or previous hit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.search.screen import SearchScreen
from sessionbrowse.tui.session.screen import SessionScreen


def do_filter(screen: SessionScreen) -> None:
    """Open the search line of the tree, which searches while the user types."""
    tree = screen.tree_pane
    tree.filter_line.open("/", tree.state.query, "words that an entry must contain", replacing=True)
    tree.show_found()


def do_accept_filter(screen: SessionScreen) -> None:
    """Keep the search of the tree and focus the tree."""
    screen.set_focus(screen.tree_pane.row_list)
    if not screen.tree_pane.state.query:
        screen.tree_pane.filter_line.close()


def do_clear_filter(screen: SessionScreen) -> None:
    """Clear the tree's search, so that the tree shows also the entries without a match."""
    screen.set_focus(screen.tree_pane.row_list)
    screen.tree_pane.filter_line.close()
    screen.tree_pane.search("")


def do_next_hit(screen: SessionScreen) -> None:
    """Jump to the next hit of the tree's search (cyclic).

    Without a search in the tree, go to the next result of the screen from which the user opened the session.
    """
    tree = screen.tree_pane
    if not tree.state.query:
        _go_to_result(screen, 1)
    elif hits := tree.shown.hits:
        tree.row_list.go(hits[bisect_right(hits, tree.row_list.cursor) % len(hits)])


def do_previous_hit(screen: SessionScreen) -> None:
    """Jump to the previous hit of the tree's search (cyclic).

    Without a search in the tree, go to the previous result of the screen from which the user opened the session.
    """
    tree = screen.tree_pane
    if not tree.state.query:
        _go_to_result(screen, -1)
    elif hits := tree.shown.hits:
        tree.row_list.go(hits[bisect_left(hits, tree.row_list.cursor) - 1])


def _go_to_result(screen: SessionScreen, step: int) -> None:
    """Open the next (`step` 1) or previous (-1) result of the screen from which the user opened this session.

    If that screen is a search, its cursor moves to the result, which may be in another session. If that screen is the
    session list, the results are the entries of this session that match the list's filter.
    """
    search = screen.app.screen_stack[-2]
    if isinstance(search, BrowseScreen):
        _go_to_said(screen, search, step)
    if not isinstance(search, SearchScreen):
        return
    found = search.step(step)
    if found is None:
        screen.browser.say("This is the last result." if step > 0 else "This is the first result.")
    elif found.summary.path == screen.summary.path:
        screen.show_found(found.index, found.entry_id)
    else:
        screen.keep_view()
        screen.app.switch_screen(SessionScreen(found.summary, found.index, found.entry_id, search.searched))


def _go_to_said(screen: SessionScreen, lists: BrowseScreen, step: int) -> None:
    """Move to the next (`step` 1) or previous (-1) entry that matches the filter of the session list (cyclic)."""
    hits = {hit.entry_index: hit for hit in lists.said.hits(screen.summary.path) if hit.entry_index is not None}
    if not hits:
        screen.browser.say("No entry of this session matches the filter of the session list.")
        return
    indexes = sorted(hits)
    at = screen.index or 0
    found = bisect_right(indexes, at) % len(indexes) if step > 0 else bisect_left(indexes, at) - 1
    screen.show_found(indexes[found], hits[indexes[found]].entry_id)
