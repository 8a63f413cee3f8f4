"""Small sessions written as a few entries, for the tests of contexts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sessionbrowse.format.lines import line_blocks
from sessionbrowse.model.context.build import Context, build
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.session.session import Session, build_session

Line = dict[str, Any]
TIME = "2026-05-01T10:00:00.000Z"


def session(agent: str, lines: Sequence[Line | str], version: int | None = 3) -> Session:
    """Return a session of entries in a chain: ids not given are `e0`, `e1` …, parents not given the entry before."""
    header = {"type": "session", "id": "s", "timestamp": TIME, "cwd": "/p"}
    written = [json.dumps(header if version is None else {**header, "version": version})]
    last: str | None = None
    for number, line in enumerate(lines):
        if isinstance(line, str):
            written.append(line)
            continue
        entry = {"type": "message", "id": f"e{number}", "parentId": last, "timestamp": TIME, **line}
        last = entry["id"]
        written.append(json.dumps({key: value for key, value in entry.items() if version != 1 or key != "id"}))
    return of_bytes(agent, "".join(line + "\n" for line in written).encode("utf-8", "surrogatepass"))


def of_bytes(agent: str, content: bytes, path: str = "/x/s.jsonl") -> Session:
    """Return the session that a file of these bytes holds."""
    blocks = line_blocks([content])
    return build_session(blocks, RULES[agent], path, lambda offset, size: content[offset : offset + size])


def context(agent: str, *lines: Line | str, at: int | None = None) -> Context:
    """Return the context of a chain of entries."""
    return build(session(agent, lines), at)


def user(content: Any, **more: Any) -> Line:
    return {"message": {"role": "user", "content": content, "timestamp": 1, **more}}


def answer(content: Any, stop: str = "stop", **more: Any) -> Line:
    blocks = [text(content)] if isinstance(content, str) else content
    message = {"role": "assistant", "content": blocks, "provider": "p", "model": "m", "stopReason": stop}
    return {"message": {**message, "timestamp": 1, **more}}


def result(call: str, content: Any = "done", **more: Any) -> Line:
    blocks = [text(content)] if isinstance(content, str) else content
    message = {"role": "toolResult", "toolCallId": call, "toolName": "read", "content": blocks, "isError": False}
    return {"message": {**message, "timestamp": 1, **more}}


def bash(command: str, **more: Any) -> Line:
    return {"message": {"role": "bashExecution", "command": command, "output": "out", "timestamp": 1, **more}}


def system(content: Any) -> Line:
    return {"message": {"role": "system", "content": content, "timestamp": 1}}


def compaction(summary: str, kept: str | None, **more: Any) -> Line:
    return {"type": "compaction", "summary": summary, "firstKeptEntryId": kept, "tokensBefore": 9, **more}


def note(content: Any, kind: str = "note", **more: Any) -> Line:
    return {"type": "custom_message", "customType": kind, "content": content, "display": True, **more}


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def call(call_id: str, **arguments: Any) -> Line:
    return {"type": "toolCall", "id": call_id, "name": "read", "arguments": arguments}


IMAGE = {"type": "image", "data": "QUJD", "mimeType": "image/png"}


def said(made: Context) -> list[str]:
    """Return `role: text` of each message."""
    return [f"{message.role}: {message.text}" for message in made.messages]


def reasons(made: Context) -> dict[str | None, str]:
    """Return why each entry is left out, by its id."""
    return {left.entry_id: left.reason for left in made.left_out}
