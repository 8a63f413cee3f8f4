"""The base class of screens with panes side by side, which the user can widen, narrow and zoom."""

from __future__ import annotations

from abc import abstractmethod

from textual import events

from sessionbrowse.tui.shell.command_screen import CommandScreen

STEP = 4
LEAST = 16
ROOM_FOR = {"projects": 80, "tree": 100, "preview": 120}
"""Minimum screen width in cells at which the user can resize a pane, because another pane is beside that pane."""


class PanedScreen(CommandScreen[None]):
    """A screen whose panes the user can widen, narrow and zoom."""

    def __init__(self, *, name: str) -> None:
        super().__init__(name=name)
        self.widths: dict[str, int] = {}

    @property
    @abstractmethod
    def sized_pane(self) -> tuple[str, int]:
        """The name of the pane that "wider" resizes; and 1 if "wider" makes it wider, -1 if it makes it narrower."""

    def on_resize(self, event: events.Resize) -> None:
        """Fit the widths of the panes to the new width of the screen."""
        self.fit_panes()

    def do_wider(self) -> None:
        """Make the focused pane wider."""
        self._widen(STEP)

    def do_narrower(self) -> None:
        """Make the focused pane narrower."""
        self._widen(-STEP)

    def do_zoom(self) -> None:
        """Zoom the focused pane to the whole screen, or show all panes again."""
        self.toggle_class("-zoomed")

    def _widen(self, columns: int) -> None:
        pane, sign = self.sized_pane
        if self.size.width < ROOM_FOR[pane]:
            self.browser.say("The screen is too narrow for panes side by side.", "warning")
            return
        wide = self.query_one(f"#{pane}").outer_size.width + sign * columns
        self.widths[pane] = max(LEAST, min(wide, self.size.width * 2 // 3))
        self.fit_panes()

    def fit_panes(self) -> None:
        """Apply the pane widths that the user chose, where the screen has room for them."""
        for pane, wide in self.widths.items():
            for widget in self.query(f"#{pane}"):
                if self.size.width >= ROOM_FOR.get(pane, 0):
                    widget.styles.width = min(wide, self.size.width * 2 // 3)
                else:
                    widget.styles.clear_rule("width")
