"""Sums of paid requests to models by quarter of an hour, provider, model and part.

A part is a kind of spending (see `request.PARTS`). All sums are integers, so no result depends on the order of
additions.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add as plus

from msgspec import Struct

from sessionbrowse.model.usage.request import NOT_PRICED, FileRequests, Request

QUARTER_MS = 15 * 60 * 1000
"""A quarter of an hour in milliseconds; in all time zones in use, days begin at a quarter of an hour in UTC."""

Key = tuple[int | None, str, str, int]
"""The facts by which paid requests are added up: quarter of an hour since 1970 or None, provider, model, part."""

REQUESTS, INPUT, OUTPUT, CACHE_READ, CACHE_WRITE, REASONING, COST, UNPRICED, UNRECORDED = range(9)
"""The positions of the nine sums in an `Amounts` list."""
Amounts = list[int]
"""Nine sums over paid requests to models.

They are the number of requests, four kinds of tokens, reasoning tokens, the cost in 10^-12 US dollars, the number of
requests without a price, and the number of compactions without recorded usage. The number of requests does not include
these compactions.
"""


class FileSums(Struct, array_like=True):
    """The sums of all paid requests in one file, including requests that are copies of those in other files.

    `cells` are the sums by `Key`, `parts` the sums by part (see `request.PARTS`). `first` and `last` are the earliest
    and latest time of a request in milliseconds. `is_special` is True if the file has usage of subagents or a request
    without a time: such a file must be read to decide which requests count. `first_entry` is the id of the file's first
    entry.
    """

    cells: list[tuple[int | None, str, str, int, Amounts]]
    first: float | None = None
    last: float | None = None
    is_special: bool = False
    first_entry: str | None = None
    parts: list[tuple[int, Amounts]] = []


def amounts_of(request: Request, amount: int | None = None) -> Amounts:
    """Return the nine sums of one paid request; `amount`, in 10^-12 US dollars, replaces the request's own amount."""
    if not request.is_paid:
        return [*nothing()[:UNRECORDED], 1]
    cost = request.amount if amount is None else amount
    return [1, *request.counts, request.reasoning, max(cost, 0), int(cost == NOT_PRICED), 0]


def add(into: Amounts, other: Sequence[int]) -> None:
    """Add the sums in `other` to those in `into`."""
    into[:] = map(plus, into, other)


def nothing() -> Amounts:
    """Return nine sums that are all zero."""
    return [0] * 9


def tokens_of(amounts: Sequence[int]) -> int:
    """Return the number of all tokens (input, output, cache reads, cache writes) in the sums of `Amounts`."""
    return sum(amounts[INPUT : CACHE_WRITE + 1])


def cost_of(amounts: Sequence[int]) -> int | None:
    """Return the cost in nine sums (`Amounts`), in 10^-12 US dollars; None if no request had a price."""
    return amounts[COST] if amounts[REQUESTS] > amounts[UNPRICED] else None


def quarter_of(time: float | None) -> int | None:
    """Return the number, since 1970, of the quarter of an hour that contains a time; None for None."""
    return None if time is None else int(time // QUARTER_MS)


def sums_of(usage: FileRequests) -> FileSums:
    """Return the sums of all paid requests in one file."""
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
