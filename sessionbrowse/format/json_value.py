"""JSON values and texts as in JavaScript: decoding, encoding, conversion to text and number, trimming and cutting.

The decoder is strict, but it accepts escapes of lone surrogates, replaces bad UTF-8 by U+FFFD, and reads too large
numbers as infinity. No value is nested deeper than `MAX_DEPTH`, so code that walks or prints a value may recurse.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from enum import Enum
from itertools import accumulate, chain
from typing import Any, Final, Literal, NoReturn

import msgspec

Json = Any
"""A decoded JSON value: None, bool, int, float, str, list or dict."""
MAX_DEPTH = 200
"""Maximum depth of nested lists and objects in a value; deeper lists and objects become empty."""

_decode = msgspec.json.Decoder().decode
# These are the blanks that JavaScript's `JSON.parse` allows before and after a value.
_JSON_BLANKS = b" \t\r\n"
_FUSED = re.compile(rb"\}\s*\{")
_BRACKET = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]', re.DOTALL)
_STRING = re.compile(rb'"[^"]*"')
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
# This table maps each bracket to a signed byte: +1 if the bracket opens a list or object, -1 if it closes one.
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


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


def is_deep(line: bytes) -> bool:
    """Return True if the lists and objects of a JSON line are nested deeper than `MAX_DEPTH`."""
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return False
    # Escaped quotes and backslashes are replaced, so that every quote delimits a string.
    text = line.replace(b"\\\\", b"__").replace(b'\\"', b"__") if b"\\" in line else line
    steps = memoryview(_STRING.sub(b"", text).translate(_STEPS, _NO_BRACKETS)).cast("b")
    return max(accumulate(steps), default=0) > MAX_DEPTH


def without_deepest(line: bytes) -> bytes:
    """Return a JSON line in which lists and objects nested deeper than `MAX_DEPTH` are empty."""
    depth = begin = 0
    kept: list[bytes] = []
    for found in _BRACKET.finditer(line):
        if found[0] in b"[{":
            depth += 1
            if depth == MAX_DEPTH + 1:
                kept.append(line[begin : found.end()])
        elif found[0] in b"]}":
            if depth == MAX_DEPTH + 1:
                begin = found.start()
            depth -= 1
    return b"".join(kept) + (line[begin:] if depth <= MAX_DEPTH else b"")


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


_BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_BLANK_RUNS = re.compile(f"[{_BLANKS}]+")


def trim(text: str) -> str:
    """Strip blanks from both ends of a text, as `String.prototype.trim` does (U+FEFF is a blank, U+0085 is not)."""
    return text.strip(_BLANKS)


def words(text: str) -> list[str]:
    """Return the words of a text, split at blanks as JavaScript's `split(/\\s+/)` does, without empty words."""
    return [word for word in _BLANK_RUNS.split(text) if word]


def units(text: str) -> int:
    """Return the length of a text in UTF-16 code units, as `String.prototype.length` does."""
    return len(text) + sum(1 for character in text if character > "\uffff")


def cut(text: str, limit: int) -> str:
    """Return the first `limit` UTF-16 code units of a text, as JavaScript's `slice(0, limit)` does.

    The cut may split a surrogate pair.
    """
    if len(text) <= limit and text.isascii():
        return text
    encoded = text[:limit].encode("utf-16-le", "surrogatepass")[: 2 * limit]
    return encoded.decode("utf-16-le", "surrogatepass")


class Missing(Enum):
    """The type of `MISSING`, the value of a key that an object does not have."""

    KEY = "undefined"


MISSING: Final = Missing.KEY
"""The value of a key that a JSON object does not have; `string` returns `undefined` for it, but `null` for null."""


def string(value: Json | Literal[Missing.KEY]) -> str:
    """Return the text of a JSON value as JavaScript's `String(value)` does."""
    match value:
        case str():
            return value
        case Missing.KEY:
            return "undefined"
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return number(value)
        case list():
            return ",".join("" if item is None else string(item) for item in _leaves(value))
        case _:
            return "[object Object]"


