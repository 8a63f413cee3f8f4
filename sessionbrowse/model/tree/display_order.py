"""The order in which a program's tree shows entries: parents first, the branch with the leaf before its siblings."""

from __future__ import annotations

from sessionbrowse.model.session.session import Session


def display_order(session: Session, leaf: int | None) -> list[int]:
    """Return all entries in the order of the tree's rows; without a leaf, siblings are ordered by time."""
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
    """Return siblings in reverse display order, because the caller puts them on a stack."""
    backwards = siblings[::-1]
    for place, index in enumerate(backwards):
        if active[index]:
            return [*backwards[:place], *backwards[place + 1 :], index]
    return backwards
