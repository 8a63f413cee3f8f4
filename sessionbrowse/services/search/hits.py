"""Data classes for search results (hits) and checkpoints, and the JSON document of a hit."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.patterns import MatchSpan
from sessionbrowse.store.own.mirrors import place_document

MATCHES = ("exact", "forms", "session", "some", "typo")
"""The match classes of search results, best first.

- exact: one entry contains all terms as typed.
- forms: one entry contains all terms, some in another word form.
- session: the terms are in several entries of a session.
- some: not all terms were found.
- typo: a misspelt word was corrected.
"""
DONE_ROLE = "toolCall"
"""The role of an answer that was found by its tool calls."""
NAME_SCORE, LABEL_SCORE, TEXT_SCORE, NEAR_SCORE = 3.0, 2.0, 1.0, 0.0
_SCORE_SPAN_MS = 1e13
"""Times in milliseconds since 1970 are divided by this number, so that recency adds less than one to a score."""


class Hit(Struct, frozen=True):
    """A search result: an entry, or a session found by its name (`entry_index` is None).

    `state` is active, abandoned or compacted. `marks` are the positions (begin, end) of the matches in `snippet`.
    `time_ms` is the entry's time in milliseconds, None if unknown. `match` is one of MATCHES. `copies` counts other
    session files with the same entry.
    """

    path: str
    id: str | None
    agent: str
    cwd: str
    name: str | None
    entry_index: int | None
    entry_id: str | None
    role: str
    state: str
    snippet: str
    marks: tuple[MatchSpan, ...]
    score: float
    time_ms: float | None = None
    match: str = "exact"
    copies: int = 0


class Checkpoint(Struct, frozen=True):
    """A label with its session and entry.

    `time_ms` is the time in milliseconds at which the label was set, `entry_ms` that of the entry. `preview` is the
    text of the entry's tree row.
    """

    path: str
    id: str | None
    agent: str
    cwd: str
    session: str | None
    entry_index: int
    entry_id: str | None
    label: str
    time_ms: float | None
    state: str
    preview: str
    entry_ms: float | None = None


def entry_hit(
    summary: Summary,
    index: int | None,
    entry_id: str | None,
    role: str,
    state: str,
    shown: tuple[str, tuple[MatchSpan, ...]],
    score: float,
    time_ms: float | None,
    match: str = "exact",
    copies: int = 0,
) -> Hit:
    """Return the search result for an entry, or for a session found by its name; `shown` is the snippet with marks."""
    own = (summary.path, summary.id, summary.agent, summary.cwd, summary.name)
    return Hit(*own, index, entry_id, role, state, *shown, score, time_ms, match, copies)


def recent_score(summary: Summary, score: float) -> float:
    """Return a score increased by less than 1 for a recent session."""
    return round(score + min(max(summary.modified or 0, 0) / _SCORE_SPAN_MS, 0.999), 6)


def hit_document(hit: Hit) -> dict[str, object]:
    """Return a search result as a JSON document with the keys `HIT_FIELDS`."""
    document = {key: getattr(hit, key) for key in _SHOWN}
    return document | place_document(hit.path, hit.cwd) | {"marks": [list(mark) for mark in hit.marks]}


_SHOWN = ("path", "id", "agent", "cwd", "entry_id", "role", "state", "snippet", "score", "match", "copies")
HIT_FIELDS = (*_SHOWN, "machine", "marks")
"""The keys of a search result's JSON document."""
