"""One row of a tree, and a tree's rows as a sequence that makes a row when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Literal, TypeAlias, overload

from msgspec import Struct

Trail: TypeAlias = "tuple[int, bool, Trail] | None"
"""The connectors above a row, innermost first: level, whether siblings follow, and the next one outwards.

Linked, because thousands of nested branches would make the square of it in tuples of their own.
"""


class Row(Struct, frozen=True, gc=False, eq=False):
    """One row of a tree.

    `index` is the entry's place in the session. `level` is the drawn indentation, three columns each: pi's `indent`,
    less one where there are several visible roots, which pi draws as children of an invisible one. `connector` is
    "mid" for `├─`, "last" for `└─`, None for a root or an only child. `foldable`: there are visible rows below, and
    the row is a root or has siblings. `folded` rows show nothing below, so they are not `foldable` themselves.
    `active`: on the path to the leaf. `matches` is False for a row kept only to say where a hit is.
    """

    index: int
    level: int
    connector: Literal["mid", "last"] | None
    trail: Trail
    foldable: bool
    folded: bool
    active: bool
    leaf: bool
    matches: bool = True

    @property
    def gutters(self) -> tuple[tuple[int, bool], ...]:
        """The levels at which a connector of an ancestor stands, and whether a line `│` is drawn there."""
        found: list[tuple[int, bool]] = []
        trail = self.trail
        while trail is not None:
            level, goes_on, trail = trail
            found.append((level, goes_on))
        found.reverse()
        return tuple(found)


class Rows(Sequence[Row]):
    """The rows of a tree from top to bottom."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, position: int) -> Row: ...
    @overload
    def __getitem__(self, position: slice) -> list[Row]: ...
    def __getitem__(self, position: int | slice) -> Row | list[Row]:
        return self._rows[position]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def indexes(self) -> Sequence[int]:
        """The entries of all rows."""
        return [row.index for row in self._rows]

    def hits(self) -> list[int]:
        """The positions of rows that are no mere ancestors of a hit."""
        return [position for position, row in enumerate(self._rows) if row.matches]

    def connected(self) -> list[int]:
        """The positions of rows with a connector: where branches begin."""
        return [position for position, row in enumerate(self._rows) if row.connector is not None]


class ChainRows(Rows):
    """The rows of a session in which every entry hangs on the one before it: they differ in little.

    `active` entries, counted from the first, are on the path to the leaf. The first row may be folded.
    """

    def __init__(self, kept: bytearray, active: int, leaf: int | None, *, is_folded: bool) -> None:
        self._indexes = list(compress(range(len(kept)), kept))
        self._active = active
        self._leaf = leaf
        self._is_folded = is_folded
        self._is_foldable = len(self._indexes) > 1
        if is_folded:
            del self._indexes[1:]
            self._is_foldable = False

    def __len__(self) -> int:
        return len(self._indexes)

    @overload
    def __getitem__(self, position: int) -> Row: ...
    @overload
    def __getitem__(self, position: slice) -> list[Row]: ...
    def __getitem__(self, position: int | slice) -> Row | list[Row]:
        if isinstance(position, slice):
            return [self._row(index) for index in self._indexes[position]]
        return self._row(self._indexes[position])

    def __iter__(self) -> Iterator[Row]:
        return map(self._row, self._indexes)

    def indexes(self) -> Sequence[int]:
        """The entries of all rows."""
        return self._indexes

    def hits(self) -> list[int]:
        """The positions of rows that are no mere ancestors of a hit: all of them."""
        return list(range(len(self._indexes)))

    def connected(self) -> list[int]:
        """The positions of rows with a connector: none."""
        return []

    def _row(self, index: int) -> Row:
        is_first = index == self._indexes[0]
        is_active = index < self._active
        is_leaf = index == self._leaf and is_active
        return Row(
            index, 0, None, None, is_first and self._is_foldable, is_first and self._is_folded, is_active, is_leaf
        )
