"""Helpers for trees of entries in which each parent is given as an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence

ROOT = -1
"""The parent index of an entry without a parent."""


def is_chain_of(parents: Sequence[int]) -> bool:
    """Return True if the parent of every entry is the entry before it, so the tree has no branches."""
    return len(parents) > 0 and parents == list(range(ROOT, len(parents) - 1))


def count_branches(is_message: Sequence[int], parent_of: Callable[[int], int]) -> int:
    """Return the number of branches, at least 1: the number of messages without another message below.

    `is_message` has a flag for each entry. Other entries, such as labels and moves of the leaf, begin no branch.
    """
    above = bytearray(len(is_message))
    for start in range(len(is_message) - 1, -1, -1):
        if not is_message[start]:
            continue
        index = parent_of(start)
        # `above` is 1 for each entry with a message below it. The loop stops at an entry whose value is 1, because all
        # ancestors of this entry have 1 too.
        while index >= 0 and not above[index]:
            above[index] = 1
            index = parent_of(index)
    return max(1, sum(1 for index, taken in enumerate(above) if is_message[index] and not taken))


def loops(parents: Sequence[int]) -> list[list[int]]:
    """Return the loops among entries that are their own ancestors, each as a list of entry indexes, in linear time."""
    state = bytearray(len(parents))  # An entry's state is 0 before its visit, 1 if it is in `walk`, 2 when it is done.
    found: list[list[int]] = []
    for start in range(len(parents)):
        walk: list[int] = []
        current = start
        while current != ROOT and state[current] == 0:
            state[current] = 1
            walk.append(current)
            current = parents[current]
        if current != ROOT and state[current] == 1:
            found.append(walk[walk.index(current) :])
        for index in walk:
            state[index] = 2
    return found
