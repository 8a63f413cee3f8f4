"""Random session trees for tests of clean copies: branches, labels, names, compactions, tools, images, reasoning."""

from __future__ import annotations

import random
from typing import Any

from sessionbrowse.format.title_slot import slot_line
from tests.support.change_helpers import entry, header, line

Json = dict[str, Any]
_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk" * 2
_WORDS = ["alpha", "beta — ß", "日本語", 'quote " and \\ slash', "😀", "line\nbreak", "plain words here"]


class RandomTree:
    """A random session of an agent, the same for the same seed."""

    def __init__(self, seed: int, agent: str = "pi", entries: int = 30) -> None:
        self._dice = random.Random(seed)
        self._agent = agent
        self.entries: list[Json] = []
        self.ids: list[str] = []
        self._open_calls: dict[str, tuple[str, ...]] = {}
        while len(self.entries) < entries:
            self._grow()
        if not any(one["type"] == "message" for one in self.entries):
            self._add("message", None, message=self._user())

    def content(self) -> bytes:
        """Return the bytes of the file."""
        slot = slot_line("A title", "user", "2026-08-13T08:00:00.000Z") if self._agent == "omp" else b""
        end = b"" if self._dice.random() < 0.1 else b"\n"
        return (slot + line(header()) + b"".join(map(line, self.entries))).removesuffix(b"\n") + end

    def some_entries(self, most: int = 4) -> list[str]:
        """Return a few random ids of entries."""
        return self._dice.sample(self.ids, self._dice.randint(1, min(most, len(self.ids))))

    def _grow(self) -> None:
        dice = self._dice
        if not self.ids:
            parent = None
        elif dice.random() < 0.75:
            parent = self.ids[-1]
        else:
            parent = dice.choice([*self.ids, None]) if dice.random() < 0.1 else dice.choice(self.ids)
        if parent in self._open_calls and dice.random() < 0.9:
            self._result(parent)
            return
        kinds = ["user", "answer", "label", "clear", "name", "compaction", "summary", "custom", "note", "model", "bash"]
        weights = [20, 30, 12, 3, 4, 4, 4, 4, 5, 3, 3]
        match dice.choices(kinds, weights)[0]:
            case "user":
                self._add("message", parent, message=self._user())
            case "answer":
                self._answer(parent)
            case "label" if self.ids:
                self._add("label", parent, targetId=dice.choice(self.ids), label=dice.choice(_WORDS))
            case "clear" if self.ids:
                self._add("label", parent, targetId=dice.choice(self.ids))
            case "name":
                self._add("session_info", parent, name=dice.choice([*_WORDS, ""]))
            case "compaction" if parent is not None:
                kept: Json = {"firstKeptEntryId": dice.choice(self._path(parent))}
                if self._agent == "omp" and dice.random() < 0.5:  # Anthropic's summary, up to an entry that it names.
                    made = {"anthropicCompaction": {"provider": "anthropic", "content": "summary"}}
                    through = kept["firstKeptEntryId"]
                    kept = {"firstKeptEntryId": "", "providerReplayThroughEntryId": through, "preserveData": made}
                self._add("compaction", parent, summary="summary", tokensBefore=100, **kept)
            case "summary" if self.ids:
                self._add("branch_summary", parent, fromId=dice.choice(self.ids), summary="left this branch")
            case "custom":
                self._add("custom", parent, customType="ext", data={"n": dice.random()})
            case "note":
                self._add("custom_message", parent, customType="note", content="a note", display=True)
            case "model":
                self._add("model_change", parent, provider="p", modelId=f"m{dice.randint(1, 3)}", model="p/m")
            case "bash":
                body = {"role": "bashExecution", "command": "ls", "output": "x" * dice.randint(0, 900), "exitCode": 0}
                body |= {"cancelled": False, "truncated": False, "timestamp": 1786608001000}
                self._add("message", parent, message=body)

    def _add(self, kind: str, parent: str | None, **fields: Any) -> str:
        made = f"{len(self.entries) + 1:04x}{self._dice.getrandbits(16):04x}"
        one = entry(kind, made, parent, **fields)
        number = len(self.entries)
        one["timestamp"] = f"2026-08-13T08:{number // 60 % 60:02}:{number % 60:02}.000Z"
        self.entries.append(one)
        self.ids.append(made)
        return made

    def _user(self) -> Json:
        content: Any = self._dice.choice(_WORDS)
        if self._dice.random() < 0.4:
            content = [{"type": "text", "text": content}, {"type": "image", "data": _PNG, "mimeType": "image/png"}]
        return {"role": "user", "content": content, "timestamp": 1786608001000}

    def _answer(self, parent: str | None) -> None:
        dice = self._dice
        blocks: list[Json] = []
        if dice.random() < 0.4:
            blocks.append({"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"})
        if dice.random() < 0.8:
            blocks.append({"type": "text", "text": dice.choice(_WORDS), "textSignature": "ts"})
        calls = tuple(f"call_{dice.getrandbits(20):x}|fc_{n}" for n in range(dice.choice([0, 0, 1, 2])))
        blocks += [{"type": "toolCall", "id": call, "name": "read", "arguments": {"path": "/x"}} for call in calls]
        usage = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2}
        usage["cost"] = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.5}  # type: ignore[assignment]
        message = {
            "role": "assistant",
            "content": blocks,
            "api": "a",
            "provider": "p",
            "model": "m",
            "usage": usage,
            "stopReason": "toolUse" if calls else "stop",
            "timestamp": 1786608002000,
        }
        made = self._add("message", parent, message=message)
        if calls:
            self._open_calls[made] = calls

    def _result(self, parent: str) -> None:
        call, *rest = self._open_calls[parent]
        blocks: list[Json] = [{"type": "text", "text": "out" * self._dice.choice([1, 400])}]
        if self._dice.random() < 0.3:
            blocks.append({"type": "image", "data": _PNG, "mimeType": "image/png"})
        message = {"role": "toolResult", "toolCallId": call, "toolName": "read", "content": blocks, "isError": False}
        message |= {"details": {"long": "d" * self._dice.choice([3, 900])}, "timestamp": 1786608003000}
        made = self._add("message", parent, message=message)
        if rest:
            self._open_calls[made] = tuple(rest)

    def _path(self, entry_id: str) -> list[str]:
        by_id = {one["id"]: one for one in self.entries}
        path: list[str] = []
        at: str | None = entry_id
        while at is not None:
            path.append(at)
            at = by_id[at]["parentId"]
        return path
