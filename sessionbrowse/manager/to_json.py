"""Convert structs of `format.entries` to JSON objects like those in a session file, for messages built in Python."""

from __future__ import annotations

from typing import Any

from sessionbrowse.format.codec import type_name
from sessionbrowse.format.entries import Block, Message, UnknownBlock, Value

Json = Any

_LARGEST_PLAIN = 1e21
"""JavaScript writes whole numbers below this limit without an exponent."""


def plain(value: Json) -> Json:
    """Return a value as JSON: structs of `format.entries` become objects with the file's keys, tuples become lists.

    Whole numbers are written without a decimal point, as in JavaScript.
    """
    if isinstance(value, UnknownBlock):
        return value.raw
    if isinstance(value, Value):
        return _object(value)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_PLAIN:
        return int(value)
    return value


def _object(value: Value) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if isinstance(value, Message):
        found["role"] = type_name(value)
    elif isinstance(value, Block):
        found["type"] = type_name(value)
    for name, key in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
        item = getattr(value, name)
        if name not in ("extra", "role") and item is not None:
            found[key] = plain(item)
    return found | {key: plain(item) for key, item in value.extra.items()}
