"""The rules of Codex's sessions (rollouts): which lines become entries of pi's format, and in which tree.

A rollout has each prompt and answer twice: as an item, which the model saw, and as an event, which the program showed.
One of both becomes an entry. The session has no branches, except after a rollback. History that a fork copied from its
parent is left out, and never counted.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from operator import add
from typing import ClassVar

from sessionbrowse.model.foreign.codex_items import (
    INJECTED,
    NO_PAYLOAD,
    Counts,
    Line,
    Meta,
    answer_blocks,
    call_name,
    complete,
    event_text,
    is_record,
    meta_of,
    output_blocks,
    part_of,
    said,
    texts_in,
)
from sessionbrowse.model.foreign.steps import ROOT, Reading, Step, header_of
from sessionbrowse.model.foreign.translated import (
    Object,
    Records,
    Translated,
    as_text,
    blocks_of,
    moment_of,
    number_of,
    object_of,
    objects_of,
    plain,
    text_block,
    text_of,
)
from sessionbrowse.model.session.parents import CHECKOUT_TYPE

PAUSE_MS = 300
"""A fork copies its parent's history in one burst; a pause between two lines longer than this ends the burst."""
NO_SUMMARY = "Codex keeps no readable summary of this compaction. It kept these messages:"
REQUEST_HEADING = "## My request for Codex:"

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DIRECTORY = re.compile(r"<cwd>(.*?)</cwd>|working directory: (.*)")
_ENDS = frozenset({"task_complete", "turn_aborted", "turn_complete"})
_ANSWER = frozenset({"text", "reasoning", "call"})
_PASSED = frozenset({"passed", "repeated", "copied", "head", "named"})
_UNREAD = _PASSED | {"count", "turn"}


def codex(
    content: bytes, path: str = "", *, name: str | None = None, title: str | None = None, brief: bool = False
) -> Translated:
    """Translate the content of a Codex rollout; the file `path` itself is not read.

    `name` is the name in Codex's index of names, `title` that in its database, which counts last. With `brief`, a
    sketch replaces the entries where that is possible, which is faster.
    """
    rollout = _Rollout(content, path)
    return rollout.translated(rollout.header(), rollout.name(name, title), brief=brief)


