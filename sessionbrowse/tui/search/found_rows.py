"""The rows of a search in the session list: a session, and below it the entries in which it matches (hits)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.search.hits import Hit
from sessionbrowse.services.search.ranked_page import PER_SESSION, RankedSession
from sessionbrowse.text import clean, plural
from sessionbrowse.text import fit as fit_text
from sessionbrowse.tui.data.library import SessionRow
from sessionbrowse.tui.layout.parts import overlay, slice_line
from sessionbrowse.tui.paint.spans import Line, line_width, pad
from sessionbrowse.tui.shell.match_spans import apart

ROLES = {
    "bashExecution": "bash",
    "pythonExecution": "python",
    "toolCall": "call",
    "toolResult": "tool",
    "branch_summary": "summary",
    "compaction": "summary",
}
"""Short names of roles (kinds of entries), for roles whose own name is too long for a row."""
ROLE_LOOKS = {
    "user": "user",
    "assistant": "assistant",
    "toolCall": "tool",
    "toolResult": "tool",
    "bashExecution": "tool",
    "label": "label",
}
STATE_SIGNS = {"abandoned": "⌥", "compacted": "▒"}
"""Symbols for the state of entries that the model does not receive: on an abandoned branch, or compacted."""

_ROLE_CELLS, _NARROW_ROLE_CELLS, _STATE_CELLS = 10, 5, 10


def hit_row(hit: Hit, width: int, more: int = 0, more_key: str = "") -> Line:
    """Return the row of a hit: role, text around the matches, number of the entry's copies, state.

    `more` is the number of the session's hits without a row, which `more_key` shows.
    """
    looks = ROLE_LOOKS.get(hit.role, "title" if hit.role == "name" else "note")
    role = "⚑" if hit.role == "label" else clean(ROLES.get(hit.role, hit.role))
    cells = 2 if hit.role == "label" else _ROLE_CELLS if width >= 44 else _NARROW_ROLE_CELLS
    line: Line = [("  ", ""), *pad([(fit_text(role, cells - 1), looks)], cells)]
    signs: Line = []
    if hit.copies:
        copies = f"  also in {plural(hit.copies, 'copy', 'copies')}" if width >= 76 else f" ⧉{hit.copies}"
        signs.append((copies, "dim"))
    if hit.state in STATE_SIGNS:
        name = f" {hit.state:<{_STATE_CELLS}}" if width >= 100 else ""
        signs.append((f"{' ' * (1 + bool(name))}{STATE_SIGNS[hit.state]}{name}", "branch"))
    if more:
        signs.append((f"  +{more} more: {more_key}", "faint"))
    room = width - line_width(line) - line_width(signs)
    return [*line, *pad(snippet_spans(hit, room), room), *signs]


def snippet_spans(hit: Hit, room: int) -> Line:
    """Return a matching entry's text with highlighted matches, cut to `room` cells so that most matches are visible."""
    # Removed control characters shift the matches' positions in the text, so no match is highlighted then.
    shown = clean(hit.snippet)
    marks = hit.marks if len(shown) == len(hit.snippet) else ()
    line = overlay([(shown, "title" if hit.role == "name" else "dim")], apart(marks), "match")
    if line_width(line) <= room or not marks:
        return line
    first, last = max(
        [(begin, max(end for _, end in marks if end <= begin + room)) for begin, end in marks if end <= begin + room],
        key=lambda part: sum(part[0] <= begin and end <= part[1] for begin, end in marks),
        default=(marks[0][0], marks[0][0]),
    )
    begin = first - max(0, (room - (last - first)) // 2)
    # The beginning of a text tells most about it, so it is cut only if the matches do not fit after it.
    if begin <= 0 or last < room:
        return line
    # If the matches are near the end of the text, cut less at the left, so that the rest fills all `room` cells.
    begin = min(begin, max(0, len(shown) - room + 1))
    return [("…", "faint"), *slice_line(line, min(begin + 1, first), len(shown))]


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
