"""The rows of a tree, computed in the background; a long search shows hits near the cursor first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.model.search.patterns import FindFirst, first_spans
from sessionbrowse.model.search.query import parse_search
from sessionbrowse.model.search.relevance import terms_of
from sessionbrowse.model.search.session_search import search_session
from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree import rows as tree
from sessionbrowse.model.tree.rows import Rows, hit_rows
from sessionbrowse.tui.data.jobs import Job


class TreeState(Struct, frozen=True):
    """The state that decides which rows a tree has: name of the filter, search query, indexes of folded entries.

    With `whole`, the tree shows also the entries that do not match the query.
    """

    filter: str = "default"
    query: str = ""
    folded: frozenset[int] = frozenset()
    whole: bool = False


class TreeRows(Struct, frozen=True, eq=False):
    """A tree's rows for a filter, search and folds (`state`); `unfolded` also contains the rows in folded branches.

    `session` is None before the first rows. `hits` are the positions of the rows that match the query; `found` are the
    indexes of all entries that match it, even if filter or folds hide them. `searched` is the number of entries
    searched so far, None once all are. `some` is True if no entry has all terms of the query,
    so that the found entries have only some of them.
    """

    state: TreeState = TreeState()
    rows: Rows = Rows([])
    unfolded: Rows = Rows([])
    session: Session | None = None
    hits: list[int] = []
    found: Sequence[int] = ()
    searched: int | None = None
    some: bool = False

    @property
    def stops(self) -> list[int] | None:
        """The positions of the rows that the cursor may stand on; None if it may stand on all rows."""
        return self.hits if self.state.query and not self.state.whole else None

    def nearest(self, index: int | None) -> int | None:
        """Return `index` if that entry has a row, else the index of its nearest ancestor with a row, else None."""
        if self.session is None or not self.rows:
            return None
        while index is not None and index != ROOT and index not in self.rows.position_of:
            index = self.session.parents[index]
        return None if index == ROOT else index

    def parent_position(self, position: int) -> int | None:
        """Return the position of the row of the nearest ancestor that has a row; None if no ancestor has a row."""
        above = self.nearest(self.session.parents[self.rows[position].index]) if self.session is not None else None
        return None if above is None else self.rows.position_of[above]

    def branch_start(self, position: int) -> int:
        """Return the position of the first row of the branch with the row at `position`: a root has a branch, too."""
        while self.rows[position].connector is None and (above := self.parent_position(position)) is not None:
            position = above
        return position


FIRST_HITS = 100
"""Number of hits that fill a screen: a long search shows them at once, in the frame of the typed letter."""
FIRST_SECONDS, MORE_SECONDS = 0.012, 0.15
"""Seconds until a long search shows fewer hits, and until it shows further ones; the latter doubles each time."""
FRAME_SECONDS = 0.03
"""Seconds that the search pauses while its hits are painted: two busy threads would slow each other down."""
FIRST_ENTRIES, PART_ENTRIES = 50, 400
"""The search reads entries range by range: `FIRST_ENTRIES` entries in the first range, at most `PART_ENTRIES` later."""


def make_rows(
    session: Session,
    state: TreeState,
    before: TreeRows,
    job: Job,
    begin: int = 0,
    ready: Callable[[TreeRows], object] = lambda rows: None,
    find_first: FindFirst = first_spans,
) -> TreeRows | None:
    """Return a tree's rows for a filter, search and folds (`state`); None if the job was cancelled.

    `before` are the rows on the screen, whose hits are used again for the same query. A search begins at the entry
    `begin`, and sends the rows found so far to the screen by `job.emit`. `ready` is called with the rows before they
    are sent or returned. `find_first` searches the texts for regular expressions.

    Raises:
        BadSearch: the query is not valid.
    """
    is_known = before.session is session and before.searched is None
    made: TreeRows | None
    if is_known and replace(before.state, folded=state.folded) == state:
        made = _with_rows(session, replace(before, state=state), before.unfolded)
    elif is_known and before.state.query == state.query:
        made = _with_rows(session, replace(before, state=state))
    elif state.query:
        made = _search(session, state, job, begin, ready, find_first)
    else:
        made = _with_rows(session, TreeRows(state))
    if made is not None:
        ready(made)
    return made


def _search(
    session: Session, state: TreeState, job: Job, begin: int, ready: Callable[[TreeRows], object], find_first: FindFirst
) -> TreeRows | None:
    query = parse_search(state.query)
    entries = len(session.parents)
    found: list[int] = []
    some = False
    for some in (False, True) if len(terms_of(query)) > 1 else (False,):
        searched, enough, patience, due = 0, FIRST_HITS, MORE_SECONDS, time.monotonic() + FIRST_SECONDS
        for part in _parts(entries, begin):
            for _, more in search_session(session, query, part, job.cancelled, some=some, find_first=find_first):
                found += more
            searched += len(part)
            if job.cancelled():
                return None
            if found and searched < entries and (len(found) >= enough or time.monotonic() >= due):
                made = _with_rows(session, TreeRows(state, found=sorted(found), searched=searched, some=some))
                ready(made)
                job.emit(made)
                job.pause(FRAME_SECONDS)
                enough, due, patience = entries, time.monotonic() + patience, patience * 2
        if found:
            break
    return _with_rows(session, TreeRows(state, found=sorted(found), some=some and bool(found)))


def _with_rows(session: Session, made: TreeRows, unfolded: Rows | None = None) -> TreeRows:
    """Return the result with its rows computed from its state and its found entries, or from the `unfolded` rows."""
    state = made.state
    if unfolded is None:
        wanted = made.found if state.query and not state.whole else None
        unfolded = tree.rows(session, state.filter, keep_ancestors=True, hits=wanted)
    rows = unfolded.with_folded(state.folded)
    hits = hit_rows(session, state.filter, made.found) if made.found else ()
    positions = sorted([rows.position_of[index] for index in hits if index in rows.position_of])
    return replace(made, session=session, unfolded=unfolded, rows=rows, hits=positions)


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
