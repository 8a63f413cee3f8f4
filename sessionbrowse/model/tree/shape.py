"""The tree of the entries that a filter shows, hidden entries bridged: parents, children, branch points.

What does not depend on a search is made once for each filter, so that a letter costs what it finds, not what there is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import compress
from weakref import WeakKeyDictionary

from msgspec import Struct

from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree.display_order import display_order
from sessionbrowse.model.tree.filters import shown


class Shape(Struct, frozen=True, eq=False):
    """The tree of some of the entries, in display order, the others bridged.

    `above` is the nearest one above by entry, `count` how many are directly below, `last` the last of those. The
    place after all entries, which is that of index `ROOT`, counts the roots.
    """

    order: Sequence[int]
    above: list[int]
    count: list[int]
    last: list[int]


class TreeLayout:
    """The entries of a session in display order, and those of them that a filter shows (`kept`).

    It does not hold the session, which it is kept for.
    """

    def __init__(self, session: Session, filter_name: str, leaf: int | None) -> None:
        # A last entry without an id has no active path, but is ordered as the leaf.
        self.path: Sequence[int] = session.active_branch() if leaf is None else session.branch(leaf)
        self.leaf = session.leaf if leaf is None else leaf
        self.kept = shown(session, filter_name, self.leaf)
        self.is_chain = session.is_chain
        self._parents = session.parents
        self._order = range(len(self.kept)) if self.is_chain else display_order(session, self.leaf)

    @cached_property
    def chosen(self) -> list[int]:
        """The entries that the filter shows, in display order."""
        return list(compress(self._order, map(self.kept.__getitem__, self._order)))

    @cached_property
    def active(self) -> bytes:
        """1 for every entry on the path to the leaf."""
        flags = bytearray(len(self.kept))
        for index in self.path:
            flags[index] = 1
        return bytes(flags)

    @cached_property
    def shape(self) -> Shape:
        """The tree of all that the filter shows."""
        return self.shape_of(self.chosen)

    @cached_property
    def whole(self) -> Shape:
        """The tree of all entries."""
        return self.shape_of(self._order)

    def shape_of(self, chosen: Sequence[int]) -> Shape:
        """Return the tree of some entries, which are given in display order."""
        size = len(self._parents) + 1
        above, count, last = [ROOT] * size, [0] * size, [ROOT] * size
        places, ends = self._places
        up = ROOT
        for index in chosen:
            place = places[index]
            while ends[up] <= place:
                up = above[up]
            above[index] = up
            count[up] += 1
            last[up] = index
            up = index
        return Shape(chosen, above, count, last)

    def in_order(self, chosen: Collection[int]) -> list[int]:
        """Return entries in display order; those that have no place in it are left out."""
        places = self._places[0]
        return sorted([index for index in chosen if places[index] >= 0], key=places.__getitem__)

    def branch_points_above(self, chosen: Iterable[int]) -> set[int]:
        """Return the shown entries above these at which branches that the filter shows begin."""
        found: set[int] = set()
        nearest = self._branch_point_above
        for index in chosen:
            up = nearest[index]
            while up != ROOT and up not in found:
                found.add(up)
                up = nearest[up]
        return found

    @cached_property
    def _branch_point_above(self) -> list[int]:
        above, count = self.shape.above, self.shape.count
        nearest = [ROOT] * len(above)
        for index in self.chosen:
            up = above[index]
            nearest[index] = up if up == ROOT or count[up] > 1 else nearest[up]
        return nearest

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        """Each entry's place in display order, and the place behind all below it; `ROOT` is above everything."""
        size, parents = len(self._parents) + 1, self._parents
        places, ends = [ROOT] * size, [0] * size
        for place, index in enumerate(self._order):
            places[index] = place
            ends[index] = place + 1
        for index in reversed(self._order):
            up = parents[index]
            if ends[up] < ends[index]:
                ends[up] = ends[index]
        ends[ROOT] = size
        return places, ends


def tree_layout(session: Session, filter_name: str, leaf: int | None) -> TreeLayout:
    """Return what a filter shows of a session; None is the session's own leaf, `ROOT` none."""
    key = filter_name, leaf
    kept = _LAYOUTS.get(session)
    if kept is None or kept[0] != key:
        kept = _LAYOUTS[session] = (key, TreeLayout(session, filter_name, leaf))
    return kept[1]


# Cached: each typed letter of a search needs the same layout, and a session never changes.
_LAYOUTS: WeakKeyDictionary[Session, tuple[tuple[str, int | None], TreeLayout]] = WeakKeyDictionary()
