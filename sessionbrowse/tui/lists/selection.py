"""Select sessions: changes are then made to all that are selected and shown."""

from __future__ import annotations

from sessionbrowse.tui.lists.screen import BrowseScreen


def do_select(screen: BrowseScreen) -> None:
    """Select or unselect the session under the cursor, and go to the next."""
    screen.sessions_list.toggle_mark()
    screen.sessions_list.go_down()


def do_select_up(screen: BrowseScreen) -> None:
    """Select upwards."""
    screen.sessions_list.mark_by_moving(-1)


def do_select_down(screen: BrowseScreen) -> None:
    """Select downwards."""
    screen.sessions_list.mark_by_moving(1)


def do_select_range(screen: BrowseScreen) -> None:
    """Start or end selecting all sessions that the cursor passes."""
    screen.sessions_list.toggle_range()


def do_select_all(screen: BrowseScreen) -> None:
    """Select all sessions that are shown, or none."""
    screen.sessions_list.mark_all()
