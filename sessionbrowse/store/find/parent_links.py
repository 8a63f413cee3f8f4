"""Facts about sessions that follow from their files' paths: hidden, archived, and the path of the parent session."""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.find.discover import FoundFile


def placed(summary: Summary, file: FoundFile) -> Summary:
    """Return a session's summary with facts from its file's path added: parent session, hidden, archived, problem."""
    if not file.is_out_of_place:
        return summary
    problem = summary.problem or (file.problem and f"{file.problem[:1].lower()}{file.problem[1:]}") or None
    return replace(
        summary,
        parent_path=file.parent_path,
        hidden=summary.hidden or file.hidden,
        archived=file.archived,
        problem=problem,
    )


def link_parents(summaries: Iterable[Summary], among: Iterable[Summary] | None = None) -> list[Summary]:
    """Return the summaries whose parent session was found, with the parent's path added.

    Parents are looked up in `among`, by default in `summaries`. A header contains the path of the parent's file (pi,
    atomic, indusagi, omp) or the parent's id (omp). A parent file that was moved is found by its file name.
    """
    children = list(summaries)
    by_path: set[str] = set()
    by_id: dict[tuple[str, str], str] = {}
    by_name: dict[str, str] = {}
    for session in children if among is None else among:
        by_path.add(session.path)
        if session.id:
            by_id.setdefault((session.agent, session.id), session.path)
        by_name.setdefault(os.path.basename(session.path), session.path)
    linked: list[Summary] = []
    for summary in children:
        named = summary.parent_session
        if not named or summary.parent_path is not None:
            continue
        parent = (
            (named if named in by_path else None)
            or (real if (real := _real_path(named)) in by_path else None)
            or by_id.get((summary.agent, named))
            or (by_name.get(os.path.basename(named)) if "/" in named else None)
        )
        if parent is not None and parent != summary.path:
            linked.append(replace(summary, parent_path=parent))
    return linked


def _real_path(named: str) -> str:
    """Return a path with its links resolved; a text that is not a path, such as a session's id, is unchanged."""
    try:
        return os.path.realpath(named) if "/" in named else named
    except (ValueError, OSError):
        return named
