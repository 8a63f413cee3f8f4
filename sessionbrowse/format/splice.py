"""Change single members of a JSON object in its bytes; all other bytes stay unchanged.

A line that was read is never encoded again, because that could change its numbers, escapes and key order.
"""

from __future__ import annotations

import re

from msgspec import Struct

from sessionbrowse.format.json_value import BadJson, loads

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]', re.DOTALL)


class Member(Struct, frozen=True, gc=False):
    """The positions of a member's key and value in an object's bytes; blanks around the value do not count."""

    key_start: int
    start: int
    end: int


def members(line: bytes) -> dict[str, Member]:
    """Return the members of the object on a line by key; if a key occurs twice, the last one counts.

    Raises:
        BadJson: the line is no JSON object.
    """
    found: dict[str, Member] = {}
    depth = 0
    key: bytes | None = None
    key_start = value_start = -1
    if not line.lstrip(b" \t\r\n").startswith(b"{"):
        raise BadJson("not a JSON object")
    for token in _TOKEN.finditer(line):
        first = line[token.start()]
        if first in b"{[":
            depth += 1
        elif first in b"}]":
            depth -= 1
            if depth == 0 and key is not None:
                found[_text(key)] = _member(line, key_start, value_start, token.start())
            if depth == 0:
                return found
        elif depth != 1:
            continue
        elif first == ord('"') and key is None:
            key, key_start = token[0], token.start()
        elif first == ord(":"):
            value_start = token.end()
        elif first == ord(",") and key is not None:
            found[_text(key)] = _member(line, key_start, value_start, token.start())
            key = None
    raise BadJson("not a JSON object")


def with_member(line: bytes, key: str, value: bytes) -> bytes:
    """Return the line with a member set to another value; a missing member is added at the end."""
    found = members(line)
    if key in found:
        return line[: found[key].start] + value + line[found[key].end :]
    end = line.rindex(b"}")
    return line[:end].rstrip(b" \t\r\n") + (b"," if found else b"") + b'"' + key.encode() + b'":' + value + line[end:]


def without_member(line: bytes, key: str) -> bytes:
    """Return the line without a member."""
    member = members(line).get(key)
    if member is None:
        return line
    before, after = line[: member.key_start].rstrip(b" \t\r\n"), line[member.end :].lstrip(b" \t\r\n")
    if after.startswith(b","):
        return before + after[1:].lstrip(b" \t\r\n")
    return before.removesuffix(b",") + after


def value_of(line: bytes, key: str) -> bytes | None:
    """Return the bytes of a member's value, None if there is no such member."""
    member = members(line).get(key)
    return None if member is None else line[member.start : member.end]


def _member(line: bytes, key_start: int, start: int, end: int) -> Member:
    value = line[start:end]
    start += len(value) - len(value.lstrip(b" \t\r\n"))
    return Member(key_start, start, start + len(value.strip(b" \t\r\n")))


def _text(key: bytes) -> str:
    return str(loads(key))
