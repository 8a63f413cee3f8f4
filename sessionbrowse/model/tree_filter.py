"""Which entries a tree shows: the programs' five filters and their search.

Filters read envelopes only. Sources: pi 1.5.2, omp 18.2.3, atomic 0.9.15, and for indusagi pi 0.50, whose fork it is.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal
from weakref import WeakKeyDictionary

from sessionbrowse.format.entries import CustomMessage, CustomRoleMessage, MessageEntry
from sessionbrowse.format.javascript import words
from sessionbrowse.model import omp_search
from sessionbrowse.model.row_text import search_texts
from sessionbrowse.model.rules import AgentName
from sessionbrowse.model.session import Session

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
_HIDDEN_BY_DEFAULT: dict[AgentName, frozenset[str]] = {
    "pi": _BOOKKEEPING | {"context_edit", "session_info"},
    "omp": _BOOKKEEPING | _OMP_BOOKKEEPING,
    "atomic": _BOOKKEEPING | {"session_info"},
    "indusagi": _BOOKKEEPING,
}
_ORDINARY_ENDS = frozenset({None, "", "stop", "toolUse"})
_USER_PROMPT_TYPES = frozenset({"skill-prompt", "collab-prompt"})


def shown(session: Session, filter_name: str, leaf: int | None) -> bytearray:
    """Return 1 for every entry that a filter shows, 0 for the others; an unknown filter is the default one.

    No filter shows pi's `usage` entries, nor answers without text, unless one is the leaf or ended by an error.
    """
    envelopes = session.envelopes
    match filter_name:
        case "all":
            flags = bytearray(b"\1" * len(envelopes))
        case "labeled-only":
            flags = bytearray(len(envelopes))
            for index in session.labels:
                flags[index] = 1
        case "user-only":
            flags = bytearray([envelope.role == "user" and envelope.type == "message" for envelope in envelopes])
            if session.rules.tree == "omp":
                _add_user_prompts(session, flags)
        case _:
            hidden = _HIDDEN_BY_DEFAULT[session.rules.tree]
            flags = bytearray([envelope.type not in hidden for envelope in envelopes])
    _take_silent_entries(session, flags, leaf, without_tools=filter_name == "no-tools")
    return flags


def found(session: Session, query: str, candidates: Collection[int]) -> list[int]:
    """Return the entries in which the program's own search finds all words of the query."""
    tokens = words(query.lower())
    if session.rules.tree == "omp":
        prepared = _OMP_TEXTS.setdefault(session, {})
        for index, text in search_texts(session, [index for index in candidates if index not in prepared]):
            prepared[index] = omp_search.search_words(text)
        is_found = omp_search.matcher(tokens)
        return [index for index in candidates if is_found(prepared[index])]
    texts = _TEXTS.setdefault(session, {})
    for index, text in search_texts(session, [index for index in candidates if index not in texts]):
        texts[index] = text.lower()
    return [index for index in candidates if all(token in texts[index] for token in tokens)]


# What was searched once is kept as long as its session: the next letter of the query asks for the same texts.
_TEXTS: WeakKeyDictionary[Session, dict[int, str]] = WeakKeyDictionary()
_OMP_TEXTS: WeakKeyDictionary[Session, dict[int, omp_search.SearchWords]] = WeakKeyDictionary()


def _take_silent_entries(session: Session, flags: bytearray, leaf: int | None, *, without_tools: bool) -> None:
    by_words = session.rules.tree == "omp"
    hides_usage = session.rules.tree == "pi"
    for index, envelope in enumerate(session.envelopes):
        role = envelope.role
        if role == "assistant":
            says = envelope.has_words if by_words else envelope.has_text
            if not says and index != leaf and envelope.stop_reason in _ORDINARY_ENDS and envelope.type == "message":
                flags[index] = 0
        elif (without_tools and role == "toolResult" and envelope.type == "message") or (
            hides_usage and envelope.type == "usage"
        ):
            flags[index] = 0


def _add_user_prompts(session: Session, flags: bytearray) -> None:
    """In omp a skill or a guest may speak for the user: custom messages of these types attributed to the user."""
    for index, envelope in enumerate(session.envelopes):
        if envelope.custom_type not in _USER_PROMPT_TYPES:
            continue
        match session.entry(index):
            case MessageEntry(message=CustomRoleMessage(attribution="user")):
                flags[index] = envelope.role == "custom"
            case CustomMessage(attribution="user", content=content):
                flags[index] = content is not None
