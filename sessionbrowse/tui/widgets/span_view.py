"""Base classes of the widgets that draw rows of styled text.

A row is a list of spans: pairs of a text and its roles, which are style names of the theme (`"dim"`, `"user strong"`).
Textual's component classes would do the same, but thirty of them in a dozen widgets take 70 ms at every change of a
CSS class.
"""

from __future__ import annotations

from abc import abstractmethod

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.reactive import Reactive
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip

from sessionbrowse.tui.paint import theme
from sessionbrowse.tui.paint.spans import Line, line_width, wrap_words
from sessionbrowse.tui.paint.textual_compat import CompatScrollView


class SteadyBar(ScrollBar):
    """A scroll bar that is redrawn only if its thumb moves visibly, not whenever a long list scrolls by a row."""

    position: Reactive[float] = Reactive(0.0, repaint=False)

    def watch_position(self, old: float, new: float) -> None:
        """Redraw the scroll bar if its thumb moved visibly."""
        if self._thumb(old) != self._thumb(new):
            self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the cells of the scroll bar; equal cells share one strip object, to save time."""
        bar = self.render()
        if not isinstance(bar, ScrollBarRender) or not isinstance(bar.style, Style):
            return super().render_lines(crop)
        back, thumb = bar.style.bgcolor, bar.style.color
        if back is None or thumb is None:
            return super().render_lines(crop)
        cells = bar.render_bar(
            self.size.height, bar.virtual_size, bar.window_size, bar.position, bar.thickness, True, back, thumb
        ).segments[crop.y : crop.bottom]
        behind = self.visual_style.rich_style
        strips = {cell: Strip([cell], bar.thickness).apply_style(behind) for cell in set(cells)}
        for line_filter in self.get_line_filters():
            background = self.background_colors[1]
            strips = {cell: strip.apply_filter(line_filter, background) for cell, strip in strips.items()}
        return [strips[cell] for cell in cells]

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
