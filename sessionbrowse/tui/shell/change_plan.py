"""The values with which a screen asks for changes: a plan of items; `changes.change_runner` carries it out."""

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
"""Takes the number of finished items, the number of all items, and the name of the item under way."""


class ChangeRun(Struct, frozen=True, kw_only=True):
    """What a piece of background work is given: the change context, the user's consent, and how to report and stop.

    `force` changes sessions that are in use; `into` is where deleted sessions go.
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
    """Changes of one command: their title while they run, the items, and the sentence for a toast afterwards.

    `then` is called with the results after the screens are up to date; `unsafe` is called when a change would end
    between a tool call and its result. `into` None means the usual place for deleted sessions.
    """

    doing: str
    items: Sequence[ChangeItem]
    told: Callable[[Sequence[Any]], str]
    then: Callable[[Sequence[Any]], None] | None = None
    unsafe: Callable[[UnsafeEntry], None] | None = None
    force: bool = False
    into: Into | None = None
    group: str | None = None
