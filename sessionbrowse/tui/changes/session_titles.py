"""Sessions in dialogs, toasts and plans of changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.transaction.change import ChangeResult
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.text import local_time, plural, size
from sessionbrowse.tui.layout.parts import FittedPart, LinePart, Part
from sessionbrowse.tui.paint.spans import Line, agent_span, fit, named, project_name, quoted, sides
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangeRun, Changes

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
    where: Line = [agent_span(summary.agent), (" ", ""), (named(summary), "title")]
    if summary.cwd:
        where.append((f"  {project_name(summary.cwd, home)[0]}", "dim"))
    if not is_alike:
        return fit(where, width)
    # Sessions with the same title also get date, number of messages and size.
    at = local_time(summary.modified) if summary.modified is not None else None
    day = f"{at:%Y-%m-%d %H:%M} · " if at is not None else ""
    facts = f"{day}{plural(summary.message_count, 'message')} · {size(summary.bytes)}"
    return sides(where, [(f"  {facts}", "dim")], width, least=20)
