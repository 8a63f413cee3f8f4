"""One change of many things, one after another: with progress, stopped on request, taken back by one undo."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.services.transaction.change import ChangeResult
from sessionbrowse.services.transaction.change_context import ChangeContext

T = TypeVar("T")
C = TypeVar("C", bound=ChangeResult)

ReportProgress = Callable[[int, int], object]
"""Is told how many are finished, of how many; first with none, then after each."""
Cancelled = Callable[[], bool]
"""Is asked before each: True leaves it and what comes after it as it is."""


class FailedItem(Struct, Generic[T], frozen=True):
    """One that could not be changed, and why; it is as it was, or the sentence says how it is."""

    item: T
    error: SessionBrowseError


class Bulk(Struct, Generic[T, C], frozen=True, kw_only=True):
    """What became of each: changed, failed, or left alone because of a stop.

    `undo_id` takes all changes back at once; None where nothing was changed that can be.
    """

    done: tuple[C, ...]
    failed: tuple[FailedItem[T], ...]
    left: tuple[T, ...]
    undo_id: str | None

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know, each sentence once."""
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
    """Change one after another; what fails does not stop the others, and never raises.

    `group` is that of an earlier command that these changes complete: one undo takes all back.

    `change` gets an item, the change context, and the group to which its change belongs (None for a single item), as in
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
        finished += 1
        on_progress(finished, len(items))
    undo_ids = [one.undo_id for one in done if one.undo_id is not None]
    return Bulk(
        done=tuple(done),
        failed=tuple(failed),
        left=tuple(items[finished:]),
        undo_id=undo_ids[0] if len(undo_ids) == 1 else group if undo_ids else None,
    )
