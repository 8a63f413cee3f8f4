"""The five filters of the agent programs, which select the entries that a tree shows.

The rules are those of pi 1.5.2, omp 18.2.3 and atomic 0.9.15; for indusagi, a fork of pi, those of pi 0.50.
Only omp's "user-only" filter reads the session file.
"""

from __future__ import annotations

from itertools import compress
from operator import and_
from typing import Literal

from sessionbrowse.format.entries import CustomMessage, CustomRoleMessage, MessageEntry
from sessionbrowse.model.session.columns import Kind
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
    columns = session.columns
    match filter_name:
        case "all":
            flags = bytearray(b"\1" * len(columns))
        case "labeled-only":
            flags = bytearray(len(columns))
            for index in session.labels:
                flags[index] = 1
        case "user-only":
            flags = _by_kind(session, [kind.role == "user" and kind.type == "message" for kind in columns.kinds.all])
            if session.rules.tree == "omp":
                _add_user_prompts(session, flags)
        case _:
            hidden = _HIDDEN_BY_DEFAULT[session.rules.tree]
            flags = _by_kind(session, [kind.type not in hidden for kind in columns.kinds.all])
    return bytes(_without_silent_entries(session, flags, leaf, without_tools=filter_name == "no-tools"))


def _by_kind(session: Session, answers: list[bool]) -> bytearray:
    """Return a flag for each entry, given a flag in `answers` for each kind of entry in the session (see `Kinds`)."""
    return bytearray(map(answers.__getitem__, session.columns.codes))


def _without_silent_entries(session: Session, flags: bytearray, leaf: int | None, *, without_tools: bool) -> bytearray:
    tree = session.rules.tree
    speaks = _by_kind(session, [not _is_silent(kind, tree, without_tools) for kind in session.columns.kinds.all])
    left = bytearray(map(and_, flags, speaks))
    if leaf is not None and leaf >= 0 and session.kind(leaf).role == "assistant":
        left[leaf] = flags[leaf]
    return left


def _is_silent(kind: Kind, tree: AgentName, without_tools: bool) -> bool:
    if kind.role == "assistant":
        says = kind.has_words if tree == "omp" else kind.has_text
        return not says and kind.stop_reason in _ORDINARY_ENDS and kind.type == "message"
    if kind.type == "message":
        return without_tools and kind.role == "toolResult"
    return kind.type == "usage" and tree == "pi"


def _add_user_prompts(session: Session, flags: bytearray) -> None:
    """Add the user's prompts that omp stores as custom messages: set their items in `flags` to 1 (shown)."""
    of_type = _by_kind(session, [kind.custom_type in _USER_PROMPT_TYPES for kind in session.columns.kinds.all])
    for index in compress(range(len(of_type)), of_type):
        match session.entry(index):
            case MessageEntry(message=CustomRoleMessage(attribution="user")):
                flags[index] = session.kind(index).role == "custom"
            case CustomMessage(attribution="user", content=content):
                flags[index] = content is not None
