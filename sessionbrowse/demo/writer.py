"""Write one demo session step by step through `SessionManager`, with generated times, ids and costs.

The generated values depend only on the session's content and its given end time, so the same end time gives the same
bytes. The file is written when the session is complete, because the start time is the end time less the duration.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sessionbrowse.agents import Surroundings
from sessionbrowse.demo.files import Json, as_v1, picture, write
from sessionbrowse.format.encode import json_line
from sessionbrowse.format.ids import file_name, uuid7
from sessionbrowse.format.title_slot import slot_line
from sessionbrowse.manager.environment import Environment
from sessionbrowse.session_manager import SessionManager
from sessionbrowse.text import iso_ms, parse_time

T = TypeVar("T")

# Prices of models in dollars per million tokens: input, output, cache read, cache write.
_PRICES = {
    "anthropic/claude-sonnet-4-5": (3.0, 15.0, 0.3, 3.75),
    "anthropic/claude-opus-4-5": (5.0, 25.0, 0.5, 6.25),
    "openai/gpt-5.2": (1.75, 14.0, 0.175, 0.0),
    "google/gemini-3-pro": (2.0, 12.0, 0.2, 0.0),
    "kimi/kimi-k2": (0.6, 2.5, 0.15, 0.0),
}
_APIS = {
    "anthropic": "anthropic-messages",
    "openai": "openai-responses",
    "google": "google-generative-ai",
    "kimi": "openai-completions",
}
_PROMPT_TOKENS = 8_400  # The number of tokens of the system prompt and the tool descriptions, roughly.
_CALL_PREFIX = {"anthropic": "toolu_01", "openai": "call_", "google": "call_", "kimi": "call_"}


class Story:
    """A demo session in preparation; most methods append entries as the agent would, and return the last entry's id."""

    def __init__(
        self,
        agent: str,
        root: Path,
        cwd: Path,
        ends_ms: int,
        title: str,
        *,
        model: str = "anthropic/claude-sonnet-4-5",
        thinking: str = "medium",
        version: int = 3,
    ) -> None:
        self.agent = agent
        self.root = root
        self.cwd = cwd
        self.ends_ms = ends_ms
        self.version = version
        self.header_extra: Json = {}
        self.path = Path()
        self.session_id = ""
        self._clock = 0
        self._random = random.Random(f"{agent} {title}")
        self._environment = Environment(
            around=Surroundings(home=str(cwd.parent), environ={}, cwd=str(cwd)),
            now_ms=lambda: self._clock,
            random_bytes=lambda count: self._random.getrandbits(8 * count).to_bytes(count, "big"),
        )
        self.session = SessionManager.in_memory(cwd, agent=agent, id="later", environment=self._environment)
        self._begins_ms = 0
        """The start time of the session, in milliseconds since 1970; 0 until the session is saved."""
        self._copied = 0
        """The number of entries copied from another session; these entries keep their times."""
        self._context = _PROMPT_TOKENS
        self._seen = 0
        self._model = model
        if version >= 2:
            self.model(model)
            self.thinking(thinking)

    # ---- what every agent writes ----

    def user(self, text: str, *, image: bool = False) -> str:
        """Append a user message to the session."""
        self._tick(25, 140)
        content: list[Json] = [{"type": "text", "text": text}]
        if image:
            content.append({"type": "image", "data": picture(), "mimeType": "image/png"})
        extra = {"attribution": "user"} if self.agent == "omp" else {}
        return self.message("user", {"content": content, **extra}, text)

    def say(self, text: str, *, thinking: str = "", stop: str = "stop", error: str = "") -> str:
        """Append an assistant message to the session; `stop` and `error` are its stop reason and error message."""
        content: list[Json] = [{"type": "text", "text": text}] if text else []
        return self._assistant(content, thinking, stop, error)

    def use(
        self,
        tool: str,
        arguments: Json,
        output: str,
        *,
        say: str = "",
        thinking: str = "",
        failed: bool = False,
        details: Json | None = None,
    ) -> str:
        """Append to the session an assistant message that calls a tool, and the tool's result `output`."""
        provider = self._model.partition("/")[0]
        call_id = _CALL_PREFIX[provider] + self._letters(22)
        call = {"type": "toolCall", "id": call_id, "name": tool, "arguments": arguments}
        content: list[Json] = [{"type": "text", "text": say}] if say else []
        self._assistant([*content, call], thinking, "toolUse", "")
        if self.agent == "omp":
            started = {"toolCallId": call_id, "toolName": tool, "startedAt": "", "args": arguments}
            self.note("tool_execution_start", started)
        self._tick(1, 9)
        body: Json = {"toolCallId": call_id, "toolName": tool, "content": [{"type": "text", "text": output}]}
        if details is not None:
            body["details"] = details
        return self.message("toolResult", {**body, "isError": failed}, output)

    def run(self, command: str, output: str, *, failed: bool = False) -> str:
        """Append to the session the assistant's tool call that runs a shell command, and the command's output."""
        return self.use("bash", {"command": command}, output, failed=failed)

    def grep(self, pattern: str, path: str, output: str) -> str:
        """Append to the session the assistant's tool call that searches files, and the tool's output."""
        return self.use("grep", {"pattern": pattern, "path": path}, output)

    def write(self, path: str, content: str, output: str) -> str:
        """Append to the session the assistant's tool call that writes a file, and the tool's output."""
        return self.use("write", {"path": path, "content": content}, output)

    def edit(self, path: str, line: int, old: Sequence[str], new: Sequence[str], *, say: str = "") -> str:
        """Append to the session a tool call that replaces the lines `old` of a file, from line `line` on, by `new`."""
        edits = [{"oldText": "\n".join(old), "newText": "\n".join(new)}]
        removed = [f"-{line + index:>3} {text}" for index, text in enumerate(old)]
        added = [f"+{line + index:>3} {text}" for index, text in enumerate(new)]
        return self.use(
            "edit",
            {"path": path, "edits": edits},
            f"Successfully replaced 1 block(s) in {path}.",
            say=say,
            details={"diff": "\n".join(removed + added), "firstChangedLine": line},
        )

    def bash(self, command: str, output: str, *, exit_code: int = 0, excluded: bool = False) -> str:
        """Append to the session a shell command that the user typed in the agent after `!`, and the command's output.

        If it is `excluded`, the user typed it after `!!`, which hides it from the model.
        """
        self._tick(10, 60)
        body: Json = {"command": command, "output": output, "exitCode": exit_code}
        body |= {"cancelled": False, "truncated": False}
        if excluded:
            body["excludeFromContext"] = True
        return self.message("bashExecution", body, output)

    def model(self, name: str) -> str:
        """Append to the session a change to the model `name`, given as `provider/id`."""
        self._model = name
        provider, _, model_id = name.partition("/")
        return self.add(self.session.append_model_change, provider, model_id)

    def thinking(self, level: str) -> str:
        """Append to the session a change of the thinking level."""
        return self.add(self.session.append_thinking_level_change, level)

    def name(self, text: str) -> None:
        """Name the session; omp also stores the name in the first line of the file."""
        self._tick(2, 8)
        self.add(self.session.set_session_name, text, "user")

    def label(self, target_id: str, text: str | None) -> str:
        """Set or clear the label of an entry."""
        self._tick(3, 12)
        return self.add(self.session.append_label_change, target_id, text)

    def compact(self, summary: str, keep_from: str, **extra: Any) -> str:
        """Append to the session a compaction, which replaces the entries before `keep_from` by a summary."""
        self._tick(15, 40)
        before, self._context = self._context, _PROMPT_TOKENS + len(summary) // 4 + 4_000
        self._seen = min(self._seen, _PROMPT_TOKENS)  # The provider's cache now has the system prompt only.
        return self.add(self.session.append_compaction, summary, keep_from, before, **extra)

    def leave(self, target_id: str | None, summary: str = "") -> None:
        """Move the leaf back to an entry; append `summary`, if given, as a summary of the branch just left."""
        self._tick(20, 90)
        if summary:
            self.add(self.session.branch_with_summary, target_id, summary)
        elif target_id is None:
            self.session.reset_leaf()
        else:
            self.session.branch(target_id)

    def note(self, custom_type: str, data: Json) -> str:
        """Append a custom entry to the session: the state of an extension, which is never sent to the model."""
        return self.add(self.session.append_custom_entry, custom_type, data)

    def remind(self, custom_type: str, content: str, **extra: Any) -> str:
        """Append a custom message to the session: a message of an extension, which is sent to the model."""
        self._grow(content)
        return self.add(self.session.append_custom_message_entry, custom_type, content, True, **extra)

    def pause(self, minutes: float, *, tokens: int = 0) -> None:
        """Advance the session's clock without an entry, and add `tokens` to the counted size of the context."""
        self._clock += int(minutes * 60_000)
        self._context += tokens

    def add(self, append: Callable[..., T], *arguments: Any, **extra: Any) -> T:
        """Advance the session's clock, call the session manager's method given as `append`, and return the result."""
        self._tick(0, 1)
        return append(*arguments, **extra)

    def entry(self, entry_id: str) -> Json:
        """Return the JSON object of an entry; changes to the object before `save` appear in the file."""
        entry = self.session.get_entry(entry_id)
        assert entry is not None
        return entry

    # ---- forks ----

    def continue_from(self, source: Story, at: str, parent_session: str | None = None) -> None:
        """Make this session a fork of the saved `source`: copy the branch up to the entry `at`, with its labels."""
        self.header_extra["parentSession"] = parent_session or str(source.path)
        self.session = SessionManager.in_memory(
            self.cwd, agent=self.agent, entries=source.session.get_entries(), environment=self._environment
        )
        self.session.create_branched_session(at)
        self._copied = self.session.get_entry_count()

    # ---- writing ----

    def save(self, folder: str, name: str = "") -> Path:
        """Write the session file to `sessions`/`folder`; the file's modification time is the end of the session."""
        begins_ms = self.ends_ms - self._clock
        self._shift_times(begins_ms - self._begins_ms)
        self._begins_ms = begins_ms
        self.session_id = self.session_id or uuid7(begins_ms, self._environment.random_bytes)
        self.path = self.root / "sessions" / folder / (name or file_name(iso_ms(begins_ms), self.session_id))
        write(self.path, self._lines(iso_ms(begins_ms)), self.ends_ms)
        return self.path

    def _lines(self, begins: str) -> list[bytes]:
        header = self.session.get_header() | {"id": self.session_id, "timestamp": begins} | self.header_extra
        entries = self.session.get_entries()
        if self.version == 1:
            del header["version"]
            entries = [as_v1(entry, entries) for entry in entries]
        title = self.session.get_session_name() or ""
        slot = [slot_line(title, "user" if title else None, iso_ms(self.ends_ms))] if self.agent == "omp" else []
        return slot + [json_line(item) for item in (header, *entries)]

    def _shift_times(self, shift_ms: int) -> None:
        for entry in self.session.get_entries()[self._copied :]:
            entry["timestamp"] = iso_ms((parse_time(entry["timestamp"]) or 0) + shift_ms)
            if "message" in entry:
                entry["message"]["timestamp"] += shift_ms
            for key in ("startedAt", "recordedAt"):
                if key in entry.get("data", ()):
                    entry["data"][key] = entry["timestamp"]

    def message(self, role: str, body: Json, seen: str) -> str:
        """Append a message to the session, and count the tokens of `seen`, the text of it that a model would read."""
        self._grow(seen)
        self._tick(0, 1)
        return self.session.append_message({"role": role, **body, "timestamp": self._clock})

    def _assistant(self, content: list[Json], thinking: str, stop: str, error: str) -> str:
        self._tick(4, 35)
        provider, _, model_id = self._model.partition("/")
        if thinking:
            signature = self._letters(40)
            content = [{"type": "thinking", "thinking": thinking, "thinkingSignature": signature}, *content]
        written = len(json.dumps(content, ensure_ascii=False)) // 4 + self._random.randrange(20, 60)
        nothing_came = stop in ("error", "aborted") and not content
        body: Json = {"content": content, "api": _APIS[provider], "provider": provider, "model": model_id}
        body |= {
            "usage": self._usage(0 if nothing_came else written, counted=not nothing_came),
            "stopReason": stop,
        }
        if error:
            body["errorMessage"] = error
        if self.agent == "omp":
            duration = self._random.randrange(900, 14_000)
            body |= {"duration": duration, "ttft": duration // 6}
        return self.message("assistant", body, "x" * written * 4)

    def _usage(self, output: int, *, counted: bool) -> Json:
        fresh = self._context - self._seen if counted else 0
        cached = self._seen if counted else 0
        self._seen = self._context if counted else self._seen
        prices = _PRICES[self._model]
        plain, stored = (3, fresh) if prices[3] else (fresh, 0)
        amounts = (plain if counted else 0, output, cached, stored)
        kinds = ("input", "output", "cacheRead", "cacheWrite")
        costs = [round(amount * price / 1e6, 8) for amount, price in zip(amounts, prices, strict=True)]
        usage: Json = dict(zip(kinds, amounts, strict=True))
        if self.version >= 2:
            usage["totalTokens"] = sum(amounts)
        usage["cost"] = {**dict(zip(kinds, costs, strict=True)), "total": round(sum(costs), 8)}
        return usage

    def _grow(self, seen: str) -> None:
        self._context += len(seen) // 4 + 12

    def _tick(self, at_least_s: int, at_most_s: int) -> None:
        self._clock += self._random.randrange(at_least_s * 1000, at_most_s * 1000)

    def _letters(self, count: int) -> str:
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        return "".join(self._random.choice(letters) for _ in range(count))
