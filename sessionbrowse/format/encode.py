"""Encode one value as one line of bytes, as `JSON.stringify` does in all four agent programs."""

from __future__ import annotations

import re

from sessionbrowse.format.json_value import Json

_HALF_PAIR = "[\ud800-\udfff]"


def json_line(value: Json) -> bytes:
    """Return a value as one line with its newline: no blanks, keys in order, only control characters escaped.

    Lone surrogates are escaped too, as in ECMAScript 2019.

    Raises:
        ValueError: a number is infinite or NaN, which JSON cannot hold.
    """
    import json  # imported here: it takes 1 ms, and only code that writes needs it

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = re.sub(_HALF_PAIR, lambda half: f"\\u{ord(half[0]):04x}", text)
    return text.encode() + b"\n"
