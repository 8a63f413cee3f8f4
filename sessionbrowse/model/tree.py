"""Entries → the rows of a session's tree, exactly as its program's own `/tree` shows them.

pi, atomic and indusagi bridge hidden entries and indent what is visible; omp indents the whole tree, then hides rows.
Nothing here recurses: a session may be one chain of 100,000 entries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import compress
from typing import Literal

from msgspec import Struct

from sessionbrowse.format.javascript import words
from sessionbrowse.model.display_order import display_order
from sessionbrowse.model.row_text import row_text as row_text
from sessionbrowse.model.row_text import search_text as search_text
from sessionbrowse.model.session import ROOT, Session
from sessionbrowse.model.tree_filter import FilterName as FilterName
from sessionbrowse.model.tree_filter import found, shown
from sessionbrowse.model.tree_row import ChainRows, Trail
from sessionbrowse.model.tree_row import Row as Row
from sessionbrowse.model.tree_row import Rows as Rows

FILTERS: tuple[FilterName, ...] = ("default", "no-tools", "user-only", "labeled-only", "all")


def rows(
    session: Session,
    filter: str = "default",
    query: str = "",
    folded: Collection[int] = frozenset(),
    leaf: int | None = None,
    keep_ancestors: bool = False,
    hits: Collection[int] | None = None,
) -> Rows:
    """Return the rows of the tree from top to bottom.

    `folded` are indexes of entries; those that cannot be folded are ignored. `leaf` is an entry to take for the
    leaf, `ROOT` for none. With `keep_ancestors` the branch points above the hits of a query stay (`Row.matches`).
    `hits` are the entries that a search found, instead of those that the program's own search finds by `query`.
    """
    # A last entry without an id leads no active path, but its place in the order is a leaf's.
    path = session.active_branch() if leaf is None else session.branch(leaf)
    leaf = session.leaf if leaf is None else leaf
    kept: bytes | bytearray = shown(session, filter, leaf)
    is_chain = session.is_chain
    order = range(len(kept)) if is_chain else display_order(session, leaf)
    shown_hits: bytes | bytearray = kept
    if hits is not None or words(query):
        if hits is None:
            candidates = [index for index in order if kept[index]]
            shown_hits = _flags(len(kept), found(session, query, candidates))
        else:
            shown_hits = _shown_hits(session, kept, hits)
        kept = _with_branch_points(session, order, kept, shown_hits) if keep_ancestors and not is_chain else shown_hits
    if is_chain:
        return ChainRows(list(compress(order, kept)), len(path), leaf).with_folded(folded)
    shape = _shape(session.parents, order, kept)
    is_omp = session.rules.tree == "omp"
    whole = _shape(session.parents, order, bytearray(b"\1" * len(kept))) if is_omp else shape
    active = _flags(len(kept), path)
    made = [
        Row(
            index,
            level,
            connector,
            trail,
            _is_foldable(shape, index),
            False,
            active[index] == 1,
            index == leaf and active[index] == 1,
            shown_hits[index] == 1,
        )
        for index, level, connector, trail in _places(whole, is_omp=is_omp)
        if kept[index]
    ]
    return Rows(made, shape.above).with_folded(folded)


def prefix(row: Row) -> str:
    """Return what pi draws before a row's text: lines, connector, and the sign of a folded (⊞) or foldable (⊟) row."""
    cells = ["   "] * row.level
    for level, goes_on in row.gutters:
        cells[level] = "│  " if goes_on else "   "
    if row.connector is not None:
        middle = "⊞" if row.folded else "⊟" if row.foldable else "─"
        cells[-1] = f"{'└' if row.connector == 'last' else '├'}{middle} "
    elif row.folded:
        cells.append("⊞ ")
    return "".join(cells)


class _Shape(Struct, frozen=True, eq=False):
    """The tree of some of the entries, the others bridged.

    `above` is the nearest one above by entry, `count` how many are directly below, `last` the last of those. The
    place after all entries, which is that of index `ROOT`, counts the roots.
    """

    order: list[int]
    above: list[int]
    count: list[int]
    last: list[int]


def _shape(parents: list[int], order: Sequence[int], kept: bytes | bytearray) -> _Shape:
    size = len(parents) + 1
    nearest, above, count, last = [ROOT] * size, [ROOT] * size, [0] * size, [ROOT] * size
    chosen: list[int] = []
    for index in order:
        up = nearest[parents[index]]
        if kept[index]:
            chosen.append(index)
            above[index] = up
            count[up] += 1
            last[up] = index
            nearest[index] = index
        else:
            nearest[index] = up
    return _Shape(chosen, above, count, last)


def _is_foldable(shape: _Shape, index: int) -> bool:
    if not shape.count[index]:
        return False
    up = shape.above[index]
    return up == ROOT or shape.count[up] > 1


_Place = tuple[int, int, Literal["mid", "last"] | None, Trail]


def _places(shape: _Shape, *, is_omp: bool) -> Iterator[_Place]:
    """Yield index, level, connector and trail of every entry of a shape.

    Children of a branch point stand one level deeper, and in pi so do the first ones below them; chains stay where
    they are. Several roots are children of an invisible one, which is not drawn, so they begin at level 0.
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


def _with_branch_points(session: Session, order: Sequence[int], kept: bytes | bytearray, hits: bytearray) -> bytearray:
    shape = _shape(session.parents, order, kept)
    left = bytearray(hits)
    seen = bytearray(len(kept))
    for index in order:
        up = shape.above[index] if hits[index] else ROOT
        while up != ROOT and not seen[up]:
            seen[up] = 1
            if shape.count[up] > 1:
                left[up] = 1
            up = shape.above[up]
    return left


def _shown_hits(session: Session, kept: bytes | bytearray, hits: Collection[int]) -> bytearray:
    """Return flags of the hits that have a row. An answer's calls show in the rows of their results."""
    flags = bytearray(len(kept))
    for index in hits:
        flags[index] = kept[index]
        last = index
        while not kept[index] and (last := last + 1) < len(kept) and session.parents[last] in (index, last - 1):
            if session.kind(last).role != "toolResult":
                break
            flags[last] = kept[last]
    return flags


def _flags(size: int, indexes: Iterable[int]) -> bytearray:
    flags = bytearray(size)
    for index in indexes:
        flags[index] = 1
    return flags
