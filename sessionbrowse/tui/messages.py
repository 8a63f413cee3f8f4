"""Messages and entries → parts to read: text, thinking, tool calls with what they gave back.

Shared by the entry, the context and the preview; only how much of a long text is shown differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, assert_never

import msgspec
from msgspec import Struct

from sessionbrowse import text
from sessionbrowse.format.entries import (
    AssistantMessage,
    BashExecutionMessage,
    Block,
    Content,
    CustomRoleMessage,
    DeveloperMessage,
    FallbackBlock,
    FileMentionMessage,
    ImageBlock,
    Message,
    PythonExecutionMessage,
    RedactedThinkingBlock,
    ServerToolBlock,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultMessage,
    UnknownBlock,
    UnknownMessage,
    UserMessage,
    type_name,
)
from sessionbrowse.text import clean, json_exact
from sessionbrowse.tui.markup import diff_parts, markdown_parts, style_json
from sessionbrowse.tui.parts import LinePart, Part, text_parts
from sessionbrowse.tui.spans import Line

BAR: Line = [("│ ", "rule")]
"""What stands before each row of something that belongs to the line above it."""

Results = Callable[[str], ToolResultMessage | None]
"""Finds what a tool gave back, by the id of its call."""


class Reading(Struct, frozen=True, kw_only=True):
    """How much of a message to show: lines of one text (None: all), and where to find the results of its calls."""

    lines: int | None = None
    thinking_lines: int | None = None
    results: Results | None = None


def message_parts(message: Message, reading: Reading) -> list[Part]:
    """Return the body of a message, without a heading."""
    match message:
        case UserMessage() | DeveloperMessage():
            return content_parts(message.content, reading)
        case AssistantMessage():
            parts = content_parts(message.content, reading)
            if message.error_message:
                parts += text_parts(message.error_message, roles="error")
            return parts
        case SystemMessage():
            parts = content_parts(message.content, reading)
            for name, section in (message.sections or {}).items():
                parts.append(LinePart([(clean(name), "title")]))
                parts += value_parts(section, reading)
            return parts
        case ToolResultMessage():
            return result_parts(message, reading)
        case BashExecutionMessage():
            return _execution_parts("$ ", message.command, message, reading)
        case PythonExecutionMessage():
            return _execution_parts(">>> ", message.code, message, reading)
        case CustomRoleMessage():
            return content_parts(message.content, reading)
        case FileMentionMessage():
            return _file_parts(message, reading)
        case UnknownMessage():
            return content_parts(message.content, reading) + extra_parts(message.extra)
        case _:
            assert_never(message)


def message_heading(message: Message) -> tuple[str, str]:
    """Return a message's role as it is written in the file, and the role of its look."""
    name = clean(type_name(message)) or "message"
    match message:
        case UserMessage():
            return name, "user"
        case AssistantMessage():
            return name, "assistant"
        case ToolResultMessage():
            return clean(message.tool_name or name), "tool"
        case BashExecutionMessage() | PythonExecutionMessage():
            return name, "tool"
        case CustomRoleMessage():
            return clean(message.custom_type or name), "note"
    return name, "note"


def content_parts(content: Content, reading: Reading) -> list[Part]:
    """Return the parts of a message's content."""
    match content:
        case None:
            return [LinePart([("(no content)", "dim italic")])]
        case str():
            return folded(content, reading.lines)
    parts: list[Part] = []
    for block in content:
        if parts:
            parts.append(LinePart([]))
        parts += block_parts(block, reading)
    return parts or [LinePart([("(no content)", "dim italic")])]


def block_parts(block: Block, reading: Reading) -> list[Part]:
    """Return the parts of one content block."""
    match block:
        case TextBlock():
            return folded(block.text or "", reading.lines)
        case ThinkingBlock():
            return _thinking_parts(block, reading)
        case RedactedThinkingBlock():
            return [LinePart([("✧ thinking, kept encrypted by the provider", "thinking")])]
        case ImageBlock():
            return [LinePart(image_line(block.mime_type, block.data))]
        case ToolCallBlock():
            return call_parts(block, reading)
        case FallbackBlock():
            names = [clean(str((side or {}).get("model", "?"))) for side in (block.from_, block.to)]
            return [LinePart([(f"↷ another model answered: {names[0]} → {names[1]}", "warning")])]
        case ServerToolBlock():
            return [LinePart([("⚙ a tool of the provider", "tool")]), *value_parts(block.block, reading, prefix=BAR)]
        case UnknownBlock():
            name = clean(block.type) or "?"
            return [LinePart([(f"block of unknown type {name}", "warning")]), *value_parts(block.raw, reading)]
        case _:
            assert_never(block)


