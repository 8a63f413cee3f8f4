"""Tokens and money of a session, counted as its program counts them."""

from __future__ import annotations

from collections.abc import Iterable

from sessionbrowse.format.envelope import Envelope, Spending
from sessionbrowse.model.session.rules import Rules

# pi 1.5.2 (`/session`) counts answers, tool results, summaries and `usage` entries of all branches.
_PI_ENTRY_TYPES = frozenset({"compaction", "branch_summary", "usage"})
# omp 18.2.3 counts answers, model calls without a message, and the usage of `task` subagents.
_OMP_ENTRY_TYPES = frozenset({"model_usage"})
# atomic 0.84 and indusagi count as pi did before it had `usage` entries.
_OLDER_ENTRY_TYPES = frozenset({"compaction", "branch_summary"})
_ENTRY_TYPES = {
    "pi": _PI_ENTRY_TYPES,
    "omp": _OMP_ENTRY_TYPES,
    "atomic": _OLDER_ENTRY_TYPES,
    "indusagi": _OLDER_ENTRY_TYPES,
}


def counted(rules: Rules, envelope: Envelope) -> Spending | None:
    """Return what the entry adds to the session's totals, None if it adds nothing."""
    if envelope.type != "message":
        return envelope.spent if envelope.type in _ENTRY_TYPES[rules.agent] else None
    if envelope.role == "toolResult":
        return envelope.task_spent if rules.agent == "omp" else envelope.spent
    return envelope.spent if envelope.role == "assistant" else None


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
