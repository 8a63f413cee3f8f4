"""The search commands of a session's tree: open the search line, jump to the next or previous hit, search further."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from sessionbrowse.tui.session.screen import SessionScreen


def do_filter(screen: SessionScreen) -> None:
    """Open the search line of the tree, which searches while the user types."""
    tree = screen.tree_pane
    tree.origin = tree.index
    tree.filter_line.open("/", tree.state.query, "words that an entry must contain", replacing=True)
    tree.show_found()


def do_accept_filter(screen: SessionScreen) -> None:
    """Keep the search of the tree and focus the tree."""
    tree = screen.tree_pane
    screen.set_focus(tree.row_list)
    tree.origin = None
    if not tree.state.query:
        tree.filter_line.close()


def do_clear_filter(screen: SessionScreen) -> None:
    """Leave the search of the tree, so that the cursor is on the entry where it was before."""
    screen.set_focus(screen.tree_pane.row_list)
    screen.tree_pane.filter_line.close()
    screen.tree_pane.leave_search()


def do_search_beyond(screen: SessionScreen) -> None:
    """Search all sessions for the words that are typed, or that the tree was searched for."""
    tree = screen.tree_pane
    screen.browser.show_search(tree.filter_line.input.value.strip() if screen.typing else tree.state.query)


def do_next_hit(screen: SessionScreen) -> None:
    """Jump to the next hit of the search; after the last one, open the next session that was found, or start again."""
    _go_to_hit(screen, 1)


def do_previous_hit(screen: SessionScreen) -> None:
    """Jump to the previous hit; before the first one, open the previous session that was found, or start at the end."""
    _go_to_hit(screen, -1)


def _go_to_hit(screen: SessionScreen, step: int) -> None:
    tree = screen.tree_pane
    hits, cursor = tree.shown.hits, tree.row_list.cursor
    at = bisect_right(hits, cursor) if step > 0 else bisect_left(hits, cursor) - 1
    if not 0 <= at < len(hits) and tree.state.whole and (found := screen.browser.step_found(step)) is not None:
        screen.keep_view()
        screen.app.switch_screen(SessionScreen(found.summary, found.index, found.entry_id, tree.state.query))
    elif hits:
        tree.row_list.go(hits[at % len(hits)])
    else:
        screen.browser.say("No entry of this session matches the search.")
