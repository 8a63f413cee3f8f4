"""JSON values as lines of bytes, decoded as JavaScript's `JSON.parse` and encoded as its `JSON.stringify` does.

The decoder is strict, but it accepts escapes of lone surrogates, replaces bad UTF-8 by U+FFFD, and reads too large
numbers as infinity. No value is nested deeper than `MAX_DEPTH`, so code that walks or prints a value may recurse.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

import msgspec

from sessionbrowse.format.lines import is_deep, without_deepest

Json = Any
"""A decoded JSON value: None, bool, int, float, str, list or dict."""

_decode = msgspec.json.Decoder().decode
# These are the blanks that JavaScript's `JSON.parse` allows before and after a value.
_JSON_BLANKS = b" \t\r\n"
_FUSED = re.compile(rb"\}\s*\{")


class BadJson(ValueError):
    """Raised for bytes that are not JSON; its message explains the mistake to the user, without a line number."""


def loads(line: bytes) -> Json:
    """Decode one line of JSON, with or without newline; lists and objects nested deeper than `MAX_DEPTH` become empty.

    Raises:
        BadJson: the line is no JSON value.
    """
    if is_deep(line):
        line = without_deepest(line)
    try:
        return _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _loads_like_javascript(line)


def json_object(line: bytes) -> dict[str, Json] | None:
    """Return the JSON object in a line, decoded as `loads` does; None if the line is no JSON object."""
    try:
        value = loads(line)
    except BadJson:
        return None
    return value if isinstance(value, dict) else None


def _loads_like_javascript(line: bytes) -> Json:
    import json  # Imported here because importing `json` takes 1 ms, and few lines need `json`.

    text = line.decode("utf-8", "replace")
    try:
        return json.loads(text.strip(" \t\r\n"), parse_constant=_refuse_constant, parse_int=_parse_int)
    except ValueError as error:
        raise BadJson(_reason(line, error)) from None


def _parse_int(digits: str) -> int | float:
    # Python refuses integers of more than 4,300 digits, so long integers become floats. Nothing is lost: JavaScript's
    # numbers are floats, too.
    return int(digits) if len(digits) <= _EXACT_DIGITS else float(digits)


_EXACT_DIGITS = 30


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_TRAILING_COMMA = "trailing comma"


def _reason(line: bytes, error: ValueError) -> str:
    from json import JSONDecodeError

    stripped = line.strip(_JSON_BLANKS)
    if stripped.startswith(b"\xef\xbb\xbf"):
        return "starts with a byte order mark"
    if b"\0" in stripped:
        return "holds NUL bytes where JSON should be"
    if isinstance(error, JSONDecodeError):
        if error.msg == "Extra data":
            fused = _FUSED.search(stripped)
            return "two records fused on one line" if fused else "more text after the JSON value"
        if stripped.startswith(b"{") and not stripped.endswith(b"}"):
            return "torn: the line is not complete"
        what = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        position = error.pos
        before = error.doc[:position].rstrip(" \t\r\n")
        if "trailing comma" in what:
            what = _TRAILING_COMMA
        elif before.endswith(",") and error.doc[position : position + 1] in ("]", "}"):
            # Python up to 3.12 reports a trailing comma at the bracket after it; the user is told the comma's position.
            what, position = _TRAILING_COMMA, len(before) - 1
        return f"not JSON: {what} at character {position + 1}"
    return f"not JSON: {error}"


_HALF_PAIR = "[\ud800-\udfff]"
_STRING_OR_INFINITY = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|(Infinity)')


def json_line(value: Json) -> bytes:
    """Return a value as one line of JSON with a newline, as `json_bytes` writes it."""
    return json_bytes(value) + b"\n"


def json_bytes(value: Json) -> bytes:
    """Return a value as JSON without a newline, as `JSON.stringify` writes it in ECMAScript 2019.

    There are no blanks between values, and keys keep their order. Only quotes, backslashes, control characters and lone
    surrogates are escaped. An infinite number is written as `1e999`, which programs read as infinity again.
    """
    import json  # Imported here because importing `json` takes 1 ms, and only writing needs `json`.

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if "Infinity" in text:
        text = _STRING_OR_INFINITY.sub(lambda token: "1e999" if token[1] else token[0], text)
    text = re.sub(_HALF_PAIR, lambda half: f"\\u{ord(half[0]):04x}", text)
    return text.encode()
