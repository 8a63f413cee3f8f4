"""Where the right sessions and entries stand in what a program answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from tests.bench.search_quality.base import Asked

LOOKED_AT = 10
"""Sessions of an answer that a person looks at."""


class Answer(Struct, frozen=True):
    """The ids of the sessions that a program shows, best first, and the ids of the entries it shows of each."""

    sessions: tuple[str, ...]
    shown: Mapping[str, tuple[str, ...]]
    characters: int = 0


class Quality(Struct, frozen=True):
    """Shares of the questions. `entry` is of those whose right session was shown and that name entries."""

    questions: int
    at_1: float
    at_5: float
    at_10: float
    mrr: float
    unanswered: float
    entry: float


def of_hits(printed: bytes) -> Answer:
    """Return the answer in what `search --json` printed: hits, grouped by session in the order of its first hit."""
    shown: dict[str, list[str]] = {}
    for hit in json.loads(printed):
        entries = shown.setdefault(hit["id"], [])
        if hit["entry_id"] is not None:
            entries.append(hit["entry_id"])
    return Answer(tuple(shown), {each: tuple(entries) for each, entries in shown.items()}, len(printed.decode()))


def of_list(printed: bytes) -> Answer:
    """Return the answer in what `list QUERY --json` printed."""
    return Answer(_distinct(json.loads(printed)), {}, len(printed.decode()))


def of_fast_resume(printed: bytes) -> Answer:
    """Return the answer in what `fr --json` printed."""
    return Answer(_distinct(json.loads(printed)["sessions"]), {}, len(printed.decode()))


def rank(asked: Asked, answer: Answer) -> int:
    """Return the place of the first right session, from 1, or 0 if it is not among those a person looks at."""
    for place, session in enumerate(answer.sessions[:LOOKED_AT], 1):
        if session in asked.sessions:
            return place
    return 0


def quality(asked: Sequence[Asked], answers: Sequence[Answer], hits_of_one: int) -> Quality:
    """Return the quality of answers; of each session only the first `hits_of_one` hits count as shown."""
    ranks = [rank(question, answer) for question, answer in zip(asked, answers, strict=True)]
    entries: list[bool] = []
    for question, answer, found in zip(asked, answers, ranks, strict=True):
        if found and question.entries:
            shown = answer.shown.get(answer.sessions[found - 1], ())
            entries.append(not question.entries.isdisjoint(shown[:hits_of_one]))
    total = len(asked)
    return Quality(
        total,
        sum(1 for each in ranks if each == 1) / total,
        sum(1 for each in ranks if 1 <= each <= 5) / total,
        sum(1 for each in ranks if each) / total,
        sum(1 / each for each in ranks if each) / total,
        sum(1 for answer in answers if not answer.sessions) / total,
        sum(entries) / len(entries) if entries else 0.0,
    )


def _distinct(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row["id"] for row in rows))
