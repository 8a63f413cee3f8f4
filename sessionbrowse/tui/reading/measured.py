"""The parts of a document one below the other: how tall each is, what is folded, which rows are known.

The height of a part that was never seen is an estimate. Knows no screen: the text view says what is looked at.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import accumulate

from sessionbrowse.tui.reading.folds import Fold
from sessionbrowse.tui.reading.parts import LazyPart, Part
from sessionbrowse.tui.spans import Line

KEPT_PARTS = 256
MEASURED_AT_ONCE = 200
"""Estimated rows up to which a whole document is measured at once, so that its scroll bar is exact."""

Path = tuple[int, ...]
"""Where a part stands: which one of the document it is, then which one of the fold or lazy part that holds it."""


class Measured:
    """A document laid out for a width."""

    def __init__(
        self,
        parts: Sequence[Part],
        width: int,
        *,
        open_all: bool | None = None,
        opened: Mapping[Path, bool] | None = None,
    ) -> None:
        self.open_all = open_all
        """Whether folds that come into sight open, as the reader last asked for all; None: as they come."""
        self.opened: dict[Path, bool] = dict(opened or {})
        """The folds that the reader opened or closed one by one."""
        self.width = max(1, width)
        self.parts: list[Part] = []
        self._paths: list[Path] = []
        self._flatten(parts, (), self.parts, self._paths)
        self._rows: OrderedDict[Part, list[Line]] = OrderedDict()
        self._lay()

    def fit(self, width: int) -> None:
        """Lay the parts out for another width."""
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
        """Add up the heights."""
        self.tops = list(accumulate(self.heights, initial=0))

    @property
    def height(self) -> int:
        """The rows of the whole document, as far as is known."""
        return self.tops[-1]

    def measure(self, index: int) -> int:
        """Replace the estimate of a part by its true height, a lazy part by what it holds; return the difference."""
        if self._known[index]:
            return 0
        before = self.heights[index]
        part = self.parts[index]
        if isinstance(part, LazyPart):
            parts: list[Part] = []
            paths: list[Path] = []
            self._flatten(part.build(), self._paths[index], parts, paths)
            if parts:
                self._replace(index, index + 1, parts, paths)
                return sum(self.heights[index : index + len(parts)]) - before + self.measure(index)
        self.heights[index] = len(self.rows(index)) if not isinstance(part, LazyPart) else 0
        self._known[index] = 1
        return self.heights[index] - before

    def rows(self, index: int) -> list[Line]:
        """Return the rows of a part."""
        part = self.parts[index]
        rows = self._rows.get(part)
        if rows is None:
            rows = part.rows(self.width)
            self._rows[part] = rows
            while len(self._rows) > KEPT_PARTS:
                self._rows.popitem(last=False)
        else:
            self._rows.move_to_end(part)
        return rows

    # -- places -------------------------------------------------------------------------------------------------

    def index_at(self, row: int) -> int:
        """Return the index of the part that a row belongs to."""
        return max(0, bisect_right(self.tops, row) - 1)

    def place_of(self, row: int) -> tuple[int, int]:
        """Return which part of the document as it was given a row belongs to, and how many rows below its first."""
        if not self.parts:
            return 0, 0
        given = self._paths[min(self.index_at(row), len(self.parts) - 1)][0]
        return given, row - self.tops[bisect_left(self._paths, (given,))]

    def row_of(self, place: tuple[int, int]) -> int:
        """Return the row of a place, also of one in another document that begins in the same way."""
        given, below = place
        index = first = bisect_left(self._paths, (given,))
        while index < len(self.parts) and self._paths[index][0] == given:
            self.measure(index)
            index += 1
        self.update_tops()
        return min(self.tops[first] + below, max(self.tops[first], self.tops[index] - 1))

    def path_of(self, part: Part) -> Path | None:
        """Return where a part stands; None if it is not there."""
        return next((path for path, other in zip(self._paths, self.parts, strict=True) if other is part), None)

    def part_at(self, path: Path) -> Part | None:
        """Return the part that stands somewhere."""
        index = bisect_left(self._paths, path)
        return self.parts[index] if index < len(self._paths) and self._paths[index] == path else None

    # -- folds --------------------------------------------------------------------------------------------------

    def toggle(self, index: int) -> None:
        """Open or close the fold at an index."""
        fold = self.parts[index]
        assert isinstance(fold, Fold)
        path = self._paths[index]
        fold.is_open = self.opened[path] = not fold.is_open
        self._rows.pop(fold, None)
        parts: list[Part] = []
        paths: list[Path] = []
        end = index + 1
        if fold.is_open:
            self._flatten(fold.body(), path, parts, paths)
        else:
            while end < len(self.parts) and self._paths[end][: len(path)] == path:
                self._rows.pop(self.parts[end], None)
                end += 1
        self._replace(index + 1, end, parts, paths)
        self.update_tops()

    def toggle_all(self) -> None:
        """Open every fold, or close them all where none is left to open."""
        folds = [part for part in self.parts if isinstance(part, Fold)]
        self.open_all = any(not fold.is_open for fold in folds) or not folds
        self.opened.clear()
        index = 0
        while index < len(self.parts):
            part = self.parts[index]
            if isinstance(part, Fold) and part.is_open != self.open_all:
                self.toggle(index)
            index += 1

    def _flatten(self, parts: Sequence[Part], above: Path, into: list[Part], paths: list[Path]) -> None:
        for number, part in enumerate(parts):
            path = (*above, number)
            into.append(part)
            paths.append(path)
            if isinstance(part, Fold):
                if self.open_all is not None:
                    part.is_open = self.open_all
                part.is_open = self.opened.get(path, part.is_open)
                if part.is_open:
                    self._flatten(part.body(), path, into, paths)

    def _replace(self, start: int, end: int, parts: list[Part], paths: list[Path]) -> None:
        self.parts[start:end] = parts
        self._paths[start:end] = paths
        self.heights[start:end] = [part.estimate(self.width) for part in parts]
        self._known[start:end] = bytes(len(parts))
