"""Tokens and money of a session, counted as its program counts them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from sessionbrowse.format.envelope import Envelope, Spent, whole
from sessionbrowse.model.session.rules import Rules

# pi 1.5.2 `/session`: assistants, tool results, summaries and usage entries of all branches.
_PI_ENTRY_TYPES = frozenset({"compaction", "branch_summary", "usage"})
_PI_ROLES = frozenset({"assistant", "toolResult"})
# omp 18.2.3: assistants, calls without a message, and what `task` subagents spent.
_OMP_ENTRY_TYPES = frozenset({"model_usage"})


class Totals(Struct, frozen=True):
    """Sums over calls of models: tokens by kind, their sum, US dollars."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    cost: float = 0

    @property
    def tokens(self) -> int:
        """All tokens together."""
        return whole(self.input + self.output + self.cache_read + self.cache_write)


def counted(rules: Rules, envelope: Envelope) -> Spent | None:
    """Return what the entry adds to the session's totals, None if it adds nothing."""
    if envelope.spent is None:
        return None
    if envelope.type == "message":
        return envelope.spent if envelope.role in _PI_ROLES else None
    if rules.agent == "omp":
        return envelope.spent if envelope.type in _OMP_ENTRY_TYPES else None
    return envelope.spent if envelope.type in _PI_ENTRY_TYPES else None


def totals(rules: Rules, envelopes: Iterable[Envelope]) -> Totals:
    """Return the sums over all given entries."""
    amounts = [0.0] * 5
    for envelope in envelopes:
        spent = counted(rules, envelope)
        if spent is not None:
            amounts[0] += spent.input
            amounts[1] += spent.output
            amounts[2] += spent.cache_read
            amounts[3] += spent.cache_write
            amounts[4] += spent.cost
    return Totals(*amounts)
