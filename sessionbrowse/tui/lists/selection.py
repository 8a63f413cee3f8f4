"""Select sessions in the list: what changes them then does so to all that are selected and shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sessionbrowse.tui.lists.screen import BrowseScreen


class Selecting:
    """The commands that select."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen

    def do_select(self) -> None:
        """Select the session, or not, and go on to the next."""
        self._screen.sessions_list.toggle_mark()
        self._screen.sessions_list.go_down()

    def do_select_up(self) -> None:
        """Select upwards."""
        self._screen.sessions_list.mark_by_moving(-1)

    def do_select_down(self) -> None:
        """Select downwards."""
        self._screen.sessions_list.mark_by_moving(1)

    def do_select_range(self) -> None:
        """Select what the cursor passes from here on, or end that."""
        self._screen.sessions_list.toggle_range()

    def do_select_all(self) -> None:
        """Select all that are shown, or none."""
        self._screen.sessions_list.mark_all()
