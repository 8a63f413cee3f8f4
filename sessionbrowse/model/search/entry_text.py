"""Extract the texts of an entry that a search looks through: message or summary, tool calls, results, system prompt."""

from __future__ import annotations

from collections.abc import Iterable

from sessionbrowse.format.json_value import Json
from sessionbrowse.model.system_prompt import system_text

SAYING_ROLES = frozenset({"user", "assistant", "developer", "custom", "hookMessage"})
_SAYING_TYPES = {"compaction": "summary", "branch_summary": "summary", "session_summary": "summary"}
ROLES = (
    *("user", "assistant", "toolResult", "bashExecution", "pythonExecution", "developer", "custom", "hookMessage"),
    *("system", "custom_message", *_SAYING_TYPES),
)
"""The roles of messages, and the types of other entries, whose text a search looks through."""
SUMMARIES = tuple(_SAYING_TYPES)
"""The types of entries that contain a summary instead of a message."""
NAME_KEYS = (
    *("path", "paths", "file", "file_path", "filePath", "command", "cmd", "pattern", "patterns", "glob", "query"),
    *("url", "cwd"),
)
"""The arguments of tool calls that are searched by default, such as a path or a command."""
MOST_OF_A_NAME = 2048
"""Maximum number of characters of each such argument that are searched."""


def may_have_text(kind: str, raw: bytes) -> bool:
    """Return False if an entry of type `kind` has no text to search; the line `raw` is not decoded for this check."""
    return kind in _SAYING_TYPES or kind == "custom_message" or b'"message"' in raw or b"\\u" in raw


def message_text(value: Json) -> str:
    """Return the text of a decoded entry: its message, its summary, or the command that the user ran; else ""."""
    if not isinstance(value, dict):
        return ""
    kind = value.get("type")
    key = _SAYING_TYPES.get(kind) if isinstance(kind, str) else None
    if key is not None:
        summary = value.get(key)
        return summary if isinstance(summary, str) else ""
    if kind == "custom_message":
        return content_text(value.get("content"))
    message = value.get("message")
    if not isinstance(message, dict):
        return ""
    match message.get("role"):
        case "bashExecution":
            return _joined([message.get("command")])
        case "pythonExecution":
            return _joined([message.get("code")])
        case str() as role if role in SAYING_ROLES:
            return content_text(message.get("content"))
    return ""


def tool_text(value: Json) -> str:
    """Return the text of tool calls, a tool result, command output or a system prompt in a decoded entry; else ""."""
    message = value.get("message") if isinstance(value, dict) else None
    if not isinstance(message, dict):
        return ""
    content = message.get("content")
    match message.get("role"):
        case "toolResult":
            return _joined([message.get("toolName"), content_text(content)])
        case "bashExecution" | "pythonExecution":
            return _joined([message.get("output")])
        # System prompts are searched only together with tool calls, because they have the same words in all sessions.
        case "system":
            parts = (message.get(key) for key in ("sections", "toolsAdded", "toolsRemoved"))
            return system_text(content_text(content), *parts)
        case "assistant" if isinstance(content, list):
            calls = [block for block in content if isinstance(block, dict) and block.get("type") == "toolCall"]
            return _joined([text for call in calls for text in (call.get("name"), strings_in(call.get("arguments")))])
    return ""


def done_text(value: Json) -> str:
    """Return the names in the tool calls of a decoded entry as lines: tools, paths, commands, patterns; else ""."""
    message = value.get("message") if isinstance(value, dict) else None
    content = message.get("content") if isinstance(message, dict) and message.get("role") == "assistant" else None
    if not isinstance(content, list):
        return ""
    calls = [block for block in content if isinstance(block, dict) and block.get("type") == "toolCall"]
    return "\n".join([line for call in calls for line in names_of(call.get("name"), named(call.get("arguments")))])


def named(arguments: Json) -> list[Json]:
    """Return the arguments of a tool call that are searched by default (`NAME_KEYS`)."""
    return [arguments.get(key) for key in NAME_KEYS] if isinstance(arguments, dict) else []


def names_of(tool: Json, arguments: Iterable[Json]) -> list[str]:
    """Return the texts of a tool call that are searched: the tool's name, and strings in `arguments` (see `named`)."""
    found = [tool]
    for value in arguments:
        found += value if isinstance(value, list) else [value]
    return [each[:MOST_OF_A_NAME] for each in found if isinstance(each, str) and each]


def content_text(content: Json) -> str:
    """Return the text of a message's content: the string, or its text blocks as lines."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return _joined([block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"])


def strings_in(value: Json) -> str:
    """Return all strings in a JSON value as lines, without the keys of objects."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, list):
            waiting += reversed(item)
        elif isinstance(item, dict):
            waiting += reversed(item.values())
    return "\n".join(found)


def _joined(texts: list[Json]) -> str:
    return "\n".join([text for text in texts if isinstance(text, str) and text])
