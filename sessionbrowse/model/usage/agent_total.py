"""The tokens and costs of a session, counted as its agent program counts them."""

from __future__ import annotations

from sessionbrowse.format.envelope import Envelope, Spending
from sessionbrowse.model.session.rules import Rules

# pi 1.5.2 (`/session`) counts assistant messages, tool results, summaries and `usage` entries of all branches.
_PI_ENTRY_TYPES = frozenset({"compaction", "branch_summary", "usage"})
# omp 18.2.3 counts assistant messages, `model_usage` entries, and the usage of `task` subagents.
_OMP_ENTRY_TYPES = frozenset({"model_usage"})
# atomic 0.9.15 and indusagi 0.12 are forks of older versions of pi, which counted no `usage` entries.
_OLDER_ENTRY_TYPES = frozenset({"compaction", "branch_summary"})
_ENTRY_TYPES = {
    "pi": _PI_ENTRY_TYPES,
    "omp": _OMP_ENTRY_TYPES,
    "atomic": _OLDER_ENTRY_TYPES,
    "indusagi": _OLDER_ENTRY_TYPES,
    "claude": _PI_ENTRY_TYPES,
    "codex": _PI_ENTRY_TYPES,
}


def counted(rules: Rules, envelope: Envelope) -> Spending | None:
    """Return the tokens and cost that an entry adds to the totals of its session, None if it adds nothing.

    The entry types that count depend on the agent program.
    """
    if envelope.type != "message":
        return envelope.spent if envelope.type in _ENTRY_TYPES[rules.agent] else None
    if envelope.role == "toolResult":
        return envelope.task_spent if rules.agent == "omp" else envelope.spent
    return envelope.spent if envelope.role == "assistant" else None
