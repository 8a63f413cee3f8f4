"""Session files made up for the tests of index and search: lines of every kind, written, grown, torn, rewritten."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from sessionbrowse.agents import Disk, Surroundings
from sessionbrowse.store.find.roots import Scope


def scope_of(root: Path, **more: Any) -> Scope:
    """A scope of one root, without the places of this machine."""
    around = Surroundings(
        home=str(root.parent / "nobody"),
        environ={},
        cwd=str(root.parent),
        disk=Disk(read=lambda path: None, is_directory=os.path.isdir, names=lambda path: []),
    )
    return Scope(around=around, roots=(str(root),), **more)


def folder(root: Path, project: str = "--home-dev-shop--") -> Path:
    """The folder of a project in a store of pi."""
    made = root / "sessions" / project
    made.mkdir(parents=True, exist_ok=True)
    return made


def header(session_id: str = "s1", **more: Any) -> dict[str, Any]:
    """A session header."""
    return {
        "type": "session",
        "version": 3,
        "id": session_id,
        "timestamp": "2026-08-13T08:00:00.000Z",
        "cwd": "/home/dev/shop",
        **more,
    }


def entry(kind: str, entry_id: str, parent_id: str | None, **more: Any) -> dict[str, Any]:
    """An entry of any type."""
    return {"type": kind, "id": entry_id, "parentId": parent_id, "timestamp": "2026-08-13T08:00:01.000Z", **more}


def user(entry_id: str, parent_id: str | None, text: Any, ms: int = 1786608001000) -> dict[str, Any]:
    """Return a user message; a list becomes its content."""
    content = text if isinstance(text, list) else [{"type": "text", "text": text}]
    return entry("message", entry_id, parent_id, message={"role": "user", "content": content, "timestamp": ms})


def answer(
    entry_id: str, parent_id: str | None, text: str, *, command: str | None = None, ms: int = 1786608002000
) -> dict[str, Any]:
    """An answer of a model, with a call of bash if a command is given."""
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if command is not None:
        content.append({"type": "toolCall", "id": f"c{entry_id}", "name": "bash", "arguments": {"command": command}})
    usage = {"input": 10, "output": 5, "cacheRead": 1, "cacheWrite": 0, "cost": {"total": 0.01}}
    message = {
        "role": "assistant",
        "content": content,
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "usage": usage,
        "stopReason": "stop",
        "timestamp": ms,
    }
    return entry("message", entry_id, parent_id, message=message)


def result(entry_id: str, parent_id: str | None, text: str, ms: int = 1786608003000) -> dict[str, Any]:
    """Return a tool result."""
    message = {
        "role": "toolResult",
        "toolCallId": f"c{parent_id}",
        "toolName": "bash",
        "content": [{"type": "text", "text": text}],
        "isError": False,
        "timestamp": ms,
    }
    return entry("message", entry_id, parent_id, message=message)


def line_of(value: Any) -> bytes:
    """One line of a file, with its newline."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def write(path: Path, *values: Any) -> Path:
    """Write a file anew."""
    path.write_bytes(b"".join(map(line_of, values)))
    return path


def append(path: Path, *values: Any) -> None:
    """Add lines at the end."""
    with path.open("ab") as file:
        file.write(b"".join(map(line_of, values)))
