"""The little that a list needs of an ordinary message line, decoded at the speed of skipping the rest.

Half the time of listing a store goes into this one call, so the structs declare only what the list uses, and what
tells an ordinary line from an odd one. Whatever they refuse is read in full by `envelope.read_envelope`: an accepted
line gives the same facts there, without a problem.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct


class ListedCost(Struct, gc=False):
    """US dollars of one call of a model."""

    total: float = 0


class ListedUsage(Struct, gc=False):
    """Tokens of one call of a model."""

    input: float = 0
    output: float = 0
    cacheRead: float = 0
    cacheWrite: float = 0
    cost: ListedCost | None = None


class ListedBlock(Struct, gc=False):
    """A content block: that it is an object is all the list asks."""


class ListedUser(Struct, gc=False, tag_field="role", tag="user"):
    """What the user said."""

    content: list[ListedBlock] | str
    timestamp: float | None = None


class ListedAssistant(Struct, gc=False, tag_field="role", tag="assistant"):
    """An answer of a model. `toolName` must not be there: with it the usage may stand elsewhere."""

    content: list[ListedBlock] | str
    provider: str | None = None
    model: str | None = None
    usage: ListedUsage | None = None
    timestamp: float | None = None
    toolName: None = None


class ListedToolResult(Struct, gc=False, tag_field="role", tag="toolResult"):
    """What a tool gave back."""

    toolName: str | None = None
    usage: ListedUsage | None = None


class ListedLine(Struct, gc=False):
    """An ordinary message entry. The type is no tag: msgspec would take a line without one for tagged."""

    type: Literal["message"]
    id: str
    parentId: str | None
    timestamp: str
    message: ListedUser | ListedAssistant | ListedToolResult
    schema: None = None


decode_listed = msgspec.json.Decoder(ListedLine).decode
"""Decodes one line (bytes or a view of bytes) that is an ordinary message; raises on every other line."""

REFUSALS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What `decode_listed` raises."""
