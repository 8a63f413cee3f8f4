"""The little that a list needs of an ordinary message line, decoded at the speed of skipping the rest.

Half the time of listing a store goes into this one call, so the structs declare only what the list uses, and what
tells an ordinary line from an odd one. Whatever they refuse is read in full by `envelope.read_envelope`: an accepted
line gives the same facts there, without a problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

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
    """What a tool gave back. Few tools ask models: with `usage` the line is an odd one."""

    toolName: str | None = None
    usage: None = None


class ListedLine(Struct, gc=False, tag_field="type", tag="message"):
    """An ordinary message entry."""

    id: str
    parentId: str | None
    timestamp: str
    message: ListedUser | ListedAssistant | ListedToolResult
    schema: None = None


class ListedModelChange(Struct, gc=False, tag_field="type", tag="model_change"):
    """The choice of another model. Here and below, fields of type None would make it an odd entry."""

    id: str
    parentId: str | None
    timestamp: str
    provider: str | None = None
    modelId: str | None = None
    model: str | None = None
    role: str | None = None
    attribution: None = None
    usage: None = None
    message: None = None
    schema: None = None


class ListedLevelChange(Struct, gc=False, tag_field="type", tag="thinking_level_change"):
    """The choice of another thinking level, of which a list only counts that it is there."""

    id: str
    parentId: str | None
    timestamp: str
    usage: None = None
    message: None = None
    schema: None = None


class ListedCustom(Struct, gc=False, tag_field="type", tag="custom"):
    """An extension's state."""

    id: str
    parentId: str | None
    timestamp: str
    customType: str | None = None
    usage: None = None
    message: None = None
    schema: None = None


decode_listed = msgspec.json.Decoder(ListedLine | ListedModelChange | ListedLevelChange | ListedCustom).decode
"""Decodes one ordinary line, newline or not; raises on every other line."""

REFUSALS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What `decode_listed` raises."""


def decode_each(lines: Iterable[bytes], decode: Callable[[bytes], Any], refused: Any) -> tuple[list[Any], list[int]]:
    """Decode every line; `refused` stands for those that `decode` refuses, whose numbers are returned too."""
    decoded: list[Any] = []
    numbers: list[int] = []
    rest = map(decode, lines)
    while True:
        try:
            decoded.extend(rest)
            return decoded, numbers
        except REFUSALS:
            # What came before is kept, and the map goes on behind the line it failed on.
            numbers.append(len(decoded))
            decoded.append(refused)


def beyond_ascii(lines: Sequence[bytes]) -> list[int]:
    """Return the numbers of the lines that are not ASCII throughout."""
    are_ascii = list(map(bytes.isascii, lines))
    return [number for number, is_ascii in enumerate(are_ascii) if not is_ascii] if False in are_ascii else []
