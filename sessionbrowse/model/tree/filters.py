"""The five filters of the agent programs, which select the entries that a tree shows.

The rules are those of pi 1.5.2, omp 18.2.3 and atomic 0.9.15; for indusagi, a fork of pi, those of pi 0.50.
Only omp's "user-only" filter reads the session file.
"""

from __future__ import annotations

from typing import Literal

from sessionbrowse.format.entries import CustomMessage, CustomRoleMessage, MessageEntry
from sessionbrowse.format.envelope import Envelope
from sessionbrowse.model.session.rules import AgentName
from sessionbrowse.model.session.session import Session

FilterName = Literal["default", "no-tools", "user-only", "labeled-only", "all"]

_BOOKKEEPING = frozenset({"label", "custom", "model_change", "thinking_level_change"})
_OMP_BOOKKEEPING = frozenset(
    {
        "model_usage",
        "service_tier_change",
        "title_change",
        "credential_pin",
        "session_init",
        "ttsr_injection",
        "mode_change",
        "reset_boundary",
    }
)
_HIDDEN_BY_DEFAULT: dict[str, frozenset[str]] = {
    "pi": _BOOKKEEPING | {"context_edit", "session_info"},
    "omp": _BOOKKEEPING | _OMP_BOOKKEEPING,
    "atomic": _BOOKKEEPING | {"session_info"},
    "indusagi": _BOOKKEEPING,
}
_ORDINARY_ENDS = frozenset({None, "", "stop", "toolUse"})
_USER_PROMPT_TYPES = frozenset({"skill-prompt", "collab-prompt"})


def shown(session: Session, filter_name: str, leaf: int | None) -> bytes:
    """Return a byte for each entry: 1 if the filter shows the entry, else 0. Unknown filters are like "default".

    No filter shows `usage` entries of pi. Answers without text are shown only if they are the leaf or did not end
    normally.
    """
    entries, tree = session.envelopes, session.rules.tree
    match filter_name:
        case "all":
            flags = bytearray(b"\1" * len(entries))
        case "labeled-only":
            flags = bytearray(len(entries))
            for index in session.labels:
                flags[index] = 1
        case "user-only":
            flags = bytearray([entry.role == "user" and entry.type == "message" for entry in entries])
            if tree == "omp":
                _add_user_prompts(session, flags)
        case _:
            hidden = _HIDDEN_BY_DEFAULT[tree]
            flags = bytearray([entry.type not in hidden for entry in entries])
    for index, entry in enumerate(entries):
        if flags[index] and _is_silent(entry, tree, filter_name == "no-tools"):
            flags[index] = index == leaf and entry.role == "assistant"
    return bytes(flags)


def _is_silent(entry: Envelope, tree: AgentName, without_tools: bool) -> bool:
    if entry.role == "assistant":
        says = entry.has_words if tree == "omp" else entry.has_text
        return not says and entry.stop_reason in _ORDINARY_ENDS and entry.type == "message"
    if entry.type == "message":
        return without_tools and entry.role == "toolResult"
    return entry.type == "usage" and tree == "pi"


def _add_user_prompts(session: Session, flags: bytearray) -> None:
    """Add the user's prompts that omp stores as custom messages: set their items in `flags` to 1 (shown)."""
    for index, envelope in enumerate(session.envelopes):
        if envelope.custom_type not in _USER_PROMPT_TYPES:
            continue
        match session.entry(index):
            case MessageEntry(message=CustomRoleMessage(attribution="user")):
                flags[index] = envelope.role == "custom"
            case CustomMessage(attribution="user", content=content):
                flags[index] = content is not None
