"""Folds: collapsed blocks of a document, which show one row until the user opens them.

The content of a fold is built when the fold is opened, and shown below the fold's row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sessionbrowse.tui.layout.parts import Part, RowPart
from sessionbrowse.tui.paint.spans import Line, fit, line_width

CLOSED, OPEN = "▸ ", "▾ "
SMALLEST_REST = 4
"""Minimum number of lines to hide in a fold; fewer lines are shown, because a fold would save hardly any room."""

CHARACTERS_PER_LINE = 400
"""Number of characters that count as one line when a text is cut for a fold, so that very long lines are cut too."""


class Fold(RowPart):
    """A collapsible block of a document; while it is closed, its content is hidden and one row is shown."""

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
        self.body = body
        """Builds the hidden content of the fold, as a list of document parts."""
        self._prefix = prefix or []
        self._hint = hint
        self.is_open = is_open

    def rows(self, width: int) -> list[Line]:
        """Return the fold's row: its label and, if the fold is closed, a hint of its content."""
        sign = OPEN if self.is_open else CLOSED
        row: Line = [*self._prefix, (sign, "accent"), *self._label]
        if self._hint and not self.is_open and line_width(row) + 8 < width:
            row.append((f"  {self._hint}", "faint"))
        return [fit(row, width)]

    def plain(self) -> str:
        """Return the label as text, and a closed fold's content; an open fold's content is in the parts below it."""
        label = "".join([text for text, _ in self._label])
        return label if self.is_open else "\n".join([label, *[part.plain() for part in self.body()]])


def cut_at(source: str, lines: int) -> int:
    """Return the offset at which to cut a text after about `lines` lines; the text's length if few lines remain."""
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
    """Return the label for the text after an offset: `214 more lines`, or for few lines `90 more characters`."""
    lines = source.count("\n", start)
    if lines < SMALLEST_REST:
        return f"{len(source) - start:,} more characters"
    return f"{lines:,} more lines"
