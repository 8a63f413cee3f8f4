"""What the places of files say of their sessions: which are hidden or archived, and which file is whose parent."""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.find.discover import FoundFile


def is_out_of_place(file: FoundFile) -> bool:
    """Whether the place of a file says something about it."""
    return file.parent_path is not None or file.hidden or file.archived or file.problem is not None


def placed(summary: Summary, file: FoundFile) -> Summary:
    """Add what the place of a file says about it."""
    if not is_out_of_place(file):
        return summary
    problem = summary.problem or (file.problem and f"{file.problem[:1].lower()}{file.problem[1:]}") or None
    return replace(
        summary,
        parent_path=file.parent_path,
        hidden=summary.hidden or file.hidden,
        archived=file.archived,
        problem=problem,
    )


def link_parents(summaries: Iterable[Summary]) -> list[Summary]:
    """Return the summaries whose parent session was found, with its path.

    pi, atomic and indusagi name the parent's file, omp its file or its id; a file that moved is found by its name.
    """
    everyone = list(summaries)
    by_path = {summary.path: summary.path for summary in everyone}
    by_id: dict[tuple[str, str], str] = {}
    by_name: dict[str, str] = {}
    for summary in everyone:
        if summary.id:
            by_id.setdefault((summary.agent, summary.id), summary.path)
        by_name.setdefault(os.path.basename(summary.path), summary.path)
    linked: list[Summary] = []
    for summary in everyone:
        named = summary.parent_session
        if not named or summary.parent_path is not None:
            continue
        parent = (
            by_path.get(named)
            or by_path.get(_real_path(named))
            or by_id.get((summary.agent, named))
            or (by_name.get(os.path.basename(named)) if "/" in named else None)
        )
        if parent is not None and parent != summary.path:
            linked.append(replace(summary, parent_path=parent))
    return linked


def _real_path(named: str) -> str:
    """Return where a path leads; as it stands if it can be none (NUL, half a surrogate pair)."""
    try:
        return os.path.realpath(named) if "/" in named else named
    except (ValueError, OSError):
        return named
