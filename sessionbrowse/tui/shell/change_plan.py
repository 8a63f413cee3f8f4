"""The plan of the changes that a command makes; `changes.change_runner` executes the plan."""

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
"""A function that shows a change's progress: number of finished items, number of all items, current item's name."""


class ChangeRun(Struct, frozen=True, kw_only=True):
    """The arguments that the change runner passes to a change that runs in the background.

    With `force`, sessions in use are changed too. `into` says to which trash deleted sessions go. `report` shows the
    progress; `stopped` returns True if the user has stopped the change.
    """

    context: ChangeContext
    group: str | None = None
    force: bool = False
    into: Into = "trash"
    report: Report = lambda finished, total, name: None
    stopped: Callable[[], bool] = lambda: False


class ChangeItem(Struct, frozen=True):
    """One change of a plan: the sanitised name of the session, and the function that makes the change."""

    name: str
    make: Callable[[ChangeRun], ChangeResult]


class ChangePlan(Struct, frozen=True, kw_only=True):
    """The plan of the changes that one command makes, with functions that are called with the results.

    `title` is shown while the changes run. `describe` returns the text of the final toast for the list of results.
    `on_success` is called with the results after the screens are updated, `on_unsafe` if a change would separate a
    tool call from its result. `into` says to which trash deleted sessions go; None: to the usual one.
    """

    title: str
    items: Sequence[ChangeItem]
    describe: Callable[[Sequence[Any]], str]
    on_success: Callable[[Sequence[Any]], None] | None = None
    on_unsafe: Callable[[UnsafeEntry], None] | None = None
    force: bool = False
    into: Into | None = None
    group: str | None = None
