"""Wider and narrower panes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sessionbrowse.tui.lists.screen import BrowseScreen
    from sessionbrowse.tui.session.screen import SessionScreen

STEP = 4
LEAST = 16
_ROOM_FOR = {"projects": 80, "tree": 80, "preview": 120}
"""The columns from which a pane stands beside others and may have a width of its own."""


class Widths:
    """The commands that change how wide the pane is that has the keys, or the one on its left."""

    def __init__(self, screen: BrowseScreen | SessionScreen) -> None:
        self._screen = screen

    def do_wider(self) -> None:
        """Make the pane wider."""
        self._change(STEP)

    def do_narrower(self) -> None:
        """Make the pane narrower."""
        self._change(-STEP)

    def _change(self, delta: int) -> None:
        screen = self._screen
        pane, sign = screen.sized_pane
        if screen.size.width < _ROOM_FOR[pane]:
            screen.browser.say("There is no room for panes side by side here.", "warning")
            return
        wide = screen.query_one(f"#{pane}").outer_size.width + sign * delta
        screen.widths[pane] = max(LEAST, min(wide, screen.size.width * 2 // 3))
        apply_widths(screen)


def apply_widths(screen: BrowseScreen | SessionScreen) -> None:
    """Give the panes the widths that the user chose, where there is room for them."""
    for pane, wide in screen.widths.items():
        for widget in screen.query(f"#{pane}"):
            if screen.size.width >= _ROOM_FOR.get(pane, 0):
                widget.styles.width = min(wide, screen.size.width * 2 // 3)
            else:
                widget.styles.clear_rule("width")
