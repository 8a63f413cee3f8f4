"""Convert messages to document parts: text, thinking, images, tool calls with their results.

The documents of entries, contexts and previews use these functions with different limits on long texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, assert_never

import msgspec
from pygments.lexer import Lexer

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
from sessionbrowse.model.edits import (
    EDIT_KEYS,
    WRITTEN_KEYS,
    edits_of,
    path_of,
    paths_of,
    written_diff,
    written_diff_counts,
)
from sessionbrowse.model.system_prompt import system_text
from sessionbrowse.text import clean, clean_lines, json_exact
from sessionbrowse.tui.layout.highlight import lexer_for_path, lexer_named
from sessionbrowse.tui.layout.images import ImagePart
from sessionbrowse.tui.layout.parts import Fold, LinePart, Part, text_parts
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.reading.texts import (
    BAR,
    Detail,
    extra_parts,
    output_parts,
    parts_and_rest,
    said_parts,
    value_parts,
)


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


# ---- tool calls, with their arguments, edits and results ---------------------------------------------------------

LONGEST_SHORT = 120
"""Maximum number of characters of a tool call's argument that is shown in the same line as the tool's name."""

_INTENT_KEYS = ("i", "_i", "intent")
_SHOWN_AS_EDIT = frozenset({"edits", *[key for keys in EDIT_KEYS for key in keys]})
_RESULT_PREFIX: Line = [("  ", "")]
# Matches line numbers (`12:text`, `12|text`) that a read tool put before each line; such lines are not valid code, so
# they get no syntax colours.
_NUMBERED_LINE = re.compile(r"\s*\d+[:|→\t]")

CONTEXT_LINES = 3
MOST_COMPARED = 2_000
"""Maximum number of lines, of old and new text together, that are compared, because the time grows quadratically.

For longer texts all old lines are shown as removed and all new lines as added.
"""

# Matches a line of a diff that the agent stored, with the line's number.
_NUMBERED_CHANGE = re.compile(r"([+\- ])( *\d+)( .*|)$", re.DOTALL)
_GAP = "⋯"
_ROLES = {"+": "good", "-": "error", " ": "dim"}


def call_parts(call: ToolCallBlock, detail: Detail, result: ToolResultMessage | None = None) -> list[Part]:
    """Convert a tool call to document parts: name, arguments, result.

    If `result` is None, the result that `detail.results` finds is shown.
    """
    if result is None and detail.results is not None and call.id is not None:
        result = detail.results(call.id)
    arguments = _without_intent(call)
    heading: Line = [("⚙ ", "tool"), (clean(call.name or "(no name)"), "tool strong")]
    if call.intent:
        heading.append((f"  {clean(call.intent)}", "dim"))
    if not isinstance(arguments, dict):
        parts: list[Part] = [LinePart(heading)]
        if arguments is not None:
            parts += value_parts(arguments, detail, prefix=BAR)
    else:
        edits = edits_of(arguments)
        diff = written_diff(result)
        for key, value in arguments.items():
            if is_short(value) and not (edits and key in _SHOWN_AS_EDIT):
                sign = "$" if key == "command" else clean(str(key))
                heading += [(f"  {sign} ", "dim"), (clean(value if isinstance(value, str) else json_exact(value)), "")]
        if (paths := paths_of(arguments)) and paths[0] not in arguments.values():
            heading += [("  path ", "dim"), (clean(", ".join(paths)), "")]
        if edits or diff:
            added, removed = _counts(edits, diff)
            heading += [(f"  +{added:,}", "good"), (f" −{removed:,}", "error")]
        parts = [LinePart(heading, indent=2)]
        parts += _argument_parts(arguments, edits, diff, detail)
    if result is not None:
        failed = bool(result.is_error)
        parts.append(LinePart([("╰ ", "rule"), ("failed" if failed else "result", "error" if failed else "dim")]))
        parts += result_parts(result, detail, prefix=_RESULT_PREFIX, lexer=_result_lexer(call, result))
    return parts


def _without_intent(call: ToolCallBlock) -> Any:
    """Return a tool call's arguments, except an argument of omp (`i`) that only repeats the call's `intent`."""
    arguments = call.arguments
    if not call.intent or not isinstance(arguments, dict):
        return arguments
    return {key: value for key, value in arguments.items() if key not in _INTENT_KEYS or value != call.intent}


def result_parts(
    result: ToolResultMessage, detail: Detail, *, prefix: Line | None = None, lexer: Lexer | None = None
) -> list[Part]:
    """Convert the result of a tool call, with text and images, to document parts."""
    roles = "error" if result.is_error else ""
    content = result.content
    if content is None or content == () or content == "":
        return [LinePart([*(prefix or []), ("(nothing)", "dim italic")])]
    blocks: Sequence[Block] = (TextBlock(text=content),) if isinstance(content, str) else content
    parts: list[Part] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            parts += output_parts(block.text or "", detail, roles=roles, prefix=prefix, lexer=lexer)
        elif isinstance(block, ImageBlock):
            parts.append(ImagePart(block.mime_type, block.data, prefix=prefix))
        else:
            parts += value_parts(msgspec.to_builtins(block), detail, prefix=prefix)
    return parts


def is_short(value: Any) -> bool:
    """Return True if an argument of a tool call is short enough to be shown in the same line as the tool's name."""
    if isinstance(value, str):
        return len(value) <= LONGEST_SHORT and "\n" not in value
    return value is None or isinstance(value, bool | int | float)