class _Rollout(Reading):
    """Reads all lines of one file, then makes the steps in file order. Each step is below the one before."""

    agent = "codex"
    source: ClassVar[Object] = {"api": "openai-codex-responses", "provider": "openai-codex"}

    def __init__(self, content: bytes, path: str) -> None:
        super().__init__(Records(content, Line, is_record))
        self._lines: list[Line] = self.records.found
        for line in [line for line in self._lines if line.payload is NO_PAYLOAD]:
            complete(line)
        parts = self._parts = defaultdict[str, list[Line]](list)
        payloads = [line.payload for line in self._lines]
        kinds, roles = [one.type for one in payloads], [one.role for one in payloads]
        found = list(map(part_of, [line.type for line in self._lines], kinds, roles))
        for line, part in zip(self._lines, found, strict=True):
            line.part = part
            parts[part].append(line)
        self._heads = self._parts["head"]
        self._own = self._heads[0] if self._heads else None
        self._meta = meta_of(self._own) if self._own is not None else Meta()
        named = _UUID.search(os.path.basename(path))
        self._id = self._meta.id or self._meta.session_id or (named[0] if named else "")
        self._newest: Step | None = None
        self._of_turn: Step | None = None
        self._rollback: Line | None = None
        self._prompts: list[int] = []
        self._total: Counts | None = None
        self._model = ""
        self._searches = 0
        self._mark_prompts(found)
        self._mark_untold()
        self._mark_copied()
        self._named: set[str] = set()
        self._outputs: dict[str, list[Line]] = {}
        calls = {line.payload.call_id for line in self._parts["call"] if not line.is_copied}
        for line in [line for line in self._parts["output"] if not line.is_copied]:
            if line.payload.call_id in calls:
                self._outputs.setdefault(line.payload.call_id, []).append(line)
            else:
                line.part = "stray"
        self._make_steps()

    def name(self, name: str | None, title: str | None) -> str | None:
        """Return the name in Codex's index, else the last in the file, else the title in the database."""
        events = self._parts["named"]
        return (name or (events[-1].payload.thread_name if events else "") or title or "").strip() or None

    # ---- reading all lines

    def _mark_prompts(self, parts: list[str]) -> None:
        """Decide which messages with the role "user", and which events with the user's words, are prompts."""
        events: dict[str, list[Line]] = {}
        for event in self._parts["shown"]:
            words = event_text(event)
            event.part = "passed" if words is None else "prompt"
            if words is not None:
                events.setdefault(words.strip(), []).append(event)
        at = -1
        for line in self._parts["user"]:
            at = parts.index("user", at + 1)
            after = next(iter(self._lines[at + 1 : at + 2]), None)
            text = said(line.payload.content).strip()
            told = next((event for event in events.get(text, ()) if event.part == "prompt"), None)
            if after is not None and after.part == "prompt" and (event_text(after) or "").strip() in text:
                told = after
            named = line.payload.content_item_kinds
            is_named = isinstance(named, list) and "user.text" in named
            # The event of a prompt is in the next line, which the program may not have written yet.
            is_own = (not events or after is None) and not text.startswith(INJECTED)
            line.part = "prompt" if told is not None or is_named or is_own else "note"
            if told is not None:
                told.part, line.words = "passed", (event_text(told) or "").strip()

    def _mark_untold(self) -> None:
        """Add the texts of events that no item has to their answers; all other events only repeat items."""
        items = [line.payload for line in self._parts["text"] + self._parts["reasoning"]]
        contents = [content for one in items for content in (one.content, one.summary)]
        usual = {part.text for content in contents if content.__class__ is list for part in content}
        events = [(line, line.payload) for line in self._parts["repeated"]]
        odd = [line for line, one in events if (one.message or one.text) not in usual or one.content or one.summary]
        told = {text for one in items for text in texts_in(one)} if odd else ()
        for line in odd:
            if any(text not in told for text in texts_in(line.payload)):
                line.part = "text" if line.payload.type == "agent_message" else "reasoning"

    def _mark_copied(self) -> None:
        """Mark the lines that a fork copied from its parent: those from a header with another id up to a pause."""
        own, began = self._meta.id or "", moment_of(self._meta.timestamp)
        first, begins = self._meta.timestamp, self._meta.subagent_history_start_ordinal
        times = [line.timestamp for line in self._lines]
        # Times in the usual form sort correctly as texts; parsing them would take a tenth of the reading time.
        is_usual = begins is None and len(self._heads) == 1 and first.endswith("Z")
        if is_usual and min(times) >= first and set(map(len, times)) == {len(first)}:
            return
        in_copy = False
        before: float | None = None
        copied: list[Line] = []
        for line in self._lines:
            moment = moment_of(line.timestamp)
            if in_copy and moment is not None and before is not None and moment - before > PAUSE_MS:
                in_copy = False
            before = moment if moment is not None else before
            if line is self._own:
                continue
            if line.type == "session_meta" and own:
                meta = meta_of(line)
                is_other = meta.id != own and _UUID.fullmatch(meta.id or "") is not None
                in_copy |= is_other and moment_of(meta.timestamp) is not None
            is_older = moment is not None and began is not None and moment < began - 1
            is_before = isinstance(begins, int) and isinstance(line.ordinal, int) and line.ordinal < begins
            if in_copy or is_older or is_before:
                copied.append(line)
        if copied and copied[-1].payload.type in ("task_started", "turn_started"):
            copied.pop()
        for line in copied:
            line.is_copied = True
            line.part = line.part if line.part in ("count", "turn") else "copied"

    # ---- making steps

    def _make_steps(self) -> None:
        """Make the steps of all lines; those of outputs follow the answer with their calls, in file order."""
        answer: Step | None = None
        calls: list[Line] = []
        for line in self._lines:
            part = line.part
            if part in _ANSWER:
                if answer is None:
                    answer = self._newest = self._of_turn = self.add(Step("assistant", line, []))
                    answer.model = self._model
                answer.content.append(line)
                if part == "call":
                    answer.stop, answer.has_calls = "toolUse", True
                    calls.append(line)
            elif part == "count":
                self._count(line)
            elif part == "turn":
                self._model = line.payload.model or self._model
            elif part not in _PASSED:
                answer = None
                if calls:
                    self._place_results(calls)
                    calls = []
                if part != "output":
                    self._place(line)
        self._place_results(calls)
        if self._rollback is not None and self.at != len(self.steps) - 1:
            # The file ends with a rollback: this entry moves the leaf to the place of the next prompt.
            self.add(Step(CHECKOUT_TYPE, self._rollback))

    def _place_results(self, calls: list[Line]) -> None:
        """Give the calls of an answer their ids, and make the steps of their outputs."""
        found: list[tuple[Line, Line]] = []
        for line in calls:
            call = line.payload.call_id
            found += [(output, line) for output in self._outputs.pop(call, ())]
            if not call or call in self._named:
                # pi needs a unique id for each call, but searches have none, and an id may occur twice.
                self._searches += 1
                call = f"{call or line.payload.type}_{self._searches}"
            self._named.add(call)
            line.call = call
        for output, line in sorted(found, key=lambda one: one[0].number):
            self.add(Step("toolResult", output, line))

    def _place(self, line: Line) -> None:
        """Make the steps of a line outside of answers."""
        part, about = line.part, line.payload
        if part == "stray":
            output = line.item().get("output")
            self.add(Step("result", line, plain(output) or as_text(output)))
        elif part == "prompt":
            notes, content = _asked(line)
            for note in notes:
                self.add(Step("context", line, note))
            self._prompts.append(self.at)
            self._of_turn = None
            self.add(Step("user", line, content))
        elif part == "note":
            is_context = about.type == "message"
            text = said(about.content) or ("" if is_context else about.message or as_text(line.item()))
            self.add(Step("context" if is_context else about.type.removeprefix("stream_"), line, text))
        elif part == "compaction":
            self.add(Step("compaction", line, self._total.input_tokens if self._total is not None else 0))
        elif part == "aborted" and self._of_turn is not None:
            self._of_turn.stop = "aborted"
        elif part == "rollback":
            dropped = number_of(about.num_turns)
            if dropped and self._prompts:
                self.at = self._prompts[-min(dropped, len(self._prompts))]
                self.needs_entries = True
                del self._prompts[-dropped:]
                self._rollback = line
            self._of_turn = None
        elif part == "unknown":
            self.add(Step("unknown", line, _kind_of(line) or "without type"))

    def _count(self, line: Line) -> None:
        """Add the tokens of a request to the previous answer; ignore a line that only repeats the total."""
        info = line.payload.info
        if info is None or info.total_token_usage is None or info.total_token_usage == self._total:
            return
        self._total, last = info.total_token_usage, info.last_token_usage or Counts()
        cached = last.cached_input_tokens
        used = max(0, last.input_tokens - cached), last.output_tokens, cached, 0, last.reasoning_output_tokens
        if line.is_copied:
            return
        if self._newest is not None:
            before = self._newest.usage
            self._newest.usage = used if before is None else tuple(map(add, before, used))
        elif sum(used[:4]):
            step = self.add(Step("usage", line))
            step.model, step.usage = self._model, used
            self.needs_entries = True

    # ---- making entries

    def key(self, step: Step) -> str:
        return f"{self._id}:{step.line.number}"

    def message(self, step: Step) -> Object:
        if step.role == "user":
            return {"content": step.content}
        if step.role == "assistant":
            return {"content": [block for line in step.content for block in answer_blocks(line)]}
        content, is_error = output_blocks(step.line)
        call: Line = step.content
        return {"toolCallId": call.call, "toolName": call_name(call), "content": content, "isError": is_error}

    def compaction(self, step: Step) -> tuple[Object, int]:
        summary = step.line.payload.message.strip()
        if not summary:
            kept = objects_of(step.line.item().get("replacement_history"))
            told = [f"{text_of(one.get('role'))}: {plain(one.get('content'))}" for one in kept if one.get("content")]
            summary = "\n\n".join([NO_SUMMARY, *told])
        return {"summary": summary, "tokensBefore": step.content}, ROOT

    def count_unread(self) -> None:
        for line in self._lines:
            if line.is_copied:
                self.unread["copied from the parent session"] += 1
            elif line.part in _UNREAD and line is not self._own:
                self.unread[_kind_of(line)] += 1
        if self._base():
            self.unread["earlier history in another file"] += 1

    def has_ended(self, made: list[Object]) -> bool:
        kinds = [line.payload.type for line in self._lines if line.type == "event_msg"]
        if _ENDS.isdisjoint(kinds):
            return super().has_ended(made)  # Older versions do not record the end of a turn.
        own = [line for line in self._lines if not line.is_copied]
        ends = (
            line.part not in _ANSWER for line in reversed(own) if line.part in _ANSWER or line.payload.type in _ENDS
        )
        return next(ends, True)

    # ---- facts about the session

    def _base(self) -> str:
        """Return the id of the thread in whose other file the history before this file stands; "" for none."""
        return text_of(object_of(self._meta.history_base).get("thread_id"))

    def header(self) -> Object:
        """Return the session's header."""
        meta = self._meta
        cwd = meta.cwd or ""
        if not cwd:
            texts = [said(line.payload.content) for line in self._lines if line.payload.role == "user"]
            found = next(filter(None, map(_DIRECTORY.search, texts)), None)
            cwd = (found[1] or found[2]).strip() if found is not None else ""
        first = next((line.timestamp for line in self._lines if line.timestamp), "")
        made = header_of(self._id, meta.timestamp or first, cwd)
        subagent = object_of(meta.source).get("subagent")
        spawned = text_of(object_of(object_of(subagent).get("thread_spawn")).get("parent_thread_id"))
        base = self._base() if self._base() != self._id else ""
        parent = spawned or meta.parent_thread_id or meta.forked_from_id or base
        if parent:
            made["parentSession"] = parent
        if subagent is not None or meta.thread_source not in (None, "user"):
            made["internal"] = True
        return made


