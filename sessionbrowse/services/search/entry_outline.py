"""Read entry ids and the active branch of a session from the index alone, which is faster than building the tree."""

from __future__ import annotations

import sqlite3

from msgspec import Struct

from sessionbrowse.errors import Unreadable
from sessionbrowse.format.json_value import BadJson, loads
from sessionbrowse.model.session.parents import ROOT
from sessionbrowse.model.tree.entry_states import BOUNDARIES
from sessionbrowse.store.index.index import Index
from sessionbrowse.store.index.packed_places import unpack_links, unpack_places
from sessionbrowse.store.index.rows import ORDINARY, FileRow
from sessionbrowse.store.read.content import SHORT_HEAD_BYTES, read_at

_LEAST_VERSION = 2
"""The first version of the session format in which the file stores entry ids."""


class EntryOutline(Struct, frozen=True):
    """The entry ids, and the indexes of the entries on the active branch, of a session without compactions."""

    ids: list[str | None]
    active: frozenset[int]

    def state(self, index: int) -> str:
        """Return the state of an entry: `active` if it is on the active branch, else `abandoned`."""
        return "active" if index in self.active else "abandoned"

    def entry_id(self, index: int) -> str | None:
        """Return the id of an entry; None if it was written after the session was indexed."""
        return self.ids[index] if index < len(self.ids) else None


def outline_of(index: Index, row: FileRow) -> EntryOutline | None:
    """Return the entry ids and active branch of a session; None if the index is not enough (as with compactions)."""
    if row.kind != ORDINARY:
        return None
    try:
        parts = index.entry_parts(row)
        if len(parts) != 1:
            return None
        places, links = unpack_places([parts[0][0]]), unpack_links(parts[0][1])
    except (ValueError, sqlite3.Error):
        return None
    if links is None or not links.ids or not links.ids[-1] or not links.types.isdisjoint(BOUNDARIES):
        return None
    # The index is not enough if the file continues after the last indexed entry: it may have newer entries.
    if places.offsets[-1] + places.sizes[-1] + 1 != row.size or not _has_own_ids(row.path, places.offsets[0]):
        return None
    active: set[int] = set()
    at = len(links.parents) - 1
    while at != ROOT and at not in active:
        active.add(at)
        at = links.parents[at]
    return EntryOutline(links.ids, frozenset(active))


def _has_own_ids(path: str, size: int) -> bool:
    """Return True if the header, in the file's first `size` bytes, has a format version in which entries have ids."""
    if size > SHORT_HEAD_BYTES:
        return False
    try:
        values = [loads(line) for line in read_at(path, 0, size).splitlines()]
    except (BadJson, Unreadable):
        return False
    headers = [each for each in values if isinstance(each, dict) and each.get("type") == "session"]
    version = headers[0].get("version") if len(headers) == 1 else None
    return isinstance(version, int) and version >= _LEAST_VERSION
