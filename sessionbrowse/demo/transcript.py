"""Write sessions of the newer indusagi, in its format `indus/transcript@1`, without header, name or directory."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from sessionbrowse.agents.indusagi import slug_of
from sessionbrowse.demo.files import write
from sessionbrowse.demo.world import World
from sessionbrowse.format.encode import json_line
from sessionbrowse.text import iso_ms

_SCHEMA = "indus/transcript@1"
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def write_transcript(world: World, project: str, days_ago: float, turns: list[tuple[str, str]]) -> Path:
    """Write a session file from `turns`, which are pairs of a role (`user`, `assistant`, `tool`) and a text."""
    begins_ms = world.now_ms - int(days_ago * 86_400_000)
    source = random.Random(f"{project} {turns[0][1]}")
    lines: list[bytes] = []
    previous: str | None = None
    at_ms = begins_ms
    for role, text in turns:
        at_ms += source.randrange(4_000, 60_000)
        entry_id = _ulid(at_ms, source)
        node = {"schema": _SCHEMA, "kind": "entry", "id": entry_id, "prev": previous, "role": role}
        lines.append(json_line({**node, "message": _message(role, text, at_ms), "at": iso_ms(at_ms)}))
        previous = entry_id
    suffix = "".join(source.choice(_BASE36) for _ in range(8))
    name = f"s_{_digits(begins_ms, _BASE36)}_{suffix}.ndjson"
    folder = slug_of(str(world.home / project))
    path = world.agent_directory("indusagi") / "sessions" / folder / name
    write(path, lines, at_ms)
    return path


def _message(role: str, text: str, at_ms: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role}
    if role == "tool":
        message = {"role": "toolResult", "toolCallId": "call_1", "toolName": "bash"}
    message["content"] = [{"type": "text", "text": text}]
    if role == "tool":
        message["isError"] = False
    elif role == "assistant":
        message |= {"api": "openai-completions", "provider": "kimi", "model": "kimi-k2", "stopReason": "stop"}
    return message | {"timestamp": at_ms}


def _ulid(time_ms: int, source: random.Random) -> str:
    return _digits(time_ms, _CROCKFORD).rjust(10, "0") + "".join(source.choice(_CROCKFORD) for _ in range(16))


def _digits(number: int, alphabet: str) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, len(alphabet))
        digits = alphabet[digit] + digits
    return digits or alphabet[0]
