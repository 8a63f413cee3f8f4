"""The trees and labels of the sessions that a search comes by, read when they are asked for and kept for a while."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree.entry_states import EntryStates
from sessionbrowse.store.index.index import Index
from sessionbrowse.store.index.indexed_session import session_from_index
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.text import parse_time

KEPT_TREES = 4
"""Hits come session by session: few are needed at once."""


class Label(Struct, frozen=True):
    """A label of a session: the entry that bears it, when it was set, and when the entry was said."""

    index: int
    entry_id: str | None
    text: str
    time_ms: float | None
    said_ms: float | None


class Tree:
    """A session, and in which state its entries are."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @cached_property
    def _states(self) -> EntryStates:
        return EntryStates(self.session)

    def state(self, index: int) -> str:
        """Return the state of an entry; one that came since is abandoned."""
        return self._states.of(index)

    def entry_id(self, index: int) -> str | None:
        """Return the id of an entry, None where it has none."""
        ids = self.session.ids
        return ids[index] if index < len(ids) else None

    def said_places(self) -> list[tuple[int, int, int]]:
        """Return index, offset and size of the entries that may say something, the last one first."""
        session = self.session
        return [
            (index, session.offsets[index], session.sizes[index])
            for index in range(len(session.ids) - 1, -1, -1)
            if session.kind(index).role != "toolResult"
        ]

    def labels(self) -> list[Label]:
        """Return the labels, that of the latest entry first."""
        session = self.session
        return [
            Label(
                index,
                self.entry_id(index),
                mark.text,
                _milliseconds(mark.time),
                _milliseconds(session.envelopes[index].timestamp),
            )
            for index, mark in sorted(session.labels.items(), reverse=True)
        ]


class Trees:
    """The trees of sessions by an index, or from their files where it has none; labels of what changed are read anew.

    `before` are those of an earlier gathering.
    """

    def __init__(self, index: Index | None, before: Trees | None = None) -> None:
        self._index = index
        self._trees: dict[str, Tree] = {}
        self._labels: dict[str, tuple[object, list[Label]]] = before._labels if before else {}

    def tree(self, summary: Summary) -> Tree | None:
        """Return a session's tree; None if it cannot be read."""
        tree = self._trees.get(summary.path)
        if tree is None:
            try:
                session = session_from_index(self._index, summary.path, summary.agent) if self._index else None
                tree = Tree(session or open_session(summary.path, summary.agent))
            except SessionBrowseError:
                return None
            while len(self._trees) >= KEPT_TREES:
                self._trees.pop(next(iter(self._trees)))
            self._trees[summary.path] = tree
        return tree

    def knows_labels(self, summary: Summary) -> bool:
        """Whether the labels of a session as it is were read already."""
        known = self._labels.get(summary.path)
        return known is not None and known[0] == version_of(summary)

    def labels(self, summary: Summary) -> list[Label]:
        """Return the labels of a session, that of the latest entry first."""
        known = self._labels.get(summary.path)
        if known is not None and known[0] == version_of(summary):
            return known[1]
        tree = self.tree(summary)
        found = tree.labels() if tree is not None else []
        self._labels[summary.path] = (version_of(summary), found)
        return found


def _milliseconds(stamp: str | float | None) -> float | None:
    return parse_time(stamp) if isinstance(stamp, str) else stamp


def version_of(summary: Summary) -> object:
    """Return what is another value when the file changed."""
    return (summary.bytes, summary.modified, summary.mtime_ns, summary.labels)
