"""Layout of Markdown tables: column widths that fit the content of the cells and the width of the pane."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from sessionbrowse.tui.layout.parts import Part, wrap_line
from sessionbrowse.tui.paint.spans import Line, line_width

NARROWEST = 5
"""Minimum width of a wrapped column in terminal cells; if a column would be narrower, Markdown source is shown."""

BETWEEN = (" │ ", "rule")
MOST_ROWS = 400
"""Maximum number of rows of a table; a larger table is shown as Markdown source, because measuring it is slow."""


class TablePart:
    """A Markdown table as a document part; the first row of `cells` is the heading."""

    def __init__(
        self, cells: Sequence[Sequence[Line]], sides: Sequence[str], written: Sequence[Part], first: Line, rest: Line
    ) -> None:
        self._cells = cells
        self._sides = sides
        self._written = written
        self._first = first
        self._rest = rest

    def estimate(self, width: int) -> int:
        """Return the number of rows of the table, estimated as if no row wraps."""
        return len(self._cells) + 1

    def rows(self, width: int) -> list[Line]:
        """Return the screen rows of the table; rows with its Markdown source if the columns do not fit the width."""
        widths = column_widths(self._cells, width - line_width(self._rest)) if len(self._cells) <= MOST_ROWS else None
        before = self._first
        if widths is None:
            return [row for part in self._written for row in part.rows(width)]
        rows: list[Line] = []
        for number, cells in enumerate(self._cells):
            for line in _table_row(cells, widths, self._sides, heading=number == 0):
                rows.append([*before, *line])
                before = self._rest
            if number == 0:
                rows.append([*before, ("─┼─".join(["─" * cells for cells in widths]), "rule")])
        return rows

    def plain(self) -> str:
        """Return the table's Markdown source, for the clipboard."""
        return "\n".join([part.plain() for part in self._written])


def column_widths(cells: Sequence[Sequence[Line]], width: int) -> list[int] | None:
    """Return the width of each table column: its content's width or a fair share; None if a share is too narrow."""
    needed = [max(1, *[line_width(cell) for cell in column]) for column in zip(*cells, strict=True)]
    room = width - len(BETWEEN[0]) * (len(needed) - 1)
    given = [0] * len(needed)
    waiting = sorted(range(len(needed)), key=lambda column: needed[column])
    # Columns with narrow content get their full width first; wide columns share the remaining width.
    while waiting:
        column = waiting.pop(0)
        given[column] = min(needed[column], room // (len(waiting) + 1))
        if given[column] < min(NARROWEST, needed[column]):
            return None
        room -= given[column]
    return given


def _table_row(cells: Sequence[Line], widths: Sequence[int], sides: Sequence[str], *, heading: bool) -> list[Line]:
    look = "strong" if heading else ""
    wrapped = [
        wrap_line([(text, f"{roles} {look}".strip()) for text, roles in cell], width)
        for cell, width in zip(cells, widths, strict=True)
    ]
    rows: list[Line] = []
    empty: Line = []
    for pieces in zip_longest(*wrapped, fillvalue=empty):
        row: Line = []
        for number, (piece, width, side) in enumerate(zip(pieces, widths, sides, strict=True)):
            missing = max(0, width - line_width(piece))
            left = missing if side == "right" else missing // 2 if side == "center" else 0
            row += [*([BETWEEN] if number else []), (" " * left, ""), *piece, (" " * (missing - left), "")]
        rows.append(row)
    return rows
