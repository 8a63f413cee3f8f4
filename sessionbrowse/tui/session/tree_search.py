"""The search in a tree: found in the background, shown as it comes, narrowed by the next letter."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.model.search.session_search import search_session
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree import rows as tree
from sessionbrowse.tui.shell.jobs import Job

FIRST_SECONDS = 0.008
"""What is found by then around the cursor, be it nothing, is shown, unless all is looked at soon."""
SOON_SECONDS = 0.05
MORE_SECONDS = 0.15
"""What is found of a longer search is shown from then on, each time after twice as long."""
FRAME_SECONDS = 0.03
"""What was handed over is painted before the search goes on: two threads would take turns."""
FIRST_ENTRIES, PART_ENTRIES = 25, 100
"""Entries that are looked at before those further away from the cursor: at first few, since common words fill a screen.
"""


class TreeState(Struct, frozen=True):
    """What the rows of a tree depend on."""

    filter: str = "default"
    query: str = ""
    folded: frozenset[int] = frozenset()


class TreeRows(Struct, frozen=True):
    """The rows that belong to a state, and as they are where nothing is folded.

    `found` are all entries that hold the query, shown or not. `behind` of the `entries` were looked at; all of them
    where `finished`. `earlier` are finished rows of a query that begins this one.
    """

    state: TreeState
    rows: tree.Rows
    unfolded: tree.Rows
    session: Session
    found: Sequence[int] = ()
    behind: int = 0
    entries: int = 0
    finished: bool = True
    earlier: TreeRows | None = None


def make_rows(
    session: Session,
    state: TreeState,
    before: TreeRows | None,
    job: Job,
    cursor: int | None = None,
    room: tuple[int, int] = (1, 1),
) -> TreeRows | None:
    """Return the rows of a state, handing over what is found so far now and then; None if nobody waits any more.

    `before` are the rows on the screen: what they do not hold, a longer query does not find either. What is looked
    for is looked for around the entry `cursor` first, until the rows above and below it (`room`) are full.
    """
    before = _known(session, state.query, before)
    if before is not None and (state.filter, state.query) == (before.state.filter, before.state.query):
        return replace(before, state=state, rows=before.unfolded.with_folded(state.folded))
    if not state.query:
        unfolded = _unfolded(session, state, None)
        return TreeRows(state, unfolded.with_folded(state.folded), unfolded, session)
    if before is not None and state.query == before.state.query:
        return _made(session, state, before.found, before.entries, before.entries, before.earlier)
    among: Sequence[int] = range(len(session.parents))
    if before is not None and before.state.query and session.rules.tree != "omp":
        among = before.found
    found: dict[int, list[int]] = {}
    behind, is_first, patience = 0, True, MORE_SECONDS
    at = bisect_left(among, cursor) if cursor is not None else len(among)
    screen = _Screen(len(among), at, room)
    started = time.monotonic()
    due = started + FIRST_SECONDS
    for part in _parts(len(among), at):
        found[part.start] = []
        for _, more in search_session(session, state.query, among[part.start : part.stop], job.cancelled):
            found[part.start] += more
        if job.cancelled():
            return None
        behind += len(part)
        was_full, is_full = screen.is_full, screen.fill(part, len(found[part.start]))
        if behind == len(among):
            break
        now = time.monotonic()
        is_due = now >= due and not (is_first and (now - started) * len(among) <= SOON_SECONDS * behind)
        # A screen that is not full yet changes when it is, and then not for a while.
        if is_due or (is_full and not was_full):
            job.emit(_made(session, state, _in_order(found), behind, len(among), before))
            job.pause(FRAME_SECONDS if is_full else FRAME_SECONDS / 3)
            due, patience = time.monotonic() + patience, patience * 2
            is_first = False
    return _made(session, state, _in_order(found), len(among), len(among), before)


class _Screen:
    """Whether what was found fills the rows above and below the cursor."""

    def __init__(self, entries: int, at: int, room: tuple[int, int]) -> None:
        self._at = at
        self._unseen = [at, entries - at]
        self._room = list(room)

    @property
    def is_full(self) -> bool:
        """Whether nothing that is found yet changes what is on the screen."""
        return all(room <= 0 or not unseen for room, unseen in zip(self._room, self._unseen, strict=True))

    def fill(self, part: range, hits: int) -> bool:
        """Add the hits of a part; return whether the screen is full."""
        side = int(part.start >= self._at)
        self._room[side] -= hits
        self._unseen[side] -= len(part)
        return self.is_full


def _known(session: Session, query: str, rows: TreeRows | None) -> TreeRows | None:
    """Return the rows, or those before them, that are finished and of a query that begins the new one."""
    while rows is not None and not (rows.session is session and rows.finished and query.startswith(rows.state.query)):
        rows = rows.earlier
    return rows


def _parts(count: int, at: int) -> Iterator[range]:
    """Yield ranges that make up all places, those next to `at` first, by turns above and below it."""
    above, below, size = at, at, FIRST_ENTRIES
    while above > 0 or below < count:
        if above > 0:
            above, end = max(0, above - size), above
            yield range(above, end)
        if below < count:
            start, below = below, min(count, below + size)
            yield range(start, below)
        size = min(size * 2, PART_ENTRIES)


def _in_order(found: dict[int, list[int]]) -> list[int]:
    return [index for start in sorted(found) for index in found[start]]


def _made(
    session: Session, state: TreeState, found: Sequence[int], behind: int, entries: int, earlier: TreeRows | None
) -> TreeRows:
    unfolded = _unfolded(session, state, found)
    rows = unfolded.with_folded(state.folded)
    return TreeRows(state, rows, unfolded, session, tuple(found), behind, entries, behind == entries, earlier)


def _unfolded(session: Session, state: TreeState, hits: Sequence[int] | None) -> tree.Rows:
    return tree.rows(session, state.filter, keep_ancestors=True, hits=hits)
