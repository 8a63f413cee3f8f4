"""Compute the rows of a session's tree, exactly as the `/tree` command of its agent program shows them.

pi, atomic and indusagi first remove hidden entries from the tree and then indent it; omp indents the tree of all
entries and then hides rows. No function recurses, because a session may be a chain of 100,000 entries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import compress
from typing import Literal, TypeAlias, overload

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree.row_text import row_text as row_text
from sessionbrowse.model.tree.shape import FilterName as FilterName
from sessionbrowse.model.tree.shape import Shape, TreeLayout, tree_layout

FILTERS: tuple[FilterName, ...] = ("default", "no-tools", "user-only", "labeled-only", "all")


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
    if no ancestor has a row. From `above` follows which rows a folded row hides.
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


def rows(
    session: Session,
    filter: str = "default",
    folded: Collection[int] = frozenset(),
    leaf: int | None = None,
    keep_ancestors: bool = False,
    hits: Collection[int] | None = None,
) -> Rows:
    """Return the rows of a session's tree from top to bottom.

    `folded` are indexes of entries; entries that cannot be folded are ignored. `leaf` is the entry to treat as the
    leaf; `ROOT` means no leaf. `hits` are the entries that a search found: only their rows are returned, and with
    `keep_ancestors` also the rows of the branch points above, for which `Row.matches` is False.
    """
    whole = tree_layout(session, filter, leaf)
    matching: set[int] | None = None
    if hits is not None:
        matching = _shown_hits(session, whole.kept, hits)
    if matching is None:
        shape = whole.shape
    else:
        above = whole.branch_points_above(matching) if keep_ancestors else set()
        shape = whole.shape_of(whole.in_order(matching | above))
    made = [
        Row(
            index,
            level,
            connector,
            trail,
            _is_foldable(shape, index),
            False,
            whole.active[index] == 1,
            index == whole.leaf and whole.active[index] == 1,
            matching is None or index in matching,
        )
        for index, level, connector, trail in _placed(session, whole, shape)
    ]
    return Rows(made, shape.above).with_folded(folded)


def hit_rows(session: Session, filter: str, hits: Collection[int]) -> set[int]:
    """Return the entries whose rows show the hits of a search in a tree with the filter `filter`."""
    return _shown_hits(session, tree_layout(session, filter, None).kept, hits)


def prefix(row: Row) -> str:
    """Return the prefix that pi draws before a row's text: tree lines, and ⊞ for a folded or ⊟ for a foldable row."""
    cells = ["   "] * row.level
    for level, goes_on in row.gutters:
        cells[level] = "│  " if goes_on else "   "
    if row.connector is not None:
        middle = "⊞" if row.folded else "⊟" if row.foldable else "─"
        cells[-1] = f"{'└' if row.connector == 'last' else '├'}{middle} "
    elif row.folded:
        cells.append("⊞ ")
    return "".join(cells)


def _is_foldable(shape: Shape, index: int) -> bool:
    if not shape.count[index]:
        return False
    up = shape.above[index]
    return up == ROOT or shape.count[up] > 1


_Place = tuple[int, int, Literal["mid", "last"] | None, Trail]


def _placed(session: Session, whole: TreeLayout, shape: Shape) -> Iterator[_Place]:
    """Yield (entry index, level, connector, trail) for the row of every visible entry: see `Row` and `Trail`.

    Rows of omp sessions are indented as if all entries were visible, as omp does.
    """
    if session.rules.tree != "omp":
        return _places(shape, is_omp=False)
    chosen = set(shape.order)
    return (place for place in _places(whole.whole, is_omp=True) if place[0] in chosen)


def _places(shape: Shape, *, is_omp: bool) -> Iterator[_Place]:
    """Yield (entry index, level, connector, trail) for the row of every entry in `shape`: see `Row` and `Trail`.

    Roots are on level 0. Children of a branch point are one level deeper than the branch point. An only child is on the
    level of its parent, with two exceptions: it is one level deeper if the parent is one of several roots, and, except
    in omp, if the parent is a child of a branch point.
    """
    above, count, last = shape.above, shape.count, shape.last
    levels = [0] * len(above)
    trails: list[Trail] = [None] * len(above)
    many_roots = count[ROOT] > 1
    for index in shape.order:
        up = above[index]
        if up == ROOT:
            yield index, 0, None, None
            continue
        level, trail = levels[up], trails[up]
        over = above[up]
        if count[up] > 1:
            levels[index] = level = level + 1
            is_last = last[up] == index
            trails[index] = (level - 1, not is_last, trail)
            yield index, level, "last" if is_last else "mid", trail
            continue
        if (many_roots and over == ROOT) if is_omp else count[over] > 1:
            level += 1
        levels[index], trails[index] = level, trail
        yield index, level, None, trail


def _shown_hits(session: Session, kept: bytes, hits: Collection[int]) -> set[int]:
    """Return the entries whose rows show the hits of a search.

    If an answer without a row is a hit, the rows of the tool results below it, which show its calls, are used instead.
    """
    have_rows = set(compress(hits, map(kept.__getitem__, hits)))
    if len(have_rows) < len(hits):
        for index in hits:
            last = index
            while not kept[index] and (last := last + 1) < len(kept) and session.parents[last] in (index, last - 1):
                if session.envelopes[last].role != "toolResult":
                    break
                if kept[last]:
                    have_rows.add(last)
    return have_rows
