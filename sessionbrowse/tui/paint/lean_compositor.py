"""A compositor that repaints only changed rows, and only the widgets that contain them.

Textual repaints the smallest rectangle around all changes. As most keys change both the bar at the top and the footer,
that rectangle is the whole screen.
"""

from __future__ import annotations

from rich.console import Console
from textual.geometry import Region
from textual.strip import Strip

from sessionbrowse.tui.paint.textual_compat import CompatCompositor, PartialUpdate, color_system

Spans = list[tuple[int, int]]
"""Pieces of one line, as pairs of the first cell and the cell after the last."""


class LeanCompositor(CompatCompositor):
    """A compositor whose partial updates contain only changed cells."""

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
        return PiecesUpdate(pieces) if pieces else None


Piece = tuple[int, int, Strip, int, int]
"""A piece to paint: column and row on the screen, a strip, the first cell of the strip, and the cell after the last."""


class PiecesUpdate(PartialUpdate):
    """A partial update made of pieces of strips, because cutting strips into new strips is slow."""

    def __init__(self, pieces: list[Piece]) -> None:
        super().__init__()
        self.pieces = pieces

    def render_segments(self, console: Console) -> str:
        """Return the text and escape sequences for the terminal."""
        return "".join(
            [f"\x1b[{y + 1};{x + 1}H{_rendered(strip, start, end, console)}" for x, y, strip, start, end in self.pieces]
        )


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


def _rendered(strip: Strip, start: int, end: int, console: Console) -> str:
    """Return the cells of a strip from `start` to `end` as text and escape sequences."""
    if start == 0 and end == strip.cell_length:
        return strip.render(console)
    # This works as Strip.render does, which cannot render a part of a strip.
    colors = color_system(console)
    rendered: list[str] = []
    at = 0
    for segment in strip:
        text, style, _ = segment
        after = at + segment.cell_length
        if after > start:
            if at < start or after > end:
                text = segment.split_cells(max(0, start - at))[1].split_cells(end - max(at, start))[0].text
            rendered.append(text if style is None else Strip.render_style(style, text, colors))
        at = after
        if at >= end:
            break
    return "".join(rendered)
