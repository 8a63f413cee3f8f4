"""The oracle's digest of a message, in Python: canonical JSON without clocks, money and provider bookkeeping.

Keys sorted by UTF-16 code units, no blanks; lone surrogates become U+FFFD; only `"`, `\\` and C0 controls are escaped;
whole numbers as integers, others as `f` + value × 1,000,000 rounded half away from zero.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

VOLATILE = frozenset({"timestamp", "usage", "diagnostics", "responseId"})


def message_digest(message: dict[str, Any]) -> str:
    """Return the SHA-1 that oracle.mjs prints for this message."""
    return sha1(_canonical({key: value for key, value in message.items() if key not in VOLATILE}))


def sha1(text: str) -> str:
    """Return the SHA-1 of a text; a lone surrogate counts as U+FFFD, as JavaScript's `toWellFormed` has it."""
    return hashlib.sha1(well_formed(text).encode(), usedforsecurity=False).hexdigest()


def well_formed(text: str) -> str:
    """Return the text with lone surrogates replaced and pairs joined."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def utf16_units(text: str) -> int:
    """Return the length that JavaScript has for this text."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def first_units(text: str, limit: int) -> str:
    """Return the first UTF-16 units of a text, as JavaScript's `slice` does; a pair may be cut."""
    return text.encode("utf-16-le", "surrogatepass")[: 2 * limit].decode("utf-16-le", "surrogatepass")


def _canonical(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number(value)
        case str():
            return _text(value)
        case list():
            return "[" + ",".join(_canonical(item) for item in value) + "]"
    keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(f"{_text(key)}:{_canonical(value[key])}" for key in keys) + "}"


def _number(value: float) -> str:
    number = float(value)  # JavaScript has no other numbers
    if not math.isfinite(number):
        return "null"
    if number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    scaled = abs(number) * 1e6
    if scaled >= 2**53:
        return "big"
    return f"f{'-' if number < 0 else ''}{math.floor(scaled + 0.5)}"


def _text(value: str) -> str:
    out = []
    for char in well_formed(value):
        if char in '"\\':
            out.append("\\" + char)
        elif char < " ":
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'
