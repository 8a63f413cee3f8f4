"""Made-up lines of Claude Code and Codex, for tests: every shape that their programs write."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TRANSCRIPTS = Path(__file__).resolve().parents[3] / "shared" / "transcripts"

CLAUDE_ID = "11111111-2222-4333-8444-555555555555"
CODEX_ID = "019c0000-0000-7000-8000-000000000001"


def jsonl(records: Iterable[Any]) -> bytes:
    """Return records as lines."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def real_files(agent: str) -> list[Path]:
    """Return the published transcripts of an agent; none if they are not beside this checkout."""
    return sorted((TRANSCRIPTS / agent).rglob("*.jsonl"))


class Claude:
    """Writes the records of one session of Claude Code, each below the one before unless told otherwise."""

    def __init__(self, session: str = CLAUDE_ID, cwd: str = "/home/dev/app") -> None:
        self.records: list[dict[str, Any]] = []
        self.last: str | None = None
        self._session, self._cwd, self._count = session, cwd, 0

    def add(self, kind: str, *, parent: Any = "last", **fields: Any) -> str:
        """Add a record with a `uuid`, and return the `uuid`."""
        self._count += 1
        uuid = fields.pop("uuid", f"00000000-0000-4000-8000-{self._count:012d}")
        record = {
            "parentUuid": self.last if parent == "last" else parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self._cwd,
            "sessionId": self._session,
            "version": "2.1.100",
            "gitBranch": "main",
            "type": kind,
            "uuid": uuid,
            "timestamp": f"2026-05-01T10:{self._count // 60:02d}:{self._count % 60:02d}.000Z",
        }
        self.records.append(record | fields)
        self.last = uuid
        return str(uuid)

    def state(self, kind: str, **fields: Any) -> None:
        """Add a line without a `uuid`."""
        self.records.append({"type": kind, "sessionId": self._session, **fields})

    def user(self, content: Any, *, parent: Any = "last", **fields: Any) -> str:
        """Add a record of the role "user"."""
        return self.add("user", parent=parent, message={"role": "user", "content": content}, **fields)

    def answer(
        self,
        answer: str,
        *blocks: dict[str, Any],
        parent: Any = "last",
        output: int = 10,
        stop: Any = None,
        **fields: Any,
    ) -> str:
        """Add a record with blocks of the answer with the given message id."""
        usage = {
            "input_tokens": 3,
            "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 100,
            "output_tokens": output,
        }
        message = {
            "id": answer,
            "type": "message",
            "role": "assistant",
            "model": fields.pop("model", "claude-opus-4-5"),
            "content": list(blocks),
            "stop_reason": stop,
            "usage": usage,
        }
        return self.add("assistant", parent=parent, message=message, requestId=f"req_{answer}", **fields)

    def result(self, call: str, content: Any = "done", *, parent: Any = "last", **fields: Any) -> str:
        """Add a record with the result of a call."""
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        return self.user([block], parent=parent, **fields)

    def lines(self) -> list[bytes]:
        """Return the lines of the file."""
        return jsonl(self.records).splitlines()


def said(text: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": text}


def call(call_id: str, name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    """Return a block with a call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


class Codex:
    """Writes the lines of one session of Codex."""

    def __init__(self, thread: str = CODEX_ID, cwd: str = "/home/dev/app", **meta: Any) -> None:
        self.records: list[dict[str, Any]] = []
        self.ms = 0
        self._total = 0
        self.line("session_meta", {"id": thread, "timestamp": self.time(), "cwd": cwd, "source": "cli", **meta})
        self.line("turn_context", {"cwd": cwd, "model": "gpt-5-codex"})

    def time(self) -> str:
        """Return the time of the next line."""
        seconds, ms = divmod(self.ms, 1000)
        return f"2026-05-01T10:{seconds // 60:02d}:{seconds % 60:02d}.{ms:03d}Z"

    def line(self, kind: str, payload: Any, after_ms: int = 1000, **fields: Any) -> None:
        """Add a line."""
        self.records.append({"timestamp": self.time(), "type": kind, "payload": payload, **fields})
        self.ms += after_ms

    def item(self, kind: str, **fields: Any) -> None:
        """Add an item that the model sees."""
        self.line("response_item", {"type": kind, **fields})

    def event(self, kind: str, **fields: Any) -> None:
        """Add an event that the program shows."""
        self.line("event_msg", {"type": kind, **fields})

    def user_item(self, text: str, role: str = "user") -> None:
        """Add a message with the role "user", without an event."""
        self.item("message", role=role, content=[{"type": "input_text", "text": text}])

    def prompt(self, text: str) -> None:
        """Add a prompt as item and event."""
        self.user_item(text)
        self.event("user_message", message=text)

    def answer(self, text: str) -> None:
        """Add an answer as event and item."""
        self.event("agent_message", message=text)
        self.item("message", role="assistant", content=[{"type": "output_text", "text": text}])

    def call(self, call_id: str, output: Any = "done") -> None:
        """Add a call with its output."""
        self.item("function_call", name="shell", arguments='{"command":["ls"]}', call_id=call_id)
        self.item("function_call_output", call_id=call_id, output=output)

    def tokens(self, input_tokens: int, cached: int, output: int, *, again: bool = False) -> None:
        """Add a line with the tokens of a request; with `again`, the total is that of the line before."""
        self._total += 0 if again else input_tokens + output
        last = {"input_tokens": input_tokens, "cached_input_tokens": cached, "output_tokens": output}
        total = {"total_tokens": self._total, "input_tokens": self._total}
        self.event("token_count", info={"total_token_usage": total, "last_token_usage": last})

    def lines(self) -> list[bytes]:
        """Return the lines of the file."""
        return jsonl(self.records).splitlines()
