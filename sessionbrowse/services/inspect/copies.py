"""Comparison of the copies of one session on several machines: the time since which they differ."""

from __future__ import annotations

from collections.abc import Sequence

from sessionbrowse.model.session.session import Session
from sessionbrowse.text import time_ms


def apart_since(copies: Sequence[Session]) -> float | None:
    """Return the time in ms of the first entry that not all copies of a session have; None if all are the same."""
    shared = 0
    while all(shared < len(one.ids) for one in copies) and len({one.ids[shared] for one in copies}) == 1:
        shared += 1
    times = [
        time
        for one in copies
        if shared < len(one.ids) and (time := time_ms(one.envelopes[shared].timestamp)) is not None
    ]
    return min(times) if times else None
