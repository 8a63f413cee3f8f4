"""Add up the paid requests of one session file; copies and possible duplicates are separate (see `ownership`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from sessionbrowse.model.usage.ownership import COPY, OWN, UNDECIDED, Decision, UsageFile
from sessionbrowse.model.usage.request import SUBAGENTS, FileRequests, Request
from sessionbrowse.model.usage.sums import add, amounts_of, quarter_of
from sessionbrowse.model.usage.totals import Span, Totals

KeyT = TypeVar("KeyT")
Place = tuple[int | None, str, str, int]
"""Facts by which requests are grouped: quarter of an hour since 1970, provider, model, number of the branch's leaf."""


def totals_by(
    file: UsageFile,
    decided: Sequence[Decision] | None,
    span: Span,
    key_of: Callable[[Place], KeyT],
    *,
    usage: FileRequests | None = None,
) -> dict[KeyT, Totals]:
    """Return the totals of one file's requests within a span of time, grouped by the key that `key_of` returns.

    `decided` says for each request whether it counts in this file; None means that all count. `key_of` gets the
    number of the request's leaf only if the caller passes `usage`, the file's requests; otherwise it may get 0.
    """
    found: dict[KeyT, Totals] = {}
    first, last = file.sums.first, file.sums.last
    if not span.is_all and not span.touches(first, last):
        return found
    if decided is None and usage is None and is_within(file, span):
        add_sums(file, key_of, found)
        return found
    usage = usage or file.load()
    for request, decision in with_decisions(usage, decided, nested=file.nested):
        if span.holds(request.time):
            place = (quarter_of(request.time), *usage.sources[request.source], request.leaf)
            key = key_of(place)
            _count(found.get(key) or found.setdefault(key, Totals()), request, decision)
    return found


def is_within(file: UsageFile, span: Span) -> bool:
    """Return True if all requests of a file are within a span of time."""
    return span.is_all or (span.holds(file.sums.first) and span.holds(file.sums.last))


def add_sums(file: UsageFile, key_of: Callable[[Place], KeyT], into: dict[KeyT, Totals]) -> set[KeyT]:
    """Add the stored sums of a file, as if all its requests count in it, to `into`; return the keys of the totals."""
    keys = set()
    nested = file.nested
    for quarter, provider, model, part, amounts in file.sums.cells:
        key = key_of((quarter, provider, model, 0))
        keys.add(key)
        totals = into.get(key)
        if totals is None:
            totals = into[key] = Totals()
        add(totals.parts[SUBAGENTS if nested else part], amounts)
    return keys


def totals_of(file: UsageFile, decided: Sequence[Decision] | None, span: Span) -> Totals | None:
    """Return the totals of one file within a span of time; None if it has no requests in the span."""
    if decided is not None or not is_within(file, span):
        return totals_by(file, decided, span, lambda _: None).get(None)
    found = Totals()
    for part, amounts in file.sums.parts:
        add(found.parts[SUBAGENTS if file.nested else part], amounts)
    return found


def with_decisions(
    usage: FileRequests, decided: Sequence[Decision] | None, *, nested: bool
) -> Iterator[tuple[Request, Decision]]:
    """Yield each request of a file with the decision on where it counts; without decisions all count in the file."""
    for position, request in enumerate(usage.requests):
        if decided is not None:
            yield request, decided[position]
        else:
            yield request, (OWN, SUBAGENTS if nested else request.part, request.amount)


def _count(into: Totals, request: Request, decision: Decision) -> None:
    status, part, amount = decision
    if status == OWN:
        add(into.parts[part], amounts_of(request, amount))
    elif request.is_paid and status == COPY:
        add(into.copies, amounts_of(request))
    elif request.is_paid and status == UNDECIDED:
        add(into.undecided, amounts_of(request, amount))