def number(value: float) -> str:
    """Return the text of a number as JavaScript does: shortest digits, an exponent below 1e-6 and from 1e21 on."""
    double = as_double(value)
    if not math.isfinite(double):
        return "NaN" if math.isnan(double) else "Infinity" if double > 0 else "-Infinity"
    size = abs(double)
    if double == int(double) and size < 1e15:
        return str(int(double))
    digits = repr(double)
    if 1e-6 <= size < 1e21:
        return format(Decimal(digits), "f").removesuffix(".0")
    mantissa, _, exponent = f"{Decimal(digits).normalize():e}".partition("e")
    return f"{mantissa}e{int(exponent):+d}"


def to_number(value: Json | Literal[Missing.KEY]) -> float:
    """Return the number that JavaScript's `Number(value)` returns for a JSON value; it may be NaN."""
    match value:
        case Missing.KEY:
            return math.nan
        case None:
            return 0.0
        case int() | float():
            return as_double(value)
        case str():
            return _parse_number(trim(value))
        case list():
            return _parse_number(trim(string(value)))
        case _:
            return math.nan


def as_double(value: float) -> float:
    """Return a JSON number as a float; an integer too large for a float becomes infinity."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_true(value: Json | Literal[Missing.KEY]) -> bool:
    """Return False for values that JavaScript treats as false: undefined, null, false, zero, NaN and empty text."""
    match value:
        case Missing.KEY | None:
            return False
        case float():
            return value != 0 and not math.isnan(value)
        case bool() | int() | str():
            return bool(value)
        case _:
            return True


def stringify_head(value: Json, limit: int) -> tuple[str, bool]:
    """Return the first `limit` UTF-16 units of `JSON.stringify(value)`, and True if the text was longer."""
    pieces: list[str] = []
    length = 0
    for piece in _pieces(value, limit):
        pieces.append(piece)
        length += units(piece)
        if length > limit:
            return cut("".join(pieces), limit), True
    return "".join(pieces), False


_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_PREFIXED = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)", re.ASCII)
_ARRAY_INDEX = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)
_LAST_ARRAY_INDEX = 2**32 - 2


def _parse_number(text: str) -> float:
    if not text:
        return 0.0
    if _DECIMAL.fullmatch(text):
        return float(text)
    if _PREFIXED.fullmatch(text):
        return as_double(int(text, 0))
    return {"Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}.get(text, math.nan)


def _leaves(values: list[Json]) -> Iterator[Json]:
    """Yield the items of a list and of the lists nested in it; None stands for an empty nested list.

    JavaScript's `String` joins the items of nested lists in the same order.
    """
    stack = [iter(values)] if values else []
    while stack:
        for item in stack[-1]:
            if isinstance(item, list) and item:
                stack.append(iter(item))
                break
            yield None if item == [] else item
        else:
            stack.pop()


def _pieces(value: Json, limit: int) -> Iterator[str]:
    """Yield the JSON text of a value in pieces, so that a caller who needs only the beginning can stop early.

    Strings are cut after `limit` + 1 characters: one more than the caller needs, so that the caller notices the cut.
    """
    match value:
        case str():
            yield json_bytes(value[: limit + 1]).decode()
        case bool() | None:
            yield "null" if value is None else string(value)
        case int() | float():
            yield number(value) if math.isfinite(as_double(value)) else "null"
        case list():
            yield "["
            for position, item in enumerate(value):
                yield from chain("," if position else "", _pieces(item, limit))
            yield "]"
        case dict():
            yield "{"
            for position, key in enumerate(_in_order(value)):
                yield from chain(
                    "," if position else "", (json_bytes(key[: limit + 1]).decode(), ":"), _pieces(value[key], limit)
                )
            yield "}"


def _in_order(value: dict[str, Json]) -> list[str]:
    """Return an object's keys in JavaScript's order: first array indexes in numeric order, then all other keys."""
    indexes = [key for key in value if _ARRAY_INDEX.fullmatch(key) and int(key) <= _LAST_ARRAY_INDEX]
    return sorted(indexes, key=int) + [key for key in value if key not in indexes] if indexes else list(value)
