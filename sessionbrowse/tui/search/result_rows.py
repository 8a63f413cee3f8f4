"""The rows of search results: each session's head, its hits, and a row for more hits."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.services.search.hits import Hit
from sessionbrowse.services.search.ranked_page import RankedSession


class ResultRow(Struct, frozen=True):
    """A row of the results: a hit, or without one the head of a session, or the row that shows more hits."""

    session: RankedSession
    hit: Hit | None = None
    is_more: bool = False

    @property
    def key(self) -> Hashable:
        """The key of the row, which stays the same while other hits come."""
        path = self.session.summary.path
        if self.hit is not None:
            return hit_key(self.hit)
        return ("more" if self.is_more else "session", path)

    @property
    def best(self) -> Hit | None:
        """The hit that the row stands for: its own, or for a head the session's best; None for the row for more."""
        if self.is_more:
            return None
        return self.hit or next(iter(entry_hits(self.session)), self.session.hits[0])

    @property
    def is_result(self) -> bool:
        """True for a hit, and for the head of a session that was found only by its name."""
        return self.hit is not None or not (self.is_more or entry_hits(self.session))


def entry_hits(session: RankedSession) -> list[Hit]:
    """Return the hits that have a row of their own; a name that matches is marked in the session's head."""
    return [hit for hit in session.hits if hit.role != "name"]


def name_hit(session: RankedSession) -> Hit | None:
    """Return the hit in a session's name."""
    return next((hit for hit in session.hits if hit.role == "name"), None)


def hit_key(hit: Hit) -> tuple[str, int | None, str]:
    """Return the key of a hit's row."""
    return (hit.path, hit.entry_index, hit.role)


def rows_of(sessions: Sequence[RankedSession]) -> list[ResultRow]:
    """Return the rows of sessions."""
    rows: list[ResultRow] = []
    for session in sessions:
        rows.append(ResultRow(session))
        rows += [ResultRow(session, hit) for hit in entry_hits(session)]
        if session.more:
            rows.append(ResultRow(session, is_more=True))
    return rows


def with_hits_kept(before: RankedSession, after: RankedSession | None, *, grows: bool = True) -> RankedSession:
    """Return a session whose known hits keep their places; new ones follow them if it `grows`."""
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
    """Return new results in which the first `kept` sessions, with the cursor in the last of them, keep their places.

    Of sessions in `opened` all hits that were shown stay.
    """
    newer = {each.summary.path: each for each in after}
    top = [
        with_hits_kept(each, newer.pop(each.summary.path, None), grows=number == kept - 1)
        for number, each in enumerate(before[:kept])
    ]
    shown = {each.summary.path: each for each in before if each.summary.path in opened}
    return top + [with_hits_kept(shown[path], each) if path in shown else each for path, each in newer.items()]
