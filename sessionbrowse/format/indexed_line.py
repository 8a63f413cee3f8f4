"""An ordinary message line as the index needs it: all facts of its envelope, and its texts.

As in `listing_line`, the structs refuse whatever is odd; refused lines are read in full by `envelope.read_envelope`.
Fields of type None must not be there: an envelope would hold them.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct

from sessionbrowse.format.envelope import Envelope, message_envelope
from sessionbrowse.format.listing_line import ListedUsage


class IndexedBlock(Struct, gc=False):
    """A content block of a user's message or a tool's result."""

    type: str = ""
    text: str | None = None
    id: str | None = None


class IndexedAnswerBlock(Struct, gc=False):
    """A content block of an answer; `arguments` are a tool call's, as they stand."""

    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw()


class IndexedUser(Struct, gc=False, tag_field="role", tag="user"):
    """What the user said."""

    role: ClassVar[str] = "user"
    content: list[IndexedBlock] | str
    timestamp: float | None = None
    provider: None = None
    model: None = None
    usage: None = None
    stopReason: None = None
    customType: None = None
    toolCallId: None = None
    toolName: None = None


class IndexedAssistant(Struct, gc=False, tag_field="role", tag="assistant"):
    """An answer of a model."""

    role: ClassVar[str] = "assistant"
    content: list[IndexedAnswerBlock] | str
    provider: str | None = None
    model: str | None = None
    usage: ListedUsage | None = None
    stopReason: str | None = None
    timestamp: float | None = None
    customType: None = None
    toolCallId: None = None
    toolName: None = None


class IndexedToolResult(Struct, gc=False, tag_field="role", tag="toolResult"):
    """What a tool gave back."""

    role: ClassVar[str] = "toolResult"
    toolCallId: str | None
    content: list[IndexedBlock] | str
    toolName: str | None = None
    timestamp: float | None = None
    usage: None = None
    provider: None = None
    model: None = None
    stopReason: None = None
    customType: None = None


class IndexedLine(Struct, gc=False):
    """An ordinary message entry. The type is no tag: msgspec would take a line without one for tagged."""

    type: Literal["message"]
    id: str
    parentId: str | None
    timestamp: str
    message: IndexedUser | IndexedAssistant | IndexedToolResult
    schema: None = None


decode_indexed = msgspec.json.Decoder(IndexedLine).decode
"""Decodes one line that is an ordinary message; raises `listing_line.REFUSALS` on every other line."""


def envelope_of(entry: IndexedLine) -> Envelope:
    """Return the envelope that `read_envelope` gives for the same line."""
    wire: Any = entry
    return message_envelope(wire, wire.message)
