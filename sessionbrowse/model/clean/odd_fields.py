"""The fields that an agent program needs in an entry: which values stop the program, and which value mends each.

Determined by tests with pi 1.6.0 and 0.87.1 and omp 18.3.4 and 18.2.3: every field of every entry type was absent,
null, empty or of another type (`tests/golden/odd_fields.tsv`). atomic and indusagi are derived from pi's code and are
assumed to need the same fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, get_args

from msgspec import Struct

from sessionbrowse.format.json_value import Json, is_true, json_bytes, json_object
from sessionbrowse.format.splice import Path, edited, value_at, with_member

Effect = Literal["stops", "unlisted", "hangs", "ignored"]
"""The result of an odd field: the program stops with an error when it draws the entry, leaves the session out of its
list, hangs when it draws the tree, or ignores the field."""


class Need(Struct, frozen=True):
    """The kinds of value that a program can read in one field of certain entries or messages (`where`).

    `where` is an entry type, "message ROLE", "message assistant STOP_REASON" or "message toolResult TOOL". In `path`,
    `*` is each element of a list, and `<text>` each block of type `text`. A field with `?` may be missing; one with
    `??` may also have a value that is no object.
    """

    where: str
    path: tuple[str, ...]
    kinds: frozenset[str]
    effect: Effect = "stops"


class OddField(Struct, frozen=True):
    """A value that a program cannot read: the path to it, its kind, and the need that it does not meet."""

    path: Path
    kind: str
    need: Need

    @property
    def sentence(self) -> str:
        """A sentence for the user that names the field and what is wrong with it."""
        name = ".".join(map(str, self.path))
        return f"{name} is missing" if self.kind == "absent" else f"{name} is {_KIND_WORDS[self.kind]}"


_KIND_WORDS = {"null": "null", "boolean": "a boolean", "number": "a number", "text": "a text", "list": "a list"} | {
    "empty text": "empty",
    "object": "an object",
}
_KINDS: dict[type[Json], str] = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "text"} | {
    list: "list",
    dict: "object",
}
_ABSENT: Any = object()
_USED = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
_COST = {**_USED, "total": 0}
NO_USAGE = {**_USED, "totalTokens": 0, "cost": _COST}
"""The `usage` of an answer that used nothing, with all numbers that a program adds up."""
_MISSING: dict[str, Json] = {
    "usage": NO_USAGE,
    "cost": _COST,
    "cwd": "",
    "total": 0,
    "tokensBefore": 0,
    "tokensAfter": 0,
    "arguments": {},
    "replacement": None,
    "additionalDirectories": [],
}
"""Replacement values for needed fields without a usable value; for all other fields, an empty text or list."""


def odd_fields(value: dict[str, Json], agent: str) -> Iterator[OddField]:
    """Yield the fields of an entry that its program cannot read, outer ones first."""
    kind, message = value.get("type"), value.get("message")
    if kind == "message" and isinstance(message, dict):
        role = message.get("role")
        more = message.get("stopReason" if role == "assistant" else "toolName")
        needs = _needs_of(agent, kind, role if isinstance(role, str) else "", more if isinstance(more, str) else "")
    else:
        needs = _needs_of(agent, kind if isinstance(kind, str) else "")
    for need in needs:
        yield from _unmet(need, value, 0, ())


@lru_cache(1024)
def _needs_of(agent: str, kind: str, role: str = "", more: str = "") -> tuple[Need, ...]:
    keys = dict.fromkeys(("", kind, f"message {role}", f"message {role} {more}"))
    return tuple(need for where in keys for need in _NEEDS[agent].get(where, ()))


def mended_entry(value: dict[str, Json], agent: str) -> dict[str, Json]:
    """Return an entry without values that stop its program; the same object if it has none."""
    if all(one.need.effect not in _MENDED for one in odd_fields(value, agent)):
        return value
    return json_object(mended_fields(json_bytes(value), value, agent)) or {}


def mended_fields(raw: bytes, value: dict[str, Json], agent: str) -> bytes:
    """Return an entry's line without values that stop its program; all other bytes stay as they are."""
    for _ in range(_MOST_MENDED):
        odd = next((one for one in odd_fields(value, agent) if one.need.effect in _MENDED), None)
        if odd is None:
            break
        raw = _with_value(raw, value, odd.path, _mend(_at(value, odd.path), odd))
        value = json_object(raw) or {}
    return raw


