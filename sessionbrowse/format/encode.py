"""Encode one value as one line of bytes, as `JSON.stringify` does in all four agent programs."""

from __future__ import annotations

import re

from sessionbrowse.format.json_value import Json

_HALF_PAIR = "[\ud800-\udfff]"


def json_line(value: Json) -> bytes:
    """Return a value as one line of JSON with a newline, as `json_bytes` writes it."""
    return json_bytes(value) + b"\n"


def json_bytes(value: Json) -> bytes:
    """Return a value as JSON without a newline, as `JSON.stringify` writes it in ECMAScript 2019.

    There are no blanks between values, and keys keep their order. Only quotes, backslashes, control characters and lone
    surrogates are escaped.

    Raises:
        ValueError: a number is infinite or NaN, which JSON cannot hold.
    """
    import json  # Imported here because importing `json` takes 1 ms, and only writing needs `json`.

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = re.sub(_HALF_PAIR, lambda half: f"\\u{ord(half[0]):04x}", text)
    return text.encode()
