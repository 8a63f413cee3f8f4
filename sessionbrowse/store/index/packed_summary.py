"""A summary as a row of the index holds it: without the path, which is the row's, and a long first message cut."""

from __future__ import annotations

from typing import Any

import msgspec

from sessionbrowse.model.listing.summary import Summary

_FIELDS = tuple(name for name in Summary.__struct_fields__ if name != "path")
_encode = msgspec.msgpack.Encoder().encode
_FIRST_MESSAGE = _FIELDS.index("first_message")
_LABELS = _FIELDS.index("labels")
_decode = msgspec.msgpack.Decoder(tuple[list[Any], tuple[int, int] | None]).decode


def pack_summary(summary: Summary, first_at: tuple[int, int] | None) -> bytes:
    """Return a summary as bytes; `first_at` is where a first message that was cut stands: offset and size."""
    return _encode(([getattr(summary, name) for name in _FIELDS], first_at))


def unpack_summary(path: str, packed: bytes) -> tuple[Summary, tuple[int, int] | None]:
    """Return a summary, and where a first message that was cut stands."""
    values, first_at = _decode(packed)
    values[_LABELS] = tuple(values[_LABELS])
    return Summary(path=path, **dict(zip(_FIELDS, values, strict=True))), first_at


def first_message(packed: bytes) -> str:
    """Return no more of a summary than how the session begins, "" where nothing was said."""
    found: str | None = _decode(packed)[0][_FIRST_MESSAGE]
    return found or ""
