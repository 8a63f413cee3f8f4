"""Read and cache the trees and labels of sessions in which a search has found hits."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.tree.entry_states import EntryStates
from sessionbrowse.services.search.hits import Checkpoint
from sessionbrowse.store.index.index import Index
from sessionbrowse.store.index.rows import ORDINARY, FileRow
from sessionbrowse.text import time_ms

if TYPE_CHECKING:
    from sessionbrowse.model.session.session import Session

KEPT_TREES = 4
"""Maximum number of cached trees; few are enough, because hits come session by session."""
KEPT_OUTLINES, LONG_OUTLINE = 500, 5_000
"""Maximum number of cached outlines, and of entries in a cached one; the next letter of a query needs them again."""


class SessionTree:
    """A session with the state of its entries: active, abandoned or compacted."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @cached_property
    def _states(self) -> EntryStates:
        return EntryStates(self.session)

    def state(self, index: int) -> str:
        """Return the state of an entry: active, abandoned or compacted; abandoned if it is newer than the tree."""
        return self._states.of(index)

    def outline(self) -> EntryOutline:
        """Return the ids and states of all entries, which need less memory than the tree."""
        return EntryOutline(self.session.ids, self._states.active, self._states.compacted)

    def entry_id(self, index: int) -> str | None:
        """Return the id of an entry, None if it has none or was written after the session was read."""
        ids = self.session.ids
        return ids[index] if index < len(ids) else None

    def labels(self, summary: Summary) -> list[Checkpoint]:
        """Return the checkpoints of the session, in reverse file order."""
        # Imported here for a faster start, because most searches need no label.
        from sessionbrowse.model.tree.rows import row_text

        session, own = self.session, (summary.path, summary.id, summary.agent, summary.cwd, summary.name)
        return [
            Checkpoint(
                *own,
                index,
                self.entry_id(index),
                mark.text,
                time_ms(mark.time),
                self.state(index),
                row_text(session, index),
                time_ms(session.envelopes[index].timestamp),
            )
            for index, mark in sorted(session.labels.items(), reverse=True)
        ]


class SessionTreeCache:
    """Reads and caches the trees of sessions.

    Labels and outlines stay cached until their session changes. Those cached in `before`, an earlier cache, are reused.
    """

    def __init__(self, index: Index | None, before: SessionTreeCache | None = None) -> None:
        self._index = index
        self._trees: dict[str, SessionTree] = {}
        self._labels: dict[str, tuple[object, list[Checkpoint]]] = before._labels if before else {}
        self._outlines: dict[str, tuple[object, EntryOutline]] = before._outlines if before else {}

    def tree(self, summary: Summary) -> SessionTree | None:
        """Return the tree of a session, None if the session cannot be read."""
        tree = self._trees.get(summary.path)
        if tree is None:
            # Imported here for a faster start, because most searches need no tree.
            from sessionbrowse.store.read.session_file import open_session

            try:
                tree = SessionTree(open_session(summary.path, summary.agent))
            except SessionBrowseError:
                return None
            while len(self._trees) >= KEPT_TREES:
                self._trees.pop(next(iter(self._trees)))
            self._trees[summary.path] = tree
        return tree

    def outline(self, summary: Summary, row: FileRow | None) -> EntryOutline | None:
        """Return the ids and states of a session's entries: from the index if it has them, else from the tree."""
        version, known = _version_of(summary), self._outlines.get(summary.path)
        if known is not None and known[0] == version:
            return known[1]
        found = outline_of(self._index, row) if row is not None and self._index is not None else None
        if found is None:
            tree = self.tree(summary)
            found = tree.outline() if tree is not None else None
        if found is not None and len(found.ids) <= LONG_OUTLINE:
            self._outlines[summary.path] = version, found
            while len(self._outlines) > KEPT_OUTLINES:
                self._outlines.pop(next(iter(self._outlines)))
        return found

    def knows_labels(self, summary: Summary) -> bool:
        """Return True if the labels of the session are cached and the session has not changed since."""
        known = self._labels.get(summary.path)
        return known is not None and known[0] == _version_of(summary)

    def labels(self, summary: Summary) -> list[Checkpoint]:
        """Return the checkpoints of a session, in reverse file order."""
        if self.knows_labels(summary):
            return self._labels[summary.path][1]
        tree = self.tree(summary)
        try:
            found = tree.labels(summary) if tree is not None else []
        except SessionBrowseError:
            found = []
        self._labels[summary.path] = (_version_of(summary), found)
        return found


def _version_of(summary: Summary) -> object:
    """Return a value that changes whenever the session file changes."""
    return (summary.bytes, summary.modified, summary.mtime_ns, summary.labels)


class EntryOutline(Struct, frozen=True):
    """The entry ids of a session, the indexes of the entries on its active branch, and those of them compacted."""

    ids: Sequence[str | None]
    active: frozenset[int]
    compacted: frozenset[int] = frozenset()

    def state(self, index: int) -> str:
        """Return the state of an entry: active, abandoned or compacted; abandoned if it is newer than the outline."""
        return "abandoned" if index not in self.active else "compacted" if index in self.compacted else "active"

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
