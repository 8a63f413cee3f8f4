"""Session files with their model requests, which come from the index or else from the files."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Collection, Sequence
from functools import partial

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.usage.ownership import UsageFile
from sessionbrowse.model.usage.request import NO_USAGE, FileRequests, FileSums, sums_of
from sessionbrowse.services.usage.usage_listing import SummaryWithUsage, UsageListing, read_with_usage
from sessionbrowse.store.index.rows import FileRow
from sessionbrowse.store.index.usage_tables import read_sums, read_usage


def usage_files(
    found: UsageListing, summaries: Sequence[Summary], paths: Collection[str] | None = None
) -> list[UsageFile]:
    """Return all files, or only those in `paths`, each with the total tokens and cost of its model requests.

    `summaries` are the summaries of all files, with the paths of the parent sessions. If the requests of a file are
    damaged or missing in the index, they are read from the file.
    """
    by_path = {summary.path: summary for summary in summaries if paths is None or summary.path in paths}
    made: list[UsageFile] = []

    def add(path: str, sums: FileSums, identities: array[int], load: Callable[[], FileRequests]) -> None:
        summary = by_path.get(path)
        if summary is not None:
            about = (summary.created, summary.parent_path, summary.archived, summary.hidden)
            made.append(UsageFile(path, sums, identities, load, *about))

    def add_read(path: str, usage: FileRequests) -> None:
        if usage.requests:
            add(path, sums_of(usage), array("Q", usage.identities), lambda: usage)

    rows = [found.listing.rows.get(session.path) for session in found.listing.sessions if session.path in by_path]
    lost = {row.row: row for row in rows if row is not None}
    index = found.listing.index
    if index is not None:
        try:
            for row, held in read_sums(index.connection, dict(lost)):
                del lost[row.row]
                if held is not None:
                    identities, sums = held
                    add(row.path, sums, identities, partial(_requests_of, found, row))
        except sqlite3.Error:
            # The index is damaged. The files whose requests were not read from it stay in `lost`, and are read below.
            pass
    if lost:
        found.heal()
    for row in lost.values():
        add_read(row.path, _read(found, row.path))
    for summary in by_path.values():
        if isinstance(summary, SummaryWithUsage):
            add_read(summary.path, summary.usage)
    return made


def _requests_of(found: UsageListing, row: FileRow) -> FileRequests:
    """Return a file's model requests from the index, or from the file if they are damaged or missing in the index."""
    index = found.listing.index
    assert index is not None
    try:
        return read_usage(index.connection, row)
    except sqlite3.Error:
        found.heal()
        return _read(found, row.path)


def _read(found: UsageListing, path: str) -> FileRequests:
    summary = read_with_usage(found.listing.files[path])
    return summary.usage if isinstance(summary, SummaryWithUsage) else NO_USAGE
