"""Convert messages to document parts: text, thinking, images, tool calls with their results.

The documents of entries, contexts and previews use these functions with different limits on long texts.
"""

from __future__ import annotations

from typing import Any, assert_never

from sessionbrowse.format.codec import type_name
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
)
from sessionbrowse.model.system_prompt import system_text
from sessionbrowse.text import clean
from sessionbrowse.tui.layout.highlight import lexer_for_path, lexer_named
from sessionbrowse.tui.layout.images import ImagePart
from sessionbrowse.tui.layout.parts import Fold, LinePart, Part, text_parts
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.reading.texts import BAR, Detail, extra_parts, output_parts, said_parts, value_parts
from sessionbrowse.tui.reading.tools import call_parts, result_parts


def message_parts(message: Message, detail: Detail) -> list[Part]:
    """Return the content of a message as document parts, without a heading."""
    match message:
        case UserMessage() | DeveloperMessage():
            return content_parts(message.content, detail)
        case AssistantMessage():
            parts = content_parts(message.content, detail)
            if message.error_message:
                parts += text_parts(message.error_message, roles="error")
            return parts
        case SystemMessage():
            parts = content_parts(message.content, detail)
            for name, section in (message.sections or {}).items():
                parts.append(LinePart([(clean(name), "title")]))
                parts += value_parts(section, detail)
            removed = message.extra.get("toolsRemoved")
            return parts + text_parts(system_text("", None, message.tools_added, removed), roles="dim")
        case ToolResultMessage():
            return result_parts(message, detail)
        case BashExecutionMessage():
            return _execution_parts("$ ", message.command, message, detail)
        case PythonExecutionMessage():
            return _execution_parts(">>> ", message.code, message, detail)
        case CustomRoleMessage():
            return content_parts(message.content, detail)
        case FileMentionMessage():
            return _file_parts(message, detail)
        case UnknownMessage():
            return content_parts(message.content, detail) + extra_parts(message.extra)
        case _:
            assert_never(message)


_ROLE_WORDS = {
    "bashExecution": "! command",
    "pythonExecution": "python",
    "toolResult": "tool result",
    "fileMention": "mentioned files",
}


def message_heading(message: Message) -> tuple[str, str]:
    """Return the heading of a message (the name of its role, such as `tool result`), and the style of the heading."""
    name = _ROLE_WORDS.get(type_name(message)) or clean(type_name(message)) or "message"
    match message:
        case UserMessage():
            return name, "user"
        case AssistantMessage():
            return name, "assistant"
        case ToolResultMessage():
            return f"{name}: {clean(message.tool_name)}" if message.tool_name else name, "tool"
        case BashExecutionMessage() | PythonExecutionMessage():
            return name, "tool"
        case CustomRoleMessage():
            return clean(message.custom_type or name), "note"
    return name, "note"


def content_parts(content: Content, detail: Detail) -> list[Part]:
    """Convert the content of a message, a string or a list of content blocks, to document parts."""
    match content:
        case None:
            return [LinePart([("(no content)", "dim italic")])]
        case str():
            return said_parts(content, detail)
    # Thinking blocks are folded, unless the message contains only thinking blocks.
    only_thought = all(isinstance(block, ThinkingBlock | RedactedThinkingBlock) for block in content)
    parts: list[Part] = []
    for block in content:
        if parts:
            parts.append(LinePart([]))
        parts += block_parts(block, detail, only_thought=only_thought)
    return parts or [LinePart([("(no content)", "dim italic")])]


def block_parts(block: Block, detail: Detail, *, only_thought: bool = False) -> list[Part]:
    """Convert one content block of a message (text, thinking, image, tool call) to document parts."""
    match block:
        case TextBlock():
            return said_parts(block.text or "", detail)
        case ThinkingBlock():
            return _thinking_parts(block, detail, is_open=only_thought)
        case RedactedThinkingBlock():
            return [LinePart([("✧ thinking, encrypted by the model provider", "thinking")])]
        case ImageBlock():
            return [ImagePart(block.mime_type, block.data)]
        case ToolCallBlock():
            return call_parts(block, detail)
        case FallbackBlock():
            names = [clean(str((side or {}).get("model", "?"))) for side in (block.from_, block.to)]
            return [LinePart([(f"↷ another model answered: {names[0]} → {names[1]}", "warning")])]
        case ServerToolBlock():
            return [LinePart([("⚙ model provider's tool", "tool")]), *value_parts(block.block, detail, prefix=BAR)]
        case UnknownBlock():
            name = clean(block.type) or "?"
            return [LinePart([(f"content block of unknown type {name}", "warning")]), *value_parts(block.raw, detail)]
        case _:
            assert_never(block)


def _thinking_parts(block: ThinkingBlock, detail: Detail, *, is_open: bool) -> list[Part]:
    thought = (block.thinking or "").strip()
    if not thought:
        reason = "thinking, redacted by the model provider" if block.redacted else "thinking, empty"
        return [LinePart([(f"✧ {reason}", "thinking")])]

    def body() -> list[Part]:
        return said_parts(thought, Detail(), roles="thinking", prefix=BAR)

    lines = thought.count("\n") + 1
    if not detail.foldable:
        shown = Detail(lines=detail.thinking_lines, foldable=False)
        return [
            LinePart([("✧ thinking", "thinking strong")]),
            *said_parts(thought, shown, roles="thinking", prefix=BAR),
        ]
    label: Line = [("✧ thinking", "thinking strong"), (f"  {lines:,} {'line' if lines == 1 else 'lines'}", "faint")]
    return [Fold(label, body, hint=clean(thought[:200].replace("*", "")), is_open=is_open)]


def _execution_parts(
    prompt: str, source: str | None, message: BashExecutionMessage | PythonExecutionMessage, detail: Detail
) -> list[Part]:
    language = "bash" if isinstance(message, BashExecutionMessage) else "python"
    parts = output_parts(source or "", detail, prefix=[(prompt, "tool strong")], lexer=lexer_named(language))
    parts += output_parts(message.output or "", detail)
    # omp stores images in a message together with a command's output.
    images = message.images or () if isinstance(message, BashExecutionMessage) else ()
    parts += [part for image in images for part in _image_parts(image)]
    facts: Line = []
    if message.exit_code:
        facts.append((f"exit {message.exit_code:g}  ", "error"))
    for flag, word in (
        (message.cancelled, "cancelled  "),
        (message.truncated, "output truncated by the agent  "),
        (message.exclude_from_context, "not sent to the model"),
    ):
        if flag:
            facts.append((word, "dim"))
    return [*parts, LinePart(facts)] if facts else parts


def _file_parts(message: FileMentionMessage, detail: Detail) -> list[Part]:
    parts: list[Part] = []
    for file in message.files or []:
        if not isinstance(file, dict):
            continue
        parts.append(LinePart([("@ ", "tool"), (clean(str(file.get("path", "?"))), "strong")]))
        content = file.get("content")
        if isinstance(content, str):
            lexer = lexer_for_path(str(file.get("path", "")))
            parts += output_parts(content, detail, prefix=BAR, lexer=lexer)
        parts += _image_parts(file.get("image"), prefix=BAR)
    return parts or [LinePart([("(no files)", "dim italic")])]


def _image_parts(image: Any, prefix: Line | None = None) -> list[Part]:
    """Return the part of an image as omp stores it; [] for any other value."""
    if not isinstance(image, dict):
        return []
    kind, data = [value if isinstance(value, str) else None for value in (image.get("mimeType"), image.get("data"))]
    return [ImagePart(kind, data, prefix=prefix)]
