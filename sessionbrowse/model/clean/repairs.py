"""Repair the lines of a damaged session file: every readable entry is kept, and its agent can reach it in the tree.

An undamaged line keeps its bytes; in a damaged line, only the damaged JSON values are replaced. Rules:

- Several entries on one line, or after an unfinished entry, get lines of their own; other text is dropped.
- An entry without id gets a new id. Of two entries with the same id, the earlier gets a new id, and references stay
  with the later.
- If the line of an entry's parent is unreadable, the entry's new parent is its grandparent, if the unreadable line
  still shows the grandparent's id, else the previous entry of the file.
- A loop of parents is cut at its first entry, which gets the previous entry of the file as its parent.
- A message between a tool call and its result is moved behind the result.
- omp's title slot (256 bytes at the start of the file) gets that size, and is updated if it is older than the last
  `title_change` entry.
- The first header is kept; without one, a header is made.
- A field on which the agent fails gets a value that it can read (`odd_fields`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from json import JSONDecodeError, JSONDecoder

from msgspec import Struct

from sessionbrowse.format.json_value import BadJson, Json, json_bytes, json_object, loads
from sessionbrowse.format.splice import with_member
from sessionbrowse.format.title_slot import has_slot_size, is_slot, later_slot, parse_slot, resized
from sessionbrowse.model.clean.odd_fields import mended_fields
from sessionbrowse.model.session.parents import ROOT, loops

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_START = re.compile(r'\{"(?:type|customType|id|parentId)":')
_LOST = re.compile(rb'"id":"([^"\\]*)","parentId":"([^"\\]*)"')
_ENTRY_KEYS = frozenset({"type", "id", "parentId"})
_BETWEEN = frozenset({"user", "developer", "bashExecution"})


class Repaired(Struct, frozen=True):
    """The content of a repaired session; `new_ids` are pairs of the repeated id and the new id of an entry."""

    content: bytes
    entries: int
    left_out_lines: int
    new_ids: tuple[tuple[str, str], ...]


class _Entry(Struct):
    """An entry to write: the bytes of its line, its JSON object, its new id, and its parent's list position."""

    raw: bytes
    value: dict[str, Json]
    id: str = ""
    parent: int = ROOT


def repaired(
    content: bytes, agent: str, make_header: Callable[[str | None], dict[str, Json]], new_id: Callable[[set[str]], str]
) -> Repaired:
    """Return the repaired content of a session file of format version 3.

    `make_header` returns a header for a file without a usable one; its argument is the time of the first entry.
    `new_id` returns an entry id that is not in the given set.
    """
    slot, header, entries, lost, left_out = _read(content, agent)
    new_ids = _give_ids(entries, new_id)
    _link(entries, lost)
    entries = _rejoined(_without_unusable(entries))
    first_time = next((one.value["timestamp"] for one in entries if isinstance(one.value.get("timestamp"), str)), None)
    if header is None:
        header = json_bytes(make_header(first_time))
    elif not isinstance((json_object(header) or {}).get("id") or None, str):
        header = with_member(header, "id", json_bytes(make_header(first_time)["id"]))
    header = mended_fields(header, json_object(header) or {}, agent)
    slot = _current_slot(slot, entries)
    lines = [*([slot] if slot is not None else []), header, *(_line(one, entries, agent) for one in entries)]
    return Repaired(b"\n".join(lines) + b"\n", len(entries), left_out, tuple(new_ids))


def _read(content: bytes, agent: str) -> tuple[bytes | None, bytes | None, list[_Entry], dict[str, str], int]:
    """Return a file's title slot, header and entries, a dict of lost parents, and the number of unreadable lines.

    The dict maps the id of an entry in an unreadable line to the id of the entry's parent.
    """
    slot: bytes | None = None
    header: bytes | None = None
    entries: list[_Entry] = []
    lost: dict[str, str] = {}
    left_out = 0
    for line in _split(content.removeprefix(BYTE_ORDER_MARK)):
        records = list(_records(line))
        if not records:
            left_out += 1
            lost |= {found[1].decode("latin-1"): found[2].decode("latin-1") for found in _LOST.finditer(line)}
        for raw, value in records:
            kind = value.get("type")
            if kind == "session":
                header = raw if header is None else header
            elif kind == "title" and "pad" in value:
                slot = raw if slot is None and agent == "omp" and header is None and is_slot(value) else slot
            else:
                entries.append(_Entry(raw, value))
    return slot, header, entries, lost, left_out


