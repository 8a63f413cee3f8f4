"""Decode ordinary lines fast: only the fields that list, tree and index need.

Ordinary lines, nearly all lines of a session, are user messages, answers, tool results, model changes and extension
state in their usual form. All other lines do not fit the structs of this module. `decode_ordinary` then raises an
exception, and `envelope.read_envelope` decodes the line in full. A field of type None must be absent or null in the
line.

Measured on 107 MB, `decode_ordinary` takes 80 ms of CPU, decoding in full 400 ms; separate decoders for list and tree
were at most 8 % faster. `decode_with_tools` also decodes the arguments and results of tool calls, nine tenths of all
bytes. It is 27 % slower than `decode_ordinary`, so it is used only if the index must store tool calls, too.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec
from msgspec import Struct

REFUSALS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""The exceptions that `decode_ordinary` and `decode_with_tools` raise for a line that is not in the usual form."""


class OrdinaryCost(Struct, gc=False):
    """The cost of one call of a model, in US dollars."""

    total: float = 0


class OrdinaryUsage(Struct, gc=False):
    """The numbers of tokens that one call of a model used, and its cost."""

    input: float = 0
    output: float = 0
    cacheRead: float = 0
    cacheWrite: float = 0
    cost: OrdinaryCost | None = None
    reasoning: float | None = None
    reasoningTokens: float | None = None


class OrdinaryText(Struct, gc=False, tag_field="type", tag="text"):
    """A content block with text."""

    type: ClassVar[str] = "text"
    text: str | None = None


class OrdinaryThinking(Struct, gc=False, tag_field="type", tag="thinking"):
    """A content block with the model's reasoning, without the text of the reasoning."""

    type: ClassVar[str] = "thinking"


class OrdinaryRedacted(Struct, gc=False, tag_field="type", tag="redactedThinking"):
    """A content block with encrypted reasoning (omp), without the encrypted data."""

    type: ClassVar[str] = "redactedThinking"


class OrdinaryImage(Struct, gc=False, tag_field="type", tag="image"):
    """A content block with an image, without the image's data."""

    type: ClassVar[str] = "image"


class OrdinaryCall(Struct, gc=False, tag_field="type", tag="toolCall"):
    """A content block with the id of a tool call, without the call's arguments."""

    type: ClassVar[str] = "toolCall"
    id: str | None = None


class CallWithArguments(OrdinaryCall, gc=False, tag_field="type", tag="toolCall"):
    """A content block with a tool call, and the arguments of the call as undecoded bytes."""

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
    sourceRequest: str | None = None
    timestamp: float | None = None
    customType: None = None
    toolCallId: None = None
    toolName: None = None


class AnswerWithCalls(OrdinaryAnswer, gc=False, tag_field="role", tag="assistant"):
    """A model's answer, decoded with the arguments of its tool calls."""

    content: list[OrdinaryText | OrdinaryThinking | OrdinaryRedacted | CallWithArguments] | str  # type: ignore[assignment]


class OrdinaryResult(Struct, gc=False, tag_field="role", tag="toolResult"):
    """A tool's result without its content.

    A result with the key `usage` does not fit this struct, so `decode_ordinary` raises an exception; such results are
    rare, and `envelope.read_envelope` decodes them.
    """

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
    """An entry with a user message, an answer of the model, or a tool result."""

    message: OrdinaryUser | OrdinaryAnswer | OrdinaryResult


class MessageWithCalls(_Entry, gc=False, kw_only=True, tag_field="type", tag="message"):
    """An entry with a message, decoded with the arguments of tool calls, but without the content of tool results."""

    message: OrdinaryUser | AnswerWithCalls | OrdinaryResult


class MessageWithTools(_Entry, gc=False, kw_only=True, tag_field="type", tag="message"):
    """An entry with a message, decoded with the arguments of tool calls and the content of tool results."""

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
    """An entry that records a change of the model."""

    provider: str | None = None
    modelId: str | None = None
    model: str | None = None
    role: str | None = None
    customType: None = None


class OrdinaryLevelChange(_WithoutModel, gc=False, tag_field="type", tag="thinking_level_change"):
    """An entry that records a change of the model's thinking level."""

    customType: None = None


class OrdinaryCustom(_WithoutModel, gc=False, tag_field="type", tag="custom"):
    """An entry in which an extension stores its state, without the stored data."""

    customType: str | None = None


OrdinaryLine = OrdinaryMessage | OrdinaryModelChange | OrdinaryLevelChange | OrdinaryCustom

decode_ordinary = msgspec.json.Decoder(OrdinaryLine).decode
"""Decode one line, with or without newline; raise one of `REFUSALS` if the line is not in the usual form."""
decode_with_calls = msgspec.json.Decoder(
    MessageWithCalls | OrdinaryModelChange | OrdinaryLevelChange | OrdinaryCustom
).decode
"""Decode one line like `decode_ordinary`, but with the arguments of tool calls."""
decode_with_tools = msgspec.json.Decoder(
    MessageWithTools | OrdinaryModelChange | OrdinaryLevelChange | OrdinaryCustom
).decode
"""Decode one line like `decode_ordinary`, but with the arguments of tool calls and the content of tool results.

Also raises one of `REFUSALS` for a tool result that has content blocks other than text and images.
"""
