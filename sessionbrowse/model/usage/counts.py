"""Add up the tokens and costs of the paid requests to models that one session file records.

Copies and possible duplicates of requests get sums of their own (see `ownership`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from sessionbrowse.model.usage.ownership import COPY, OWN, UNDECIDED, Decision, UsageFile
from sessionbrowse.model.usage.request import SUBAGENTS, FileRequests, Request
from sessionbrowse.model.usage.sums import add, amounts_of, quarter_of
from sessionbrowse.model.usage.totals import Span, Totals

KeyT = TypeVar("KeyT")
Place = tuple[int | None, str, str, int]
"""The facts by which paid requests to models are grouped: quarter of an hour since 1970, provider, model, branch.

The branch is given as the position of its leaf in `FileRequests.leaves`.
"""


def totals_by(
    file: UsageFile,
    decided: Sequence[Decision] | None,
    span: Span,
    key_of: Callable[[Place], KeyT],
    *,
    usage: FileRequests | None = None,
) -> dict[KeyT, Totals]:
    """Return totals of one file's paid requests within a span of time, grouped by the key that `key_of` returns.

    `decided` tells for each request whether it counts in this file (see `ownership`); None means that all count.
    `usage` are the file's requests. Without `usage`, `key_of` must not use the branch of the `Place` that it
    gets, because the branch may be missing (0).
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
    """Return True if all paid requests of a file are within a span of time."""
    return span.is_all or (span.holds(file.sums.first) and span.holds(file.sums.last))


def add_sums(file: UsageFile, key_of: Callable[[Place], KeyT], into: dict[KeyT, Totals]) -> set[KeyT]:
    """Add the sums of all paid requests of a file, copies included, to the totals in `into`.

    Return the keys of the totals to which something was added.
    """
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
    """Return the totals of one file's paid requests within a span of time; None if there are none in the span."""
    if decided is not None or not is_within(file, span):
        return totals_by(file, decided, span, lambda _: None).get(None)
    found = Totals()
    for part, amounts in file.sums.parts:
        add(found.parts[SUBAGENTS if file.nested else part], amounts)
    return found


def with_decisions(
    usage: FileRequests, decided: Sequence[Decision] | None, *, nested: bool
) -> Iterator[tuple[Request, Decision]]:
    """Yield each paid request of a file with the decision whether it counts in this file (see `ownership`).

    If `decided` is None, all requests count in this file.
    """
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
