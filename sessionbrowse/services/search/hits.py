"""The results of a search: hits and checkpoints, and the JSON form of a hit."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.patterns import MatchSpan
from sessionbrowse.model.search.query import snippet

MATCHES = ("exact", "forms", "session", "some", "typo")
"""Ways of matching, the best first: all terms as typed in one entry, in other forms, in several entries of a session,
not all terms, and a misspelt word."""
NAME_SCORE, LABEL_SCORE, TEXT_SCORE, NEAR_SCORE = 3.0, 2.0, 1.0, 0.0
_SCORE_SPAN_MS = 1e13
"""Divisor of a time in milliseconds since 1970, so that recency adds less than one to a score."""


class Hit(Struct, frozen=True):
    """A search result: an entry, or a session found by its name (`entry_index` is None).

    `state` is active, abandoned or compacted. `marks` are the spans of the matches in `snippet`. `time_ms` is the time
    of the entry, None if it has none. `match` is one of MATCHES; `copies` counts other files with the same entry.
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
    """A label and its entry; `time_ms` is when the label was set, `preview` is the entry's text in the tree."""

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


def session_hit(summary: Summary, title: str, spans: list[MatchSpan], score: float, match: str = "exact") -> Hit:
    """Return the hit for a session that was found by its title."""
    return entry_hit(summary, None, None, "name", "active", title, spans, score, summary.modified, match)


def entry_hit(
    summary: Summary,
    index: int | None,
    entry_id: str | None,
    role: str,
    state: str,
    text: str,
    spans: list[MatchSpan],
    score: float,
    time_ms: float | None,
    match: str = "exact",
) -> Hit:
    """Return the hit for an entry, with a snippet of its text around the first match."""
    line, marks = snippet(text, spans)
    return Hit(
        path=summary.path,
        id=summary.id,
        agent=summary.agent,
        cwd=summary.cwd,
        name=summary.name,
        entry_index=index,
        entry_id=entry_id,
        role=role,
        state=state,
        snippet=line,
        marks=marks,
        score=round(score + min(max(summary.modified or 0, 0) / _SCORE_SPAN_MS, 0.999), 6),
        time_ms=time_ms,
        match=match,
    )


def hit_document(hit: Hit) -> dict[str, object]:
    """Return a hit as a JSON document."""
    document = {key: getattr(hit, key) for key in _SHOWN}
    return document | {"marks": [list(mark) for mark in hit.marks]}


_SHOWN = ("path", "id", "agent", "cwd", "entry_id", "role", "state", "snippet", "score", "match", "copies")
HIT_FIELDS = (*_SHOWN, "marks")
"""Keys of a hit as a JSON document."""
