"""Detect that a session's newest message is not on the path to the leaf, so that the program resumes without it.

This happens if another program appends a label or an extension's note below an older entry. At its next start the
agent program continues at that entry, and the last messages seem to be lost (omp issue 12242).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sessionbrowse.model.session.parents import ROOT

if TYPE_CHECKING:
    from sessionbrowse.model.session.session import Session

CHECKOUT_TYPE = "sessionbrowse"
"""The `customType` of the entry that a checkout appends to move the leaf; agent programs hide it by default."""


def left_behind(session: Session) -> int | None:
    """Return the index of a session's newest message if `is_left_behind` is True for it, else None."""
    count = len(session.ids)
    newest = next((index for index in reversed(range(count)) if session.envelopes[index].type == "message"), ROOT)
    leaf = session.leaf if session.leaf is not None else ROOT
    parents = session.parents
    if is_left_behind(newest, leaf, len(parents), parents.__getitem__, lambda index: is_move(*_kind(session, index))):
        return newest
    return None


def messages_left_behind(session: Session, newest: int) -> int:
    """Return the number of messages on the path to `newest` that are not on the path to the leaf."""
    active = set(session.branch(session.leaf))
    path = session.branch(newest)
    return sum(1 for index in path if index not in active and session.envelopes[index].type == "message")


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


def _kind(session: Session, index: int) -> tuple[str, str | None]:
    kind = session.envelopes[index]
    return kind.type, kind.custom_type
