"""Totals of counted requests by part, and spans of time."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from sessionbrowse.model.usage.request import PARTS
from sessionbrowse.model.usage.sums import Amounts, add, nothing


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
