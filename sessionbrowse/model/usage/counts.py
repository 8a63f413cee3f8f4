"""The counted requests of a file or a group: sums by quarter of an hour, source and part, and what stands beside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from sessionbrowse.model.usage.ownership import COPY, OWN, UNDECIDED, Decision, UsageFile
from sessionbrowse.model.usage.request import PARTS, SUBAGENTS, FileRequests, Request
from sessionbrowse.model.usage.sums import Amounts, add, amounts_of, nothing, quarter_of


class Span(Struct, frozen=True):
    """A span of time in milliseconds: `since` ≤ t < `until`; None has no limit."""

    since: float | None = None
    until: float | None = None

    @property
    def is_all(self) -> bool:
        """True if every request is inside, also one without a time."""
        return self.since is None and self.until is None

    def holds(self, time: float | None) -> bool:
        """Tell whether a time is inside; a request without a time is only in the span of all."""
        if time is None:
            return self.is_all
        return (self.since is None or self.since <= time) and (self.until is None or time < self.until)

    def touches(self, first: float | None, last: float | None) -> bool:
        """Tell whether a time from `first` to `last` may be inside."""
        if first is None or last is None:
            return False
        return (self.until is None or first < self.until) and (self.since is None or self.since <= last)


ALL_TIME = Span()


class Totals(Struct, array_like=True):
    """Sums of a row: one for each part, and beside them those that nobody can decide, and those of copies."""

    parts: list[Amounts] = msgspec.field(default_factory=lambda: [nothing() for _ in PARTS])
    undecided: Amounts = msgspec.field(default_factory=nothing)
    copies: Amounts = msgspec.field(default_factory=nothing)

    @property
    def total(self) -> Amounts:
        """Return the sum of all parts."""
        found = nothing()
        for part in self.parts:
            add(found, part)
        return found

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to tell."""
        return not any(map(any, (*self.parts, self.undecided, self.copies)))

    def merge(self, other: Totals) -> None:
        """Add other totals."""
        for part, amounts in zip(self.parts, other.parts, strict=True):
            add(part, amounts)
        add(self.undecided, other.undecided)
        add(self.copies, other.copies)


KeyT = TypeVar("KeyT")
Place = tuple[int | None, str, str, int]
"""The place of a request in a file: quarter of an hour, provider, model, number of its leaf."""


def totals_by(
    file: UsageFile,
    decided: Sequence[Decision] | None,
    span: Span,
    key_of: Callable[[Place], KeyT],
    *,
    by_leaf: bool = False,
) -> dict[KeyT, Totals]:
    """Return the totals of one file, by a key that `key_of` makes of the place of each request.

    The leaf in the place is right only with `by_leaf`. `decided` are the decisions on its requests, if there are any.
    """
    found: dict[KeyT, Totals] = {}
    first, last = file.sums.first, file.sums.last
    if not span.is_all and not span.touches(first, last):
        return found
    if decided is None and not by_leaf and (span.is_all or (span.holds(first) and span.holds(last))):
        for quarter, provider, model, part, amounts in file.sums.cells:
            into = found.setdefault(key_of((quarter, provider, model, 0)), Totals())
            add(into.parts[SUBAGENTS if file.nested else part], amounts)
        return found
    usage = file.load()
    for request, decision in with_decisions(usage, decided, nested=file.nested):
        if span.holds(request.time):
            place = (quarter_of(request.time), *usage.sources[request.source], request.leaf)
            _count(found.setdefault(key_of(place), Totals()), request, decision)
    return found


def with_decisions(
    usage: FileRequests, decided: Sequence[Decision] | None, *, nested: bool
) -> Iterator[tuple[Request, Decision]]:
    """Yield each request of a file with the decision on it; without decisions each is the file's own."""
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
