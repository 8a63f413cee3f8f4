"""The reasons why entries are not in a context, as short texts for the user."""

from __future__ import annotations

from sessionbrowse.model.session.records import CARRIAGE_RETURNS
from sessionbrowse.model.session.session import Session

SPEAKING_TYPES = frozenset({"message", "custom_message", "branch_summary"})
"""Entry types that can become messages; only these are reported as omitted because of a compaction or `/clear`."""

_USUAL_REASONS = {
    "message": "the message is not sent to the model",
    "custom_message": "the message is not sent to the model",
    "branch_summary": "empty branch summary",
    "compaction": "older compaction",
    "model_change": "model change",
    "thinking_level_change": "thinking level change",
    "custom": "extension state",
    "label": "a label",
    "session_info": "the session's name",
    "usage": "usage record",
    "context_edit": "a context edit",
    "session_summary": "a summary for the list of sessions",
    "context_compaction": "a compaction of a retired kind",
    "context_window_change": "context window change",
    "service_tier_change": "service tier change",
    "mode_change": "mode change",
    "reset_boundary": "a /clear command",
    "title_change": "title change",
    "session_init": "the prompt and tools of a subagent",
    "ttsr_injection": "the names of rules that omp added",
    "credential_pin": "the account that served the session",
    "model_usage": "usage record",
    "mcp_tool_selection": "a choice of MCP tools",
    "session": "a second session header",
    "title": "a title slot in the wrong place",
}
_MADE_ONLY_BY = {
    "usage": ("pi",),
    "context_edit": ("pi",),
    "session_info": ("pi", "atomic", "indusagi"),
    "session_summary": ("atomic",),
    "context_compaction": ("atomic",),
    "context_window_change": ("atomic",),
    "service_tier_change": ("omp",),
    "mode_change": ("omp",),
    "reset_boundary": ("omp",),
    "title_change": ("omp",),
    "session_init": ("omp",),
    "ttsr_injection": ("omp",),
    "credential_pin": ("omp",),
    "model_usage": ("omp",),
    "mcp_tool_selection": ("omp",),
}


def unread_note(session: Session) -> str | None:
    """Return a warning if the context may differ from what the model would receive, else None.

    The rules of Claude Code and Codex are not published. Of other agents, lines that end in carriage returns are shown,
    but the agent program cannot read them.
    """
    if session.rules.only_read is not None:
        return f"As the file tells it; {session.rules.only_read}'s own rules are not published."
    if all(problem.reason != CARRIAGE_RETURNS for problem in session.problems):
        return None
    return f"{session.agent} does not read lines that end in carriage returns: the model would not receive them."


def records_left_out(session: Session) -> dict[str, int]:
    """Return the numbers of records of Claude Code or Codex that are no entries, by their kinds, the most first."""
    unread = session.header.unread if session.header is not None and session.rules.only_read is not None else None
    counts = [(kind, count) for kind, count in (unread or {}).items() if isinstance(count, int)]
    return dict(sorted(counts, key=lambda one: (-one[1], one[0])))


def missing_reason(session: Session, index: int) -> str:
    """Return the reason why an entry of type `message` has no usable message, as a text for the user."""
    problem = session.envelopes[index].problem
    return problem if problem is not None and problem.startswith("the message is") else "the message is missing"


def usual_reason(session: Session, index: int) -> str:
    """Return the reason why an entry is not in the context, given by the entry's type, as a text for the user."""
    kind = session.envelopes[index].type
    if not kind:
        return "the line is not an entry of a session"
    reason = _USUAL_REASONS.get(kind)
    if reason is None:
        return f"{session.agent} does not know entries of the type {kind}"
    makers = _MADE_ONLY_BY.get(kind)
    return reason if makers is None or session.agent in makers else f"{reason}, which {session.agent} ignores"
