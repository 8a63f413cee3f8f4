"""All sessions of a scope as far as a search needs them, by the overview of the index."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list.overview import overview_of
from sessionbrowse.services.list.scope import Scope
from sessionbrowse.services.list.snapshot import Gathered
from sessionbrowse.store.find.discover import Skipped
from sessionbrowse.store.index.file_row import Held
from sessionbrowse.store.index.index import Index


def searchable(scope: Scope, index: Index, *, skipped: Callable[[Skipped], None] = lambda _: None) -> Gathered | None:
    """Return every session of the scope as far as a search needs it; None if the index cannot tell."""
    told: list[Skipped] = []
    try:
        generation = index.generation
        found = overview_of(scope, index, told.append)
    except (sqlite3.Error, ValueError):
        # Damaged: whoever gathers all finds out and says so.
        return None
    if found is None:
        return None
    for each in told:
        skipped(each)
    summaries = [
        Summary(
            agent=brief.agent,
            path=brief.path,
            id=brief.id,
            cwd=brief.cwd,
            name=brief.name,
            modified=brief.modified,
            bytes=brief.size,
            labels=brief.labels,
            mtime_ns=brief.mtime_ns,
        )
        for brief in found.briefs
    ]
    rows: dict[str, Held] = {brief.path: brief for brief in found.briefs}
    return Gathered(summaries, {}, rows, found.files, generation, index.first_messages)