def call_parts(call: ToolCallBlock, reading: Reading) -> list[Part]:
    """Return a tool call: its name, its arguments, and what it gave back where that can be found."""
    heading: Line = [("⚙ ", "tool"), (clean(call.name or "(no name)"), "tool strong")]
    if call.intent:
        heading.append((f"  {clean(call.intent)}", "dim"))
    arguments = call.arguments
    parts: list[Part] = []
    if isinstance(arguments, dict):
        short = [(key, value) for key, value in arguments.items() if _is_short(value)]
        for key, value in short:
            heading += [(f"  {clean(str(key))} ", "dim"), (clean(_scalar(value)), "")]
        parts.append(LinePart(heading, indent=2))
        edits = _edits(arguments)
        for key, value in arguments.items():
            if _is_short(value) or (edits and key in _EDIT_KEYS):
                continue
            parts.append(LinePart([*BAR, (clean(str(key)), "name")]))
            parts += value_parts(value, reading, prefix=BAR)
        for old, new in edits:
            parts += diff_parts(*[_cut(side, reading.lines) for side in (old, new)], prefix=BAR)
    else:
        parts.append(LinePart(heading))
        if arguments is not None:
            parts += value_parts(arguments, reading, prefix=BAR)
    result = reading.results(call.id) if reading.results is not None and call.id is not None else None
    if result is not None:
        failed = bool(result.is_error)
        word = "failed" if failed else "result"
        parts.append(LinePart([("╰ ", "rule"), (word, "error" if failed else "dim")]))
        parts += result_parts(result, reading, prefix=[("  ", "")])
    return parts


def result_parts(result: ToolResultMessage, reading: Reading, *, prefix: Line | None = None) -> list[Part]:
    """Return what a tool gave back."""
    roles = "error" if result.is_error else ""
    content = result.content
    if content is None or content == () or content == "":
        return [LinePart([*(prefix or []), ("(nothing)", "dim italic")])]
    parts: list[Part] = []
    for block in (TextBlock(text=content),) if isinstance(content, str) else content:
        if isinstance(block, TextBlock):
            parts += folded(block.text or "", reading.lines, roles=roles, prefix=prefix, plain=True)
        else:
            parts += block_parts(block, reading)
    return parts


def value_parts(value: Any, reading: Reading, *, prefix: Line | None = None) -> list[Part]:
    """Return a JSON value to read: a text as it is, anything else as indented JSON."""
    if isinstance(value, str):
        return folded(value, reading.lines, prefix=prefix, plain=True)
    shown = pretty_json(json_exact(value).encode("utf-8", "replace"))
    return text_parts(_cut(shown, reading.lines), prefix=prefix, styler=style_json)


def extra_parts(extra: dict[str, Any]) -> list[Part]:
    """Return the keys that nobody told us about, as they stand."""
    if not extra:
        return []
    return [LinePart([("other keys", "dim")]), *value_parts(extra, Reading())]


def pretty_json(document: bytes) -> str:
    """Return JSON indented by two; what cannot be indented comes back as it stands."""
    try:
        return msgspec.json.format(document, indent=2).decode("utf-8", "replace")
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return document.decode("utf-8", "replace")


def folded(
    source: str, lines: int | None, *, roles: str = "", prefix: Line | None = None, plain: bool = False
) -> list[Part]:
    """Return a text, its first lines only if it is long, and then how many more there are."""
    shown = _cut(source, lines)
    parts = (
        text_parts(shown, roles=roles, prefix=prefix) if plain else markdown_parts(shown, roles=roles, prefix=prefix)
    )
    hidden = source.count("\n") - shown.count("\n")
    if hidden > 0:
        parts.append(LinePart([*(prefix or []), (f"… {hidden:,} more {'line' if hidden == 1 else 'lines'}", "faint")]))
    elif len(shown) < len(source):
        more = text.size(len(source) - len(shown))
        parts.append(LinePart([*(prefix or []), (f"… {more} more", "faint")]))
    return parts


