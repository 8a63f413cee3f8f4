"""Tokens and money of a session, counted as its program counts them."""

from __future__ import annotations

from collections.abc import Iterable

from sessionbrowse.format.envelope import Envelope, Spending
from sessionbrowse.model.session.rules import Rules

# pi 1.5.2 (`/session`) counts answers, tool results, summaries and `usage` entries of all branches.
_PI_ENTRY_TYPES = frozenset({"compaction", "branch_summary", "usage"})
_PI_ROLES = frozenset({"assistant", "toolResult"})
# omp 18.2.3 counts answers, model calls without a message, and the usage of `task` subagents.
_OMP_ENTRY_TYPES = frozenset({"model_usage"})


def counted(rules: Rules, envelope: Envelope) -> Spending | None:
    """Return what the entry adds to the session's totals, None if it adds nothing."""
    if envelope.spent is None:
        return None
    if envelope.type == "message":
        return envelope.spent if envelope.role in _PI_ROLES else None
    if rules.agent == "omp":
        return envelope.spent if envelope.type in _OMP_ENTRY_TYPES else None
    return envelope.spent if envelope.type in _PI_ENTRY_TYPES else None


def totals(rules: Rules, envelopes: Iterable[Envelope]) -> Spending:
    """Return the sum of the tokens and costs that the given entries add to the session's totals."""
    amounts = [0.0] * 5
    for envelope in envelopes:
        spent = counted(rules, envelope)
        if spent is not None:
            amounts[0] += spent.input
            amounts[1] += spent.output
            amounts[2] += spent.cache_read
            amounts[3] += spent.cache_write
            amounts[4] += spent.cost
    return Spending(*amounts)
