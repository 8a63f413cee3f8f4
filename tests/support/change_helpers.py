"""Helpers for tests of changes: session files of each agent, a change context, a made-up process table."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sessionbrowse.agents import Surroundings
from sessionbrowse.format.title_slot import slot_line
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.write.write_checks import Target

Json = dict[str, Any]

NOW_MS = 1_800_000_000_000.0
"""The clock of the tests: 2027-01-15T08:00:00.000Z."""
LONG_AGO_NS = 1_790_000_000_000_000_000
PROJECT = "/projects/webshop"


def line(value: Any) -> bytes:
    """Return one line as the agents write it."""
    # Halves of surrogate pairs become the escapes that JavaScript writes.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace") + b"\n"


def header(**extra: Any) -> Json:
    """Return a session header."""
    return {
        "type": "session",
        "version": 3,
        "id": "019beea5-6fa7-777a-9146-dd0ff97d3f39",
        "timestamp": "2026-08-13T08:00:00.000Z",
        "cwd": PROJECT,
        **extra,
    }


def entry(kind: str, entry_id: str, parent_id: str | None, **fields: Any) -> Json:
    """Return an entry."""
    return {"type": kind, "id": entry_id, "parentId": parent_id, "timestamp": "2026-08-13T08:00:01.000Z", **fields}


def user(entry_id: str, parent_id: str | None, text: str) -> Json:
    """Return what the user said."""
    message = {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1786608001000}
    return entry("message", entry_id, parent_id, message=message)


def assistant(entry_id: str, parent_id: str | None, text: str, calls: Sequence[str] = (), **extra: Any) -> Json:
    """Return an answer, which may call tools."""
    blocks: list[Json] = [{"type": "text", "text": text}]
    blocks += [{"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": "ls"}} for call in calls]
    message = {
        "role": "assistant",
        "content": blocks,
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": {"total": 0}},
        "stopReason": "toolUse" if calls else "stop",
        "timestamp": 1786608002000,
        **extra,
    }
    return entry("message", entry_id, parent_id, message=message)


def result(entry_id: str, parent_id: str | None, call: str) -> Json:
    """Return a tool's result."""
    message = {
        "role": "toolResult",
        "toolCallId": call,
        "toolName": "bash",
        "content": [{"type": "text", "text": "a b"}],
        "isError": False,
        "timestamp": 1786608003000,
    }
    return entry("message", entry_id, parent_id, message=message)


CONVERSATION = [
    entry("model_change", "00000001", None, provider="anthropic", modelId="claude-sonnet-4-5", model="a/b"),
    user("00000002", "00000001", "first question"),
    assistant("00000003", "00000002", "I look", ["call_1", "call_2"]),
    result("00000004", "00000003", "call_1"),
    result("00000005", "00000004", "call_2"),
    assistant("00000006", "00000005", "first answer"),
    user("00000007", "00000006", "second question"),
    assistant("00000008", "00000007", "second answer"),
]


class Store:
    """A home with one store for each agent, our own state, a clock and an empty process table."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.proc = folder / "proc"
        self.state = folder / "state" / "sessionbrowse"
        self.home.mkdir(exist_ok=True)
        self.proc.mkdir(exist_ok=True)
        self.now_ms = NOW_MS
        self.environ: dict[str, str] = {}
        self._ids = itertools.count(0xA0000000)

    @property
    def context(self) -> ChangeContext:
        """A change context of this store; its ids count up."""
        around = Surroundings(home=str(self.home), environ=self.environ, cwd=str(self.folder))
        return ChangeContext.at(
            around, str(self.state), lambda: self.now_ms, lambda: f"{next(self._ids):08x}", str(self.proc)
        )

    def session(
        self,
        agent: str = "pi",
        entries: Sequence[Json] = CONVERSATION,
        *,
        head: Sequence[Json] | None = None,
        slot: str | None = "old title",
        source: Any = "auto",
        end: bytes = b"",
        name: str = "2026-08-13T08-00-00-000Z_019beea5.jsonl",
    ) -> Path:
        """Write a session of an agent where it would lie, last changed long ago."""
        below = {"pi": ".pi/agent", "omp": ".omp/agent", "atomic": ".atomic/agent", "indusagi": ".indusagi/agent"}
        path = self.home / below[agent] / "sessions" / "--projects-webshop--" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [line(value) for value in [*([header()] if head is None else head), *entries]]
        first = [slot_line(slot, source, "2026-08-13T08:00:00.000Z")] if agent == "omp" and slot is not None else []
        path.write_bytes(b"".join([*first, *lines]) + end)
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
        return path

    def programs(self, *names: str) -> dict[str, str]:
        """Return an environment in which agents of these names are found; they do nothing."""
        folder = self.folder / "programs"
        folder.mkdir()
        for name in names:
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(0o755)
        return {"PATH": f"{folder}:{os.defpath}", "HOME": str(self.home)}

    def process(
        self,
        pid: int,
        argv: Sequence[str],
        *,
        cwd: str = "/",
        name: str = "",
        holds: Path | None = None,
        flags: int = os.O_WRONLY | os.O_APPEND,
        terminal: str = "/dev/pts/7",
    ) -> None:
        """Put a process into the table."""
        here = self.proc / str(pid)
        (here / "fd").mkdir(parents=True)
        (here / "fdinfo").mkdir()
        (here / "comm").write_text((name or os.path.basename(argv[0])) + "\n")
        (here / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in argv))
        (here / "cwd").symlink_to(cwd)
        (here / "fd" / "0").symlink_to(terminal)
        if holds is not None:
            (here / "fd" / "21").symlink_to(holds)
            (here / "fdinfo" / "21").write_text(f"pos:\t0\nflags:\t{flags:07o}\nmnt_id:\t29\n")


def target(path: Path, agent: str | None = None) -> Target:
    """Return a file as if its path had been typed."""
    return Target(str(path), agent)


def lines_of(path: Path) -> list[Any]:
    """Return the decoded lines of a file."""
    return [json.loads(raw) for raw in path.read_bytes().split(b"\n") if raw]
