"""The session files of a scope with their requests, from the index as far as it has them, else from the files."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.usage.ownership import UsageFile
from sessionbrowse.model.usage.request import FileRequests
from sessionbrowse.model.usage.sums import FileSums, sums_of
from sessionbrowse.services.list.gather import Listed, unpack
from sessionbrowse.services.usage.read_usage import SummaryWithUsage
from sessionbrowse.services.usage.usage_listing import UsageListing
from sessionbrowse.store.index.index import Index
from sessionbrowse.store.index.rows import FileRow
from sessionbrowse.store.index.usage_tables import read_sums, read_usage


def usage_files(found: UsageListing, summaries: Sequence[Summary]) -> list[UsageFile]:
    """Return the files with their sums; `summaries` are those of all files, linked with their parents.

    Raises:
        sqlite3.DatabaseError: the index is damaged.
    """
    by_path = {summary.path: summary for summary in summaries}
    made: list[UsageFile] = []

    def add(path: str, sums: FileSums, identities: array[int], load: Callable[[], FileRequests]) -> None:
        summary = by_path.get(path)
        if summary is not None:
            about = (summary.created, summary.parent_path, summary.archived, summary.hidden)
            made.append(UsageFile(path, sums, identities, load, *about))

    index = found.listing.index
    if index is not None:
        for row, identities, sums in _sums_in(index, found.sessions):
            add(row.path, sums, identities, partial(read_usage, index.databases_of(row), row.row))
    for summary in summaries:
        if isinstance(summary, SummaryWithUsage) and summary.usage.requests:
            add(
                summary.path,
                sums_of(summary.usage),
                array("Q", summary.usage.identities),
                partial(_same, summary.usage),
            )
    return made


def summaries_of_all(found: UsageListing) -> list[Summary]:
    """Return the summaries of all files, linked with their parents."""
    return unpack(found.listing, found.sessions)


def _sums_in(index: Index, sessions: Sequence[Listed]) -> Iterator[tuple[FileRow, array[int], FileSums]]:
    """Yield the index's sums of each file; a file that grew has newer ones in the main database than in its shard."""
    rows = {session.row: session for session in sessions if isinstance(session, FileRow)}
    done: set[int] = set()
    for number, database in index.databases():
        wanted = [row for row, session in rows.items() if not number or session.shard == number]
        for row, identities, sums in read_sums(database, wanted) if wanted else ():
            if row not in done:
                done.add(row)
                yield rows[row], identities, sums


def _same(usage: FileRequests) -> FileRequests:
    return usage