_MOST_MENDED = 1_000
_MENDED = ("stops", "unlisted")


def _unmet(need: Need, value: Json, at: int, above: Path) -> Sequence[OddField]:
    """Return the values in `value` that do not meet a need; `at` parts of the need's path lead to `value`.

    If a value should have a field but is no object, the value itself is reported, because the program reads the field
    as absent. A list is returned, not a generator, because this runs for every field of every entry.
    """
    parts = need.path
    while at < len(parts):
        part = parts[at]
        if part[0] in "*<":
            if not isinstance(value, list):
                return ()
            found: list[OddField] = []
            kinds = part[1:-1].split()
            for index, item in enumerate(value):
                if not kinds or (isinstance(item, dict) and _is_block(item, *kinds)):
                    found += _unmet(need, item, at + 1, (*above, index))
            return found
        name = part.rstrip("?")
        inner = value.get(name, _ABSENT) if isinstance(value, dict) else _ABSENT
        if name != part and (inner is _ABSENT or not is_true(inner) or (part[-2] == "?" and not _has_fields(inner))):
            return ()
        if inner is _ABSENT:
            if "absent" in need.kinds or any(step[0] in "*<" for step in parts[at + 1 :]):
                return ()
            is_here = isinstance(value, dict)
            return (OddField((*above, name), "absent", need) if is_here else OddField(above, _kind_of(value), need),)
        value, above, at = inner, (*above, name), at + 1
    kind = _kind_of(value)
    return () if kind in need.kinds else (OddField(above, kind, need),)


def _has_fields(value: Json) -> bool:
    return isinstance(value, dict | list)


def _is_block(block: dict[str, Json], kind: str, *tools: str) -> bool:
    return block.get("type") == kind and (not tools or block.get("name") in tools)


def _kind_of(value: Json) -> str:
    return _KINDS.get(type(value), "absent") if value != "" else "empty text"


def _at(value: Json, path: Path) -> Json:
    for step in path:
        value = value[step] if not isinstance(value, dict) or step in value else _ABSENT
    return value


def _mend(value: Json, odd: OddField) -> Json:
    """Return the replacement for an odd value: its content as a text or list if possible, else an empty value.

    `_ABSENT` means that an element is removed from its list.
    """
    if isinstance(odd.path[-1], int):
        return _ABSENT
    field, kinds = odd.path[-1], odd.need.kinds
    if field in _MISSING or value is _ABSENT or value is None:
        return _MISSING.get(field, [] if "text" not in kinds else "")
    if isinstance(value, dict) and "list" in kinds:
        return [value] if value else []
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if "text" in kinds:
        return text
    return [{"type": "text", "text": text}] if field == "content" else [] if "list" in kinds else _ABSENT


def _with_value(raw: bytes, value: Json, path: Path, new: Json) -> bytes:
    if new is _ABSENT:
        return edited(raw, {path: None})
    made = json_bytes(new)
    if _at(value, path) is not _ABSENT:
        return edited(raw, {path: made})
    above, key = path[:-1], str(path[-1])
    return edited(raw, {above: with_member(value_at(raw, above), key, made)}) if above else with_member(raw, key, made)


# ---- the needs -----------------------------------------------------------------------------------------------

