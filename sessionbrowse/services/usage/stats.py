"""The cost of sessions in rows by session, project, model, day and so on, and as a JSON document.

Each model request is counted once. The index stores the rows for all files, so the same rows are not computed
again until a file changes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from sessionbrowse.model.listing.directories import machine_in, split, stored
from sessionbrowse.model.usage.request import (
    ABANDONED,
    ALL_TIME,
    CACHE_READ,
    CACHE_WRITE,
    COST,
    INPUT,
    OUTPUT,
    PARTS,
    PER_DOLLAR,
    REASONING,
    REQUESTS,
    UNPRICED,
    UNRECORDED,
    Span,
    Totals,
    cost_of,
    tokens_of,
)
from sessionbrowse.services.usage.usage_listing import GroupKey, UsageListing, UsageRow, stored_answer
from sessionbrowse.store.find.directories import same_spelling
from sessionbrowse.store.own.mirrors import machine_of
from sessionbrowse.text import iso_ms

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


def stats_document(found: Stats, span: Span) -> dict[str, Any]:
    """Return rows of cost as a JSON document. Money is exact decimal text, or null if no model request had a price."""
    return {
        "by": found.by,
        "since": iso_ms(span.since) if span.since is not None else None,
        "until": iso_ms(span.until) if span.until is not None else None,
        "rows_left_out": found.rows_left_out,
        "total": _amounts(found.total),
        "rows": [row_document(found.by, row) for row in found.rows],
    }


def row_document(by: str, row: UsageRow) -> dict[str, Any]:
    """Return one row of cost as a JSON object; `by` tells what each row stands for, such as "session" or "day"."""
    project = row.key if by == "project" and isinstance(row.key, str) else None
    there = machine_in(project) if project is not None else None
    one = row.path if by in ("session", "branch") or (by == "family" and row.sessions == 1) else None
    document: dict[str, Any] = {
        "key": stored(project, there and there[0]) if project is not None else row.key,
        "name": name_of(by, row),
        "machine": there[0] if there is not None else one and machine_of(one),
        "sessions": row.sessions,
    }
    if by in ("session", "branch", "family"):
        document["path"] = row.path
    if by == "branch":
        document["leaf_id"] = row.leaf_id
    if by == "session":
        document["id"] = row.id
        total = row.agent_total
        document["agent_total"] = {"tokens": total[0], "cost": plain(total[1])} if total is not None else None
    return document | _amounts(row.totals)


def name_of(by: str, row: UsageRow) -> str | None:
    """Return a short name for a row of cost: a session's title, the last part of a directory, else the row's key."""
    if by == "project" and isinstance(row.key, str):
        return split(row.key)[1] or row.key or None
    return row.name or None if by in ("session", "family", "branch") else row.key if isinstance(row.key, str) else None


def money(amount: int | None) -> str | None:
    """Return an amount in 10^-12 dollars as exact decimal text with at least two decimals; None for None."""
    if amount is None:
        return None
    whole, rest = divmod(amount, PER_DOLLAR)
    digits = f"{rest:012d}".rstrip("0")
    return f"{whole}.{digits:0<2}"


def cents(amounts: Sequence[int]) -> str:
    """Return a cost as dollars and cents; "not priced" if no model request in `amounts` had a price."""
    amount = cost_of(amounts)
    if amount is None:
        return "not priced" if amounts[REQUESTS] else "$0.00"
    hundredths = (amount + PER_DOLLAR // 200) // (PER_DOLLAR // 100)
    return f"${hundredths // 100:,}.{hundredths % 100:02d}" if hundredths or not amount else "<$0.01"


def plain(dollars: float) -> str:
    """Return an agent's own sum of dollars in the form of decimal text without an exponent."""
    text = f"{dollars:.10f}".rstrip("0")
    return text + "0" * max(0, 2 - len(text.partition(".")[2]))


def _amounts(totals: Totals) -> dict[str, Any]:
    total = totals.total
    return {
        "requests": total[REQUESTS],
        "input": total[INPUT],
        "output": total[OUTPUT],
        "cache_read": total[CACHE_READ],
        "cache_write": total[CACHE_WRITE],
        "reasoning": total[REASONING],
        "tokens": tokens_of(total),
        "cost": money(cost_of(total)),
        "unpriced_requests": total[UNPRICED],
        **{name: _part(part) for name, part in zip(PARTS, totals.parts, strict=True)},
        "undecided": _part(totals.undecided),
        "unrecorded": total[UNRECORDED],
        "copies": {"requests": totals.copies[REQUESTS], "cost": money(cost_of(totals.copies))},
    }


def _part(amounts: Sequence[int]) -> dict[str, Any]:
    return {"requests": amounts[REQUESTS], "tokens": tokens_of(amounts), "cost": money(cost_of(amounts))}
