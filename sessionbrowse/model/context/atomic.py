"""Build the context as atomic 0.9.15 does: without blank messages and tool results whose call is missing.

The summary of atomic's own compactions consists of lines quoted from the older history. The compaction becomes one
message: a fixed sentence, the summary, and the kept entries as text in the same form. Compactions that pi wrote have no
effect: older history stays in the context.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal

from sessionbrowse.format.entries import (
    AssistantMessage,
    BashExecutionMessage,
    Block,
    BranchSummary,
    Compaction,
    Content,
    CustomMessage,
    CustomRoleMessage,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultMessage,
    UnknownBlock,
    UserMessage,
)
from sessionbrowse.format.json_value import Json, trim
from sessionbrowse.model.context import pi
from sessionbrowse.model.context.message import (
    Context,
    ContextMessage,
    Draft,
    context_message,
    first_kept,
    missing_reason,
    stored_message,
    unsent,
)
from sessionbrowse.model.session.rules import VERBATIM_STRATEGY
from sessionbrowse.model.session.session import Session

COMPACTION_PREFIX = (
    "The earlier conversation was compacted. Below is the verbatim transcript of the retained lines; "
    'elided spans are marked "(filtered N lines)".\n\n'
)
_INTERRUPTED = (
    "Tool execution was interrupted after it started; its result is unavailable. "
    "Inspect side effects before deciding whether to retry it."
)
_BRANCH_SUMMARY = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n{}</summary>"
)
_STRING_OR_NUMBER = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:\d[\d.]*(?:[eE][+-]?\d+)?|Infinity)|NaN')
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# Unlike pi 1.5.2, atomic 0.9.15 does not send messages with the roles `system` and `compactionSummary`.
_ROLES = frozenset({"user", "assistant", "toolResult", "custom", "branchSummary"})


def build(session: Session, path: list[int]) -> Context:
    """Return the context at the last entry of `path`, as atomic 0.9.15 builds it."""
    draft = Draft(session, path)
    place = _boundary(session, path)
    if place is None:
        _append_all(draft, path)
    else:
        _append_boundary(draft, place)
        _append_all(draft, path[place + 1 :])
    for index in path:
        if session.envelopes[index].type == "compaction" and session.envelopes[index].text != VERBATIM_STRATEGY:
            draft.leave_out(index, "a summary that atomic ignores")
    draft.messages = _without_stray_results(draft.messages)
    model, thinking = pi.settings(session, path)
    return draft.finish(model, thinking)


def _boundary(session: Session, path: list[int]) -> int | None:
    for place in range(len(path) - 1, -1, -1):
        index = path[place]
        if session.envelopes[index].type == "compaction" and session.envelopes[index].text == VERBATIM_STRATEGY:
            return place
    return None


def _append_all(draft: Draft, indexes: list[int]) -> None:
    for index in indexes:
        message = _entry_message(draft.session, index)
        if message is not None:
            draft.messages.append(message)
        elif draft.session.envelopes[index].type == "message":
            draft.leave_out(index, missing_reason(draft.session, index))


def _entry_message(session: Session, index: int) -> ContextMessage | None:
    made = pi.entry_message(session, index, _ROLES)
    if made is None:
        return None
    is_blank = made.role in ("user", "custom") and not any(map(_is_visible, made.blocks))
    return unsent(made) if is_blank or (made.role == "custom" and _is_excluded(session, index)) else made


def _is_excluded(session: Session, index: int) -> bool:
    if session.envelopes[index].type == "custom_message":
        entry = session.entry(index)
        return isinstance(entry, CustomMessage) and entry.exclude_from_context is True
    message = stored_message(session, index)
    return isinstance(message, CustomRoleMessage) and message.extra.get("excludeFromContext") is True


def _is_visible(block: Block) -> bool:
    """Return False for a blank text block, which atomic does not send in messages of the user or an extension."""
    match block:
        case TextBlock():
            return bool(trim(block.text or ""))
        case UnknownBlock():
            return bool(trim(block.type))
        case _:
            return True


# ---- the compaction as one message -----------------------------------------------------------------------------


def _append_boundary(draft: Draft, place: int) -> None:
    session, path = draft.session, draft.path
    entry = session.entry(path[place])
    if not isinstance(entry, Compaction):
        draft.leave_out(path[place], "the compaction cannot be read")
        return
    start = first_kept(session, path, place, entry.first_kept_entry_id)
    draft.leave_out_all(path[: place if start is None else start], "before the compaction")
    made = [_entry_message(session, index) for index in path[place if start is None else start : place]]
    kept = _without_stray_results([message for message in made if message is not None])
    for message in kept:
        assert message.index is not None
        draft.leave_out(message.index, "the compaction quotes the entry" if message.sent else "the message is not sent")
    tail = _serialized([message for message in kept if message.sent])
    blocks = _joined([TextBlock(text=COMPACTION_PREFIX + (entry.summary or "")), *_apart(entry.summary, tail)])
    boundary = CustomRoleMessage(content=blocks, custom_type="compaction", display=True, details=entry.details)
    draft.messages.append(context_message(session, path[place], "custom", boundary))


def _apart(summary: str | None, tail: list[Block]) -> list[Block]:
    return [TextBlock(text="\n\n"), *tail] if summary and tail else tail


def _serialized(messages: list[ContextMessage]) -> list[Block]:
    """Return the content blocks of a text that quotes all messages: each begins with a header such as "[User]: ".

    Images stay blocks of their own.
    """
    blocks: list[Block] = []
    for header, section in _sections(messages):
        if any(not isinstance(block, TextBlock) or block.text for block in section):
            blocks += [TextBlock(text=("\n\n" if blocks else "") + header), *section]
    return list(_joined(blocks))


def _sections(messages: list[ContextMessage]) -> list[tuple[str, list[Block]]]:
    sections: list[tuple[str, list[Block]]] = []
    unanswered: dict[str, None] = {}
    for made in messages:
        message = made.message
        if not isinstance(message, ToolResultMessage):
            sections += [("[Tool result]: ", [TextBlock(text=_INTERRUPTED)]) for _ in unanswered]
            unanswered = {}
        match message:
            case AssistantMessage():
                sections += _answer_sections(message)
                # atomic runs tool calls only if the answer ended with "toolUse"; failed answers may have partial calls.
                if message.stop_reason == "toolUse":
                    unanswered = dict.fromkeys(made.tool_calls)
            case ToolResultMessage():
                unanswered.pop(message.tool_call_id or "", None)
                sections.append(("[Tool result]: ", _section(message.content)))
            case BranchSummary():
                sections.append(("[User]: ", [TextBlock(text=_BRANCH_SUMMARY.format(message.summary or ""))]))
            case BashExecutionMessage():
                sections.append(("[User]: ", [TextBlock(text=_command_text(message))]))
            case UserMessage(content=str()):
                sections.append(("[User]: ", _section(message.content)))
            case UserMessage() | CustomRoleMessage():
                sections.append(("[User]: ", _section(tuple(filter(_is_visible, made.blocks)))))
    return sections


def _section(content: Content) -> list[Block]:
    """Return a message's content as the blocks that follow a header such as "[User]: ".

    Texts are joined, each image is on its own line, and a line end after the last text is dropped.
    """
    if isinstance(content, str):
        return [TextBlock(text=content)] if content else []
    blocks: list[Block] = []
    for block in content or ():
        if isinstance(block, TextBlock):
            blocks.append(TextBlock(text=block.text or ""))
        elif isinstance(block, ImageBlock):
            if any(not isinstance(before, TextBlock) or before.text for before in blocks):
                blocks.append(TextBlock(text="\n"))
            blocks.append(block)
    blocks = list(_joined(blocks))
    last = blocks[-1] if blocks else None
    if isinstance(last, TextBlock) and (last.text or "").endswith("\n") and isinstance(content, tuple):
        blocks[-1] = TextBlock(text=(last.text or "")[:-1])
    return blocks


def _answer_sections(answer: AssistantMessage) -> list[tuple[str, list[Block]]]:
    thinking: list[str] = []
    texts: list[str] = []
    calls: list[str] = []
    for block in answer.content if isinstance(answer.content, tuple) else ():
        match block:
            case TextBlock():
                texts.append(block.text or "")
            case ThinkingBlock():
                thinking.append(block.thinking or "")
            case UnknownBlock(type="redacted_thinking"):
                thinking.append("")
            case ToolCallBlock():
                named = block.arguments.items() if isinstance(block.arguments, dict) else ()
                given = ", ".join([f"{name}={_stringify(value)}" for name, value in named])
                calls.append(f"{block.name or ''}({given})")
    parts = [
        ("[Assistant thinking]: ", "\n".join(thinking)),
        ("[Assistant]: ", "\n".join(texts)),
        ("[Assistant tool calls]: ", "; ".join(calls)),
    ]
    return [(header, [TextBlock(text=text)]) for header, text in parts]


def _command_text(command: BashExecutionMessage) -> str:
    text = f"Ran `{command.command or ''}`\n"
    text += f"```\n{command.output}\n```" if command.output else "(no output)"
    if command.cancelled:
        text += "\n\n(command cancelled)"
    elif command.exit_code:
        text += f"\n\nCommand exited with code {_number(command.exit_code)}"
    if command.truncated and command.full_output_path:
        text += f"\n\n[Output truncated. Full output: {command.full_output_path}]"
    return text


def _joined(blocks: list[Block]) -> tuple[Block, ...]:
    """Return content blocks with adjacent text blocks joined and empty ones removed."""
    joined: list[Block] = []
    texts: list[str] = []
    for block in [*blocks, None]:
        if isinstance(block, TextBlock):
            texts.append(block.text or "")
            continue
        text = "".join(texts)
        if text:
            joined.append(TextBlock(text=text))
        texts = []
        if block is not None:
            joined.append(block)
    return tuple(joined)


# ---- results without a call ------------------------------------------------------------------------------------


def _without_stray_results(messages: list[ContextMessage]) -> list[ContextMessage]:
    """Mark a tool result as not sent if its call is not in the answer before it, or already has a result."""
    checked: list[ContextMessage] = []
    open_calls: set[str] = set()
    for made in messages:
        message = made.message
        if isinstance(message, AssistantMessage):
            open_calls = set(made.tool_calls)
        elif isinstance(message, ToolResultMessage):
            if message.tool_call_id in open_calls:
                open_calls.discard(message.tool_call_id)
            else:
                made = unsent(made)
        elif made.sent:
            open_calls = set()
        checked.append(made)
    return checked


# ---- JavaScript's way of writing JSON --------------------------------------------------------------------------


def _stringify(value: Json) -> str:
    """Return the JSON text of a value as JavaScript's `JSON.stringify` writes it."""
    try:
        written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return "…"
    written = _STRING_OR_NUMBER.sub(lambda found: found[0] if found[0][0] == '"' else _number(float(found[0])), written)
    return _LONE_SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", written)


def _number(value: float) -> str:
    """Return the JSON text of a number as JavaScript writes it; infinite numbers and NaN become null."""
    if not math.isfinite(value):
        return "null"
    _, digit_tuple, exponent = Decimal(repr(abs(value))).as_tuple()
    assert isinstance(exponent, int)
    written = "".join(map(str, digit_tuple))
    digits = written.rstrip("0") or "0"
    point = len(written) + exponent if value else 1
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'+' if point > 0 else '-'}{abs(point - 1)}"
