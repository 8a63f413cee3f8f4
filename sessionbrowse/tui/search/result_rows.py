"""The rows of search results: for each session a title, its matching entries, and a row "… more hits"."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.services.search.hits import Hit
from sessionbrowse.services.search.ranked_page import RankedSession


class ResultRow(Struct, frozen=True):
    """A row of the search results: a matching entry (`hit`), a session's title, or "… more hits" (`is_more`)."""

    session: RankedSession
    hit: Hit | None = None
    is_more: bool = False

    @property
    def key(self) -> Hashable:
        """The key of the row, which identifies the row in later results of the same search."""
        path = self.session.summary.path
        if self.hit is not None:
            return hit_key(self.hit)
        return ("more" if self.is_more else "session", path)

    @property
    def best(self) -> Hit | None:
        """The row's matching entry; for a title row the session's best match; None for the row "… more hits"."""
        if self.is_more:
            return None
        return self.hit or next(iter(entry_hits(self.session)), self.session.hits[0])


def entry_hits(session: RankedSession) -> list[Hit]:
    """Return a session's matching entries, without the match in the session's name, which the title row shows."""
    return [hit for hit in session.hits if hit.role != "name"]


def name_hit(session: RankedSession) -> Hit | None:
    """Return the match in a session's name; None if the name does not match."""
    return next((hit for hit in session.hits if hit.role == "name"), None)


def hit_key(hit: Hit) -> tuple[str, int | None, str]:
    """Return the key of a matching entry's row: path of the session, index of the entry, role."""
    return (hit.path, hit.entry_index, hit.role)


def rows_of(sessions: Sequence[RankedSession]) -> list[ResultRow]:
    """Return the rows of found sessions: for each a title, its matching entries, and "… more hits" if there are any."""
    rows: list[ResultRow] = []
    for session in sessions:
        rows.append(ResultRow(session))
        rows += [ResultRow(session, hit) for hit in entry_hits(session)]
        if session.more:
            rows.append(ResultRow(session, is_more=True))
    return rows


def with_hits_kept(before: RankedSession, after: RankedSession | None, *, grows: bool = True) -> RankedSession:
    """Return a session's new search result (`after`), but keep the entries of the shown one (`before`) first.

    If `grows` is True, entries that only `after` has follow; else they are left out. If the new results do not contain
    the session (`after` is None), return `before`.
    """
    if after is None:
        return before
    newer = {hit_key(hit): hit for hit in after.hits}
    hits = [newer.pop(hit_key(hit), hit) for hit in before.hits]
    if not grows:
        return replace(after, hits=hits, more=before.more)
    total = len(after.hits) + after.more
    hits += newer.values()
    return replace(after, hits=hits, more=max(0, total - len(hits)))


def merged(
    before: Sequence[RankedSession], kept: int, after: Sequence[RankedSession], opened: frozenset[str]
) -> list[RankedSession]:
    """Merge new results (`after`) into the shown results (`before`), so that rows above the cursor do not move.

    The first `kept` sessions of `before`, up to the session with the cursor, stay where they are. `opened` contains the
    paths of sessions of which the user requested more entries; the shown entries of these sessions stay shown.
    """
    newer = {each.summary.path: each for each in after}
    top = [
        with_hits_kept(each, newer.pop(each.summary.path, None), grows=number == kept - 1)
        for number, each in enumerate(before[:kept])
    ]
    shown = {each.summary.path: each for each in before if each.summary.path in opened}
    return top + [with_hits_kept(shown[path], each) if path in shown else each for path, each in newer.items()]
