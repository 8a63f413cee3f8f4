"""The steps of a session: what its entries are made from, or a sketch of them for lists.

Each program's rules say once which lines become entries, and in which tree. They make a step for each entry, without
its content. An opened session needs the entries; a list needs only sums over the steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import Any, ClassVar

from msgspec import Struct

from sessionbrowse.model.foreign.translated import UNKNOWN, Object, Records, Translated, moment_of
from sessionbrowse.model.listing.summary import Sketch
from sessionbrowse.model.listing.summary_builder import status_after
from sessionbrowse.model.session.parents import CHECKOUT_TYPE
from sessionbrowse.text import model_name

ROOT = -1
"""The parent of a step that begins a tree."""
_MESSAGES = frozenset({"user", "assistant", "toolResult"})
_HIDDEN = frozenset({"caveat", "context", "meta"})
_USAGE = ("input", "output", "cacheRead", "cacheWrite", "reasoning")
_USUAL_LENGTH = len("2026-01-31T09:59:59.000Z")


class Step(Struct, gc=False):
    """An entry to be made from a line, below the step at the position `parent`.

    `role` is that of a message, "compaction", "usage", "unknown", `CHECKOUT_TYPE` (the session goes on at `parent`), or
    the kind of a note. `content` is what the entry is made from. An answer has `model`, `stop` (its reason to stop),
    `has_calls`, and `usage`: its tokens of input and output, read from the cache, written to it, and perhaps of
    reasoning.
    """

    role: str
    line: Any
    content: Any = None
    parent: int = ROOT
    model: str = ""
    stop: str = "stop"
    has_calls: bool = False
    usage: tuple[int, ...] | None = None


class Reading(ABC):
    """Base of both programs' readings: collects the steps of a session, then makes entries or a sketch of them.

    `at` is the position of the newest step. `further` maps a step to the one below which its later children go.
    `needs_entries` is True if a list has to compare the entries of branches.
    """

    agent: ClassVar[str]
    source: ClassVar[Object]

    def __init__(self, records: Records[Any]) -> None:
        self.records = records
        self.steps: list[Step] = []
        self.at = ROOT
        self.needs_entries = False
        self.unread: Counter[str] = Counter()
        self.further: dict[int, int] = {}

    def add(self, step: Step, parent: int | None = None, *, in_line: bool = False) -> Step:
        """Add a step below `parent`, else below `at`. With `in_line`, later children of its parent become its own."""
        at, self.at = self.at, len(self.steps)
        if parent is None:
            parent = at
        elif parent != at:
            self.needs_entries = True
        step.parent = parent
        if in_line and parent != ROOT:
            self.further[parent] = self.at
        self.steps.append(step)
        return step

    def end(self, at: int) -> int:
        """Return the parent for later children of a step: the last step inserted below it, or the step itself."""
        while at in self.further:
            at = self.further[at]
        return at

    @abstractmethod
    def key(self, step: Step) -> str:
        """Return a text that usually only this step of the session has, and keeps when the file grows."""

    @abstractmethod
    def message(self, step: Step) -> Object:
        """Return the fields of a message that only its program's rules can make, above all its content."""

    @abstractmethod
    def compaction(self, step: Step) -> tuple[Object, int]:
        """Return the fields of a compaction, and the position of the first step that it keeps; `ROOT` for none."""

    @abstractmethod
    def count_unread(self) -> None:
        """Count the lines that became no steps, by kind, in `unread`."""

    def has_ended(self, made: list[Object]) -> bool:
        """Return False if the last answer has no text yet, or calls without a result."""
        messages = [entry["message"] for entry in made if entry["type"] == "message"]
        answered = {message["toolCallId"] for message in messages if message["role"] == "toolResult"}
        content = next((message["content"] for message in reversed(messages) if message["role"] == "assistant"), None)
        if content is None:
            return True
        calls = {block["id"] for block in content if block["type"] == "toolCall"}
        return calls <= answered and any(block["type"] == "text" and block["text"] for block in content)

    def translated(self, header: Object, name: str | None, *, brief: bool) -> Translated:
        """Return the session; with `brief`, a sketch replaces the entries where that is possible."""
        records = self.records
        sketch = self._sketch({**header, "title": name}) if brief and not (records.bad or records.torn) else None
        if sketch is None:
            self.count_unread()
        made = self._entries() if sketch is None else []
        return Translated(
            agent=self.agent,
            header=header,
            made=made,
            name=name,
            unread=dict(self.unread),
            bad_lines=tuple(records.bad),
            torn=records.torn,
            places=tuple(records.places),
            has_ended=self.has_ended(made),
            sketch=sketch,
        )

    def _sketch(self, header: Object) -> Sketch | None:
        """Return the facts for a list; None if they cannot be told without the entries."""
        steps = self.steps
        if not steps or self.needs_entries:
            return None
        answers = [step for step in steps if step.role == "assistant"]
        prompts = [step for step in steps if step.role == "user"]
        end = next((step for step in reversed(steps) if step.role in _MESSAGES), None)
        model = next((step.model for step in reversed(answers) if step.model), None)
        texts = (" ".join([one["text"] for one in step.content if one["type"] == "text"]) for step in prompts)
        return Sketch(
            header=header,
            entries=len(steps),
            messages=sum(map(_MESSAGES.__contains__, [step.role for step in steps])),
            first=next(filter(None, texts), None),
            active_ms=newest_ms([step.line.timestamp for step in (*prompts, *answers)]),
            tokens=sum([sum(step.usage[:4]) for step in answers if step.usage]),
            model=model_name(self.source["provider"], model) if model else None,
            status=status_after(end.role, end.stop, end.has_calls) if end is not None else None,
        )

    def _entries(self) -> list[Object]:
        made: list[Object] = []
        taken: set[str] = set()
        for step in self.steps:
            own = _new_id(self.key(step), taken)
            above = made[step.parent]["id"] if step.parent != ROOT else None
            entry: Object = {"type": step.role, "id": own, "parentId": above, "timestamp": step.line.timestamp}
            if step.role in _MESSAGES:
                entry["type"], entry["message"] = "message", self._message(step)
            elif step.role == "compaction":
                fields, kept = self.compaction(step)
                entry |= fields
                entry["firstKeptEntryId"] = made[kept]["id"] if kept != ROOT else own
            elif step.role == "usage":
                entry |= {"provider": self.source["provider"], "model": step.model, "usage": _usage(step.usage)}
            elif step.role == CHECKOUT_TYPE:
                entry |= {"type": "custom", "customType": CHECKOUT_TYPE, "data": {"checkout": above}}
            elif step.role == "unknown":
                self.unread[UNKNOWN + step.content] += 1
                entry |= {"type": "custom", "customType": f"{self.agent}.{step.content}", "data": step.line.item()}
            else:
                # The entry has a text that the program wrote, not the user or the model.
                is_shown = step.role not in _HIDDEN
                entry |= {"customType": f"{self.agent}.{step.role}", "content": step.content, "display": is_shown}
                entry["type"] = "custom_message"
            made.append(entry)
        return made

    def _message(self, step: Step) -> Object:
        message = {"role": step.role, **self.message(step)}
        if step.role == "assistant":
            message |= self.source | {"model": step.model, "stopReason": step.stop}
            if step.usage is not None:
                message["usage"] = _usage(step.usage)
        return {**message, "timestamp": moment_of(step.line.timestamp) or 0}


