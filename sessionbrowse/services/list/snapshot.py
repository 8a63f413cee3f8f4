"""Collect the sessions that a search covers, with their index rows, by which the search finds their texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list.gather import Listing, gather
from sessionbrowse.store.find.discover import Skipped
from sessionbrowse.store.find.roots import Scope, places_of
from sessionbrowse.store.index.index import Index, Note, discard_index
from sessionbrowse.store.index.rows import FileRow
from sessionbrowse.store.index.schema import is_damage


class Snapshot(Struct, frozen=True):
    """The sessions of a scope (directories and agents) at one moment, with their index rows by path.

    Files without a row are searched line by line. `generation` is the index's rebuild counter at that moment; the rows
    are outdated once the counter has changed.
    """

    summaries: Sequence[Summary]
    rows: Mapping[str, FileRow] = {}
    generation: int = 0


def take_snapshot(
    scope: Scope,
    index: Index | None,
    *,
    skipped: Callable[[Skipped], None] = lambda _: None,
    note: Note = lambda _: None,
) -> Snapshot:
    """Return a snapshot of the sessions of a scope (directories and agents) for a search.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    try:
        # The index's rebuild counter is read before the rows, so that a rebuild by another process is noticed.
        generation = index.generation if index is not None else 0
    except sqlite3.DatabaseError as error:
        if index is not None and is_damage(error):
            discard_index(index, error, note)
        return take_snapshot(scope, None, skipped=skipped)
    listing = gather(scope, index, skipped=skipped, note=note)
    return Snapshot(listing.sessions, listing.rows, generation)


def indexed_snapshot(scope: Scope, index: Index) -> Snapshot:
    """Return the sessions in the index that belong to a scope (directories and agents); empty if the index is damaged.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    roots = tuple([place.root.rstrip("/") + "/" for place in places_of(scope)])
    try:
        generation = index.generation
        rows = {row.path: row for row in index.rows() if row.path.startswith(roots)}
    except sqlite3.Error:
        # The next call of `gather` finds the damage too, and reports it to the user.
        return Snapshot([])
    found = [row.summary for row in rows.values() if scope.hidden or not row.summary.hidden]
    return Snapshot(Listing(scope, found, {}, rows, index).sessions, rows, generation)
