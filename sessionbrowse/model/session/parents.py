"""Functions for trees in which each parent is given by its index: branches, loops, messages off the active branch.

A message is left behind if another program appends a label or an extension's note below an older entry. At its next
start the agent program continues at that entry, and the last messages seem to be lost (omp issue 12242).
"""

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


CHECKOUT_TYPE = "sessionbrowse"
"""The `customType` of the entry that a checkout appends to move the leaf; agent programs hide it by default."""


def is_left_behind(
    newest: int, leaf: int, count: int, parent: Callable[[int], int], is_move_at: Callable[[int], bool]
) -> bool:
    """Return True if the newest message is not on the path to the leaf, and the user did not move the leaf on purpose.

    `newest` and `leaf` are indexes of entries, `count` is the number of entries. `parent` returns an entry's parent;
    `is_move_at` returns True for an entry that records a deliberate move. Parents may form a loop.
    """
    if newest == ROOT:
        return False
    for _ in range(count):
        if leaf == newest:
            return False
        if leaf == ROOT or (leaf > newest and is_move_at(leaf)):
            return leaf == ROOT
        leaf = parent(leaf)
    return leaf != newest


def is_move(kind: str, custom_type: str | None) -> bool:
    """Return True if an entry records that the user moved in the tree: a branch summary, or the entry of a checkout."""
    return kind == "branch_summary" or (kind == "custom" and custom_type == CHECKOUT_TYPE)
