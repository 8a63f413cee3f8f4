"""What a search answers: hits, checkpoints, and the documents that `search` prints."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.patterns import Span
from sessionbrowse.model.search.query import snippet

NAME_SCORE, LABEL_SCORE, TEXT_SCORE, NEAR_SCORE = 3.0, 2.0, 1.0, 0.0
_SCORE_SPAN_MS = 1e13
"""Recency adds less than one to a score: milliseconds since 1970, divided by this."""


class Hit(Struct, frozen=True):
    """An entry that was found, or a session by its name (`entry_index` None).

    `state` is active, abandoned or compacted. `marks` are the places of the matches in `snippet`. `time_ms` is when it
    was said, None where the entry does not tell.
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
    marks: tuple[Span, ...]
    score: float
    time_ms: float | None = None


class Checkpoint(Struct, frozen=True):
    """A label of a session, and the entry that bears it. `time_ms` is when it was set, `preview` the entry's row."""

    path: str
    id: str | None
    agent: str
    cwd: str
    session: str | None
    entry_index: int
    entry_id: str | None
    label: str
    time_ms: float | None
    said_ms: float | None
    state: str
    preview: str


def session_hit(summary: Summary, title: str, spans: list[Span], score: float) -> Hit:
    """Return the hit of a session by its title."""
    return entry_hit(summary, None, None, "name", "active", title, spans, score, summary.modified)


def entry_hit(
    summary: Summary,
    index: int | None,
    entry_id: str | None,
    role: str,
    state: str,
    text: str,
    spans: list[Span],
    score: float,
    time_ms: float | None,
) -> Hit:
    """Return the hit of an entry, with the snippet of its text around the first match."""
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
        score=_scored(score, summary),
        time_ms=time_ms,
    )


def hit_document(hit: Hit) -> dict[str, object]:
    """Return one row of `search --json`."""
    return {
        "path": hit.path,
        "id": hit.id,
        "agent": hit.agent,
        "cwd": hit.cwd,
        "entry_id": hit.entry_id,
        "role": hit.role,
        "state": hit.state,
        "snippet": hit.snippet,
        "score": hit.score,
        "marks": [list(mark) for mark in hit.marks],
    }


def _scored(score: float, summary: Summary) -> float:
    return round(score + min(max(summary.modified or 0, 0) / _SCORE_SPAN_MS, 0.999), 6)
