"""Commands that select sessions; commands such as delete act on all selected sessions that the list shows."""

from __future__ import annotations

from sessionbrowse.tui.lists.screen import BrowseScreen


def do_select(screen: BrowseScreen) -> None:
    """Select or unselect the session under the cursor, and move the cursor to the next session."""
    screen.sessions_list.toggle_mark()
    screen.sessions_list.go_down()


def do_select_up(screen: BrowseScreen) -> None:
    """Move the cursor up and select the sessions that it passes."""
    screen.sessions_list.mark_by_moving(-1)


def do_select_down(screen: BrowseScreen) -> None:
    """Move the cursor down and select the sessions that it passes."""
    screen.sessions_list.mark_by_moving(1)


def do_select_range(screen: BrowseScreen) -> None:
    """Start or end range selection, in which a moving cursor selects the sessions that it passes."""
    screen.sessions_list.toggle_range()


def do_select_all(screen: BrowseScreen) -> None:
    """Select all sessions that the list shows, or unselect them if all are selected."""
    screen.sessions_list.mark_all()
