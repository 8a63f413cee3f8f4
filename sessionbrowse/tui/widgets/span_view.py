"""Widgets that draw rows of styled text: their base classes, the header, and the footer with keys and messages.

A row is a list of spans: pairs of a text and its roles, which are style names of the theme (`"dim"`, `"user strong"`).
Textual's component classes would do the same, but thirty of them in a dozen widgets take 70 ms at every change of a
CSS class.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.reactive import Reactive
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from sessionbrowse.tui.paint import theme
from sessionbrowse.tui.paint.spans import Line, fit, line_width, sides, wrap_words
from sessionbrowse.tui.paint.textual_compat import CompatScrollView


class SteadyBar(ScrollBar):
    """A scroll bar that is redrawn only if its thumb moves visibly, not whenever a long list scrolls by a row."""

    position: Reactive[float] = Reactive(0.0, repaint=False)

    def watch_position(self, old: float, new: float) -> None:
        """Redraw the scroll bar if its thumb moved visibly."""
        if self._thumb(old) != self._thumb(new):
            self.refresh()

    def _thumb(self, position: float) -> int:
        """Return the start of the scroll bar's thumb in eighths of a cell, the precision with which it is drawn."""
        height, hidden = self.size.height, self.window_virtual_size - self.window_size
        if hidden <= 0 or not height:
            return 0
        return int((height - max(1, self.window_size * height / self.window_virtual_size)) * position / hidden * 8)


class SpanView(CompatScrollView):
    """A scrollable widget that draws rows of styled text (spans with roles)."""

    BAR = SteadyBar

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._styles_by_role: dict[str, Style] = {}
        self._styles_by_roles: dict[tuple[str, str], Style] = {}

    def notify_style_update(self) -> None:
        """Discard the cached styles and repaint, because the theme changed."""
        super().notify_style_update()
        self._styles_by_role = {}
        self._styles_by_roles.clear()
        self.refresh()

    @property
    def room(self) -> int:
        """The width of a row in cells, without the scroll bar."""
        return self.scrollable_content_region.width

    def paint(self, line: Line, width: int, over: str = "") -> Strip:
        """Return a line as a Textual strip of exactly `width` cells; styles in `over` override the line's styles."""
        segments = [Segment(text, self._style(roles, over)) for text, roles in line if text]
        length = line_width(line)
        if length < width:
            segments.append(Segment(" " * (width - length), self._style("", over)))
            length = width
        strip = Strip(segments, length)
        return strip if length == width else strip.crop(0, width)

    def _style(self, roles: str, over: str) -> Style:
        style = self._styles_by_roles.get((roles, over))
        if style is None:
            style = self.rich_style
            named = roles.split()
            # Search matches and selected text must also be visible on the cursor's row, so their styles override the
            # cursor's style.
            last = [role for role in named if role in ("match", "selection")]
            for role in [*[role for role in named if role not in last], *over.split(), *last]:
                style += self._role_style(role)
            self._styles_by_roles[roles, over] = style
        return style

    def _role_style(self, role: str) -> Style:
        if not self._styles_by_role:
            self._styles_by_role = theme.role_styles(self.app.theme_variables)
        return self._styles_by_role[role]


class RowsView(SpanView):
    """A widget with rows, through which keys move by a row or a page; a widget without rows shows the text `empty`."""

    def __init__(self, *, empty: str = "", id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.empty = empty

    @abstractmethod
    def move(self, delta: int) -> None:
        """Move the cursor by `delta` rows (up if negative); a widget without a cursor scrolls by `delta` rows."""

    @property
    def page(self) -> int:
        """The number of rows by which Page Up and Page Down move."""
        return max(1, self.size.height - 1)

    def page_up(self) -> None:
        """Move the cursor up by a page; scroll if the widget has no cursor."""
        self.move(-self.page)

    def page_down(self) -> None:
        """Move the cursor down by a page; scroll if the widget has no cursor."""
        self.move(self.page)

    def render_empty(self, y: int, width: int) -> Strip:
        """Return line `y` of a widget without rows, which shows the text `empty`, wrapped and centred."""
        rows = wrap_words(self.empty, max(1, width - 4))
        top = max(0, (self.size.height - len(rows)) // 3)
        if not top <= y < top + len(rows):
            return self.paint([], width)
        line: Line = [(rows[y - top], "dim")]
        return self.paint([(" " * max(0, (width - line_width(line)) // 2), ""), *line], width)


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
