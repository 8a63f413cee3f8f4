"""Session files made up for tests: lines, and what a test asks of an opened file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from sessionbrowse.model.session.session import Session
from sessionbrowse.store.read.session_file import open_session

TIME = "2026-08-13T08:00:{:02d}.{:03d}Z"


def line(value: object) -> bytes:
    """Return a value as the agents write it: one line, no blanks, raw characters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def header(version: object = 3, **more: Any) -> bytes:
    """Return a session header; `version` None leaves the key out, as version 1 does."""
    first: dict[str, Any] = {"type": "session"} | ({} if version is None else {"version": version})
    return line(first | {"id": "s-1", "timestamp": TIME.format(0, 0), "cwd": "/home/dev/webshop"} | more)


def entry(kind: str, entry_id: str | None, parent: str | None, /, second: int = 1, **more: Any) -> bytes:
    """Return an entry; `entry_id` None leaves id and parent out, as version 1 does."""
    ids = {} if entry_id is None else {"id": entry_id, "parentId": parent}
    return line({"type": kind, **ids, "timestamp": TIME.format(second % 60, second // 60), **more})


def user(entry_id: str | None, parent: str | None, text: Any = "question", second: int = 1) -> bytes:
    """Return a user message."""
    message = {"role": "user", "content": text, "timestamp": 1_786_608_000_000 + second * 1000}
    return entry("message", entry_id, parent, second, message=message)


def answer(entry_id: str | None, parent: str | None, text: str = "answer", second: int = 1, **more: Any) -> bytes:
    """Return an assistant's message with usage."""
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "provider": "anthropic",
        "model": "sonnet",
        "usage": {"input": 10, "output": 5, "cacheRead": 2, "cacheWrite": 1, "cost": {"total": 0.25}},
        "stopReason": "stop",
        "timestamp": 1_786_608_000_000 + second * 1000,
        **more,
    }
    return entry("message", entry_id, parent, second, message=message)


def slot(title: str = "Title", **more: Any) -> bytes:
    """Return omp's title slot."""
    return line({"type": "title", "v": 1, "title": title, "updatedAt": TIME.format(0, 0), "pad": "  ", **more})


def written(folder: Path, *lines: bytes, name: str = "session.jsonl") -> Path:
    """Write a session file and return its path."""
    path = folder / name
    path.write_bytes(b"".join(lines))
    return path


def three_questions(folder: Path) -> None:
    """Write three sessions with one message each: `0.jsonl` asks "question 0", and so on."""
    for number in range(3):
        written(folder, header(id=f"s-{number}"), user("a", None, f"question {number}"), name=f"{number}.jsonl")


def opened(folder: Path, *lines: bytes, agent: str = "pi", name: str = "session.jsonl") -> Session:
    """Write a session file and open it."""
    return open_session(written(folder, *lines, name=name), agent)


def ids(session: Session) -> list[str | None]:
    """Return the ids of the entries in file order."""
    return [envelope.id for envelope in session.envelopes]


def branch_ids(session: Session) -> list[str | None]:
    """Return the ids on the active branch."""
    return [session.envelopes[index].id for index in session.active_branch()]


def problems(session: Session) -> list[tuple[int, int, str]]:
    """Return the problems as (line, offset, reason)."""
    return [(problem.line, problem.offset, problem.reason) for problem in session.problems]


Status = dict[str, tuple[int, int, int, int, int, bytes | None]]


def snapshot(folder: Path) -> Status:
    """Return everything about a folder and what is below it that a write would change, access times aside."""
    found: Status = {}
    for place, _, names in os.walk(folder):
        for path in [Path(place), *(Path(place) / name for name in names)]:
            status = path.lstat()
            content = path.read_bytes() if path.is_file() else None
            found[str(path)] = (
                status.st_mode,
                status.st_ino,
                status.st_size,
                status.st_mtime_ns,
                status.st_ctime_ns,
                content,
            )
    return found
