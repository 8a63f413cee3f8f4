"""Totals of paid requests to models by part (see `request.PARTS`), and the spans of time for which totals are made."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from sessionbrowse.model.usage.request import PARTS
from sessionbrowse.model.usage.sums import Amounts, add, nothing


class Span(Struct, frozen=True):
    """A span of time in milliseconds since 1970: `since` ≤ time < `until`; None means no limit."""

    since: float | None = None
    until: float | None = None

    @property
    def is_all(self) -> bool:
        """True if the span has no limits, so that it includes all paid requests, even those without a time."""
        return self.since is None and self.until is None

    def holds(self, time: float | None) -> bool:
        """Return True if a time is within the span; the time None is only in a span without limits."""
        if time is None:
            return self.is_all
        return (self.since is None or self.since <= time) and (self.until is None or time < self.until)

    def touches(self, first: float | None, last: float | None) -> bool:
        """Return True if the period from `first` to `last` overlaps the span."""
        if first is None or last is None:
            return False
        return (self.until is None or first < self.until) and (self.since is None or self.since <= last)


ALL_TIME = Span()


class Totals(Struct, array_like=True):
    """The sums of a group of paid requests to models: for each part, for possible duplicates, and for copies.

    `parts` has the sums for each kind of spending in `request.PARTS`. `undecided` are the sums of requests that may be
    duplicates, and `copies` those of requests that count in another file.
    """

    parts: list[Amounts] = msgspec.field(default_factory=lambda: [nothing() for _ in PARTS])
    undecided: Amounts = msgspec.field(default_factory=nothing)
    copies: Amounts = msgspec.field(default_factory=nothing)

    @property
    def total(self) -> Amounts:
        """The sums over all parts, without copies and possible duplicates of requests."""
        found = nothing()
        for part in self.parts:
            add(found, part)
        return found

    @property
    def is_empty(self) -> bool:
        """True if all sums are zero."""
        return not any(map(any, (*self.parts, self.undecided, self.copies)))

    def merge(self, other: Totals) -> None:
        """Add the sums of the totals `other` to the sums of this object."""
        for part, amounts in zip(self.parts, other.parts, strict=True):
            add(part, amounts)
        add(self.undecided, other.undecided)
        add(self.copies, other.copies)
