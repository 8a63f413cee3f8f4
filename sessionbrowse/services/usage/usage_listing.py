"""Collect the session files whose model requests are counted, and read rows of cost that the index stores.

This module does not import the modules that count, because repeated questions about unchanged files need no counting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.usage.request import NO_USAGE, FileRequests, Totals
from sessionbrowse.services.list.gather import Listing, gather
from sessionbrowse.store.find.discover import FoundFile, Skipped, placed
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.index.index import Index, Note, discard_if_damaged, open_index, read_settled

VERSIONS = "versions"
"""Name under which the index stores the versions of all files, as they were when the costs were computed."""

GroupKey = str | int | None


class UsageRow(Struct, array_like=True):
    """The totals of a group of model requests; `sessions` is the number of files that contain these requests.

    `key` identifies the group, and `name` is a short text for the key. `latest` is the time of the last request in
    milliseconds. A row for a session, a branch or a family (a session with its forks and subagents) has the `path` of
    a session; a row for a branch also has the id of its last entry (`leaf_id`).
    """

    key: GroupKey
    totals: Totals
    sessions: int = 0
    latest: float | None = None
    path: str | None = None
    leaf_id: str | None = None
    id: str | None = None
    name: str | None = None
    agent_total: tuple[int, float] | None = None


class UsageListing(Struct, frozen=True):
    """The files of a scope (directories and agents), also hidden and archived ones.

    `versions` identifies the contents of all files. `heal` empties an index in which model requests are damaged; only
    the first call of `heal` does something.
    """

    listing: Listing
    versions: bytes | None
    heal: Callable[[], None]


@contextmanager
def open_usage(
    scope: Scope, directory: Path, *, skipped: Callable[[Skipped], None], note: Note, processes: bool = False
) -> Iterator[UsageListing]:
    """Collect the files of a scope (directories and agents). An index in `directory` is open during the `with` block.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    index = open_index(directory, note)
    with nullcontext() if index is None else closing(index):
        yield gather_usage(scope, index, skipped=skipped, note=note, processes=processes)


def gather_usage(
    scope: Scope,
    index: Index | None,
    *,
    skipped: Callable[[Skipped], None] = lambda _: None,
    note: Note = lambda _: None,
    processes: bool = False,
) -> UsageListing:
    """Collect the files of a scope (directories and agents), also hidden and archived ones; read unindexed files.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    whole = replace(scope, hidden=True, archived=True)
    listing = gather(whole, index, skipped=skipped, note=note, processes=processes, summarise=read_with_usage)
    return UsageListing(listing, _versions(listing), cache(partial(_heal, listing.index, note)))


def stored_answer(found: UsageListing, name: str) -> bytes | None:
    """Return what the index stores under a name, such as rows of cost; None if a file has changed since then."""
    index = found.listing.index
    if found.versions is None or index is None:
        return None
    packed = read_settled(index.connection, name)
    # The files' versions are stored and deleted together with everything that was computed from these files.
    return packed if packed is not None and read_settled(index.connection, VERSIONS) == found.versions else None


def _heal(index: Index | None, note: Note) -> None:
    if index is not None:
        discard_if_damaged(index, note)


def _versions(listing: Listing) -> bytes | None:
    """Return bytes that identify the versions of all files; None if a file is not in the index."""
    rows = [row for session in listing.sessions if (row := listing.rows.get(session.path)) is not None]
    if listing.index is None or not listing.is_whole or len(rows) < len(listing.sessions):
        return None
    stamps = [(row.row, row.size, row.mtime_ns, row.ctime_ns) for row in rows]
    return msgspec.msgpack.encode((listing.index.generation, stamps))


class SummaryWithUsage(Summary, frozen=True, kw_only=True):
    """The summary of a session file that is not in the index, with the file's model requests."""

    usage: FileRequests = NO_USAGE


def read_with_usage(file: FoundFile) -> Summary | None:
    """Return the summary of a file that is not in the index, with its model requests if they can be read."""
    # Imported here because most counting finds all files unchanged.
    from sessionbrowse.store.index.builder import read_for_index
    from sessionbrowse.store.read.summarise import on_its_machine, summarise_file

    read = read_for_index(file.path, file.agent, lambda *_: None, tools=False, restart=lambda: None)
    if read is None:
        return summarise_file(file)
    return placed(SummaryWithUsage(**asdict(on_its_machine(read.summary)), usage=read.usage), file)
