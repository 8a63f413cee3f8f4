"""Compute the rows of a tree in the background; a search shows the hits near the cursor first, then further hits."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from sessionbrowse.model.search.session_search import search_session
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree import rows as tree
from sessionbrowse.tui.data.jobs import Job
from sessionbrowse.tui.session.state import TreeRows, TreeState

FIRST_SECONDS = 0.008
"""Seconds after which a search shows its first hits, unless all hits are expected within `SOON_SECONDS`."""
SOON_SECONDS = 0.05
MORE_SECONDS = 0.15
"""Seconds until a long search shows further hits; the interval doubles each time."""
FRAME_SECONDS = 0.03
"""Seconds that the search pauses while its hits are painted: two busy threads would slow each other down."""
FIRST_ENTRIES, PART_ENTRIES = 25, 100
"""The search reads entries range by range: `FIRST_ENTRIES` entries in the first range, at most `PART_ENTRIES` later."""


def make_rows(
    session: Session,
    state: TreeState,
    before: TreeRows | None,
    job: Job,
    cursor: int | None = None,
    room: tuple[int, int] = (1, 1),
    ready: Callable[[TreeRows], object] = lambda rows: None,
) -> TreeRows | None:
    """Return a tree's rows for a filter, search and folds (`state`); None if the job was cancelled.

    A search sends the rows found so far to the screen by `job.emit`. `before` are the rows on the screen: if the query
    only got longer, only the entries that matched the shorter query are searched (for omp all entries, because omp's
    fuzzy search may find further entries). The search begins at the entry `cursor`; `room` contains the numbers of
    screen rows above and below the cursor. `ready` is called with the rows before they are sent or returned.
    """
    before = _usable(session, state.query, before)
    made = _rows_without_search(session, state, before)
    if made is None:
        made = _search(session, state, before, job, cursor, room, ready)
    if made is not None:
        ready(made)
    return made


def _rows_without_search(session: Session, state: TreeState, before: TreeRows | None) -> TreeRows | None:
    """Return the rows if there is no query, or if the earlier rows `before` are for the same query; else None."""
    if before is not None and (state.filter, state.query) == (before.state.filter, before.state.query):
        return replace(before, state=state, rows=before.unfolded.with_folded(state.folded))
    if not state.query:
        unfolded = tree.rows(session, state.filter, keep_ancestors=True)
        return TreeRows(state, unfolded.with_folded(state.folded), unfolded, session)
    if before is not None and state.query == before.state.query:
        return _found_rows(session, state, before.found, before.entries, before.entries, before.earlier)
    return None


def _search(
    session: Session,
    state: TreeState,
    before: TreeRows | None,
    job: Job,
    cursor: int | None,
    room: tuple[int, int],
    ready: Callable[[TreeRows], object],
) -> TreeRows | None:
    among: Sequence[int] = range(len(session.parents))
    if before is not None and before.state.query and session.rules.tree != "omp":
        among = before.found
    found: dict[int, list[int]] = {}
    searched, is_first, patience = 0, True, MORE_SECONDS
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
        searched += len(part)
        was_full, is_full = screen.is_full, screen.fill(part, len(found[part.start]))
        if searched == len(among):
            break
        now = time.monotonic()
        ends_soon = (now - started) * len(among) <= SOON_SECONDS * searched
        # Show the rows found so far only at intervals, because painting slows the search; but show them at once when
        # the hits fill the screen.
        if (now >= due and not (is_first and ends_soon)) or (is_full and not was_full):
            made = _found_rows(session, state, _in_order(found), searched, len(among), before)
            ready(made)
            job.emit(made)
            job.pause(FRAME_SECONDS if is_full else FRAME_SECONDS / 3)
            due, patience = time.monotonic() + patience, patience * 2
            is_first = False
    return _found_rows(session, state, _in_order(found), len(among), len(among), before)


class _Screen:
    """Counts the hits found so far, to detect when the hits fill the screen above and below the cursor."""

    def __init__(self, entries: int, at: int, room: tuple[int, int]) -> None:
        self._at = at
        self._unseen = [at, entries - at]
        self._room = list(room)

    @property
    def is_full(self) -> bool:
        """True if further hits cannot change the rows on the screen."""
        return all(room <= 0 or not unseen for room, unseen in zip(self._room, self._unseen, strict=True))

    def fill(self, part: range, hits: int) -> bool:
        """Count the hits of a searched range; return True if the hits fill the screen."""
        side = int(part.start >= self._at)
        self._room[side] -= hits
        self._unseen[side] -= len(part)
        return self.is_full


def _usable(session: Session, query: str, rows: TreeRows | None) -> TreeRows | None:
    """Return the newest result of a finished search for `query` or for a beginning of `query`; None if there is none.

    Each result refers by `earlier` to an older result; `rows` is the newest.
    """
    while rows is not None and not (rows.session is session and rows.finished and query.startswith(rows.state.query)):
        rows = rows.earlier
    return rows


def _parts(count: int, at: int) -> Iterator[range]:
    """Yield ranges that cover the positions 0 to `count`, starting next to `at`, alternately above and below `at`."""
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


def _found_rows(
    session: Session, state: TreeState, found: Sequence[int], searched: int, entries: int, earlier: TreeRows | None
) -> TreeRows:
    unfolded = tree.rows(session, state.filter, keep_ancestors=True, hits=found)
    rows = unfolded.with_folded(state.folded)
    is_finished = searched == entries
    return TreeRows(state, rows, unfolded, session, tuple(found), searched, entries, is_finished, earlier)
