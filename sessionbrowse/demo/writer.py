"""One made-up session, told step by step and written in its agent's own form.

The clock, the ids and the costs come from the story alone, so the same story gives the same bytes.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sessionbrowse.demo.files import Json, as_v1, line, picture, title_slot, uuid7, write
from sessionbrowse.text import iso_ms

# Dollars per million tokens: input, output, cache read, cache write.
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
_PROMPT_TOKENS = 8_400  # what the agent's own instructions and tools take
_CALL_PREFIX = {"anthropic": "toolu_01", "openai": "call_", "google": "call_", "kimi": "call_"}


class Story:
    """A session in the making: each verb appends what the agent would append, and returns its entry's id."""

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
        self.title: str | None = None
        self.header_extra: Json = {}
        self.entries: list[Json] = []
        self.leaf: str | None = None
        self.path = Path()
        self.session_id = ""
        self._random = random.Random(f"{agent} {title}")
        self._clock = 0
        self._at: list[int | None] = []  # per entry, ms since the beginning; None for one copied from another file
        self._context = _PROMPT_TOKENS
        self._seen = 0
        self._model = model
        if version >= 2:
            self.model(model)
            self.thinking(thinking)

    # ---- what every agent writes ----

    def user(self, text: str, *, image: bool = False) -> str:
        """The user says `text`."""
        self._tick(25, 140)
        content: list[Json] = [{"type": "text", "text": text}]
        if image:
            content.append({"type": "image", "data": picture(), "mimeType": "image/png"})
        extra = {"attribution": "user"} if self.agent == "omp" else {}
        return self._message("user", {"content": content, **extra}, text)

    def say(self, text: str, *, thinking: str = "", stop: str = "stop", error: str = "") -> str:
        """The assistant answers with `text`; `stop` and `error` as the provider reported them."""
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
        """The assistant calls a tool, which gives `output`."""
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
        return self._message("toolResult", {**body, "isError": failed}, output)

    def edit(self, path: str, line: int, old: Sequence[str], new: Sequence[str], *, say: str = "") -> str:
        """The assistant replaces the lines `old`, from `line` on, by `new`."""
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
        """The user runs a command with `!`, or with `!!` (`excluded`) so that the model does not see it."""
        self._tick(10, 60)
        body: Json = {"command": command, "output": output, "exitCode": exit_code}
        body |= {"cancelled": False, "truncated": False}
        if excluded:
            body["excludeFromContext"] = True
        return self._message("bashExecution", body, output)

    def model(self, name: str) -> str:
        """The user chooses a model, named `provider/id`."""
        self._model = name
        provider, _, model_id = name.partition("/")
        if self.agent == "omp":
            return self.add("model_change", {"model": name, "resolvedModelIsFallback": False})
        return self.add("model_change", {"provider": provider, "modelId": model_id})

    def thinking(self, level: str) -> str:
        """The user chooses how much the model thinks."""
        extra = {"configured": None} if self.agent == "omp" else {}
        return self.add("thinking_level_change", {"thinkingLevel": level, **extra})

    def name(self, text: str) -> None:
        """The user names the session; omp keeps the name in the file's first line."""
        self._tick(2, 8)
        if self.agent == "omp":
            change: Json = {"title": text, "source": "user"}
            if self.title:
                change["previousTitle"] = self.title
                self.add("title_change", change)
            self.title = text
        else:
            self.add("session_info", {"name": text})

    def label(self, target_id: str, text: str | None) -> str:
        """The user marks an entry, or takes the mark away."""
        self._tick(3, 12)
        return self.add("label", {"targetId": target_id} | ({"label": text} if text else {}))

    def compact(self, summary: str, keep_from: str, **extra: Any) -> str:
        """The agent replaces what lies before `keep_from` by a summary."""
        self._tick(15, 40)
        before, self._context = self._context, _PROMPT_TOKENS + len(summary) // 4 + 4_000
        self._seen = min(self._seen, _PROMPT_TOKENS)  # of what was cached only the instructions are still sent
        body: Json = {"summary": summary, "firstKeptEntryId": keep_from, "tokensBefore": before}
        return self.add("compaction", body | extra)

    def leave(self, target_id: str | None, summary: str = "") -> str | None:
        """The user goes back to an entry; with `summary` the agent notes what the branch left behind did."""
        left = self.leaf
        self.leaf = target_id
        self._tick(20, 90)
        if not summary:
            return target_id
        # pi since 0.84.3 names the leaf that was left; the others the branch point
        from_id = left if self.agent == "pi" else target_id or "root"
        return self.add("branch_summary", {"fromId": from_id, "summary": summary})

    def note(self, custom_type: str, data: Json) -> str:
        """An extension keeps state that the model never sees."""
        return self.add("custom", {"data": data}, {"customType": custom_type})

    def remind(self, custom_type: str, content: str, *, display: bool = True, details: Json | None = None) -> str:
        """An extension tells the model something."""
        self._grow(content)
        body: Json = {"content": content, "display": display} | ({"details": details} if details else {})
        return self.add("custom_message", body, {"customType": custom_type})

    def pause(self, minutes: float, *, tokens: int = 0) -> None:
        """Time passes that is not told, in which the context grows by `tokens`."""
        self._clock += int(minutes * 60_000)
        self._context += tokens

    def add(self, entry_type: str, fields: Json, first: Json | None = None) -> str:
        """Append an entry of any type below the leaf; `first` are keys the agent writes before the id."""
        self._tick(0, 1)
        entry_id = f"{self._random.getrandbits(32):08x}"
        frame = {"id": entry_id, "parentId": self.leaf, "timestamp": ""}
        order = [first, fields, frame] if first else [frame, fields]
        entry: Json = {"type": entry_type}
        for part in order:
            entry.update(part or {})
        self.entries.append(entry)
        self._at.append(self._clock)
        self.leaf = entry_id
        return entry_id

    # ---- forks ----

    def continue_from(self, source: Story, at: str, parent_session: str | None = None) -> None:
        """Begin as a fork of `source`, which is saved, with its path up to the entry `at` and its labels."""
        self.header_extra["parentSession"] = parent_session or str(source.path)
        by_id = {entry["id"]: entry for entry in source.entries}
        path: list[Json] = []
        entry_id: str | None = at
        while entry_id is not None:
            path.append(by_id[entry_id])
            entry_id = path[-1]["parentId"]
        path.reverse()
        self.entries = []
        self._at = []
        self.leaf = None
        for entry in path:
            if entry["type"] == "label":
                continue
            self.entries.append({**entry, "parentId": self.leaf})
            self._at.append(None)
            self.leaf = entry["id"]
        kept = {entry["id"] for entry in self.entries}
        for entry in source.entries:
            if entry["type"] == "label" and entry["targetId"] in kept and "label" in entry:
                self.add("label", {"targetId": entry["targetId"], "label": entry["label"]})

    # ---- writing ----

    def save(self, folder: str, name: str = "") -> Path:
        """Write the session into `folder` below its agent's sessions; its file time is the story's end."""
        begins_ms = self.ends_ms - self._clock
        self._stamp(begins_ms)
        self.session_id = self.session_id or uuid7(begins_ms, self._random)
        stamp = re.sub("[:.]", "-", iso_ms(begins_ms))
        self.path = self.root / "sessions" / folder / (name or f"{stamp}_{self.session_id}.jsonl")
        write(self.path, self.lines(begins_ms), self.ends_ms)
        return self.path

    def lines(self, begins_ms: int) -> list[bytes]:
        """Return the file's lines, each with its line end."""
        header: Json = {"type": "session"}
        if self.version > 1:
            header["version"] = self.version
        header |= {"id": self.session_id, "timestamp": iso_ms(begins_ms), "cwd": str(self.cwd)}
        if self.agent == "omp" and self.title:
            header |= {"title": self.title, "titleSource": "user"}
        entries = self.entries if self.version > 1 else [as_v1(entry, self.entries) for entry in self.entries]
        objects: list[Json] = [header | self.header_extra, *entries]
        slot = [title_slot(self.title or "", iso_ms(self.ends_ms))] if self.agent == "omp" else []
        return slot + [line(item) for item in objects]

    def _stamp(self, begins_ms: int) -> None:
        for at, entry in zip(self._at, self.entries, strict=True):
            if at is None:
                continue
            entry["timestamp"] = iso_ms(begins_ms + at)
            if "message" in entry:
                entry["message"]["timestamp"] = begins_ms + at
            if entry.get("customType") in ("tool_execution_start", "session_exit"):
                key = "startedAt" if "startedAt" in entry["data"] else "recordedAt"
                entry["data"][key] = entry["timestamp"]

    def _message(self, role: str, body: Json, seen: str) -> str:
        self._grow(seen)
        # the time is put in its place by `_stamp`, once the end of the story is known
        return self.add("message", {"message": {"role": role, **body, "timestamp": 0}})

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
        return self._message("assistant", body, "x" * written * 4)

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
