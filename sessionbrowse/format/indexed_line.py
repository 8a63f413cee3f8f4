"""An ordinary message line as the index needs it: what a row in a tree depends on, the sums of a list, and its texts.

As in `opened_line`, the structs refuse whatever is odd. Tool calls and results are looked at only where they are
wanted: they are nine tenths of all bytes.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec
from msgspec import Struct

from sessionbrowse.format.listing_line import ListedCustom, ListedLevelChange, ListedModelChange, ListedUsage


class TextBlock(Struct, gc=False, tag_field="type", tag="text"):
    """A content block that says something."""

    type: ClassVar[str] = "text"
    text: str | None = None


class ThoughtBlock(Struct, gc=False, tag_field="type", tag="thinking"):
    """A content block that is not searched."""

    type: ClassVar[str] = "thinking"


class ImageBlock(Struct, gc=False, tag_field="type", tag="image"):
    """An image."""

    type: ClassVar[str] = "image"


class NamedCall(Struct, gc=False, tag_field="type", tag="toolCall"):
    """A tool call of which nothing is searched."""

    type: ClassVar[str] = "toolCall"
    id: str | None = None


class CallBlock(NamedCall, gc=False, tag_field="type", tag="toolCall"):
    """A tool call with its `arguments` as they stand."""

    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw()


class IndexedUser(Struct, gc=False, tag_field="role", tag="user"):
    """What the user said."""

    role: ClassVar[str] = "user"
    content: list[TextBlock | ImageBlock] | str
    timestamp: float | None = None
    provider: None = None
    model: None = None
    stopReason: None = None
    customType: None = None


class IndexedAssistant(Struct, gc=False, tag_field="role", tag="assistant"):
    """An answer of a model. `toolName` must not be there: with it the usage may stand elsewhere."""

    role: ClassVar[str] = "assistant"
    content: list[TextBlock | ThoughtBlock | NamedCall] | str
    provider: str | None = None
    model: str | None = None
    usage: ListedUsage | None = None
    stopReason: str | None = None
    timestamp: float | None = None
    customType: None = None
    toolName: None = None


class IndexedToolResult(Struct, gc=False, tag_field="role", tag="toolResult"):
    """What a tool gave back, without its content."""

    role: ClassVar[str] = "toolResult"
    toolName: str | None = None
    usage: None = None
    provider: None = None
    model: None = None
    stopReason: None = None
    customType: None = None


class IndexedLine(Struct, gc=False, tag_field="type", tag="message"):
    """An ordinary message entry."""

    id: str
    parentId: str | None
    timestamp: str
    message: IndexedUser | IndexedAssistant | IndexedToolResult
    schema: None = None


class CallingAssistant(IndexedAssistant, gc=False, tag_field="role", tag="assistant"):
    """An answer of a model, with what it asked of tools."""

    content: list[TextBlock | ThoughtBlock | CallBlock] | str  # type: ignore[assignment]


class ReadToolResult(IndexedToolResult, gc=False, tag_field="role", tag="toolResult"):
    """What a tool gave back, with its content."""

    content: list[TextBlock | ImageBlock] | str = ""


class IndexedToolLine(Struct, gc=False, tag_field="type", tag="message"):
    """An ordinary message entry with what is of tools."""

    id: str
    parentId: str | None
    timestamp: str
    message: IndexedUser | CallingAssistant | ReadToolResult
    schema: None = None


_Other = ListedModelChange | ListedLevelChange | ListedCustom

decode_indexed = msgspec.json.Decoder(IndexedLine | _Other).decode
"""Decodes one ordinary line, newline or not; raises `listing_line.REFUSALS` on every other line."""
decode_with_tools = msgspec.json.Decoder(IndexedToolLine | _Other).decode
"""The same with tool calls and results."""
