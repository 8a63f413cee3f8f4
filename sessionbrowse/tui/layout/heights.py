"""The layout of a document for a pane's width: the height of each document part, open folds, wrapped rows.

The height of a part is an estimate until the part becomes visible; then the text view wraps and measures it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from sessionbrowse.tui.layout.parts import Fold, LazyPart, Part
from sessionbrowse.tui.paint.spans import Line

KEPT_PARTS = 256
MEASURED_AT_ONCE = 200
"""A document of at most this many estimated rows is measured in advance, so that its scroll bar is exact."""

Path = tuple[int, ...]
"""Indexes that lead to a part, from the outside in.

The first is an index in the document, each further one an index in the content of the fold or lazy part found so far.
The paths of all parts, in the order of their rows, are sorted.
"""


class DocumentLayout:
    """A document laid out for a pane's width: a flat list of its parts and of the parts in open folds, with heights."""

    def __init__(
        self,
        parts: Sequence[Part],
        width: int,
        *,
        open_all: bool | None = None,
        opened: Mapping[Path, bool] | None = None,
    ) -> None:
        self.open_all = open_all
        """True after the user opened all folds, False after the user closed all folds; None before that.

        Folds that are built later are opened or closed accordingly.
        """
        self.opened: dict[Path, bool] = dict(opened or {})
        """The folds that the user toggled one by one: True if opened, False if closed."""
        self.width = max(1, width)
        flat = list(self._flat(parts, ()))
        self.parts = [part for _, part in flat]
        self._paths = [path for path, _ in flat]
        self._rows: dict[Part, list[Line]] = {}
        self._lay()

    def fit(self, width: int) -> None:
        """Lay out the document again for another width: wrapped rows and heights of its parts are replaced."""
        self.width = max(1, width)
        self._rows.clear()
        self._lay()

    def _lay(self) -> None:
        self.heights = [part.estimate(self.width) for part in self.parts]
        self._known = bytearray(len(self.parts))
        if sum(self.heights) <= MEASURED_AT_ONCE:
            index = 0
            while index < len(self.parts):
                self.measure(index)
                index += 1
        self.update_tops()

    def update_tops(self) -> None:
        """Compute the row number at which each document part begins, as the sum of the heights of the parts above."""
        self.tops = list(accumulate(self.heights, initial=0))

    @property
    def height(self) -> int:
        """The height of the whole document in rows; estimated for parts that were not visible yet."""
        return self.tops[-1]

    def measure(self, index: int) -> int:
        """Replace a document part's estimated height by its real height in rows; return the difference.

        If the part is a lazy part (a placeholder), build its content first.
        """
        if self._known[index]:
            return 0
        before = self.heights[index]
        part = self.parts[index]
        if isinstance(part, LazyPart):
            built = list(self._flat(part.build(), self._paths[index]))
            if built:
                self._replace(index, index + 1, built)
                return sum(self.heights[index : index + len(built)]) - before + self.measure(index)
        self.heights[index] = len(self.rows(index)) if not isinstance(part, LazyPart) else 0
        self._known[index] = 1
        return self.heights[index] - before

    def rows(self, index: int) -> list[Line]:
        """Return the wrapped rows of the document part at an index; the rows of recently used parts are cached."""
        part = self.parts[index]
        rows = self._rows.pop(part, None)
        # These rows move to the end of the cache, because the first rows in it are dropped first.
        self._rows[part] = rows = part.rows(self.width) if rows is None else rows
        if len(self._rows) > KEPT_PARTS:
            del self._rows[next(iter(self._rows))]
        return rows

    # -- positions in the document ------------------------------------------------------------------------------

    def index_at(self, row: int) -> int:
        """Return the index of the document part that contains a row of the document."""
        return max(0, bisect_right(self.tops, row) - 1)

    def place_of(self, row: int) -> tuple[int, int]:
        """Convert a row number to a position: the index of the top-level part, and the number of rows below its top.

        Row numbers change if the width changes or a fold is opened; a position still leads to the same top-level part.
        """
        if not self.parts:
            return 0, 0
        given = self._paths[min(self.index_at(row), len(self.parts) - 1)][0]
        return given, row - self.tops[bisect_left(self._paths, (given,))]

    def row_of(self, place: tuple[int, int]) -> int:
        """Convert a position (index of a top-level part, number of rows below its top) to the row number it has now.

        If the top-level part now has fewer rows than that, return its last row.
        """
        given, below = place
        index = first = bisect_left(self._paths, (given,))
        while index < len(self.parts) and self._paths[index][0] == given:
            self.measure(index)
            index += 1
        self.update_tops()
        return min(self.tops[first] + below, max(self.tops[first], self.tops[index] - 1))

    def path_of(self, part: Part) -> Path | None:
        """Return the path (place) of a part in the document; None if the document no longer contains the part."""
        return next((path for path, other in zip(self._paths, self.parts, strict=True) if other is part), None)

    def part_at(self, path: Path) -> Part | None:
        """Return the document part at a path; None if the document has no part there now."""
        index = bisect_left(self._paths, path)
        return self.parts[index] if self._paths[index : index + 1] == [path] else None

    # -- folds --------------------------------------------------------------------------------------------------

    def toggle(self, index: int) -> None:
        """Open the fold that is the part at `index`, or close it if it is open."""
        fold = self.parts[index]
        assert isinstance(fold, Fold)
        path = self._paths[index]
        end = bisect_left(self._paths, (*path[:-1], path[-1] + 1))
        fold.is_open = self.opened[path] = not fold.is_open
        self._rows.pop(fold, None)
        self._replace(index + 1, end, list(self._flat(fold.body(), path)) if fold.is_open else [])
        self.update_tops()

    def toggle_all(self) -> None:
        """Open every fold, or close all folds if all are open."""
        folds = [part for part in self.parts if isinstance(part, Fold)]
        self.open_all = any(not fold.is_open for fold in folds) or not folds
        self.opened.clear()
        index = 0
        while index < len(self.parts):
            part = self.parts[index]
            if isinstance(part, Fold) and part.is_open != self.open_all:
                self.toggle(index)
            index += 1

    def _flat(self, parts: Sequence[Part], above: Path) -> Iterator[tuple[Path, Part]]:
        """Yield each part below the path `above` with its own path; the parts in an open fold follow the fold."""
        for number, part in enumerate(parts):
            path = (*above, number)
            yield path, part
            if isinstance(part, Fold):
                part.is_open = self.opened.get(path, part.is_open if self.open_all is None else self.open_all)
                if part.is_open:
                    yield from self._flat(part.body(), path)

    def _replace(self, start: int, end: int, flat: Sequence[tuple[Path, Part]]) -> None:
        self.parts[start:end] = [part for _, part in flat]
        self._paths[start:end] = [path for path, _ in flat]
        self.heights[start:end] = [part.estimate(self.width) for _, part in flat]
        self._known[start:end] = bytes(len(flat))
