"""The least a Textual app can do: paint one line; with a number, a list of that many lines with a cursor.

What it takes is what Textual takes: the rest is our own work.
"""

from __future__ import annotations

import sys

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

PAINTED = "painted line"
REVERSE = Style(reverse=True)


class BareList(ScrollView, can_focus=True):
    """Numbered lines, drawn when they are seen."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count
        self._cursor = 0
        self.virtual_size = Size(100, count)

    def render_line(self, y: int) -> Strip:
        """Return a line of the screen."""
        number = self.scroll_offset.y + y
        return Strip([Segment(f"{PAINTED} {number}", REVERSE if number == self._cursor else None)])

    def on_key(self, event: events.Key) -> None:
        """Move the cursor."""
        step = {"down": 1, "up": -1, "pagedown": self.size.height, "pageup": -self.size.height}.get(event.key, 0)
        if step:
            event.stop()
            event.prevent_default()
            self._cursor = max(0, min(self._count - 1, self._cursor + step))
            top = max(min(self.scroll_offset.y, self._cursor), self._cursor - self.size.height + 1)
            self.scroll_to(y=top, animate=False, force=True)
            self.refresh()


class BareApp(App[None]):
    """The app."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [("q", "quit", "Quit")]  # noqa: RUF012 - textual's own way

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def compose(self) -> ComposeResult:
        """Return the one widget."""
        yield BareList(self._count) if self._count else Static(PAINTED)


if __name__ == "__main__":
    BareApp(int(sys.argv[1]) if len(sys.argv) > 1 else 0).run()