def _kind_of(line: Line) -> str:
    """Return a line's type for messages to the user, "" if it has none."""
    kind = line.payload.type
    return {"response_item": kind, "event_msg": f"event {kind}"}.get(line.type, line.type)


def _asked(line: Line) -> tuple[list[str], list[Object]]:
    """Split a prompt into the texts around the user's words, and the user's own content."""
    is_event, notes, parts = line.type == "event_msg", list[str](), line.payload.content or ()
    text = event_text(line) or "" if is_event else said(line.payload.content)
    is_text = is_event or (len(parts) == 1 and b'"image_url"' not in line.raw)
    content = [] if is_text else blocks_of(line.item().get("content"))
    before, heading, words = text.partition(REQUEST_HEADING)
    if heading and words.strip():
        # Editors add open files and selections before the user's words.
        notes += filter(None, [before.strip()])
        content = [text_block(words.strip())] + [each for each in content if each["type"] == "image"]
    content = content or [text_block(text)]
    # The text of a prompt contains the user's words as the program showed them, or is a part of them.
    texts = [one for one in content if one["type"] == "text"]
    beside = [one for one in texts if line.words not in one["text"] and one["text"].strip() not in line.words]
    if beside and len(beside) < len(content):
        notes.append("\n".join([one["text"] for one in beside]))
        content = [one for one in content if one not in beside]
    return notes, content
