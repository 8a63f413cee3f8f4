"""The documents that `list` and `projects` print, and which sessions are the newest.

The shapes are a contract (README, "Command line").
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.text import is_time, iso_ms

if TYPE_CHECKING:
    from sessionbrowse.store.index.overview import Brief

Document = dict[str, Any]


def newest(
    briefs: Sequence[Brief], *, cwd: str | None = None, named: bool = False, limit: int | None = None
) -> list[Brief]:
    """Return of sessions in brief what `select` returns of summaries, newest file first, in the order `recent`."""
    wanted = [
        brief for brief in briefs if (cwd is None or brief.cwd == cwd) and (not named or (brief.name or "").strip())
    ]
    if limit is None:
        return sorted(wanted, key=_recent, reverse=True)
    return heapq.nlargest(limit, wanted, key=_recent)


def _recent(brief: Brief) -> tuple[float, int, str]:
    return brief.modified or 0, brief.mtime_ns, brief.path


def summary_document(summary: Summary) -> Document:
    """Return one row of `list --json`; times are ISO 8601 UTC with milliseconds."""
    document: Document = {
        "agent": summary.agent,
        "path": summary.path,
        "id": summary.id,
        "cwd": summary.cwd,
        "name": summary.name,
        "created": _iso(summary.created),
        "modified": _iso(summary.modified),
        "message_count": summary.message_count,
        "first_message": summary.first_message,
        "parent_session": summary.parent_session,
        "parent_path": summary.parent_path,
        "bytes": summary.bytes,
        "hidden": summary.hidden,
        "archived": summary.archived,
        "entry_count": summary.entry_count,
        "branch_count": summary.branch_count,
        "label_count": summary.label_count,
        "tokens": summary.tokens,
        "cost": summary.cost,
        "model": summary.model,
        "problem": summary.problem,
        "problem_count": summary.problem_count,
        "left_behind": summary.left_behind,
    }
    if summary.first_message_cut:
        document["first_message_cut"] = True
    return document


def project_documents(summaries: Iterable[Summary | Brief], exists: dict[str, bool | None]) -> list[Document]:
    """Return what `projects --json` prints: the working directories, newest activity first."""
    by_cwd: dict[str, list[Summary | Brief]] = {}
    for summary in summaries:
        by_cwd.setdefault(summary.cwd, []).append(summary)
    documents: list[Document] = []
    for cwd, own in by_cwd.items():
        latest = max((summary.modified for summary in own if summary.modified is not None), default=None)
        documents.append(
            {
                "cwd": cwd,
                "agents": sorted({summary.agent for summary in own}),
                "sessions": len(own),
                "named": sum(1 for summary in own if summary.name),
                "modified": _iso(latest),
                "exists": exists.get(cwd) if cwd else None,
            }
        )
    return sorted(documents, key=lambda document: document["modified"] or "", reverse=True)


def _iso(milliseconds: float | None) -> str | None:
    return iso_ms(milliseconds) if milliseconds is not None and is_time(milliseconds) else None
