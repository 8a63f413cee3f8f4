"""Commands that sort the session list, add tool calls to the search, and show the paths of the session files."""

from __future__ import annotations

from collections.abc import Sequence

from sessionbrowse.tui.data.library import FOUND_SORTS, SORTS
from sessionbrowse.tui.lists.screen import BrowseScreen


def do_sort(screen: BrowseScreen) -> None:
    """Switch to the next sort order of the sessions, or of what a search found."""
    state = screen.state
    if not state.searched:
        state.sort = _next(SORTS, state.sort)
        screen.refresh_sessions()
        return
    state.found_sort = _next(FOUND_SORTS, state.found_sort)
    screen.search.ask(top=True)


def _next(orders: Sequence[str], current: str) -> str:
    at = orders.index(current) if current in orders else -1
    return orders[(at + 1) % len(orders)]


def do_search_tools(screen: BrowseScreen) -> None:
    """Include tool calls and results in the search, or exclude them again."""
    search, status = screen.search, screen.browser.search_client.status
    search.tools = not search.tools
    if search.tools and status is not None and status.has_index and not status.has_tools:
        screen.browser.say(
            "The index does not contain tool calls and results, so the search reads all files, which is slow. "
            "To add them to the index, run: sessionbrowse index --rebuild --tools"
        )
    search.ask(top=True)


def do_path(screen: BrowseScreen) -> None:
    """Show or hide the path of each session's file."""
    screen.state.show_path = not screen.state.show_path
    screen.sessions_list.refresh()
