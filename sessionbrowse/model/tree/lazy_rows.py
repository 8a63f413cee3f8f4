"""The rows of a tree, as a sequence that may make a row on demand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Literal, TypeAlias, overload

from msgspec import Struct
from msgspec.structs import replace

Trail: TypeAlias = "tuple[int, bool, Trail] | None"
"""A linked list of the ancestors of a row that have a connector (`├─` or `└─`), nearest ancestor first.

Each link is (level of the connector, True if siblings of the ancestor follow, next link).

The list is linked because a tuple for each row would take quadratic memory for thousands of nested branches.
"""


class Row(Struct, frozen=True, gc=False, eq=False):
    """One row of a tree.

    `index` is the entry's index in the session. `level` is the drawn indentation, three columns each: pi's `indent`,
    less one if there are several visible roots, which pi draws as children of an invisible one. `connector` is "mid"
    for `├─`, "last" for `└─`, None for a root or an only child. `foldable`: there are visible rows below, and the row
    is a root or has siblings. `folded` rows show nothing below, so they are not `foldable` themselves. `active`: on
    the path to the leaf. `matches` is False for a row that is shown only because a hit is below it.
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
        """The levels at which an ancestor has a connector, each with True if a line `│` is drawn there."""
        found: list[tuple[int, bool]] = []
        trail = self.trail
        while trail is not None:
            level, goes_on, trail = trail
            found.append((level, goes_on))
        found.reverse()
        return tuple(found)


class Rows(Sequence[Row]):
    """The rows of a tree from top to bottom.

    `above` has, by entry, the nearest ancestor with a row, less than 0 if there is none; only folding needs it.
    """

    def __init__(self, rows: list[Row], above: Sequence[int] = ()) -> None:
        self._rows = rows
        self._above = above

    def with_folded(self, chosen: Collection[int]) -> Rows:
        """Return the rows with some entries folded; no row may be folded yet.

        Entries that have no row, or whose row is not foldable, are ignored.
        """
        positions = [at for at, row in enumerate(self._rows) if row.foldable and row.index in chosen] if chosen else []
        if not positions:
            return self
        made: list[Row] = []
        done = 0
        for position in positions:
            if position >= done:
                made += self._rows[done:position]
                made.append(replace(self._rows[position], foldable=False, folded=True))
                done = self._ends[position]
        return Rows([*made, *self._rows[done:]])

    @cached_property
    def _ends(self) -> list[int]:
        """The position after the last descendant of each row; the descendants directly follow their row."""
        position_of = self.position_of
        ends = list(range(1, len(self._rows) + 1))
        for position in range(len(ends) - 1, -1, -1):
            above = self._above[self._rows[position].index]
            if above >= 0:
                parent = position_of[above]
                ends[parent] = max(ends[parent], ends[position])
        return ends

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

    @cached_property
    def indexes(self) -> Sequence[int]:
        """The entries of all rows."""
        return [row.index for row in self._rows]

    @cached_property
    def position_of(self) -> dict[int, int]:
        """The position of every row by its entry."""
        return dict(zip(self.indexes, range(len(self)), strict=True))

    @cached_property
    def hits(self) -> list[int]:
        """The positions of rows that are hits, without those that are only ancestors of hits."""
        return [position for position, row in enumerate(self._rows) if row.matches]

    @cached_property
    def connected(self) -> list[int]:
        """The positions of rows with a connector, at which branches begin."""
        return [position for position, row in enumerate(self._rows) if row.connector is not None]


class ChainRows(Rows):
    """The rows of a session without branches: they are made on demand.

    `active` is the number of entries on the path to the leaf; these come first. Only the first row can be folded.
    """

    def __init__(self, indexes: list[int], active: int, leaf: int | None, *, is_folded: bool = False) -> None:
        self._indexes = indexes
        self._active = active
        self._leaf = leaf
        self._is_folded = is_folded
        self._is_foldable = len(indexes) > 1

    def with_folded(self, chosen: Collection[int]) -> Rows:
        """Return the rows, with the first row folded if its entry is among those given."""
        if not self._is_foldable or self._indexes[0] not in chosen:
            return self
        return ChainRows(self._indexes[:1], self._active, self._leaf, is_folded=True)

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

    @cached_property
    def indexes(self) -> Sequence[int]:
        """The entries of all rows."""
        return self._indexes

    @cached_property
    def hits(self) -> list[int]:
        """The positions of rows that are hits: all of them."""
        return list(range(len(self._indexes)))

    @cached_property
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