def header_of(session_id: str, timestamp: str, cwd: str) -> Object:
    """Return a header of pi's format."""
    return {"type": "session", "version": 3, "id": session_id, "timestamp": timestamp, "cwd": cwd}


def newest_ms(times: list[str]) -> float | None:
    """Return the newest of some times, given as texts, in milliseconds since 1970; None if none is valid."""
    # Times in the usual form sort correctly as texts; parsing them would take a tenth of the reading time.
    newest = moment_of(max(times)) if set(map(len, times)) == {_USUAL_LENGTH} else None
    return newest or max([moment_of(time) or 0 for time in times], default=0) or None


def _usage(usage: tuple[int, ...] | None) -> Object:
    """Return the tokens of a request as pi writes them, without a cost."""
    counts = usage or ()
    return {**dict(zip(_USAGE, counts, strict=False)), "totalTokens": sum(counts[:4])}


def _new_id(key: str, taken: set[str]) -> str:
    """Return 8 hex digits of a key's hash, and add them to `taken`. If they are taken, the key gets a number."""
    # Imported here because lists make no entries, and importing `hashlib` takes 4 ms.
    from hashlib import sha256

    tried, count = key, 0
    while (made := sha256(tried.encode("utf-8", "replace")).hexdigest()[:8]) in taken:
        count += 1
        tried = f"{key}#{count}"
    taken.add(made)
    return made
