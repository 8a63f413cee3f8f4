"""Read and cache the states and labels of the entries of sessions in which a search has found hits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.tree.entry_states import EntryStates
from sessionbrowse.services.search.hits import Checkpoint
from sessionbrowse.store.index.rows import ORDINARY, FileRow, StoredEntries
from sessionbrowse.text import time_ms

if TYPE_CHECKING:
    from sessionbrowse.model.session.session import Session

KEPT_OUTLINES = 200
"""Maximum number of cached outlines; the next letter of a query needs them again."""


class SessionTreeCache:
    """Reads and caches the outlines and labels of sessions, until the sessions change.

    Those cached in `before`, an earlier cache, are reused.
    """

    def __init__(self, before: SessionTreeCache | None = None) -> None:
        self._labels: dict[str, tuple[object, list[Checkpoint]]] = before._labels if before else {}
        self._outlines: dict[str, tuple[object, EntryOutline]] = before._outlines if before else {}

    def outline(self, summary: Summary, indexed: tuple[FileRow, StoredEntries] | None = None) -> EntryOutline | None:
        """Return the ids and states of a session's entries: from the index where that is enough, else from the file.

        Return None if the file cannot be read.
        """
        version, known = _version_of(summary), self._outlines.get(summary.path)
        if known is not None and known[0] == version:
            return known[1]
        found = outline_of(*indexed) if indexed is not None else None
        if found is None:
            try:
                found = outline_in(_opened(summary))
            except SessionBrowseError:
                return None
        self._outlines[summary.path] = version, found
        if len(self._outlines) > KEPT_OUTLINES:
            del self._outlines[next(iter(self._outlines))]
        return found

    def knows_labels(self, summary: Summary) -> bool:
        """Return True if the labels of the session are cached and the session has not changed since."""
        known = self._labels.get(summary.path)
        return known is not None and known[0] == _version_of(summary)

    def labels(self, summary: Summary) -> list[Checkpoint]:
        """Return the checkpoints of a session, in reverse file order."""
        if not self.knows_labels(summary):
            try:
                found = checkpoints_in(_opened(summary), summary)
            except SessionBrowseError:
                found = []
            self._labels[summary.path] = (_version_of(summary), found)
        return self._labels[summary.path][1]


def _opened(summary: Summary) -> Session:
    # Imported here for a faster start, because most searches open no session.
    from sessionbrowse.store.read.session_file import open_session

    return open_session(summary.path, summary.agent)


def checkpoints_in(session: Session, summary: Summary) -> list[Checkpoint]:
    """Return the checkpoints of an opened session, in reverse file order."""
    # Imported here for a faster start, because most searches need no label.
    from sessionbrowse.model.tree.rows import row_text

    own, outline = (summary.path, summary.id, summary.agent, summary.cwd, summary.name), outline_in(session)
    return [
        Checkpoint(
            *own,
            index,
            outline.entry_id(index),
            mark.text,
            time_ms(mark.time),
            outline.state(index),
            row_text(session, index),
            time_ms(session.envelopes[index].timestamp),
        )
        for index, mark in sorted(session.labels.items(), reverse=True)
    ]


def _version_of(summary: Summary) -> object:
    """Return a value that changes whenever the session file changes."""
    return (summary.bytes, summary.modified, summary.mtime_ns, summary.labels)


class EntryOutline(Struct, frozen=True):
    """The entry ids of a session, the indexes of the entries on its active branch, and those of them compacted."""

    ids: Sequence[str | None]
    active: Container[int]
    compacted: Container[int] = ()

    def state(self, index: int) -> str:
        """Return the state of an entry: active, abandoned or compacted; abandoned if it is newer than the outline."""
        return "abandoned" if index not in self.active else "compacted" if index in self.compacted else "active"

    def entry_id(self, index: int) -> str | None:
        """Return the id of an entry; None if it was written after the session was indexed."""
        return self.ids[index] if index < len(self.ids) else None


def outline_in(session: Session) -> EntryOutline:
    """Return the entry ids and states of an opened session."""
    states = EntryStates(session)
    return EntryOutline(session.ids, states.active, states.compacted)


def outline_of(row: FileRow, entries: StoredEntries) -> EntryOutline | None:
    """Return the entry ids and states of an indexed session; None if its file must be read for them."""
    ids, count = entries.ids, len(entries.ids)
    by_id = dict(zip(ids, range(count), strict=True))
    if row.kind != ORDINARY or not ids or not ids[-1] or None in by_id or len(by_id) < count:
        return None
    if entries.boundaries is None or (entries.boundaries and RULES[row.summary.agent].context == "atomic"):
        return None
    # The index is not enough if the file continues after the last indexed entry: it may have newer entries.
    if entries.end != row.size:
        return None
    # In a session without branches and compactions, as most are, all entries are on the active branch.
    if not entries.parents and not entries.boundaries:
        return EntryOutline(ids, range(count))
    # The active branch consists of runs of entries that follow each other in the file, each the parent of the next one.
    begins, runs = [0, *sorted(entries.parents)], list[range]()
    entry_id: str | None = ids[-1]
    while entry_id is not None:
        last = by_id.get(entry_id, count)
        if last >= (runs[-1].start if runs else count):
            return None
        runs.append(range(begins[bisect_right(begins, last) - 1], last + 1))
        entry_id = entries.parents.get(runs[-1].start)
    active = [index for run in runs for index in reversed(run)]
    return EntryOutline(ids, frozenset(active), frozenset(_compacted(active, entries.boundaries, by_id)))


def _compacted(active: list[int], boundaries: dict[int, str | None], by_id: Mapping[str | None, int]) -> list[int]:
    """Return the entries that a compaction has replaced; `active` is the active branch, from the leaf to the root."""
    place = next((place for place, index in enumerate(active) if index in boundaries), None) if boundaries else None
    if place is None:
        return []
    before = active[place + 1 :]
    kept = by_id.get(boundaries[active[place]])
    return before[before.index(kept) + 1 :] if kept in before else before
