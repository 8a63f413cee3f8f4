"""A compositor that repaints only changed rows, and only the widgets that contain them.

Textual repaints the smallest rectangle around all changes. As most keys change both the bar at the top and the footer,
that rectangle is the whole screen.
"""

from __future__ import annotations

from rich.console import Console
from textual.geometry import Region

from sessionbrowse.tui.paint.terminal_cells import Piece, TerminalCells
from sessionbrowse.tui.paint.textual_compat import CompatCompositor, LayoutUpdate, PartialUpdate, color_system

Spans = list[tuple[int, int]]
"""Pieces of one line, as pairs of the first cell and the cell after the last."""


class LeanCompositor(CompatCompositor):
    """A compositor that renders only the changed cells, and sends only those that the terminal does not show yet."""

    def render_full_update(self, simplify: bool = False) -> LayoutUpdate:
        """Return the whole screen; on the terminal only the cells change that it does not show yet."""
        return WholeUpdate(super().render_full_update(simplify), self.terminal_cells)

    def render_partial_update(self) -> PartialUpdate | None:
        """Return the changed cells, each from the frontmost widget that covers it."""
        missing: dict[int, Spans] = {}
        for y, start, end in self.take_changed_cells():
            missing.setdefault(y, []).append((start, end))
        pieces: list[Piece] = []
        for widget, (region, clip) in self.visible_widgets.items():
            left, top, width, height = region.intersection(clip)
            right = left + width
            found: dict[int, Spans] = {}
            for y in range(top, top + height):
                if y in missing:
                    inside, missing[y] = _split(missing[y], left, right)
                    if inside:
                        found[y] = inside
            if not found:
                continue
            first, last = min(found), max(found)
            strips = widget.render_lines(Region(left - region.x, first - region.y, width, last + 1 - first))
            for y, inside in found.items():
                pieces += [(start, y, strips[y - first], start - left, end - left) for start, end in inside]
        return PiecesUpdate(pieces, self.terminal_cells) if pieces else None


class PiecesUpdate(PartialUpdate):
    """A partial update made of pieces of strips, because cutting strips into new strips is slow."""

    def __init__(self, pieces: list[Piece], cells: TerminalCells) -> None:
        super().__init__()
        self._pieces, self._cells = pieces, cells

    def render_segments(self, console: Console) -> str:
        """Return the text for the terminal that changes the cells it shows."""
        return self._cells.update(self._pieces, color_system(console))


class WholeUpdate(LayoutUpdate):
    """A frame of the whole screen, of which the terminal is sent only what it does not show yet."""

    def __init__(self, frame: LayoutUpdate, cells: TerminalCells) -> None:
        super().__init__(frame.strips, frame.region)
        self._cells = cells

    def render_segments(self, console: Console) -> str:
        """Return the text for the terminal that changes the cells it shows."""
        pieces: list[Piece] = []
        for y, strips in enumerate(self.strips, self.region.y):
            x = self.region.x
            for strip in strips:
                pieces.append((x, y, strip, 0, strip.cell_length))
                x += strip.cell_length
        return self._cells.update(pieces, color_system(console))


def _split(spans: Spans, left: int, right: int) -> tuple[Spans, Spans]:
    """Return the parts of spans between the cells `left` and `right`, and the parts outside of this range."""
    inside: Spans = []
    outside: Spans = []
    for start, end in spans:
        if start < left:
            outside.append((start, min(end, left)))
        if start < right and end > left:
            inside.append((max(start, left), min(end, right)))
        if end > right:
            outside.append((max(start, right), end))
    return inside, outside
