"""Folds: blocks of a document that show one row until they are opened.

The parts of a fold are built when it is opened; the text view puts them below its row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sessionbrowse.tui.layout.parts import Part, RowPart
from sessionbrowse.tui.paint.spans import Line, fit, line_width

CLOSED, OPEN = "▸ ", "▾ "
SMALLEST_REST = 4
"""Minimum number of lines of a fold; fewer lines need hardly more room than the row of a fold."""

CHARACTERS_PER_LINE = 400
"""Number of characters that count as one line, so that a line of a megabyte is also folded."""


class Fold(RowPart):
    """A block of parts that is hidden behind one row."""

    def __init__(
        self,
        label: Line,
        body: Callable[[], Sequence[Part]],
        *,
        prefix: Line | None = None,
        hint: str = "",
        is_open: bool = False,
    ) -> None:
        self._label = label
        self._body = body
        self._prefix = prefix or []
        self._hint = hint
        self.is_open = is_open

    def body(self) -> Sequence[Part]:
        """Build the parts that the fold hides."""
        return self._body()

    def rows(self, width: int) -> list[Line]:
        """Return the one row; a closed fold also shows a hint of its content."""
        sign = OPEN if self.is_open else CLOSED
        row: Line = [*self._prefix, (sign, "accent"), *self._label]
        if self._hint and not self.is_open and line_width(row) + 8 < width:
            row.append((f"  {self._hint}", "faint"))
        return [fit(row, width)]

    def plain(self) -> str:
        """Return the label; for a closed fold also the hidden text, which in an open fold is returned by its parts."""
        label = "".join([text for text, _ in self._label])
        return label if self.is_open else "\n".join([label, *[part.plain() for part in self.body()]])


def cut_at(source: str, lines: int) -> int:
    """Return the offset to cut a text after about `lines` lines; the text's length if the rest is too short to fold."""
    limit = min(len(source), lines * CHARACTERS_PER_LINE)
    end = -1
    for _ in range(lines):
        end = source.find("\n", end + 1, limit)
        if end < 0:
            break
    place = end if end >= 0 else limit
    rest = source.count("\n", place, place + SMALLEST_REST * CHARACTERS_PER_LINE)
    if rest < SMALLEST_REST and len(source) - place <= SMALLEST_REST * CHARACTERS_PER_LINE:
        return len(source)
    return place


def more_label(source: str, start: int) -> str:
    """Return the length of the text after an offset, as `214 more lines`, or in characters if it has few lines."""
    lines = source.count("\n", start)
    if lines < SMALLEST_REST:
        return f"{len(source) - start:,} more characters"
    return f"{lines:,} more lines"