_PI = """
message user: message.content: absent null text list
message user, message assistant: message.content: unlisted absent text list
message user, message assistant, message toolResult, message custom: message.content.*: set
message assistant: message.content: absent null list
message assistant: message.content.<toolCall read bash edit write grep find ls>.arguments: absent set
message toolResult: message.usage?.cost: set
message toolResult: message.usage?.cost.total: absent null boolean number
message toolResult: message.content: absent null list
message toolResult: message.content.<text>.text: absent null text
message bashExecution: message.output: absent null text
message custom: message.content: text list
message system: message.toolsAdded: absent null text list
message system: message.toolsAdded.*: set
message system: message.toolsRemoved: absent null text list
message system: message.toolsRemoved.*: set
compaction: tokensBefore: set
compaction: systemMessage: absent null object list
compaction, branch_summary: usage?.cost: set
compaction, branch_summary: usage?.cost.total: absent null boolean number
custom_message: content: text list
session_info: name: absent null text
usage: usage.cost: set
usage: usage.cost.total: absent null boolean number
context_edit: replacement: null set
: id: hangs absent set
"""
_OMP = """
session: cwd: absent null text
session: additionalDirectories: absent null text list
session: additionalDirectories.*: text
session: id: absent null boolean number filled list object
: type: text
message user, message custom, message hookMessage: message.content: text list
message user, message custom, message hookMessage: message.content.*: set
message assistant, message toolResult: message.content: list
message assistant, message toolResult: message.content.*: set
message assistant: message.content.<toolCall>.name: text
message assistant: message.content.<toolCall read bash edit write grep glob>.arguments: absent set
message toolResult task: message.details?.usage??.cost: set
message toolResult task: message.details?.usage??.cost.total: absent null boolean number
message toolResult todo: message.details?.phases?.*.tasks: list
message toolResult todo: message.details?.phases?.*.tasks.*: set
message assistant: message.upstreamModel: absent null text
message toolResult: message.toolName: absent text
message bashExecution, message pythonExecution: message.output: absent null text
message pythonExecution: message.code: text
message fileMention: message.files: text list
message fileMention: message.files.*: set
compaction: tokensAfter: absent set
title_change: title: text
model_change: model: absent null text
model_usage: purpose: text
model_usage: provider: text
model_usage: model: text
model_usage: role: absent null text
model_usage: usage?.cost: set
model_usage: usage?.cost.total: absent null boolean number
ttsr_injection: injectedRules: text list
compaction: summary: ignored text
custom_message: content: ignored text list
model_change: role: ignored absent null filled
mode_change: mode: ignored filled
"""
_ALL = """
message: message: object list
message assistant: message.content.<text>.text: text
message assistant: message.content.<thinking>.thinking: text
message assistant: message.content.<toolCall>.arguments: null set
message assistant error: message.errorMessage: absent null text
message assistant: message.usage.cost: set
message assistant: message.usage.cost.total: absent null boolean number
message bashExecution: message.command: absent null text
branch_summary: summary: text
custom_message: content.*: set
: type: ignored filled
: parentId: ignored absent null text number
message: message.role: ignored filled
compaction: firstKeptEntryId: ignored text
label: targetId: ignored filled
thinking_level_change: thinkingLevel: ignored null text
"""


def _table(text: str) -> dict[str, tuple[Need, ...]]:
    """Return the needs in lines of the form `where: path: kinds`, grouped by entry type or role.

    "set" means all kinds except absent and null. "text" includes an empty text; "filled" is a text that is not empty.
    """
    needs: dict[str, list[Need]] = {}
    for line in filter(None, text.splitlines()):
        where, path, words = (part.strip() for part in line.split(":"))
        kinds = frozenset(kind for word in words.split() for kind in _WORDS.get(word, (word,)))
        for one in where.split(","):
            steps = tuple(_STEP.findall(path))
            effect = next((effect for effect in _EFFECTS if effect in kinds), _EFFECTS[0])
            needs.setdefault(one.strip(), []).append(Need(one.strip(), steps, kinds, effect))
    return {where: tuple(found) for where, found in needs.items()}


_EFFECTS: tuple[Effect, ...] = get_args(Effect)
_STEP = re.compile(r"<[^>]*>|[^.]+")
_WORDS = {
    "set": ("text", "empty text", "boolean", "number", "list", "object"),
    "text": ("text", "empty text"),
    "filled": ("text",),
}
_NEEDS = dict.fromkeys(("pi", "atomic", "indusagi"), _table(_PI + _ALL)) | {
    "omp": _table(_OMP + _ALL),
    "claude": {},
    "codex": {},
}
