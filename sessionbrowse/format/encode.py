"""One value → one line of bytes, as `JSON.stringify` writes it, on which all four programs run."""

from __future__ import annotations

import re

from sessionbrowse.format.json_value import Json

_HALF_PAIR = re.compile("[\ud800-\udfff]")


def json_line(value: Json) -> bytes:
    """Return a value as one line with its newline: no blanks, keys in order, everything but control characters raw.

    Halves of surrogate pairs are escaped, as in ECMAScript 2019.

    Raises:
        ValueError: a number is infinite or none, which JSON cannot hold.
    """
    import json  # 1 ms that only who writes needs

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = _HALF_PAIR.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
    return text.encode() + b"\n"
