"""The order of entries in an agent program's tree: parents before children, the leaf's branch before its siblings."""

from __future__ import annotations

from sessionbrowse.model.session.session import Session


def display_order(session: Session, leaf: int | None) -> list[int]:
    """Return the indexes of all entries in the order of the tree's rows.

    Siblings are ordered by time, but a sibling on the path to `leaf` comes first.
    """
    active = bytearray(len(session.parents))
    for index in session.branch(leaf):
        active[index] = 1
    children_of = session.children
    order: list[int] = []
    stack = _active_last(session.roots, active)
    while stack:
        index = stack.pop()
        order.append(index)
        children = children_of(index)
        while len(children) == 1:
            index = children[0]
            order.append(index)
            children = children_of(index)
        if children:
            stack += _active_last(children, active)
    return order


def _active_last(siblings: list[int], active: bytearray) -> list[int]:
    """Return siblings in reverse display order, because the caller takes the last one first.

    A sibling on the active branch (`active` has a flag for each entry) comes last.
    """
    backwards = siblings[::-1]
    for place, index in enumerate(backwards):
        if active[index]:
            return [*backwards[:place], *backwards[place + 1 :], index]
    return backwards
