"""The cost of sessions in rows by session, project, model, day and so on; each model request is counted once.

The index stores the rows for all files, so the same rows are not computed again until a file changes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from sessionbrowse.model.usage.request import ABANDONED, ALL_TIME, COST, Span, Totals, cost_of, tokens_of
from sessionbrowse.services.usage.usage_listing import GroupKey, UsageListing, UsageRow, stored_answer
from sessionbrowse.store.find.directories import same_spelling

if TYPE_CHECKING:
    from sessionbrowse.services.usage.counting import Counting

BY = ("session", "family", "project", "agent", "provider", "model", "branch", "day", "week", "month")
"""The ways to group model requests into rows: one row for each session, each project and so on."""
TIMES = ("day", "week", "month")
SORTS = ("cost", "tokens", "time", "name")
ABANDONED_FIRST = "abandoned"
"""Sort order by the cost of abandoned branches, the most expensive first."""


class Stats(Struct, frozen=True):
    """Rows of one kind, such as one for each project, and the totals of all rows, also of rows beyond a limit."""

    by: str
    rows: list[UsageRow]
    total: Totals
    rows_left_out: int = 0


def stats(
    found: UsageListing,
    by: str,
    *,
    span: Span = ALL_TIME,
    chosen: Callable[[Any], bool] | None = None,
    only: tuple[str, GroupKey] | None = None,
    sort: str | None = None,
    limit: int | None = None,
    counting: Callable[[], Counting] | None = None,
) -> Stats:
    """Return the cost in rows of the kind `by`, such as one row for each project.

    `chosen` returns True for the sessions whose model requests are counted. `only` limits the requests to one provider
    or model: it is a pair such as ("model", the key of the model's row). `counting` returns the counted requests of all
    files, so that several kinds of rows can share one count. Days, weeks and months are those of this machine's time
    zone.
    """
    rows = None
    is_all = span.is_all and chosen is None and only is None
    stored_as = f"{by} {_time_zone()}" if by in TIMES else by
    if is_all and found.versions is not None:
        rows = _stored(found, stored_as)
    if rows is None:
        paths = _paths(found, chosen)
        counted = counting() if counting is not None else counting_of(found, paths)
        rows = counted.rows(by, span, paths, only)
        counted.store({stored_as: rows} if is_all else {})
    if by == "project":
        rows = _one_row_per_directory(rows)
    total = Totals()
    for row in rows:
        total.merge(row.totals)
    ordered = _ordered(rows, by, sort)
    shown = ordered if limit is None else ordered[:limit]
    return Stats(by, shown, total, len(ordered) - len(shown))


def _one_row_per_directory(rows: Sequence[UsageRow]) -> list[UsageRow]:
    """Return rows by project in which all spellings of a directory are one row.

    The index stores a row for each spelling, because links on disk change without a change of a session file.
    """
    spelled = same_spelling([str(row.key) for row in rows])
    merged: dict[str, UsageRow] = {}
    for row in rows:
        key = spelled[str(row.key)]
        into = merged.setdefault(key, UsageRow(key, Totals()))
        into.totals.merge(row.totals)
        into.sessions += row.sessions
        into.latest = max((each for each in (into.latest, row.latest) if each is not None), default=None)
    return list(merged.values())


def counting_of(found: UsageListing, paths: Collection[str] | None = None) -> Counting:
    """Count the model requests of all files, or only of the files in `paths`."""
    from sessionbrowse.services.usage.counting import Counting

    return Counting(found, paths)


_decode_rows = msgspec.msgpack.Decoder(list[UsageRow]).decode


def _stored(found: UsageListing, name: str) -> list[UsageRow] | None:
    packed = stored_answer(found, name)
    with suppress(msgspec.MsgspecError):
        return _decode_rows(packed) if packed is not None else None
    return None


def _paths(found: UsageListing, chosen: Callable[[Any], bool] | None) -> Collection[str] | None:
    return None if chosen is None else {session.path for session in found.listing.sessions if chosen(session)}


def _time_zone() -> str:
    """Return a text that identifies this machine's time zone."""
    return " ".join((os.environ.get("TZ", ""), os.path.realpath("/etc/localtime"), *time.tzname))


def _ordered(rows: Sequence[UsageRow], by: str, sort: str | None) -> list[UsageRow]:
    by_key = sorted(rows, key=lambda row: (row.key is None, str(row.key)))
    if by in TIMES and sort in (None, "name", "time"):
        return by_key
    if sort == "name":
        return sorted(by_key, key=lambda row: (row.name or str(row.key or "")).casefold())
    if sort == "time":
        return sorted(by_key, key=lambda row: -(row.latest if row.latest is not None else float("-inf")))
    sums = {id(row): row.totals.total for row in by_key}
    tokens = {key: tokens_of(total) for key, total in sums.items()}
    if sort == "tokens":
        return sorted(by_key, key=lambda row: -tokens[id(row)])
    if sort == ABANDONED_FIRST:
        return sorted(by_key, key=lambda row: -row.totals.parts[ABANDONED][COST])
    costs = {key: cost_of(total) for key, total in sums.items()}
    return sorted(by_key, key=lambda row: (-(costs[id(row)] or 0), -tokens[id(row)]))