def _split(content: bytes) -> Iterator[bytes]:
    for line in content.split(b"\n"):
        if b"\r" in line.rstrip(b"\r") and not json_object(line):
            yield from (part for part in line.split(b"\r") if part.strip())
        elif line.strip():
            yield line.rstrip(b"\r")


def _records(line: bytes) -> Iterator[tuple[bytes, dict[str, Json]]]:
    """Yield each JSON object that can be read from a line: its bytes and its value."""
    try:
        value = loads(line)
    except BadJson:
        yield from _embedded(line)
        return
    if isinstance(value, dict) and value:
        raw = line.strip(b" \t\r")
        yield raw.decode("utf-8", "replace").encode(), value


def _embedded(line: bytes) -> Iterator[tuple[bytes, dict[str, Json]]]:
    """Yield the complete entries and headers inside a line that is not valid JSON as a whole: bytes and value."""
    text = line.decode("utf-8", "replace")
    decoder = JSONDecoder()
    at = 0
    while (start := _START.search(text, at)) is not None:
        try:
            value, end = decoder.raw_decode(text, start.start())
        except (JSONDecodeError, RecursionError):
            at = start.start() + 1
            continue
        at = end
        is_entry = value.keys() >= _ENTRY_KEYS and isinstance(value["type"], str)
        if is_entry or (value.get("type") == "session" and isinstance(value.get("id"), str)):
            yield text[start.start() : end].encode("utf-8", "replace"), value
        else:
            at = start.start() + 1


def _give_ids(entries: list[_Entry], new_id: Callable[[set[str]], str]) -> list[tuple[str, str]]:
    """Give every entry a unique id; return pairs of old and new id for entries whose id was repeated."""
    taken = {one.value["id"] for one in entries if isinstance(one.value.get("id"), str)}
    seen: set[str] = set()
    changed: list[tuple[str, str]] = []
    for one in reversed(entries):
        own = one.value.get("id")
        if isinstance(own, str) and own and own not in seen:
            one.id = own
        else:
            one.id = new_id(taken)
            taken.add(one.id)
            if isinstance(own, str) and own:
                changed.append((own, one.id))
        seen.add(one.id)
    return changed[::-1]


def _link(entries: list[_Entry], lost: dict[str, str]) -> None:
    """Set every entry's parent so that there is no loop; `lost` maps ids of unreadable entries to their parents."""
    by_id = {one.id: index for index, one in enumerate(entries)}
    parents: list[int] = []
    for index, one in enumerate(entries):
        named = one.value.get("parentId", index)
        if named is None:
            parents.append(ROOT)
            continue
        for _ in range(len(lost) + 1):
            if isinstance(named, str) and named not in by_id and named in lost:
                named = lost[named]
        found = by_id.get(named, index - 1) if isinstance(named, str) else index - 1
        parents.append(found if found != index else index - 1)
    while True:
        cut = False
        for members in loops(parents):
            index = min(members)
            parents[index] = ROOT
            cut = True
            before = index - 1
            while before != ROOT and _leads_to(parents, before, index):
                before -= 1
            parents[index] = before
        if not cut:
            break
    for one, parent in zip(entries, parents, strict=True):
        one.parent = parent


def _leads_to(parents: list[int], start: int, wanted: int) -> bool:
    at, steps = start, 0
    while at != ROOT and steps <= len(parents):
        if at == wanted:
            return True
        at, steps = parents[at], steps + 1
    return steps > len(parents)


def _without_unusable(entries: list[_Entry]) -> list[_Entry]:
    """Return all entries but those of type `message` without a message object; agents fail on such entries.

    The children of a removed entry become children of the removed entry's parent.
    """
    bad = {
        index
        for index, one in enumerate(entries)
        if one.value.get("type") == "message" and not isinstance(one.value.get("message"), dict)
    }
    if not bad:
        return entries
    kept = [index for index in range(len(entries)) if index not in bad]
    place = {index: number for number, index in enumerate(kept)}
    for index in kept:
        parent = entries[index].parent
        while parent in bad:
            parent = entries[parent].parent
        entries[index].parent = place.get(parent, ROOT)
    return [entries[index] for index in kept]


