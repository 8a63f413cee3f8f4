"""Replace or remove values in the bytes of a JSON line; all other bytes stay unchanged.

The line is not decoded and encoded again, because that could change its numbers, escapes and order of keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from sessionbrowse.format.json_value import BadJson, loads

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]', re.DOTALL)


Step = str | int
Path = tuple[Step, ...]
"""The path to a value in a JSON line: the keys and list indexes that lead to it from the outermost object."""
Edits = Mapping[Path, bytes | None]
"""The changes of a JSON line: new bytes for the value at each path; None removes the value and its key."""

_ANY_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


class Member(Struct, frozen=True, gc=False):
    """A key of a JSON object with its value, as byte positions in the line: the key's start, the value's start and end.

    Blanks around the value are excluded.
    """

    key_start: int
    start: int
    end: int


def members(line: bytes) -> dict[str, Member]:
    """Map each key of a line's JSON object to its byte positions; if a key occurs twice, the last occurrence counts.

    Raises:
        BadJson: the line is no JSON object.
    """
    found: dict[str, Member] = {}
    depth = 0
    key: bytes | None = None
    key_start = value_start = -1
    if not line.lstrip(b" \t\r\n").startswith(b"{"):
        raise BadJson("the line is not a JSON object")
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
    raise BadJson("the line is not a JSON object")


def with_member(line: bytes, key: str, value: bytes) -> bytes:
    """Return the JSON line with the value of `key` replaced; a missing key is added at the end of the object."""
    found = members(line)
    if key in found:
        return line[: found[key].start] + value + line[found[key].end :]
    end = line.rindex(b"}")
    return line[:end].rstrip(b" \t\r\n") + (b"," if found else b"") + b'"' + key.encode() + b'":' + value + line[end:]


def without_member(line: bytes, key: str) -> bytes:
    """Return the JSON line without `key` and its value."""
    member = members(line).get(key)
    if member is None:
        return line
    before, after = line[: member.key_start].rstrip(b" \t\r\n"), line[member.end :].lstrip(b" \t\r\n")
    if after.startswith(b","):
        return before + after[1:].lstrip(b" \t\r\n")
    return before.removesuffix(b",") + after


def value_of(line: bytes, key: str) -> bytes | None:
    """Return the bytes of the value that `key` has in a JSON line; None if the key is missing."""
    member = members(line).get(key)
    return None if member is None else line[member.start : member.end]


def value_at(line: bytes, path: Path) -> bytes:
    """Return the bytes of the value at a path that leads to one."""
    start, end, _ = max(_changes(line, {path: b""}))
    return line[start:end]


def edited(line: bytes, edits: Edits) -> bytes:
    """Return the JSON line with values replaced or removed; a path that leads to no value is ignored.

    If a key occurs twice in an object, both of its values are changed. If `edits` replaces or removes a value, then
    other edits inside this value are ignored.

    Raises:
        BadJson: the line is no JSON value.
    """
    if not edits:
        return line
    changes = sorted(_changes(line, edits))
    parts: list[bytes] = []
    at = 0
    for start, end, new in changes:
        if start < at:
            continue
        parts += (line[at:start], new)
        at = end
    return b"".join((*parts, line[at:]))


def _member(line: bytes, key_start: int, start: int, end: int) -> Member:
    value = line[start:end]
    start += len(value) - len(value.lstrip(b" \t\r\n"))
    return Member(key_start, start, start + len(value.strip(b" \t\r\n")))


def _text(key: bytes) -> str:
    return str(loads(key))


# ---- values at any depth ------------------------------------------------------------------------------------


class _Item(Struct):
    """An item of a JSON list, or a member of an object, by byte positions; a member's `start` is that of its key."""

    step: Step
    start: int
    value_start: int
    end: int = -1


class _Container(Struct):
    """A JSON list or object that is being read, and its items so far; `path` is the path to it in the line."""

    is_list: bool
    path: Path | None
    items: list[_Item] = []
    key: bytes | None = None
    key_start: int = -1


def _changes(line: bytes, edits: Edits) -> list[tuple[int, int, bytes]]:
    above = {path[:length] for path in edits for length in range(len(path))}
    changes: list[tuple[int, int, bytes]] = []
    stack: list[_Container] = []
    depth_ignored = 0
    for token in _ANY_TOKEN.finditer(line):
        first = line[token.start()]
        if depth_ignored:
            depth_ignored += (first in b"{[") - (first in b"}]")
            if not depth_ignored:
                _end_item(stack, token.end())
            continue
        if first in b"}]":
            if not stack:
                raise BadJson("not JSON: a closing bracket without an opening one")
            done = stack.pop()
            if done.path is not None:
                changes += _changes_of(done, done.path, edits)
            _end_item(stack, token.end())
        elif first in b",:":
            continue
        elif stack and not stack[-1].is_list and stack[-1].key is None and first == ord('"'):
            stack[-1].key, stack[-1].key_start = token[0], token.start()
        else:
            path = _begin_item(stack, token.start())
            if first in b"{[":
                if path in above:
                    stack.append(_Container(first == ord("["), path, []))
                else:
                    depth_ignored = 1
            else:
                _end_item(stack, token.end())
    if stack or depth_ignored:
        raise BadJson("torn: the line is not complete")
    return changes


def _begin_item(stack: list[_Container], start: int) -> Path:
    """Add an item that begins at `start` to the innermost list or object, and return the path to the item."""
    if not stack:
        return ()
    inner = stack[-1]
    step: Step = len(inner.items) if inner.is_list else str(loads(inner.key or b'""'))
    inner.items.append(_Item(step, start if inner.is_list else inner.key_start, start))
    inner.key = None
    return (*(inner.path or ()), step)


def _end_item(stack: list[_Container], end: int) -> None:
    if stack:
        stack[-1].items[-1].end = end


def _changes_of(container: _Container, path: Path, edits: Edits) -> list[tuple[int, int, bytes]]:
    """Return what to change in the line for those items of one list or object that `edits` replaces or removes.

    Each change is (start, end, new bytes); a removal includes a comma.
    """
    changes: list[tuple[int, int, bytes]] = []
    items = container.items
    some_kept = False
    for number, item in enumerate(items):
        where = (*path, item.step)
        if where not in edits:
            some_kept = True
            continue
        new = edits[where]
        if new is not None:
            changes.append((item.value_start, item.end, new))
            some_kept = True
        elif some_kept:
            changes.append((items[number - 1].end, item.end, b""))
        else:
            end = items[number + 1].start if number + 1 < len(items) else item.end
            changes.append((item.start, end, b""))
    return changes