def image_line(mime_type: str | None, data: str | None) -> Line:
    """Return the placeholder of an image: its kind and size."""
    kind = clean(mime_type or "image")
    if data is None:
        return [("▣ ", "accent"), (kind, ""), ("  not in the file", "dim")]
    if data.startswith("blob:"):
        return [("▣ ", "accent"), (kind, ""), (f"  kept beside the sessions as {clean(data[:24])}…", "dim")]
    return [("▣ ", "accent"), (kind, ""), (f"  {text.size(len(data) * 3 // 4)}", "dim")]


_EDIT_KEYS = ("oldText", "newText", "old_string", "new_string", "edits")
_CHARACTERS_PER_LINE = 400


def _edits(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the pairs of old and new text of an edit tool's arguments; none if it is another tool."""
    pairs: list[tuple[str, str]] = []
    listed = arguments.get("edits")
    for edit in listed if isinstance(listed, list) else [arguments]:
        if not isinstance(edit, dict):
            return []
        for old_key, new_key in (("oldText", "newText"), ("old_string", "new_string")):
            old, new = edit.get(old_key), edit.get(new_key)
            if isinstance(old, str) and isinstance(new, str):
                pairs.append((old, new))
                break
        else:
            return []
    return pairs


def _thinking_parts(block: ThinkingBlock, reading: Reading) -> list[Part]:
    thought = block.thinking or ""
    if not thought.strip():
        reason = "thinking, redacted by the provider" if block.redacted else "thinking, empty"
        return [LinePart([(f"✧ {reason}", "thinking")])]
    limit = reading.thinking_lines if reading.thinking_lines is not None else reading.lines
    return [
        LinePart([("✧ thinking", "thinking strong")]),
        *folded(thought, limit, roles="thinking", prefix=BAR, plain=True),
    ]


def _execution_parts(
    prompt: str,
    source: str | None,
    message: BashExecutionMessage | PythonExecutionMessage,
    reading: Reading,
) -> list[Part]:
    lines = (source or "").split("\n")
    parts: list[Part] = [LinePart([(prompt, "tool strong"), (clean(line), "strong")], indent=2) for line in lines[:40]]
    parts += folded(message.output or "", reading.lines, plain=True)
    facts: Line = []
    if message.exit_code:
        facts.append((f"exit {message.exit_code:g}  ", "error"))
    for flag, word in (
        (message.cancelled, "cancelled  "),
        (message.truncated, "output cut by the agent  "),
        (message.exclude_from_context, "not sent to the model"),
    ):
        if flag:
            facts.append((word, "dim"))
    return [*parts, LinePart(facts)] if facts else parts


def _file_parts(message: FileMentionMessage, reading: Reading) -> list[Part]:
    parts: list[Part] = []
    for file in message.files or []:
        if not isinstance(file, dict):
            continue
        parts.append(LinePart([("@ ", "tool"), (clean(str(file.get("path", "?"))), "strong")]))
        content = file.get("content")
        if isinstance(content, str):
            parts += folded(content, reading.lines, prefix=BAR, plain=True)
    return parts or [LinePart([("(no files)", "dim italic")])]


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= 120 and "\n" not in value
    return value is None or isinstance(value, bool | int | float)


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json_exact(value)


def _cut(source: str, lines: int | None) -> str:
    if lines is None:
        return source
    end = -1
    for _ in range(lines):
        end = source.find("\n", end + 1)
        if end < 0:
            end = len(source)
            break
    return source[: min(end, lines * _CHARACTERS_PER_LINE)]


def spent_line(parts: Sequence[tuple[str, float | None]]) -> str:
    """Return counts that are not nothing, joined: `12 in · 340 out`."""
    return " · ".join([f"{text.tokens(count)} {word}" for word, count in parts if count])
