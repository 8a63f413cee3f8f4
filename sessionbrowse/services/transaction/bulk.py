"""Apply one kind of change to many items, with progress and cancellation; one undo takes all changes back."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from sessionbrowse.errors import SameFile, SessionBrowseError
from sessionbrowse.services.transaction.change import ChangeResult
from sessionbrowse.services.transaction.change_context import ChangeContext

T = TypeVar("T")
C = TypeVar("C", bound=ChangeResult)

ReportProgress = Callable[[int, int], object]
"""Callback with the number of finished items and the total: first (0, total), then once after each item."""
Cancelled = Callable[[], bool]
"""Callback that is called before each item; if it returns True, the bulk change stops."""


class FailedItem(Struct, Generic[T], frozen=True):
    """An item whose change failed, and the error; the item is unchanged unless the error says otherwise."""

    item: T
    error: SessionBrowseError


class Bulk(Struct, Generic[T, C], frozen=True, kw_only=True):
    """The result of a bulk change: the changes made (`done`), failed items, and items left after a cancellation.

    `undo_id` undoes all changes at once; None if nothing can be undone.
    """

    done: tuple[C, ...]
    failed: tuple[FailedItem[T], ...]
    left: tuple[T, ...]
    undo_id: str | None

    @property
    def notes(self) -> tuple[str, ...]:
        """All notes for the user, each sentence once."""
        return tuple(dict.fromkeys(note for one in self.done for note in one.notes))


def in_bulk(
    items: Sequence[T],
    change: Callable[[T, ChangeContext, str | None], C],
    *,
    context: ChangeContext | None = None,
    on_progress: ReportProgress = lambda finished, total: None,
    cancelled: Cancelled = lambda: False,
    group: str | None = None,
) -> Bulk[T, C]:
    """Change items one after another; if the change of an item fails, note the error and go on with the next item.

    Only after `SameFile` the rest is left.

    `group` adds the changes to the group of an earlier change, so that one undo takes all of them back.

    `change` is called with an item, the `ChangeContext`, and the group of the bulk change (None for a single item):
    `in_bulk(targets, lambda target, context, group: archive(target, context=context, group=group))`.
    """
    context = context or ChangeContext.real()
    group = group or (secrets.token_hex(4) if len(items) > 1 else None)
    done: list[C] = []
    failed: list[FailedItem[T]] = []
    finished = 0
    on_progress(finished, len(items))
    for item in items:
        if cancelled():
            break
        try:
            done.append(change(item, context, group))
        except SessionBrowseError as error:
            failed.append(FailedItem(item, error))
            if isinstance(error, SameFile):
                finished += 1
                break
        finished += 1
        on_progress(finished, len(items))
    undo_ids = [one.undo_id for one in done if one.undo_id is not None]
    return Bulk(
        done=tuple(done),
        failed=tuple(failed),
        left=tuple(items[finished:]),
        undo_id=undo_ids[0] if len(undo_ids) == 1 else group if undo_ids else None,
    )
