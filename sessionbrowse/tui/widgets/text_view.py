"""A pane of text of any length: only the parts on screen are wrapped.

The height of a part that was never seen is an estimate. What is on screen is measured before it is drawn, and the
view is shifted so that the text under the eye stays where it is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate

from textual import events
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip

from sessionbrowse.tui.parts import Part, overlay
from sessionbrowse.tui.spans import Line, line_width, wrap_words
from sessionbrowse.tui.widgets.painted import Painted

KEPT_PARTS = 256
MEASURED_AT_ONCE = 300
"""Estimated rows up to which a whole document is measured at once, so that its scroll bar is exact."""


class TextView(Painted, can_focus=True):
    """A scrolling document of parts."""

    ALLOW_SELECT = True

    def __init__(self, *, empty: str = "", id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.empty = empty
        self._parts: Sequence[Part] = ()
        self._heights: list[int] = []
        self._measured = bytearray()
        self._tops: list[int] = []
        self._rows: OrderedDict[int, list[Line]] = OrderedDict()
        self._width = 0
        self._settling = False

    # -- the document -------------------------------------------------------------------------------------------

    def show(self, parts: Sequence[Part], *, keep_place: bool = False, empty: str | None = None) -> None:
        """Show another document, from its top unless `keep_place`."""
        if empty is not None:
            self.empty = empty
        top = self.scroll_offset.y if keep_place else 0
        self._parts = parts
        self._width = self.room
        self._reset_heights()
        self._settle(top)
        self.refresh()

    @property
    def has_parts(self) -> bool:
        """Whether there is anything to read."""
        return bool(self._parts)

    def plain(self) -> str:
        """Return the whole document's text."""
        return "\n".join([part.plain() for part in self._parts])

    def _reset_heights(self) -> None:
        width = max(1, self._width)
        self._rows.clear()
        self._heights = [part.estimate(width) for part in self._parts]
        self._measured = bytearray(len(self._parts))
        if sum(self._heights) <= MEASURED_AT_ONCE:
            for index in range(len(self._parts)):
                self._measure(index)
        self._update_tops()

    def _update_tops(self) -> None:
        self._tops = list(accumulate(self._heights, initial=0))
        height = self._tops[-1]
        if self.virtual_size.height != height:
            self.virtual_size = Size(0, height)

    def _measure(self, index: int) -> int:
        """Replace the estimate of a part by its true height; return the difference."""
        if self._measured[index]:
            return 0
        height = len(self._rows_of(index))
        difference = height - self._heights[index]
        self._heights[index] = height
        self._measured[index] = 1
        return difference

    def _rows_of(self, index: int) -> list[Line]:
        rows = self._rows.get(index)
        if rows is None:
            rows = self._parts[index].rows(max(1, self._width))
            self._rows[index] = rows
            while len(self._rows) > KEPT_PARTS:
                self._rows.popitem(last=False)
        else:
            self._rows.move_to_end(index)
        return rows

    # -- keeping the place --------------------------------------------------------------------------------------

    def _settle(self, top: int, *, at_end: bool = False) -> None:
        """Measure what shows when the row `top` is the first one, and scroll there."""
        if self._settling or not self._width:
            return
        self._settling = True
        try:
            for _ in range(4):
                limit = max(0, self._tops[-1] - self.size.height)
                top = limit if at_end else max(0, min(top, limit))
                changed, top = self._measure_from(top)
                if not changed:
                    break
            if top != self.scroll_offset.y:
                self.scroll_to(y=top, animate=False, force=True)
        finally:
            self._settling = False

    def _measure_from(self, top: int) -> tuple[bool, int]:
        index = max(0, bisect_right(self._tops, top) - 1)
        if index >= len(self._parts):
            return False, top
        position = self._tops[index]
        bottom = top + self.size.height
        changed = False
        while index < len(self._parts) and position < bottom:
            difference = self._measure(index)
            if difference:
                changed = True
                if position < top:
                    # The part reaches above the screen: hold what follows it in place.
                    top = max(position, top + difference)
                    bottom = top + self.size.height
            position += self._heights[index]
            index += 1
        if changed:
            self._update_tops()
        return changed, top

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Measure what came into view."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._settle(round(new_value))

    def on_resize(self, event: events.Resize) -> None:
        """Wrap anew for another width, keeping the part at the top."""
        width = self.room
        if width == self._width:
            self._settle(self.scroll_offset.y)
            return
        top = self.scroll_offset.y
        index = max(0, bisect_right(self._tops, top) - 1) if self._tops else 0
        into = top - self._tops[index] if self._tops else 0
        self._width = width
        self._reset_heights()
        if index < len(self._heights):
            top = self._tops[index] + min(into, max(0, self._heights[index] - 1))
        self._settle(top)
        self.refresh()

    # -- moving -------------------------------------------------------------------------------------------------

    @property
    def page(self) -> int:
        """The number of rows a page key moves."""
        return max(1, self.size.height - 1)

    def move(self, delta: int) -> None:
        """Scroll by some rows."""
        self._settle(self.scroll_offset.y + delta)

    def go_up(self) -> None:
        """Scroll up by a row."""
        self.move(-1)

    def go_down(self) -> None:
        """Scroll down by a row."""
        self.move(1)

    def page_up(self) -> None:
        """Scroll up by a page."""
        self.move(-self.page)

    def page_down(self) -> None:
        """Scroll down by a page."""
        self.move(self.page)

    def go_first(self) -> None:
        """Scroll to the beginning."""
        self._settle(0)

    def go_last(self) -> None:
        """Scroll to the end."""
        self._settle(0, at_end=True)

    # -- drawing ------------------------------------------------------------------------------------------------

    def line_at(self, row: int) -> Line:
        """Return the spans of a row of the document; empty below its end."""
        if not 0 <= row < self._tops[-1]:
            return []
        index = bisect_right(self._tops, row) - 1
        rows = self._rows_of(index)
        within = row - self._tops[index]
        return rows[within] if within < len(rows) else []

    def render_line(self, y: int) -> Strip:
        """Draw the line `y` of the visible part."""
        width = self.room
        if not self._parts:
            return self._render_empty(y, width)
        row = self.scroll_offset.y + y
        line = self.line_at(row)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(row)) is not None:
            start, end = span
            line = overlay(line, [(start, len("".join([text for text, _ in line])) if end < 0 else end)], "selection")
        return self.paint(line, width).apply_offsets(0, row)

    def _render_empty(self, y: int, width: int) -> Strip:
        rows = wrap_words(self.empty, max(1, width - 4))
        top = max(0, (self.size.height - len(rows)) // 3)
        if not top <= y < top + len(rows):
            return self.paint([], width)
        line: Line = [(rows[y - top], "dim")]
        return self.paint([(" " * max(0, (width - line_width(line)) // 2), ""), *line], width)

    # -- copying with the mouse ---------------------------------------------------------------------------------

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text under the mouse's selection."""
        if selection.start is None and selection.end is None:
            return self.plain(), "\n"
        first = selection.start.y if selection.start is not None else 0
        last = selection.end.y if selection.end is not None else self._tops[-1] - 1
        rows: list[str] = []
        for row in range(first, last + 1):
            text = "".join([piece for piece, _ in self.line_at(row)])
            span = selection.get_span(row)
            if span is not None:
                start, end = span
                rows.append(text[start:] if end < 0 else text[start:end])
        return "\n".join(rows).rstrip(), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Redraw with the new selection."""
        self.refresh()
