"""Commands that sort the session list, and show the paths of the session files."""

from __future__ import annotations

from sessionbrowse.tui.data.library import SORTS
from sessionbrowse.tui.lists.screen import BrowseScreen


def do_sort(screen: BrowseScreen) -> None:
    """Switch to the next sort order of the sessions; "relevance" is available only while a filter is active."""
    state = screen.state
    orders = SORTS if state.filter.is_empty else ("relevance", *SORTS)
    current = state.effective_sort
    if screen.browser.keys.types:
        # With the setting `habits = "pi"`, use the sort orders of pi, in which "relevance" needs no filter.
        orders, current = ("threaded", "recent", "relevance", *SORTS[2:]), state.sort
    at = orders.index(current) if current in orders else -1
    state.sort = orders[(at + 1) % len(orders)]
    screen.refresh_sessions()


def do_path(screen: BrowseScreen) -> None:
    """Show or hide the path of each session's file."""
    screen.state.show_path = not screen.state.show_path
    screen.sessions_list.refresh()
