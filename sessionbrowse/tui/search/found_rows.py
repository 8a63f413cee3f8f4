"""The rows of a search in the session list: a session, and below it the entries in which it matches (hits)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.search.hits import Hit
from sessionbrowse.services.search.ranked_page import PER_SESSION, RankedSession
from sessionbrowse.tui.data.library import SessionRow


class HitRow(Struct, frozen=True):
    """The row of a hit; in the last row of a session, `more` is the number of its hits without a row."""

    hit: Hit
    more: int = 0

    @property
    def key(self) -> Hashable:
        """The key of the row, which identifies the row in later results of the same search."""
        return hit_key(self.hit)


FoundRow = SessionRow | HitRow


def hit_key(hit: Hit) -> tuple[str, int | None, str]:
    """Return the key of a hit's row: path of the session, index of the entry, role."""
    return (hit.path, hit.entry_index, hit.role)


def entry_hits(session: RankedSession) -> list[Hit]:
    """Return a session's hits without the match in its name, which the session's own row shows."""
    return [hit for hit in session.hits if hit.role != "name"]


def name_hit(session: RankedSession) -> Hit | None:
    """Return the match in a session's name; None if the name does not match."""
    return next((hit for hit in session.hits if hit.role == "name"), None)


def found_rows(
    sessions: Sequence[RankedSession], unfolded: Collection[str], summary_of: Callable[[Summary], Summary]
) -> list[FoundRow]:
    """Return the rows of found sessions: each with its best hits, or with all known ones if it is unfolded."""
    rows: list[FoundRow] = []
    for session in sessions:
        rows.append(SessionRow(summary_of(session.summary), found=session))
        hits = entry_hits(session)
        shown = hits if session.summary.path in unfolded else hits[:PER_SESSION]
        rows += [HitRow(hit) for hit in shown]
        if shown:
            rows[-1] = HitRow(shown[-1], len(hits) - len(shown) + session.more)
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
    before: Sequence[RankedSession], kept: int, after: Sequence[RankedSession], opened: Collection[str]
) -> list[RankedSession]:
    """Merge new results (`after`) into the shown results (`before`), so that rows above the cursor do not move.

    The first `kept` sessions of `before`, up to the session with the cursor, stay where they are. `opened` contains the
    paths of sessions of which all hits were requested; these stay known.
    """
    newer = {each.summary.path: each for each in after}
    top = [
        with_hits_kept(each, newer.pop(each.summary.path, None), grows=number == kept - 1)
        for number, each in enumerate(before[:kept])
    ]
    shown = {each.summary.path: each for each in before if each.summary.path in opened}
    return top + [with_hits_kept(shown[path], each) if path in shown else each for path, each in newer.items()]
