"""Titles of sessions for dialogs and toasts. `title_of` reads files: for background threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.transaction.change import ChangeResult
from sessionbrowse.services.transaction.trash_directories import items_of
from sessionbrowse.store.read.summarise import summarise_path
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.text import clean, local_time, plural, size
from sessionbrowse.tui.changes.reread import Known
from sessionbrowse.tui.layout.parts import FittedPart, LinePart, Part
from sessionbrowse.tui.paint.spans import Line, agent_span, fit, one_line, project_name, sides
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangeRun, Changes

MOST_OPENED = 200
"""Maximum number of session files to open for the titles in the undo history or in the list of the trash."""
LARGEST_BYTES = 8 * 1024 * 1024
_TITLE_CHARACTERS = 60


def named(summary: Summary) -> str:
    """Return a session's title in one line without control characters; without a title, the file name."""
    return one_line(summary.title, 60) or clean(os.path.basename(summary.path))


def quoted(value: str) -> str:
    """Return a text in double quotes, for a sentence; the text must have no control characters."""
    return f'"{value}"'


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


def title_of(change: Change, known: Known, *, opens: bool) -> str:
    """Return the title of the session that a change touched; without a title, the file name.

    With `opens`, the file of a session that is not listed is opened for the title.
    """
    found = known(change.path)
    if found is None and opens:
        path = _where(change)
        try:
            found = summarise_path(path, lambda _: change.agent) if os.path.getsize(path) <= LARGEST_BYTES else None
        except (OSError, SessionBrowseError):
            found = None
    title = one_line(found.title, _TITLE_CHARACTERS) if found is not None else ""
    return title or clean(os.path.basename(change.path))


def _where(change: Change) -> str:
    """Return the current path of the session that a change touched; a deleted session may be in the trash."""
    if change.verb == "delete" and not os.path.lexists(change.path):
        items = items_of(change)
        if items and items[-1].item is not None:
            return items[-1].item
    return change.path
