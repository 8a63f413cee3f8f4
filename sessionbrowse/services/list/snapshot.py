"""Collect the sessions that a search covers, with their index rows, by which the search finds their texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list.gather import Listed, Listing, gather, unpack
from sessionbrowse.store.find.discover import Skipped
from sessionbrowse.store.find.roots import Scope, places_of
from sessionbrowse.store.index.index import Index, Note
from sessionbrowse.store.index.rows import FileRow
from sessionbrowse.store.index.schema import is_damage


class Snapshot(Struct, frozen=True):
    """The sessions of a scope (directories and agents) at one moment, with their index rows by path.

    Files without a row are searched line by line. `generation` is the index's rebuild counter at that moment; the rows
    are outdated once the counter has changed. In a brief snapshot the summaries lack the sessions' first messages; then
    `first_messages` returns these messages by path.
    """

    summaries: list[Summary]
    rows: Mapping[str, FileRow] = {}
    generation: int = 0
    first_messages: Callable[[], Mapping[str, str]] | None = None


def take_snapshot(
    scope: Scope,
    index: Index | None,
    *,
    skipped: Callable[[Skipped], None] = lambda _: None,
    note: Note = lambda _: None,
    brief: bool = False,
) -> Snapshot:
    """Return a snapshot of the sessions of a scope (directories and agents) for a search.

    In a `brief` snapshot, summaries of indexed sessions have only the fields that a search uses, because loading 10,000
    complete summaries takes longer than a search.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    try:
        # The index's rebuild counter is read before the rows, so that a rebuild by another process is noticed.
        generation = index.generation if index is not None else 0
    except sqlite3.DatabaseError as error:
        if index is not None and is_damage(error):
            from sessionbrowse.store.index.damage import discard_index

            discard_index(index, error, note)
        return take_snapshot(scope, None, skipped=skipped)
    listing = gather(scope, index, skipped=skipped, note=note)
    return snapshot_of(listing, listing.sessions, generation, brief=brief)


def snapshot_of(listing: Listing, sessions: list[Listed], generation: int, *, brief: bool = False) -> Snapshot:
    """Return a snapshot of some sessions of a listing.

    `generation` is the index's rebuild counter, read before the listing.
    """
    rows = _rows(sessions)
    if not brief or listing.index is None:
        return Snapshot(unpack(listing, sessions), rows, generation)
    brief_ones = [_brief(each) for each in sessions]
    return Snapshot(brief_ones, rows, generation, lambda: _first_messages(listing))


def indexed_snapshot(scope: Scope, index: Index) -> Snapshot:
    """Return the sessions in the index that belong to a scope (directories and agents); empty if the index is damaged.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    roots = tuple([place.root.rstrip("/") + "/" for place in places_of(scope)])
    try:
        generation = index.generation
        rows: list[Listed] = [
            row for row in index.rows() if row.path.startswith(roots) and (scope.hidden or not row.hidden)
        ]
    except sqlite3.Error:
        # The next call of `gather` finds the damage too, and reports it to the user.
        return Snapshot([])
    listing = Listing(scope, rows, {}, index)
    return Snapshot(unpack(listing, listing.sessions), _rows(listing.sessions), generation)


def _rows(sessions: list[Listed]) -> dict[str, FileRow]:
    return {session.path: session for session in sessions if isinstance(session, FileRow)}


def _first_messages(listing: Listing) -> Mapping[str, str]:
    try:
        return listing.index.first_messages() if listing.index is not None else {}
    except sqlite3.Error:
        # The index is damaged: `unpack` reads the session files instead.
        return {summary.path: summary.first_message or "" for summary in unpack(listing, listing.sessions)}


def _brief(session: Listed) -> Summary:
    if isinstance(session, Summary):
        return session
    return Summary(
        agent=session.agent,
        path=session.path,
        id=session.id,
        cwd=session.cwd,
        name=session.name,
        modified=session.modified,
        bytes=session.size,
        labels=session.labels,
        mtime_ns=session.mtime_ns,
    )
