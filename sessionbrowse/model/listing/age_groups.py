"""Age groups of a list: today, yesterday, this week and so on."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from sessionbrowse.text import is_time


class AgeGroups(Struct, frozen=True):
    """The age groups as seen at one moment, latest first: beginning (milliseconds since 1970) and name of each."""

    starts: tuple[tuple[float, str], ...]

    def of(self, time_ms: float | None) -> str:
        """Return the name of the age group that contains a time; "" for None."""
        if time_ms is None or not is_time(time_ms):
            return ""
        for start, name in self.starts:
            if time_ms >= start:
                return name
        return "Older"

    def start(self, group: str) -> float:
        """Return the beginning of the age group with this name; minus infinity for an unknown name."""
        return next((start for start, name in self.starts if name == group), float("-inf"))


def age_groups(now_ms: float) -> AgeGroups:
    """Return the groups in this machine's time zone; weeks begin on Monday."""
    today = datetime.fromtimestamp(now_ms / 1000).replace(hour=0, minute=0, second=0, microsecond=0)
    monday = today - timedelta(days=today.weekday())
    month = today.replace(day=1)
    starts = [
        (today, "Today"),
        (today - timedelta(days=1), "Yesterday"),
        (monday, "This week"),
        (monday - timedelta(days=7), "Last week"),
        (month, "This month"),
        ((month - timedelta(days=1)).replace(day=1), "Last month"),
        (today.replace(month=1, day=1), "This year"),
    ]
    # On Monday and Tuesday "this week" has no day before yesterday, so it is dropped; so is "this month" on its first
    # days.
    kept: list[tuple[float, str]] = []
    for start, name in starts:
        milliseconds = start.timestamp() * 1000
        if not kept or milliseconds < kept[-1][0]:
            kept.append((milliseconds, name))
    return AgeGroups(tuple(kept))
