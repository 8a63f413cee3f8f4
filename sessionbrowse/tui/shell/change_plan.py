"""The plan of a command's changes, as plain values; `changes.change_runner` carries it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from sessionbrowse.errors import UnsafeEntry
    from sessionbrowse.services.change.delete import Into
    from sessionbrowse.services.transaction.change import ChangeResult
    from sessionbrowse.services.transaction.change_context import ChangeContext

Report = Callable[[int, int, str], None]
"""A function that receives the progress: numbers of finished and of all items, and the current item's name."""


class ChangeRun(Struct, frozen=True, kw_only=True):
    """The arguments of background work: the change context, the user's consent, and functions for progress and stop.

    With `force`, sessions in use are changed too; `into` is the trash for deleted sessions. `stopped` tells the work
    whether the user stopped it.
    """

    context: ChangeContext
    group: str | None = None
    force: bool = False
    into: Into = "trash"
    report: Report = lambda finished, total, name: None
    stopped: Callable[[], bool] = lambda: False


class ChangeItem(Struct, frozen=True):
    """One change: the clean name of its session, and the function that makes it in the background."""

    name: str
    make: Callable[[ChangeRun], ChangeResult]


class ChangePlan(Struct, frozen=True, kw_only=True):
    """The changes of one command.

    `title` is shown while they run. `describe` returns the sentence of the toast for the results. `on_success` is
    called with the results after the screens are updated, `on_unsafe` if a change would separate a tool call from
    its result. `into` None means the usual trash for deleted sessions.
    """

    title: str
    items: Sequence[ChangeItem]
    describe: Callable[[Sequence[Any]], str]
    on_success: Callable[[Sequence[Any]], None] | None = None
    on_unsafe: Callable[[UnsafeEntry], None] | None = None
    force: bool = False
    into: Into | None = None
    group: str | None = None
