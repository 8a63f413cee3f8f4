"""The decoder of ordinary lines: it decodes the fields that list, tree and index need and skips everything else.

Nearly all lines are user messages, answers, tool results, model changes or extension state in their usual form. The
structs here refuse all other lines (a field of type None must be absent or null), and `envelope.read_envelope`
decodes the refused lines in full. Measured on 107 MB: this decoder takes 80 ms of CPU, the full way 400 ms; decoders
for the list only, or for the tree only, were at most 8 % faster. `decode_with_tools` also decodes tool calls and
results (nine tenths of all bytes); it is 27 % slower, so only the index of tools uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

REFUSALS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""The exceptions that a decoder raises for a line that is not ordinary."""


class OrdinaryCost(Struct, gc=False):
    """US dollars of one call of a model."""

    total: float = 0


class OrdinaryUsage(Struct, gc=False):
    """Tokens of one call of a model."""

    input: float = 0
    output: float = 0
    cacheRead: float = 0
    cacheWrite: float = 0
    cost: OrdinaryCost | None = None
    reasoning: float | None = None
    reasoningTokens: float | None = None


class OrdinaryText(Struct, gc=False, tag_field="type", tag="text"):
    """A block of text."""

    type: ClassVar[str] = "text"
    text: str | None = None


class OrdinaryThinking(Struct, gc=False, tag_field="type", tag="thinking"):
    """A block of the model's reasoning; its text is skipped."""

    type: ClassVar[str] = "thinking"


class OrdinaryRedacted(Struct, gc=False, tag_field="type", tag="redactedThinking"):
    """A block of encrypted reasoning (omp); its data is skipped."""

    type: ClassVar[str] = "redactedThinking"


class OrdinaryImage(Struct, gc=False, tag_field="type", tag="image"):
    """An image; its data is skipped."""

    type: ClassVar[str] = "image"


class OrdinaryCall(Struct, gc=False, tag_field="type", tag="toolCall"):
    """A tool call; its arguments are skipped."""

    type: ClassVar[str] = "toolCall"
    id: str | None = None


class CallWithArguments(OrdinaryCall, gc=False, tag_field="type", tag="toolCall"):
    """A tool call with the bytes of its arguments."""

    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw()


class OrdinaryUser(Struct, gc=False, tag_field="role", tag="user"):
    """A user's message."""

    role: ClassVar[str] = "user"
    content: list[OrdinaryText | OrdinaryImage] | str
    timestamp: float | None = None
    provider: None = None
    model: None = None
    stopReason: None = None
    customType: None = None
    usage: None = None
    toolCallId: None = None
    toolName: None = None


class OrdinaryAnswer(Struct, gc=False, tag_field="role", tag="assistant"):
    """A model's answer."""

    role: ClassVar[str] = "assistant"
    content: list[OrdinaryText | OrdinaryThinking | OrdinaryRedacted | OrdinaryCall] | str
    provider: str | None = None
    model: str | None = None
    usage: OrdinaryUsage | None = None
    stopReason: str | None = None
    timestamp: float | None = None
    customType: None = None
    toolCallId: None = None
    toolName: None = None


class AnswerWithCalls(OrdinaryAnswer, gc=False, tag_field="role", tag="assistant"):
    """A model's answer with the arguments of its tool calls."""

    content: list[OrdinaryText | OrdinaryThinking | OrdinaryRedacted | CallWithArguments] | str  # type: ignore[assignment]


class OrdinaryResult(Struct, gc=False, tag_field="role", tag="toolResult"):
    """A tool's result; its content is skipped. A result with `usage` is rare, so it is left to the full decoder."""

    role: ClassVar[str] = "toolResult"
    toolCallId: str | None = None
    toolName: str | None = None
    timestamp: float | None = None
    usage: None = None
    provider: None = None
    model: None = None
    stopReason: None = None
    customType: None = None


class ResultWithContent(OrdinaryResult, gc=False, tag_field="role", tag="toolResult"):
    """A tool's result with its content."""

    content: list[OrdinaryText | OrdinaryImage] | str = ""


class _Entry(Struct, gc=False):
    id: str
    parentId: str | None
    timestamp: str
    schema: None = None


class OrdinaryMessage(_Entry, gc=False, kw_only=True, tag_field="type", tag="message"):
    """A message entry."""

    message: OrdinaryUser | OrdinaryAnswer | OrdinaryResult


class MessageWithTools(_Entry, gc=False, kw_only=True, tag_field="type", tag="message"):
    """A message entry with tool calls and results."""

    message: OrdinaryUser | AnswerWithCalls | ResultWithContent


class _WithoutMessage(_Entry, gc=False):
    targetId: None = None
    title: None = None
    attribution: None = None
    usage: None = None
    message: None = None


class _WithoutModel(_WithoutMessage, gc=False):
    provider: None = None
    modelId: None = None
    model: None = None
    role: None = None


class OrdinaryModelChange(_WithoutMessage, gc=False, tag_field="type", tag="model_change"):
    """A change of the model."""

    provider: str | None = None
    modelId: str | None = None
    model: str | None = None
    role: str | None = None
    customType: None = None


class OrdinaryLevelChange(_WithoutModel, gc=False, tag_field="type", tag="thinking_level_change"):
    """A change of the thinking level."""

    customType: None = None


class OrdinaryCustom(_WithoutModel, gc=False, tag_field="type", tag="custom"):
    """State of an extension; its data is skipped."""

    customType: str | None = None


OrdinaryLine = OrdinaryMessage | OrdinaryModelChange | OrdinaryLevelChange | OrdinaryCustom

decode_ordinary = msgspec.json.Decoder(OrdinaryLine).decode
"""Decode one ordinary line, with or without newline; raise one of `REFUSALS` for a line that is not ordinary."""
decode_with_tools = msgspec.json.Decoder(
    MessageWithTools | OrdinaryModelChange | OrdinaryLevelChange | OrdinaryCustom
).decode
"""Decode ordinary lines with their tool calls and results; refuse results with blocks other than text and images."""


def decode_each(lines: Iterable[bytes], decode: Callable[[bytes], Any], refused: Any) -> tuple[list[Any], list[int]]:
    """Decode every line; return one result for each line, and the positions of the lines that `decode` refused.

    The result of a refused line is the value `refused`.
    """
    decoded: list[Any] = []
    numbers: list[int] = []
    rest = map(decode, lines)
    while True:
        try:
            decoded.extend(rest)
            return decoded, numbers
        except REFUSALS:
            # The results before the refused line are already in `decoded`; `rest` continues with the line after it.
            numbers.append(len(decoded))
            decoded.append(refused)


def beyond_ascii(lines: Sequence[bytes]) -> list[int]:
    """Return the positions of the lines that contain a byte beyond ASCII, counted from 0."""
    are_ascii = list(map(bytes.isascii, lines))
    return [number for number, is_ascii in enumerate(are_ascii) if not is_ascii] if False in are_ascii else []
