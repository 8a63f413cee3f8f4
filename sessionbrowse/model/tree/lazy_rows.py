"""The rows of a tree, as a sequence that may make a row on demand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Literal, TypeAlias, overload

from msgspec import Struct
from msgspec.structs import replace

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
    """The rows of a tree from top to bottom.

    `above` is the nearest entry above that has a row, by entry, less than 0 where there is none; who folds nothing
    needs none.
    """

    def __init__(self, rows: list[Row], above: Sequence[int] = ()) -> None:
        self._rows = rows
        self._above = above

    def with_folded(self, chosen: Collection[int]) -> Rows:
        """Return the rows with some entries folded, of rows in which none is; those that cannot be are ignored."""
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
        """The position behind the last row below each row; what is below a row follows it."""
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
        """The positions of rows that are hits, not only ancestors of one."""
        return [position for position, row in enumerate(self._rows) if row.matches]

    @cached_property
    def connected(self) -> list[int]:
        """The positions of rows with a connector: where branches begin."""
        return [position for position, row in enumerate(self._rows) if row.connector is not None]


class ChainRows(Rows):
    """The rows of a session without branches: they are made on demand.

    `active` entries, counted from the first, are on the path to the leaf. The first row may be folded.
    """

    def __init__(self, indexes: list[int], active: int, leaf: int | None, *, is_folded: bool = False) -> None:
        self._indexes = indexes
        self._active = active
        self._leaf = leaf
        self._is_folded = is_folded
        self._is_foldable = len(indexes) > 1

    def with_folded(self, chosen: Collection[int]) -> Rows:
        """Return the rows with the first one folded, if that is chosen."""
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
