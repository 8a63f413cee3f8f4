"""Named spans of time, such as "this month", to which the user can limit the statistics."""

from __future__ import annotations

from datetime import datetime, timedelta

from sessionbrowse.model.usage.request import ALL_TIME, Span

ALL = "all time"
TIMES = (ALL, "last 30 days", "last 7 days", "this month", "last month", "this week", "last week", "today")
"""The names of the spans of time, in the order in which keys go through them."""


def span_named(name: str, now_ms: float) -> Span:
    """Return the span of time that `name` means at the time `now_ms`, in local time; weeks begin on Monday."""
    if name == ALL:
        return ALL_TIME
    today = datetime.fromtimestamp(now_ms / 1000).replace(hour=0, minute=0, second=0, microsecond=0)
    if name == "today":
        begin, end = today, today + timedelta(days=1)
    elif name.endswith("days"):
        begin, end = today - timedelta(days=int(name.split()[1]) - 1), today + timedelta(days=1)
    elif name.endswith("week"):
        begin = today - timedelta(days=today.weekday())
        end = begin + timedelta(days=7)
        if name == "last week":
            begin, end = begin - timedelta(days=7), begin
    else:
        begin = today.replace(day=1)
        end = (begin + timedelta(days=32)).replace(day=1)
        if name == "last month":
            begin, end = (begin - timedelta(days=1)).replace(day=1), begin
    return Span(begin.timestamp() * 1000, end.timestamp() * 1000)
