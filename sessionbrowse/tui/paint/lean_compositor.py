"""A Textual compositor that repaints only changed rows, and only the widgets that contain such rows.

Textual's own compositor repaints the smallest rectangle around all changes. As most key presses change both the header
at the top and the footer at the bottom, that rectangle would be the whole screen.
"""

from __future__ import annotations

from rich.console import Console
from textual.geometry import Region

from sessionbrowse.tui.paint.terminal_cells import Piece, TerminalCells
from sessionbrowse.tui.paint.textual_compat import CompatCompositor, LayoutUpdate, PartialUpdate, color_system

Spans = list[tuple[int, int]]
"""Ranges of cells in one screen row, each as (first cell, cell after the last)."""


class LeanCompositor(CompatCompositor):
    """A Textual compositor that renders only changed cells, and sends only cells that differ from the terminal's."""

    def render_full_update(self, simplify: bool = False) -> LayoutUpdate:
        """Return an update with the whole screen; when written, it sends only cells that differ from the terminal's."""
        return WholeUpdate(super().render_full_update(simplify), self.terminal_cells)

    def render_partial_update(self) -> PartialUpdate | None:
        """Return an update with the changed cells of the screen; the frontmost widget at a cell renders the cell."""
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
    """An update of some cells of the screen.

    Each piece is a whole Textual strip with the range of its cells to paint, because cutting strips would be slow.
    """

    def __init__(self, pieces: list[Piece], cells: TerminalCells) -> None:
        super().__init__()
        self._pieces, self._cells = pieces, cells

    def render_segments(self, console: Console) -> str:
        """Return text and escape sequences that paint the changed cells on the terminal."""
        return self._cells.update(self._pieces, color_system(console))


class WholeUpdate(LayoutUpdate):
    """An update with the whole screen, of which only cells that differ from the terminal's are sent."""

    def __init__(self, frame: LayoutUpdate, cells: TerminalCells) -> None:
        super().__init__(frame.strips, frame.region)
        self._cells = cells

    def render_segments(self, console: Console) -> str:
        """Return text and escape sequences that paint those cells of the screen that the terminal does not show yet."""
        pieces: list[Piece] = []
        for y, strips in enumerate(self.strips, self.region.y):
            x = self.region.x
            for strip in strips:
                pieces.append((x, y, strip, 0, strip.cell_length))
                x += strip.cell_length
        return self._cells.update(pieces, color_system(console))


def _split(spans: Spans, left: int, right: int) -> tuple[Spans, Spans]:
    """Split cell ranges of a row: return the ranges between the cells `left` and `right`, and those outside."""
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
