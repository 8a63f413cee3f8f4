"""An ordinary message line as opening a session needs it: what its row in a tree depends on, the rest skipped.

As in `listing_line`, the structs refuse whatever is odd; refused lines are read in full by `envelope.read_envelope`:
an accepted line has no problem there. Fields of type None must not be there: an envelope would hold them.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec
from msgspec import Struct

from sessionbrowse.format.listing_line import ListedBlock


class OpenedBlock(Struct, gc=False):
    """A content block of an answer; `id` is a tool call's."""

    type: str = ""
    text: str | None = None
    id: str | None = None


class OpenedUser(Struct, gc=False, tag_field="role", tag="user"):
    """What the user said."""

    role: ClassVar[str] = "user"
    content: list[ListedBlock] | str
    provider: None = None
    model: None = None
    stopReason: None = None
    customType: None = None


class OpenedAssistant(Struct, gc=False, tag_field="role", tag="assistant"):
    """An answer of a model."""

    role: ClassVar[str] = "assistant"
    content: list[OpenedBlock] | str
    provider: str | None = None
    model: str | None = None
    stopReason: str | None = None
    customType: None = None


class OpenedToolResult(Struct, gc=False, tag_field="role", tag="toolResult"):
    """What a tool gave back."""

    role: ClassVar[str] = "toolResult"
    provider: None = None
    model: None = None
    stopReason: None = None
    customType: None = None


class OpenedLine(Struct, gc=False):
    """An ordinary message entry. The type is no tag: msgspec would take a line without one for tagged."""

    type: Literal["message"]
    id: str
    parentId: str | None
    timestamp: str
    message: OpenedUser | OpenedAssistant | OpenedToolResult
    schema: None = None


decode_opened = msgspec.json.Decoder(OpenedLine).decode
"""Decodes one line that is an ordinary message; raises `listing_line.REFUSALS` on every other line."""
