"""Write one made-up session of pi step by step through `SessionManager`, with generated times, ids and costs.

The generated values depend only on the session's content and its given end time, so the same end time gives the same
bytes. The file is written when the session is complete, because the start time is the end time less the duration.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sessionbrowse.agents import Surroundings
from sessionbrowse.format.ids import file_name, uuid7
from sessionbrowse.format.json_value import json_line
from sessionbrowse.manager.environment import Environment
from sessionbrowse.session_manager import SessionManager
from sessionbrowse.text import iso_ms, parse_time

T = TypeVar("T")
Json = dict[str, Any]

_PROVIDER, _MODEL = "anthropic", "claude-sonnet-4-5"
_PRICES = {"input": 3.0, "output": 15.0, "cacheRead": 0.3, "cacheWrite": 3.75}
"""Dollars per million tokens."""
_PROMPT_TOKENS = 8_400  # The number of tokens of the system prompt and the tool descriptions, roughly.


class Story:
    """A session in preparation; most methods append entries as pi would, and return the last entry's id."""

    def __init__(self, root: Path, cwd: Path, ends_ms: int, title: str) -> None:
        self.root = root
        self.cwd = cwd
        self.ends_ms = ends_ms
        self.path = Path()
        self._parent: Json = {}
        self._clock = 0
        self._random = random.Random(f"pi {title}")
        self._environment = Environment(
            around=Surroundings(home=str(cwd.parent), environ={}, cwd=str(cwd)),
            now_ms=lambda: self._clock,
            random_bytes=lambda count: self._random.getrandbits(8 * count).to_bytes(count, "big"),
        )
        self.session = SessionManager.in_memory(cwd, agent="pi", id="later", environment=self._environment)
        self._copied = 0
        """The number of entries copied from another session; these entries keep their times."""
        self._context = _PROMPT_TOKENS
        self._seen = 0
        self._add(self.session.append_model_change, _PROVIDER, _MODEL)
        self._add(self.session.append_thinking_level_change, "medium")

    def user(self, text: str) -> str:
        """Append a user message to the session."""
        self._tick(25, 140)
        return self._message("user", {"content": [{"type": "text", "text": text}]}, text)

    def say(self, text: str) -> str:
        """Append an assistant message to the session."""
        return self._assistant([{"type": "text", "text": text}], "stop")

    def use(self, tool: str, arguments: Json, output: str) -> str:
        """Append to the session an assistant message that calls a tool, and the tool's result `output`."""
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        call_id = "toolu_01" + "".join(self._random.choice(letters) for _ in range(22))
        self._assistant([{"type": "toolCall", "id": call_id, "name": tool, "arguments": arguments}], "toolUse")
        self._tick(1, 9)
        body: Json = {"toolCallId": call_id, "toolName": tool, "content": [{"type": "text", "text": output}]}
        return self._message("toolResult", {**body, "isError": False}, output)

    def bash(self, command: str, output: str) -> str:
        """Append to the session a shell command that the user typed after `!`, and the command's output."""
        self._tick(10, 60)
        body = {"command": command, "output": output, "exitCode": 0, "cancelled": False, "truncated": False}
        return self._message("bashExecution", body, output)

    def name(self, text: str) -> None:
        """Name the session."""
        self._tick(2, 8)
        self._add(self.session.set_session_name, text, "user")

    def label(self, target_id: str, text: str) -> str:
        """Set the label of an entry."""
        self._tick(3, 12)
        return self._add(self.session.append_label_change, target_id, text)

    def leave(self, target_id: str) -> None:
        """Move the leaf back to an entry."""
        self._tick(20, 90)
        self.session.branch(target_id)

    def continue_from(self, source: Story, at: str) -> None:
        """Make this session a fork of the saved `source`: copy the branch up to the entry `at`, with its labels."""
        self._parent = {"parentSession": str(source.path)}
        self.session = SessionManager.in_memory(
            self.cwd, agent="pi", entries=source.session.get_entries(), environment=self._environment
        )
        self.session.create_branched_session(at)
        self._copied = self.session.get_entry_count()

    def save(self, folder: str) -> None:
        """Write the session file to `sessions`/`folder`; the file's modification time is the end of the session."""
        begins_ms = self.ends_ms - self._clock
        for entry in self.session.get_entries()[self._copied :]:
            entry["timestamp"] = iso_ms((parse_time(entry["timestamp"]) or 0) + begins_ms)
            if "message" in entry:
                entry["message"]["timestamp"] += begins_ms
        begins = iso_ms(begins_ms)
        session_id = uuid7(begins_ms, self._environment.random_bytes)
        header = self.session.get_header() | {"id": session_id, "timestamp": begins} | self._parent
        self.path = self.root / "sessions" / folder / file_name(begins, session_id)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"".join(json_line(item) for item in (header, *self.session.get_entries())))
        os.utime(self.path, (self.ends_ms / 1000, self.ends_ms / 1000))

    def _add(self, append: Callable[..., T], *arguments: Any) -> T:
        self._tick(0, 1)
        return append(*arguments)

    def _message(self, role: str, body: Json, seen: str) -> str:
        """Append a message to the session, and count the tokens of `seen`, the text of it that a model would read."""
        self._context += len(seen) // 4 + 12
        self._tick(0, 1)
        return self.session.append_message({"role": role, **body, "timestamp": self._clock})

    def _assistant(self, content: list[Json], stop: str) -> str:
        self._tick(4, 35)
        written = len(json.dumps(content, ensure_ascii=False)) // 4 + self._random.randrange(20, 60)
        amounts = {"input": 3, "output": written, "cacheRead": self._seen, "cacheWrite": self._context - self._seen}
        self._seen = self._context
        costs = {kind: round(amount * _PRICES[kind] / 1e6, 8) for kind, amount in amounts.items()}
        usage: Json = {**amounts, "totalTokens": sum(amounts.values())}
        usage["cost"] = {**costs, "total": round(sum(costs.values()), 8)}
        body = {"content": content, "api": "anthropic-messages", "provider": _PROVIDER, "model": _MODEL}
        return self._message("assistant", {**body, "usage": usage, "stopReason": stop}, "x" * written * 4)

    def _tick(self, at_least_s: int, at_most_s: int) -> None:
        self._clock += self._random.randrange(at_least_s * 1000, at_most_s * 1000)
