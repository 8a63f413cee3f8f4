"""Read entry ids and the active branch of a session from the index alone, which is faster than building the tree."""

from __future__ import annotations

import sqlite3

from msgspec import Struct

from sessionbrowse.store.index.index import Index
from sessionbrowse.store.index.rows import ORDINARY, FileRow


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
        entries = index.entries(row)
    except sqlite3.Error:
        return None
    ids, parent_ids = entries.ids, entries.parent_ids
    by_id = dict(zip(ids, range(len(ids)), strict=True))
    if not ids or not ids[-1] or None in by_id or len(by_id) < len(ids) or entries.has_boundary:
        return None
    # The index is not enough if the file continues after the last indexed entry: it may have newer entries.
    if entries.offsets[-1] + entries.sizes[-1] + 1 != row.size:
        return None
    active = [len(ids) - 1]
    while (parent_id := parent_ids[active[-1]]) is not None:
        parent = by_id.get(parent_id, len(ids))
        if parent >= active[-1]:
            return None
        active.append(parent)
    return EntryOutline(ids, frozenset(active))