def _argument_parts(
    arguments: dict[str, Any], edits: list[tuple[str, str]], diff: str | None, detail: Detail
) -> list[Part]:
    parts: list[Part] = []
    for key, value in arguments.items():
        if is_short(value) or (edits and key in _SHOWN_AS_EDIT):
            continue
        if key in WRITTEN_KEYS and isinstance(value, str) and (path := path_of(arguments)):
            parts += output_parts(
                value, detail, prefix=[*BAR, ("+ ", "good")], lexer=lexer_for_path(path), roles="good"
            )
        elif key == "command" and isinstance(value, str):
            parts += output_parts(value, detail, prefix=[*BAR, ("$ ", "dim")], lexer=lexer_named("bash"))
        else:
            parts.append(LinePart([*BAR, (clean(str(key)), "name")]))
            parts += value_parts(value, detail, prefix=BAR)
    if diff is not None:
        parts += parts_and_rest(text_parts(diff, prefix=BAR, styler=style_diff, hang=True), detail, prefix=BAR)
    else:
        made = [part for old, new in edits for part in edit_parts(old, new, prefix=BAR)]
        parts += parts_and_rest(made, detail, prefix=BAR)
    return parts


def _counts(edits: list[tuple[str, str]], diff: str | None) -> tuple[int, int]:
    if diff is not None:
        return written_diff_counts(diff)
    counts = [edit_counts(old, new) for old, new in edits]
    return sum([added for added, _ in counts]), sum([removed for _, removed in counts])


def _result_lexer(call: ToolCallBlock, result: ToolResultMessage) -> Lexer | None:
    """Return the Pygments lexer for the file that a tool call read; None for other tools or numbered lines."""
    path = path_of(call.arguments)
    if call.name not in ("read", "cat", "view") or result.is_error or not path:
        return None
    content = result.content
    text = (
        content
        if isinstance(content, str)
        else next((block.text for block in content or () if isinstance(block, TextBlock) and block.text), "")
    )
    head = text[:400].split("\n")[:2]
    return None if any(_NUMBERED_LINE.match(line) for line in head) else lexer_for_path(path)


# ---- edits -------------------------------------------------------------------------------------------------


def edit_parts(old: str, new: str, *, prefix: Line | None = None) -> list[Part]:
    """Return an edit as document parts: common lines, removed lines with `-`, added lines with `+`."""
    before = prefix or []
    parts: list[Part] = []
    for sign, source in _stretches(old, new):
        parts += text_parts(source, roles=_ROLES[sign], prefix=[*before, (f"{sign} ", _ROLES[sign])])
    return parts


def edit_counts(old: str, new: str) -> tuple[int, int]:
    """Return the numbers of lines that an edit adds and removes."""
    counts = {"+": 0, "-": 0}
    for sign, source in _stretches(old, new):
        if sign in counts:
            counts[sign] += source.count("\n") + 1
    return counts["+"], counts["-"]


def style_diff(line: str) -> Line:
    """Return one line of a diff as coloured pieces of text (spans)."""
    roles = _ROLES.get(line[:1], "dim")
    numbered = _NUMBERED_CHANGE.match(line)
    if numbered is not None:
        sign, number, text = numbered.groups()
        return [(sign, roles), (number, "faint"), (text, roles)]
    return [(line, "accent" if line.startswith("@@") else roles)]


def _stretches(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Yield (sign, lines) for the groups of an edit: ` ` for common lines, `-` for removed, `+` for added lines.

    In a long group of common lines, the middle is replaced by a note with its number of lines.
    """
    old_lines, new_lines = clean_lines(old) if old else [], clean_lines(new) if new else []
    if len(old_lines) + len(new_lines) > MOST_COMPARED:
        groups: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(old_lines), 0, len(new_lines))]
    else:
        groups = SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes()
    for number, (kind, old_start, old_end, new_start, new_end) in enumerate(groups):
        if kind == "equal":
            at_ends = (number == 0, number == len(groups) - 1)
            yield from _common(old_lines[old_start:old_end], *at_ends)
            continue
        if old_end > old_start:
            yield "-", "\n".join(old_lines[old_start:old_end])
        if new_end > new_start:
            yield "+", "\n".join(new_lines[new_start:new_end])


def _common(lines: list[str], is_first: bool, is_last: bool) -> Iterator[tuple[str, str]]:
    head = 0 if is_first else CONTEXT_LINES
    tail = 0 if is_last else CONTEXT_LINES
    if len(lines) <= head + tail + 1:
        yield " ", "\n".join(lines)
        return
    gap = f"{_GAP} {len(lines) - head - tail:,} lines the same"
    yield " ", "\n".join([*lines[:head], gap, *(lines[-tail:] if tail else [])])
