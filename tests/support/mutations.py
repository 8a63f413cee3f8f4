"""Random damage of session files: torn, fused, lost and doubled lines, wrong ids and parents, bad bytes."""

from __future__ import annotations

import json
import random

from tests.support.change_helpers import header, line

_JUNK = [b"null", b"0", b"[]", b'"x"', b"{}", b"junk", b"\0\0\0", b"", b"{", b'{"type":"message"']


def mutated(content: bytes, dice: random.Random, most: int = 3) -> bytes:
    """Return the content with one to `most` damages."""
    lines = content.split(b"\n")
    for _ in range(dice.randint(1, most)):
        if len(lines) < 2:
            break
        at = dice.randrange(len(lines))
        match dice.randrange(12):
            case 0:
                lines[at] = lines[at][: dice.randrange(len(lines[at]) + 1)]
            case 1 if at + 1 < len(lines):
                cut = dice.choice([len(lines[at]), dice.randrange(len(lines[at]) + 1)])
                lines[at : at + 2] = [lines[at][:cut] + lines[at + 1]]
            case 2:
                del lines[at]
            case 3:
                lines.insert(at, lines[at])
            case 4:
                lines.insert(at, dice.choice(_JUNK))
            case 5:
                lines[at] = _with(lines[at], dice, "parentId")
            case 6:
                lines[at] = _with(lines[at], dice, "id")
            case 7:
                place = dice.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:place] + b"\xff\xfe" + lines[at][place:]
            case 8:
                lines.insert(at, line(header(id="second"))[:-1])
            case 9:
                other = dice.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 10:
                lines[at] = _with_message(lines[at], dice)
            case 11:
                lines = lines[: at + 1]
    return b"\n".join(lines)


def readable_entries(content: bytes) -> list[str]:
    """Return the ids of the lines that are whole entries with an id, other than messages without a message."""
    found = []
    for raw in content.split(b"\n"):
        try:
            value = json.loads(raw)
        except ValueError:
            continue
        if not isinstance(value, dict) or value.get("type") in ("session", "title") or not value:
            continue
        if value.get("type") == "message" and not isinstance(value.get("message"), dict):
            continue
        if isinstance(value.get("id"), str) and value["id"]:
            found.append(value["id"])
    return found


def _with(raw: bytes, dice: random.Random, key: str) -> bytes:
    try:
        value = json.loads(raw)
    except ValueError:
        return raw
    if not isinstance(value, dict) or "parentId" not in value:
        return raw
    choice = dice.choice([value.get("id"), value["parentId"], "00000000", "", 7, None, "gone"])
    if choice == "gone":
        value.pop(key, None)
    else:
        value[key] = choice
    return line(value)[:-1]


def _with_message(raw: bytes, dice: random.Random) -> bytes:
    try:
        value = json.loads(raw)
    except ValueError:
        return raw
    if not isinstance(value, dict) or not isinstance(value.get("message"), dict):
        return raw
    match dice.randrange(4):
        case 0:
            value["message"] = None
        case 1:
            value["message"].pop("content", None)
        case 2:
            value["message"]["content"] = None
        case 3:
            value["message"]["content"] = [None, {"type": "text", "text": "left"}]
    return line(value)[:-1]
