"""Estimate the tokens of a message as a quarter of its characters, like pi 1.5.2.

No tokenizer is used, because the true number depends on provider and model. Like in pi, the fixed sentences that
programs add to summaries and commands are not counted.
"""

from __future__ import annotations

import json

import msgspec

from sessionbrowse.format.entries import (
    AssistantMessage,
    BashExecutionMessage,
    Block,
    BranchSummary,
    Compaction,
    Content,
    FileMentionMessage,
    ImageBlock,
    Message,
    PythonExecutionMessage,
    RedactedThinkingBlock,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    UnknownMessage,
)
from sessionbrowse.format.json_value import Json

CHARACTERS_PER_TOKEN = 4
IMAGE_CHARACTERS = 4800
"""The number of characters for which an image of any size counts in the estimate (pi 1.5.2)."""


def estimate(message: Message | Compaction | BranchSummary, beside: tuple[Block, ...] = ()) -> int:
    """Return the estimated number of tokens of a message and of the blocks that omp sends with the message."""
    return -(-(_characters(message) + _in_content(beside)) // CHARACTERS_PER_TOKEN)


def _characters(message: Message | Compaction | BranchSummary) -> int:
    match message:
        case Compaction() | BranchSummary():
            return _units(message.summary)
        case AssistantMessage():
            return _in_content(message.content, is_answer=True)
        case SystemMessage():
            sections = (message.sections or {}).values()
            named = sum(_units(text) for text in sections if isinstance(text, str))
            return _in_content(message.content) + named + _in_json(message.tools_added)
        case BashExecutionMessage():
            return _units(message.command) + _units(message.output) + IMAGE_CHARACTERS * len(message.images or ())
        case PythonExecutionMessage():
            return _units(message.code) + _units(message.output)
        case FileMentionMessage():
            return sum(_in_file(file) for file in message.files or ())
        case UnknownMessage():
            summary = message.extra.get("summary")
            return _in_content(message.content) + (_units(summary) if isinstance(summary, str) else 0)
        case _:
            return _in_content(message.content)


def _in_content(content: Content, *, is_answer: bool = False) -> int:
    if isinstance(content, str):
        return _units(content)
    return sum(_in_block(block, is_answer) for block in content or ())


def _in_block(block: Block, is_answer: bool) -> int:
    match block:
        case TextBlock():
            return _units(block.text)
        case ImageBlock() if not is_answer:
            return IMAGE_CHARACTERS
        case ThinkingBlock() if is_answer:
            return _units(block.thinking)
        case ToolCallBlock() if is_answer:
            return _units(block.name) + _in_json(block.arguments)
        case RedactedThinkingBlock() if is_answer:
            return _units(block.data)
        case _:
            return 0


def _in_file(file: Json) -> int:
    if not isinstance(file, dict):
        return 0
    texts = sum(_units(text) for key in ("path", "content") if isinstance(text := file.get(key), str))
    return texts + (IMAGE_CHARACTERS if isinstance(file.get("image"), dict) else 0)


def _in_json(value: Json) -> int:
    if value is None:
        return 0
    try:
        return _units(msgspec.json.encode(value).decode())
    except (UnicodeEncodeError, OverflowError, RecursionError):
        # The module msgspec cannot encode lone surrogates, huge numbers and deep nesting; Python's `json` can encode
        # most of these.
        try:
            return len(json.dumps(value, separators=(",", ":")))
        except RecursionError:
            return 0


def _units(text: str | None) -> int:
    """Return the length of a text in UTF-16 units; faster than `javascript.units` for megabytes of text."""
    if not text:
        return 0
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
