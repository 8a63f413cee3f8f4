"""The layout of a document for a pane's width: the height of each document part, open folds, wrapped rows.

The height of a part is an estimate until the part becomes visible; then the text view wraps and measures it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import accumulate, repeat
from typing import NamedTuple

from sessionbrowse.tui.layout.folds import Fold
from sessionbrowse.tui.layout.parts import LazyPart, Part
from sessionbrowse.tui.paint.spans import Line

KEPT_PARTS = 256
MEASURED_AT_ONCE = 200
"""A document of at most this many estimated rows is measured in advance, so that its scroll bar is exact."""

Path = tuple[int, ...]
"""Indexes that lead to a fold or lazy part, from the outside in.

The first is an index in the document, each further one an index in the content of the fold or lazy part found so far.
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
        self.parts: list[Part] = []
        self._given: list[int] = []
        """For each part, the index of the top-level part that it is, or that contains it."""
        self._depths: list[int] = []
        self._paths: dict[Part, Path] = {}
        """The `Path` of each fold and of each lazy part."""
        self._flatten(parts, (), None, 0, _Flat(self.parts, self._given, self._depths))
        self._rows: OrderedDict[Part, list[Line]] = OrderedDict()
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
            built, given = _Flat([], [], []), self._given[index]
            self._flatten(part.build(), self._paths.get(part, (given,)), given, self._depths[index], built)
            if built.parts:
                self._replace(index, index + 1, built)
                return sum(self.heights[index : index + len(built.parts)]) - before + self.measure(index)
        self.heights[index] = len(self.rows(index)) if not isinstance(part, LazyPart) else 0
        self._known[index] = 1
        return self.heights[index] - before

    def rows(self, index: int) -> list[Line]:
        """Return the wrapped rows of the document part at an index; the rows of recently used parts are cached."""
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
        given = self._given[min(self.index_at(row), len(self.parts) - 1)]
        return given, row - self.tops[bisect_left(self._given, given)]

    def row_of(self, place: tuple[int, int]) -> int:
        """Convert a position (index of a top-level part, number of rows below its top) to the row number it has now.

        If the top-level part now has fewer rows than that, return its last row.
        """
        given, below = place
        index = first = bisect_left(self._given, given)
        while index < len(self.parts) and self._given[index] == given:
            self.measure(index)
            index += 1
        self.update_tops()
        return min(self.tops[first] + below, max(self.tops[first], self.tops[index] - 1))

    def number_of(self, part: Part) -> tuple[int, int] | None:
        """Return where a part of the document is; None if it is gone.

        The two numbers are the index of its top-level part, and how many parts of the same top-level part are above it.
        """
        index = next((index for index, other in enumerate(self.parts) if other is part), None)
        return (self._given[index], index - bisect_left(self._given, self._given[index])) if index is not None else None

    def part_at(self, number: tuple[int, int]) -> Part | None:
        """Return the document part at a position from `number_of`; None if the document has no part there now."""
        index = bisect_left(self._given, number[0]) + number[1]
        return self.parts[index] if index < len(self.parts) and self._given[index] == number[0] else None

    # -- folds --------------------------------------------------------------------------------------------------

    def toggle(self, index: int) -> None:
        """Open the fold that is the part at `index`, or close it if it is open."""
        fold = self.parts[index]
        assert isinstance(fold, Fold)
        path, depth = self._paths[fold], self._depths[index]
        fold.is_open = self.opened[path] = not fold.is_open
        self._rows.pop(fold, None)
        inside = _Flat([], [], [])
        end = index + 1
        if fold.is_open:
            self._flatten(fold.body(), path, self._given[index], depth + 1, inside)
        else:
            while end < len(self.parts) and self._depths[end] > depth:
                self._rows.pop(self.parts[end], None)
                end += 1
        self._replace(index + 1, end, inside)
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

    def _flatten(self, parts: Sequence[Part], above: Path, given: int | None, depth: int, into: _Flat) -> None:
        if given is None and not any(issubclass(kind, Fold) for kind in set(map(type, parts))):
            # A document without folds skips the loop below, which would be slow for 100,000 entries.
            into.parts.extend(parts)
            into.given.extend(range(len(parts)))
            into.depths.extend(repeat(depth, len(parts)))
            return
        for number, part in enumerate(parts):
            own = number if given is None else given
            into.parts.append(part)
            into.given.append(own)
            into.depths.append(depth)
            if isinstance(part, LazyPart):
                self._paths[part] = (*above, number)
            elif isinstance(part, Fold):
                path = self._paths[part] = (*above, number)
                if self.open_all is not None:
                    part.is_open = self.open_all
                part.is_open = self.opened.get(path, part.is_open)
                if part.is_open:
                    self._flatten(part.body(), path, own, depth + 1, into)

    def _replace(self, start: int, end: int, flat: _Flat) -> None:
        self.parts[start:end] = flat.parts
        self._given[start:end] = flat.given
        self._depths[start:end] = flat.depths
        self.heights[start:end] = [part.estimate(self.width) for part in flat.parts]
        self._known[start:end] = bytes(len(flat.parts))


class _Flat(NamedTuple):
    """The parts of a document, or of one fold of it, in the order of their rows; parts of open folds follow the fold.

    For each part, `given` has the index of its top-level part, and `depths` the number of folds around it.
    """

    parts: list[Part]
    given: list[int]
    depths: list[int]
