"""Bars: the header at the top of the screen; the footer with the keys of commands, and a message above them."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.strip import Strip

from sessionbrowse.tui.paint.spans import Line, fit, line_width, sides, wrap_words
from sessionbrowse.tui.widgets.span_view import SpanView


class Bar(SpanView, can_focus=False):
    """A widget of one row, with a text at its left edge and another text at its right edge."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._left: Line = []
        self._right: Line = []

    def show(self, left: Line, right: Line | None = None) -> None:
        """Replace the texts at the left and at the right edge of the bar."""
        right = right or []
        if (left, right) != (self._left, self._right):
            self._left, self._right = left, right
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return the cells of the bar's one row."""
        width = self.size.width
        return self.paint(bar(self._left, self._right, width) if y == 0 else [], width)


Hint = tuple[str, str, str, bool]
"""A hint of the footer: id, key and title of a command, and True if the command can run now."""
MESSAGE_ROLES = {"information": "accent", "warning": "warning", "error": "error"}
"""The style of a message by its severity."""
MOST_MESSAGE_ROWS = 3
"""Maximum number of rows of a message; the command `messages` shows a longer one whole."""


class KeyBar(SpanView, can_focus=False):
    """The footer: keys and titles of the focused pane's commands; a click on a key runs its command.

    While there is a message, it takes a row above the keys, or more if it is long.
    """

    ALLOW_SELECT = False

    class Pressed(Message):
        """Message: the user clicked on a command's key in the footer."""

        def __init__(self, command_id: str) -> None:
            super().__init__()
            self.command_id = command_id

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._hints: list[Hint] = []
        self._places: list[tuple[int, int, str]] = []
        self._position = ""
        self._message, self._role = "", MESSAGE_ROLES["information"]

    def tell(self, message: str, severity: str) -> None:
        """Show a message above the keys, in the style of its severity; "" removes it."""
        role = MESSAGE_ROLES[severity]
        if (message, role) != (self._message, self._role):
            self._message, self._role = message, role
            self._fit()
            self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        """Wrap the message for the new width."""
        self._fit()

    def _fit(self) -> None:
        self.styles.height = 1 + len(self._message_rows())

    def _message_rows(self) -> list[str]:
        if not self._message:
            return []
        rows = [row for line in self._message.split("\n") for row in wrap_words(line, max(1, self.app.size.width - 2))]
        cut = len(rows) > MOST_MESSAGE_ROWS
        return [*rows[: MOST_MESSAGE_ROWS - 1], f"{rows[MOST_MESSAGE_ROWS - 1]} …"] if cut else rows

    def show(self, hints: Sequence[Hint], position: str = "") -> None:
        """Show other key hints in the footer, and another position at its right edge.

        `position` is the position of the list's cursor, such as `3/120`.
        """
        if (list(hints), position) != (self._hints, self._position):
            self._hints, self._position = list(hints), position
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return the cells of a row of the message, or of the keys that fit the width."""
        width, message = self.size.width, self._message_rows()
        if y < len(message):
            return self.paint(fit([("▌", self._role), (message[y], self._role)], width), width)
        right: Line = [(f"{self._position} ", "dim")] if self._position else []
        room = width - line_width(right) - 1
        line, self._places = key_hints(self._hints, room)
        return self.paint(sides(line, right, width, least=0) if y == len(message) else [], width)

    def on_click(self, event: events.Click) -> None:
        """Post the message `Pressed` with the id of the command whose key was clicked."""
        for start, end, command_id in self._places:
            if start <= event.x < end and event.y == self.size.height - 1:
                self.post_message(self.Pressed(command_id))
                event.stop()
                return


def bar(left: Line, right: Line, width: int) -> Line:
    """Return a row of `width` cells with one text at its left edge and another at its right edge.

    A text at the right that is too long is left out, or shortened if there is none at the left.
    """
    right = right if left else fit(right, max(0, width - 3))
    return sides([(" ", ""), *left], [*right, (" ", "")] if right else [], width)


def key_hints(hints: Sequence[Hint], width: int) -> tuple[Line, list[tuple[int, int, str]]]:
    """Return the footer's row, and for each hint in it (first cell, cell after the last, id of the command).

    The last hint is always shown; of the others, those that do not fit are left out.
    """
    pieces: list[tuple[str, Line]] = [
        (command_id, [(f" {key}", "key" if works else "faint"), (f" {title} ", "" if works else "faint")])
        for command_id, key, title, works in hints
    ]
    room = width - (line_width(pieces[-1][1]) if pieces else 0)
    line: Line = []
    places: list[tuple[int, int, str]] = []
    position = 0
    for command_id, piece in pieces:
        cells = line_width(piece)
        if position + cells > room and piece is not pieces[-1][1]:
            continue
        places.append((position, position + cells, command_id))
        line += piece
        position += cells
    return fit(line, width), places
