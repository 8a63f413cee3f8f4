"""An ordinary message line as the index needs it: what a row in a tree depends on, the sums of a list, and its texts.

As in `opened_line`, the structs refuse whatever is odd. Tool calls and results are looked at only where they are
wanted: they are nine tenths of all bytes.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec
from msgspec import Struct

from sessionbrowse.format.listing_line import ListedUsage
from sessionbrowse.format.opened_line import OpenedBlock


class IndexedBlock(Struct, gc=False):
    """A content block of a user's message or a tool's result."""

    type: str = ""
    text: str | None = None


class IndexedUser(Struct, gc=False, tag_field="role", tag="user"):
    """What the user said."""

    role: ClassVar[str] = "user"
    content: list[IndexedBlock] | str
    timestamp: float | None = None
    provider: None = None
    model: None = None
    stopReason: None = None
    customType: None = None


class IndexedAssistant(Struct, gc=False, tag_field="role", tag="assistant"):
    """An answer of a model. `toolName` must not be there: with it the usage may stand elsewhere."""

    role: ClassVar[str] = "assistant"
    content: list[OpenedBlock] | str
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


class IndexedLine(Struct, gc=False):
    """An ordinary message entry. The type is no tag: msgspec would take a line without one for tagged."""

    type: Literal["message"]
    id: str
    parentId: str | None
    timestamp: str
    message: IndexedUser | IndexedAssistant | IndexedToolResult
    schema: None = None


class CallBlock(OpenedBlock, gc=False):
    """A content block of an answer; `arguments` are a tool call's, as they stand."""

    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw()


class CallingAssistant(IndexedAssistant, gc=False, tag_field="role", tag="assistant"):
    """An answer of a model, with what it asked of tools."""

    content: list[CallBlock] | str  # type: ignore[assignment]


class ReadToolResult(IndexedToolResult, gc=False, tag_field="role", tag="toolResult"):
    """What a tool gave back, with its content."""

    content: list[IndexedBlock] | str = ""


class IndexedToolLine(Struct, gc=False):
    """An ordinary message entry with what is of tools."""

    type: Literal["message"]
    id: str
    parentId: str | None
    timestamp: str
    message: IndexedUser | CallingAssistant | ReadToolResult
    schema: None = None


decode_indexed = msgspec.json.Decoder(IndexedLine).decode
"""Decodes one line that is an ordinary message; raises `listing_line.REFUSALS` on every other line."""
decode_with_tools = msgspec.json.Decoder(IndexedToolLine).decode
"""The same with tool calls and results."""
