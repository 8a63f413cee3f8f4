"""The search in a tree: found in the background, shown as it comes, narrowed by the next letter."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec import Struct

from sessionbrowse.model import tree
from sessionbrowse.model.inside import found_inside
from sessionbrowse.model.session import Session
from sessionbrowse.tui.jobs import Job

FIRST_SECONDS = 0.15
"""Rows of a search that takes longer are shown from then on, each time after twice as long."""


class TreeState(Struct, frozen=True):
    """What the rows of a tree depend on."""

    filter: str = "default"
    query: str = ""
    folded: frozenset[int] = frozenset()


class TreeRows(Struct, frozen=True):
    """The rows that belong to a state. `found` are all entries that hold the query, shown or not.

    `behind` of the `entries` were looked at; all of them where `finished`.
    """

    state: TreeState
    rows: tree.Rows
    session: Session
    found: Sequence[int] = ()
    behind: int = 0
    entries: int = 0
    finished: bool = True


def make_rows(session: Session, state: TreeState, before: TreeRows | None, job: Job) -> TreeRows | None:
    """Return the rows of a state, handing over what is found so far now and then; None if nobody waits any more.

    `before` are the rows on the screen: what they do not hold, a longer query does not find either.
    """
    if not state.query:
        return TreeRows(state, _rows(session, state, None), session)
    among: Sequence[int] = range(len(session.parents))
    if before is not None and before.session is session and before.state.query and before.finished:
        if state.query == before.state.query:
            return _made(session, state, before.found, before.entries, before.entries, finished=True)
        if state.query.startswith(before.state.query) and session.rules.tree != "omp":
            among = before.found
    found: list[int] = []
    patience = FIRST_SECONDS
    due = time.monotonic() + patience
    for behind, more in found_inside(session, state.query, among, job.cancelled):
        found += more
        if time.monotonic() >= due:
            job.emit(_made(session, state, found, behind, len(among), finished=False))
            patience *= 2
            due = time.monotonic() + patience
    if job.cancelled():
        return None
    return _made(session, state, found, len(among), len(among), finished=True)


def _made(
    session: Session, state: TreeState, found: Sequence[int], behind: int, entries: int, *, finished: bool
) -> TreeRows:
    return TreeRows(state, _rows(session, state, found), session, tuple(found), behind, entries, finished)


def _rows(session: Session, state: TreeState, hits: Sequence[int] | None) -> tree.Rows:
    return tree.rows(session, state.filter, "", state.folded, keep_ancestors=True, hits=hits)
