"""The parts of a document one below the other: how tall each is, what is folded, which rows are known.

The height of a part that was never seen is an estimate. Knows no screen: the text view says what is looked at.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate

from sessionbrowse.tui.reading.folds import Fold
from sessionbrowse.tui.reading.parts import LazyPart, Part
from sessionbrowse.tui.spans import Line

KEPT_PARTS = 256
MEASURED_AT_ONCE = 200
"""Estimated rows up to which a whole document is measured at once, so that its scroll bar is exact."""


class Measured:
    """A document laid out for a width."""

    def __init__(self, parts: Sequence[Part], width: int, *, open_all: bool | None = None) -> None:
        self.open_all = open_all
        """Whether folds that come into sight open, as the reader last asked for all; None: as they come."""
        self.width = max(1, width)
        self.parts: list[Part] = []
        self._depths: list[int] = []
        self._flatten(parts, 0, self.parts, self._depths)
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
            depths: list[int] = []
            self._flatten(part.build(), self._depths[index], parts, depths)
            if parts:
                self._replace(index, index + 1, parts, depths)
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

    # -- folds --------------------------------------------------------------------------------------------------

    def toggle(self, index: int) -> None:
        """Open or close the fold at an index."""
        fold = self.parts[index]
        assert isinstance(fold, Fold)
        depth = self._depths[index]
        fold.is_open = not fold.is_open
        self._rows.pop(fold, None)
        parts: list[Part] = []
        depths: list[int] = []
        end = index + 1
        if fold.is_open:
            self._flatten(fold.body(), depth + 1, parts, depths)
        else:
            while end < len(self.parts) and self._depths[end] > depth:
                self._rows.pop(self.parts[end], None)
                end += 1
        self._replace(index + 1, end, parts, depths)
        self.update_tops()

    def toggle_all(self) -> None:
        """Open every fold, or close them all where none is left to open."""
        folds = [part for part in self.parts if isinstance(part, Fold)]
        self.open_all = any(not fold.is_open for fold in folds) or not folds
        index = 0
        while index < len(self.parts):
            part = self.parts[index]
            if isinstance(part, Fold) and part.is_open != self.open_all:
                self.toggle(index)
            index += 1

    def _flatten(self, parts: Sequence[Part], depth: int, into: list[Part], depths: list[int]) -> None:
        for part in parts:
            into.append(part)
            depths.append(depth)
            if isinstance(part, Fold):
                if self.open_all is not None:
                    part.is_open = self.open_all
                if part.is_open:
                    self._flatten(part.body(), depth + 1, into, depths)

    def _replace(self, start: int, end: int, parts: list[Part], depths: list[int]) -> None:
        self.parts[start:end] = parts
        self._depths[start:end] = depths
        self.heights[start:end] = [part.estimate(self.width) for part in parts]
        self._known[start:end] = bytes(len(parts))
