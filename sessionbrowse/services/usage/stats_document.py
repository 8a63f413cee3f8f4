"""Rows of cost as a JSON document, and amounts of money as decimal text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sessionbrowse.model.listing.directories import machine_in, split, stored
from sessionbrowse.model.usage.request import (
    CACHE_READ,
    CACHE_WRITE,
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
from sessionbrowse.services.usage.stats import Stats
from sessionbrowse.services.usage.usage_listing import UsageRow
from sessionbrowse.store.own.mirrors import machine_of
from sessionbrowse.text import iso_ms


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