def _rejoined(entries: list[_Entry]) -> list[_Entry]:
    """Move each message between a tool call and its result behind the result, in the tree and in the file."""
    children: defaultdict[int, set[int]] = defaultdict(set)
    for index, one in enumerate(entries):
        children[one.parent].add(index)

    def hang(index: int, parent: int) -> None:
        children[entries[index].parent].discard(index)
        entries[index].parent = parent
        children[parent].add(index)

    moved: set[int] = set()
    for index, one in enumerate(entries):
        between = _between(entries, index) if _role(one) == "toolResult" else []
        if between:
            first, last = between[-1], between[0]
            for child in list(children[index]):
                hang(child, last)
            hang(index, entries[first].parent)
            hang(first, index)
            moved.update(between)
    return _in_file_order(entries, moved) if moved else entries


def _in_file_order(entries: list[_Entry], moved: set[int]) -> list[_Entry]:
    """Return the entries in file order, with each moved entry placed after its new parent."""
    place = {ROOT: ROOT}
    order: list[int] = []
    waiting: defaultdict[int, list[int]] = defaultdict(list)
    for index in range(len(entries)):
        ready = [index]
        while ready:
            at = ready.pop()
            if at in moved and entries[at].parent not in place:
                waiting[entries[at].parent].append(at)
                continue
            place[at] = len(order)
            order.append(at)
            ready += reversed(waiting.pop(at, []))
    for one in entries:
        one.parent = place[one.parent]
    return [entries[index] for index in order]


def _between(entries: list[_Entry], index: int) -> list[int]:
    """Return the entries from a tool result up to the next tool result or assistant message above, nearest first.

    Neither end is included. Return an empty list if none of the entries is a message, or if the assistant message
    above does not contain the tool call that the result answers.
    """
    found: list[int] = []
    at = entries[index].parent
    while at != ROOT and _role(entries[at]) not in ("toolResult", "assistant"):
        found.append(at)
        at = entries[at].parent
    if not any(_role(entries[one]) in _BETWEEN or entries[one].value.get("type") == "custom_message" for one in found):
        return []
    while at != ROOT and _role(entries[at]) == "toolResult":
        at = entries[at].parent
    call = entries[index].value["message"].get("toolCallId")
    return found if at != ROOT and call in _calls_of(entries[at]) else []


def _calls_of(one: _Entry) -> list[Json]:
    content = one.value["message"].get("content") if _role(one) == "assistant" else None
    blocks = content if isinstance(content, list) else []
    return [block.get("id") for block in blocks if isinstance(block, dict) and block.get("type") == "toolCall"]


def _role(one: _Entry) -> str | None:
    message = one.value.get("message")
    role = message.get("role") if one.value.get("type") == "message" and isinstance(message, dict) else None
    return role if isinstance(role, str) else None


def _line(one: _Entry, entries: list[_Entry], agent: str) -> bytes:
    """Return an entry's line with its new id and parent, and without fields on which its agent fails."""
    raw = one.raw
    if one.value.get("id") != one.id:
        raw = with_member(raw, "id", json_bytes(one.id))
    parent = None if one.parent == ROOT else entries[one.parent].id
    if "parentId" not in one.value or one.value["parentId"] != parent:
        raw = with_member(raw, "parentId", json_bytes(parent))
    return mended_fields(raw, one.value, agent)


def _current_slot(slot: bytes | None, entries: list[_Entry]) -> bytes | None:
    """Return omp's title slot, updated to the last title change among the entries; None if the file has no slot."""
    if slot is not None and not has_slot_size(slot):
        slot = resized(slot)
    known = parse_slot(slot + b"\n") if slot is not None else None
    last = next((one.value for one in reversed(entries) if one.value.get("type") == "title_change"), None)
    if known is None or last is None:
        return slot
    later = later_slot(known, last.get("title"), last.get("source"), last.get("timestamp"))
    return slot if later is None else later[:-1]
