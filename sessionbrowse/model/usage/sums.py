"""Sums of requests: per quarter of an hour, source and part, as integers, so that no sum depends on an order."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add as plus

from msgspec import Struct

from sessionbrowse.model.usage.request import NOT_PRICED, FileRequests, Request

QUARTER_MS = 15 * 60 * 1000
"""A quarter of an hour: all time zones in use begin their days at a multiple of it in UTC."""

Key = tuple[int | None, str, str, int]
"""The key of a sum: quarter of an hour since 1970 (None without a time), provider, model, part."""

REQUESTS, INPUT, OUTPUT, CACHE_READ, CACHE_WRITE, REASONING, COST, UNPRICED, UNRECORDED = range(9)
"""The positions in `Amounts`."""
Amounts = list[int]
"""Nine sums: requests, four kinds of tokens, reasoning tokens, 10^-12 dollars, requests without a price, and
compactions without usage, which are no requests."""


class FileSums(Struct, array_like=True):
    """The sums of one file as if all its requests were its own, and facts that decide whether they can be used so.

    `parts` are the sums by part alone. `first` and `last` are the earliest and latest time in milliseconds.
    `is_special`: it has child usage or a request without a time. `first_entry` is the id of the file's first entry.
    """

    cells: list[tuple[int | None, str, str, int, Amounts]]
    first: float | None = None
    last: float | None = None
    is_special: bool = False
    first_entry: str | None = None
    parts: list[tuple[int, Amounts]] = []


def amounts_of(request: Request, amount: int | None = None) -> Amounts:
    """Return the sums of one request; `amount` replaces its own."""
    if not request.is_paid:
        return [*nothing()[:UNRECORDED], 1]
    cost = request.amount if amount is None else amount
    return [1, *request.counts, request.reasoning, max(cost, 0), int(cost == NOT_PRICED), 0]


def add(into: Amounts, other: Sequence[int]) -> None:
    """Add sums to others."""
    into[:] = map(plus, into, other)


def nothing() -> Amounts:
    """Return sums of no requests."""
    return [0] * 9


def tokens_of(amounts: Sequence[int]) -> int:
    """Return the sum of the four kinds of tokens."""
    return sum(amounts[INPUT : CACHE_WRITE + 1])


def cost_of(amounts: Sequence[int]) -> int | None:
    """Return the sum of the amounts in 10^-12 dollars; None if no request had a price."""
    return amounts[COST] if amounts[REQUESTS] > amounts[UNPRICED] else None


def quarter_of(time: float | None) -> int | None:
    """Return the number of the quarter of an hour in which a time lies."""
    return None if time is None else int(time // QUARTER_MS)


def sums_of(usage: FileRequests) -> FileSums:
    """Return the sums of one file."""
    cells: dict[Key, Amounts] = {}
    for request in usage.requests:
        provider, model = usage.sources[request.source]
        key = (quarter_of(request.time), provider, model, request.part)
        add(cells.setdefault(key, nothing()), amounts_of(request))
    parts: dict[int, Amounts] = {}
    for (_, _, _, part), amounts in cells.items():
        add(parts.setdefault(part, nothing()), amounts)
    times = [request.time for request in usage.requests if request.time is not None]
    special = any(request.time is None or request.is_child_usage for request in usage.requests)
    return FileSums(
        [(*key, amounts) for key, amounts in cells.items()],
        min(times, default=None),
        max(times, default=None),
        special,
        usage.first_entry,
        list(parts.items()),
    )
