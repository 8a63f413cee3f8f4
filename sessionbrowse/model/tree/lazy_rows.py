"""The rows of a tree as a sequence; the rows of a session without branches are created on demand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Literal, TypeAlias, overload

from msgspec import Struct
from msgspec.structs import replace

Trail: TypeAlias = "tuple[int, bool, Trail] | None"
"""A linked list of the ancestors of a row that have a connector (`├─` or `└─`), nearest ancestor first.

Each link is (level of the connector, True if siblings of the ancestor follow, next link). Rows share the links; a
separate tuple for each row would need quadratic memory with thousands of nested branches.
"""


class Row(Struct, frozen=True, gc=False, eq=False):
    """One row of a tree.

    `index` is the entry's index in the session. `level` is the indentation in steps of three columns. `connector` is
    "mid" for `├─`, "last" for `└─`, None for a root or an only child. `foldable` is True for a root or a row with
    siblings that has visible rows below. `folded` is True if the rows below are hidden; then `foldable` is False.
    `active` is True on the path to the leaf. `matches` is False for a row that is shown only because a search hit is
    below it.
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
        """The levels at which ancestors have connectors, each with True if the row has a vertical line `│` there."""
        found: list[tuple[int, bool]] = []
        trail = self.trail
        while trail is not None:
            level, goes_on, trail = trail
            found.append((level, goes_on))
        found.reverse()
        return tuple(found)


class Rows(Sequence[Row]):
    """The rows of a tree from top to bottom.

    `above` has, for each entry of the session, the index of the nearest ancestor that has a row; the index is negative
    if no ancestor has a row. It tells which rows a folded row hides.
    """

    def __init__(self, rows: list[Row], above: Sequence[int] = ()) -> None:
        self._rows = rows
        self._above = above

    def with_folded(self, chosen: Collection[int]) -> Rows:
        """Return the rows with the entries in `chosen` folded; entries without a foldable row are ignored.

        No row may be folded before the call.
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
        """For each row, the position after the row's last descendant; a row is directly followed by its descendants."""
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
        """The entry indexes of all rows, from top to bottom."""
        return [row.index for row in self._rows]

    @cached_property
    def position_of(self) -> dict[int, int]:
        """Maps the entry index of each row to the row's position."""
        return dict(zip(self.indexes, range(len(self)), strict=True))

    @cached_property
    def hits(self) -> list[int]:
        """The positions of the rows that match the search, without rows that are only ancestors of matches."""
        return [position for position, row in enumerate(self._rows) if row.matches]

    @cached_property
    def connected(self) -> list[int]:
        """The positions of the rows with a connector (`├─` or `└─`), at which branches begin."""
        return [position for position, row in enumerate(self._rows) if row.connector is not None]


class ChainRows(Rows):
    """The rows of a session without branches, created on demand.

    `active` is the number of entries on the path to the leaf, which are the session's first entries. Only the first row
    can be folded.
    """

    def __init__(self, indexes: list[int], active: int, leaf: int | None, *, is_folded: bool = False) -> None:
        self._indexes = indexes
        self._active = active
        self._leaf = leaf
        self._is_folded = is_folded
        self._is_foldable = len(indexes) > 1

    def with_folded(self, chosen: Collection[int]) -> Rows:
        """Return the rows, with the first row folded if `chosen` contains its entry."""
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
        """The entry indexes of all rows, from top to bottom."""
        return self._indexes

    @cached_property
    def hits(self) -> list[int]:
        """The positions of the rows that match the search: these are all rows."""
        return list(range(len(self._indexes)))

    @cached_property
    def connected(self) -> list[int]:
        """The positions of the rows with a connector: none, because the session has no branches."""
        return []

    def _row(self, index: int) -> Row:
        is_first = index == self._indexes[0]
        is_active = index < self._active
        is_leaf = index == self._leaf and is_active
        return Row(
            index, 0, None, None, is_first and self._is_foldable, is_first and self._is_folded, is_active, is_leaf
        )
