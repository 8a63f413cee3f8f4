"""Encode one value as one line of bytes, as `JSON.stringify` does in all four agent programs."""

from __future__ import annotations

import re

from sessionbrowse.format.json_value import Json

_HALF_PAIR = "[\ud800-\udfff]"


def json_line(value: Json) -> bytes:
    """Return a value as one line of JSON with a newline, as `JSON.stringify` writes it in ECMAScript 2019.

    There are no blanks between values, keys keep their order, and non-ASCII text is not escaped, except lone
    surrogates.

    Raises:
        ValueError: a number is infinite or NaN, which JSON cannot hold.
    """
    import json  # imported here: slow (1 ms) and needed only for writing

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = re.sub(_HALF_PAIR, lambda half: f"\\u{ord(half[0]):04x}", text)
    return text.encode() + b"\n"
