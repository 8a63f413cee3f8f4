"""Changes as commands plan them: the plan, the protocol of its runner, and the words for the changed sessions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct

from sessionbrowse.text import local_time, plural, size
from sessionbrowse.tui.layout.parts import FittedPart, LinePart, Part
from sessionbrowse.tui.paint.spans import Line, agent_span, fit, named, project_name, quoted, sides

if TYPE_CHECKING:
    from sessionbrowse.errors import UnsafeEntry
    from sessionbrowse.model.listing.summary import Summary
    from sessionbrowse.services.change.delete import Into
    from sessionbrowse.services.transaction.change import ChangeResult
    from sessionbrowse.services.transaction.change_context import Cancelled, ChangeContext, Progress
    from sessionbrowse.store.write.write_checks import Target

T = TypeVar("T")


class ChangeRun(Struct, frozen=True, kw_only=True):
    """The arguments that the change runner passes to a change that runs in the background.

    With `force`, sessions in use are changed too. `into` says to which trash deleted sessions go.
    """

    context: ChangeContext
    group: str | None = None
    force: bool = False
    into: Into = "trash"
    progress: Progress = lambda done, total, name: None
    cancelled: Cancelled = lambda: False


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


class Changes(Protocol):
    """Protocol of the object that makes changes in the background, one at a time; see `changes.change_runner`."""

    places: dict[str, Hashable]
    """By undo id: the place where the user made a change (screen, and project or session), if it is known."""

    @property
    def into(self) -> Into:
        """The trash for deleted sessions: the system's, or in the demo a directory that is removed with the demo."""

    @property
    def context(self) -> ChangeContext:
        """The change context (home, clock, journal). Only the thread that makes changes may use its journal."""

    @property
    def busy(self) -> bool:
        """True while a change or other queued work is running."""

    def run(
        self,
        work: Callable[[ChangeRun], T],
        on_result: Callable[[T], None],
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """Run `work` in the background; pass its result to `on_result`, its error to `on_error` or else to a toast."""

    def make(self, plan: ChangePlan) -> None:
        """Make the changes of a plan in the background, show their progress, update the screens and show a toast."""

    def say_error(self, error: Exception) -> None:
        """Show the sentence of an expected error, or the type and text of an unexpected one."""

    def target(self, summary: Summary) -> Target:
        """Return the target of a change to a session: the file, the agent, the directory of the agent's sessions."""


# ---- sessions in plans, toasts and dialogs ------------------------------------------------------------------------

MOST_OPENED = 200
"""Maximum number of session files to open for the titles in the undo history or in the list of the trash."""


def sessions_named(summaries: Sequence[Summary]) -> str:
    """Return the quoted title of a single session; for several sessions, the number, such as `3 sessions`."""
    return quoted(named(summaries[0])) if len(summaries) == 1 else plural(len(summaries), "session")


def session_items(
    changes: Changes, sessions: Iterable[Summary], make: Callable[[Target, ChangeRun], ChangeResult]
) -> list[ChangeItem]:
    """Return the items of a plan that makes the same change to each session."""
    return [ChangeItem(named(one), partial(make, changes.target(one))) for one in sessions]


def count_done(done: Sequence[object], chosen: Sequence[Summary]) -> str:
    """Return words for changed sessions: the title of a single one, else the number of those that were changed."""
    return sessions_named(chosen) if len(done) == len(chosen) else plural(len(done), "session")


def session_parts(chosen: Sequence[Summary], home: str, *, most: int = 8) -> list[Part]:
    """Return the rows that name the chosen sessions in a dialog: agent, title, directory; at most `most` of them."""
    titles = [named(one) for one in chosen]
    alike = {title for title in titles if titles.count(title) > 1} if len(chosen) <= MOST_OPENED else set()
    parts: list[Part] = [FittedPart(partial(_row, one, home, named(one) in alike)) for one in chosen[:most]]
    if len(chosen) > most:
        parts.append(LinePart([(f"  … and {len(chosen) - most:,} more", "dim")]))
    return [*parts, LinePart([])]


def _row(summary: Summary, home: str, is_alike: bool, width: int) -> Line:
    # The sign of a fork stands before the title, because the end of a row may be cut: both may have one title.
    sign = " " if summary.parent_session is None else " ↳ "
    where: Line = [agent_span(summary.agent), (sign, "branch"), (named(summary), "title")]
    if summary.cwd:
        where.append((f"  {project_name(summary.cwd, home)[0]}", "dim"))
    if not is_alike:
        return fit(where, width)
    # Sessions with the same title also get date, number of messages and size.
    at = local_time(summary.modified) if summary.modified is not None else None
    day = f"{at:%Y-%m-%d %H:%M} · " if at is not None else ""
    facts = f"{day}{plural(summary.message_count, 'message')} · {size(summary.bytes)}"
    return sides(where, [(f"  {facts}", "dim")], width, least=20)
