"""The text of an entry's row in a tree, and the text that the tree's search reads, as in pi 1.5.2.

atomic 0.9.15 and indusagi 0.12.15 are forks of pi and follow its rules.
"""

from __future__ import annotations

import math

from sessionbrowse.format.json_value import MISSING, Json, cut, is_true, number, string, to_number
from sessionbrowse.model.session.rules import AgentName
from sessionbrowse.model.tree.tool_call_text import (
    Call,
    Fields,
    first_text,
    is_text_block,
    joined_text,
    one_line,
    shown_field,
    tool_call_text,
    words,
)

ERROR_UNITS = 80
NO_MESSAGE = "[message]"
"""The row text of an entry whose message is missing; the agent programs' own trees crash on such an entry."""

_NEWER_OR_FOREIGN_TYPES: dict[AgentName, frozenset[str]] = {
    "pi": frozenset({"session_summary"}),
    "atomic": frozenset({"context_edit"}),
    # indusagi was forked from pi 0.50, whose tree shows entries of these types without text.
    "indusagi": frozenset({"context_edit", "session_info", "session_summary"}),
}
"""Maps an agent to the entry types that its tree shows as an empty row, while other agents' trees show a text."""


def row_text(agent: AgentName, kind: str, role: str, entry: Fields, call: Call | None, home: str) -> str:
    """Return the text of an entry's row in the tree of pi, atomic or indusagi.

    For a tool result, `call` is the tool call; None if the call is not in the file. Paths below `home` begin with `~`.
    """
    if kind in _NEWER_OR_FOREIGN_TYPES.get(agent, ()):
        return ""
    match kind:
        case "message":
            message = entry.get("message")
            if message is None:
                return NO_MESSAGE
            return _message(agent, role, message if isinstance(message, dict) else {}, call, home)
        case "custom_message":
            return f"[{shown_field(entry, 'customType')}]: {one_line(_custom_text(entry.get('content')))}"
        case "compaction":
            return compaction_text(entry)
        case "branch_summary":
            return f"[branch summary]: {one_line(entry.get('summary'))}"
        case "session_summary":
            return f"[session summary]: {one_line(entry.get('summary'))}"
        case "model_change":
            return f"[model: {shown_field(entry, 'modelId')}]"
        case "thinking_level_change":
            return f"[thinking: {shown_field(entry, 'thinkingLevel')}]"
        case "custom":
            return f"[custom: {shown_field(entry, 'customType')}]"
        case "context_edit":
            return f"[context {_edit(entry)}: {shown_field(entry, 'targetId')}]"
        case "label":
            return label_text(entry)
        case "session_info":
            name = entry.get("name")
            return f"[title: {string(name) if is_true(name) else 'empty'}]"
        case _:
            return ""


def search_text(agent: AgentName, kind: str, role: str, entry: Fields) -> str:
    """Return the text in which the search of the agent's tree looks for a query: an entry's text without the label."""
    if kind in _NEWER_OR_FOREIGN_TYPES.get(agent, ()):
        return ""
    match kind:
        case "message":
            message = entry.get("message")
            return message_search_text(role, message) if isinstance(message, dict) else ""
        case "custom_message":
            content = entry.get("content")
            return words(entry.get("customType"), content if isinstance(content, str) else first_text(content))
        case "compaction":
            return "compaction"
        case "branch_summary" | "session_summary":
            return words(kind.replace("_", " "), entry.get("summary"))
        case "session_info":
            return words("title", entry.get("name"))
        case "model_change":
            return words("model", entry.get("modelId"))
        case "thinking_level_change":
            return words("thinking", entry.get("thinkingLevel"))
        case "custom":
            return words("custom", entry.get("customType"))
        case "context_edit":
            return words("context edit", _edit(entry), entry.get("targetId"))
        case "label":
            return words("label", entry.get("label"))
        case _:
            return ""


def message_search_text(role: str, message: Fields) -> str:
    """Return the search text of a message: the role, the beginning of the text, and a `!` command."""
    command = message.get("command") if role == "bashExecution" else None
    return words(role, first_text(message.get("content")), command)


def compaction_text(entry: Fields) -> str:
    """Return the row text of a compaction, with the thousands of tokens that the context had before the compaction."""
    thousands = to_number(entry.get("tokensBefore", MISSING)) / 1000
    rounded = math.floor(thousands + 0.5) if math.isfinite(thousands) else thousands
    return f"[compaction: {number(rounded)}k tokens]"


def label_text(entry: Fields) -> str:
    """Return the row text of an entry that sets or clears a label."""
    label = entry.get("label")
    return f"[label: {'(cleared)' if label is None else string(label)}]"


def tool_result_text(agent: AgentName, message: Fields, call: Call | None, home: str) -> str:
    """Return the row text of a tool result: the tool call, or the tool's name if the call is not in the file."""
    if call is not None:
        return tool_call_text(agent, call, home)
    name = message.get("toolName")
    return f"[{'tool' if name is None else string(name)}]"


def _message(agent: AgentName, role: str, message: Fields, call: Call | None, home: str) -> str:
    match role:
        case "user":
            return f"user: {one_line(first_text(message.get('content')))}"
        case "assistant":
            return f"assistant: {_answer(message)}"
        case "toolResult":
            return tool_result_text(agent, message, call, home)
        case "bashExecution":
            return f"[bash]: {one_line(message.get('command'))}"
        case _:
            return f"[{role or string(message.get('role', MISSING))}]"


def _answer(message: Fields) -> str:
    text = one_line(first_text(message.get("content")))
    if text:
        return text
    if message.get("stopReason") == "aborted":
        return "(aborted)"
    error = message.get("errorMessage")
    return cut(one_line(error), ERROR_UNITS) if is_true(error) else "(no content)"


def _custom_text(content: Json) -> str:
    """Return the text of a custom message, in which pi skips text blocks without `text`.

    In messages of other roles, pi shows "undefined" for a text block without `text`.
    """
    if not isinstance(content, list):
        return joined_text(content)
    return "".join([string(block.get("text") or "") for block in content if is_text_block(block)])


def _edit(entry: Fields) -> str:
    return "omit" if entry.get("replacement", MISSING) is None else "replace"
