"""Translate sessions of Codex (rollouts) into entries of pi's format.

A rollout has each prompt and answer twice: as an item, which the model saw, and as an event, which the program showed.
One of both becomes an entry. The session has no branches, except after a rollback. History that a fork copied from its
parent is left out, and never counted.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable

from sessionbrowse.format.json_value import Json
from sessionbrowse.model.foreign.codex_items import (
    CALLS,
    NO_PAYLOAD,
    Counts,
    Info,
    Line,
    Meta,
    answer_blocks,
    blocks_of,
    call_block,
    complete,
    event_text,
    is_injected,
    is_message,
    is_record,
    meta_of,
    output_blocks,
    part_of,
    said,
    texts_in,
)
from sessionbrowse.model.foreign.translated import (
    Chain,
    Object,
    Records,
    Translated,
    as_text,
    first_text,
    header_of,
    moment_of,
    newest_ms,
    number_of,
    object_of,
    objects_of,
    plain,
    text_block,
    text_of,
    usage_of,
)
from sessionbrowse.model.listing.summary import Sketch
from sessionbrowse.model.listing.summary_builder import status_after
from sessionbrowse.text import model_name

AGENT = "codex"
PAUSE_MS = 300
"""A fork copies its parent's history in one burst; a pause between two lines longer than this ends the burst."""
NO_SUMMARY = "Codex keeps no readable summary of this compaction. It kept these messages:"
REQUEST_HEADING = "## My request for Codex:"

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ENDS = frozenset({"task_complete", "turn_aborted", "turn_complete"})
_NO_COUNTS = Counts()
_SOURCE = {"api": "openai-codex-responses", "provider": "openai-codex"}
_ANSWERS = re.compile(r"[rac](?:[rac.etx]*[rac])?")


def codex(
    lines: Iterable[bytes], path: str = "", *, name: str | None = None, title: str | None = None, brief: bool = False
) -> Translated:
    """Translate the lines of a Codex rollout; the file `path` itself is not read.

    `name` is the name in Codex's index of names, `title` that in its database, which counts last. With `brief`, a
    sketch replaces the entries where that is possible, which is faster.
    """
    rollout = _Rollout(lines, path)
    found = rollout.name(name, title)
    return (rollout.sketched(found) if brief else None) or rollout.translated(found)


class _Rollout:
    """Reads all lines of one file, then makes the entries in file order."""

    def __init__(self, lines: Iterable[bytes], path: str) -> None:
        self._path = path
        self._records = Records(lines, Line, is_record)
        self._lines = self._records.found
        for line in [line for line in self._lines if line.payload is NO_PAYLOAD]:
            complete(line)
        self._heads = [line for line in self._lines if line.type == "session_meta"]
        self._own = self._heads[0] if self._heads else None
        self._meta = meta_of(self._heads[0]) if self._heads else Meta()
        named = _UUID.search(os.path.basename(path))
        self._id = self._meta.id or self._meta.session_id or (named[0] if named else "")
        self._chain = Chain(AGENT)
        self._at: str | None = None
        self._answer: Object | None = None
        self._newest: Object | None = None
        self._is_open = False
        self._calls: set[str] = set()
        self._named: set[str] = set()
        self._results: list[tuple[Line, str, Json]] = []
        self._outputs: dict[str, list[Line]] = {}
        self._prompts: list[str | None] = []
        self._total: Counts | None = None
        self._model = ""
        self._searches = 0
        self._untold: set[str] = set()
        self._has_ended = True

    def translated(self, name: str | None) -> Translated:
        self._mark_copied()
        parts = self._mark_prompts()
        by_part = self._by_part(parts)
        self._calls = {line.payload.call_id for line in by_part["c"] if not line.is_copied}
        for line in [line for line in by_part["o"] if not line.is_copied]:
            self._outputs.setdefault(line.payload.call_id, []).append(line)
        self._untold = _untold(by_part)
        for line, part in zip(self._lines, parts, strict=True):
            self._place(line, part)
        self._close()
        if self._base():
            self._chain.unread["earlier history in another file"] += 1
        ended = self._has_ended if self._has_turns() else self._is_answered()
        return self._chain.translated(self._header(), self._records, name=name, has_ended=ended)

    # ---- a session without branches, for lists

    def sketched(self, name: str | None) -> Translated | None:
        """Return the session with a sketch (facts for its summary) instead of entries; None if that is not possible.

        It is possible if no line is unusual, copied or rolled back. `parts` has a character for each line (see
        `part_of`); an answer is a sequence of its items, perhaps with other lines between them.
        """
        lines, records = self._lines, self._records
        if records.bad or records.torn or self._own is None or self._may_be_copied():
            return None
        parts = "".join(self._mark_prompts())
        by_part = self._by_part(parts)
        answers, prompts = list(_ANSWERS.finditer(parts)), by_part["p"]
        calls = [line.payload.call_id for line in by_part["c"] if line.payload.call_id]
        outputs = Counter([line.payload.call_id for line in by_part["o"]])
        first_count = next((at for at, part in enumerate(parts) if part == "t" and lines[at].payload.info), len(parts))
        is_ordinary = "?" not in parts and "" not in outputs and len(set(calls)) == len(calls)
        if not is_ordinary or first_count < (answers[0].start() if answers else len(parts)) or _untold(by_part):
            return None
        tokens, total = 0, None
        for info in [line.payload.info for line in by_part["t"]]:
            if info is not None and info.total_token_usage is not None and info.total_token_usage != total:
                total = info.total_token_usage
                last = info.last_token_usage or _NO_COUNTS
                tokens += max(last.input_tokens, last.cached_input_tokens) + last.output_tokens
        model, status = None, None
        if answers:
            start, end = answers[-1].span()
            models = (lines[at].payload.model for at in range(start - 1, -1, -1) if parts[at] == "x")
            model = next(filter(None, models), None)
            own = [lines[at].payload.call_id for at in range(start, end) if parts[at] == "c"]
            reason = "aborted" if "b" in parts[end:] else ""
            is_open = any(call in outputs for call in own)
            status = "interrupted" if is_open else status_after("assistant", reason, bool(own))
        if prompts and (not answers or parts.rindex("p") > answers[-1].start()):
            status = "pending"
        told = [_asked(line) for line in prompts]
        results = sum(outputs[call] for call in calls)
        messages = len(prompts) + len(answers) + results
        notes = parts.count("n") + parts.count("k") + parts.count("o") - results
        header = self._header()
        sketch = Sketch(
            header={**header, "title": name},
            entries=messages + notes + sum(len(before) for before, _ in told),
            messages=messages,
            first=first_text(content for _, content in told),
            active_ms=newest_ms([line.timestamp for line in (*prompts, *[lines[one.start()] for one in answers])]),
            tokens=tokens,
            model=model_name(_SOURCE["provider"], model) if model else None,
            status=status,
        )
        return self._chain.translated(header, records, name=name, sketch=sketch) if sketch.entries else None

    def _by_part(self, parts: Iterable[str]) -> dict[str, list[Line]]:
        """Return the lines of each part (see `part_of`)."""
        found: dict[str, list[Line]] = {part: [] for part in "aceoprt"}
        for part, line in zip(parts, self._lines, strict=True):
            found.setdefault(part, []).append(line)
        return found

    def name(self, name: str | None, title: str | None) -> str | None:
        """Return the name in Codex's index, else the last in the file, else the title in the database."""
        events = [line.payload for line in self._lines if line.payload.type == "thread_name_updated"]
        return (name or (events[-1].thread_name if events else "") or title or "").strip() or None

    # ---- reading all lines

    def _may_be_copied(self) -> bool:
        """Return False if the file has no lines of a parent session."""
        first = self._meta.timestamp
        if self._meta.subagent_history_start_ordinal is None and len(self._heads) == 1 and first.endswith("Z"):
            # Times in the usual form sort correctly as texts; parsing them would take a tenth of the reading time.
            times = [line.timestamp for line in self._lines]
            return min(times) < first or set(map(len, times)) != {len(first)}
        return True

    def _mark_copied(self) -> None:
        """Mark the lines that a fork copied from its parent: those from a header with another id up to a pause."""
        if not self._may_be_copied():
            return
        begins = self._meta.subagent_history_start_ordinal
        own, began = self._meta.id or "", moment_of(self._meta.timestamp)
        in_copy = False
        before: float | None = None
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
            line.is_copied = in_copy or is_older or is_before
        burst = [line for line in self._lines if line.is_copied]
        if burst and burst[-1].kind in ("task_started", "turn_started"):
            burst[-1].is_copied = False

    def _mark_prompts(self) -> list[str]:
        """Decide which messages with the role "user", and which events with the user's words, are prompts.

        Return the part of each line (see `part_of`).
        """
        payloads = [line.payload for line in self._lines]
        kinds, roles = [one.type for one in payloads], [one.role for one in payloads]
        parts = list(map(part_of, [line.type for line in self._lines], kinds, roles))
        asked = [at for at, part in enumerate(parts) if part in "uv"]
        self._mark([at for at in asked if parts[at] == "u"], [self._lines[at] for at in asked if parts[at] == "v"])
        for at in asked:
            parts[at] = "p" if self._lines[at].role == "prompt" else "n" if parts[at] == "u" else "."
        return parts

    def _mark(self, items: list[int], users: list[Line]) -> None:
        events = [line for line in users if event_text(line) is not None]
        if not events:
            for line in [self._lines[at] for at in items]:
                line.role = "note" if is_injected(line) else "prompt"
            return
        by_text: dict[str, list[Line]] = {}
        for event in events:
            event.role = "prompt"
            by_text.setdefault((event_text(event) or "").strip(), []).append(event)
        for at in items:
            line, after = self._lines[at], next(iter(self._lines[at + 1 : at + 2]), None)
            text = said(line.payload.content).strip()
            words = event_text(after) if after is not None and after.role == "prompt" else None
            same = [each for each in by_text.get(text, ()) if each.role]
            told = after if words is not None and words.strip() in text else same[0] if same else None
            parts = line.payload.content_item_kinds
            is_named = isinstance(parts, list) and "user.text" in parts
            # The event of a prompt is in the next line, which the program may not have written yet.
            is_last = after is None and not is_injected(line)
            line.role = "prompt" if told is not None or is_named or is_last else "note"
            if told is not None:
                told.role, line.words = "", (event_text(told) or "").strip()

    # ---- making entries

    def _place(self, line: Line, part: str) -> None:
        """Make the entries of a line; `part` is its part (see `part_of`)."""
        kind, about = line.kind, line.payload
        if part == "x":
            self._model = about.model or self._model
        elif part == "t":
            self._count(line)
        if line.is_copied:
            self._chain.unread["copied from the parent session"] += 1
        elif part in "rac":
            self._add_to_answer(line, [self._called(line)] if part == "c" else answer_blocks(line))
        elif part == "e" and not self._untold.isdisjoint(texts_in(about)):
            # The event has a text that is in no item, so it becomes an entry.
            text = "\n".join(texts_in(about))
            is_text = kind == "agent_message"
            self._add_to_answer(line, [text_block(text) if is_text else {"type": "thinking", "thinking": text}])
        elif part == "o":
            self._close()
            if about.call_id not in self._calls:
                output = line.item().get("output")
                self._note("result", plain(output) or as_text(output), line, shown=True)
        elif part == "p":
            self._prompt(line)
        elif part == "n":
            is_context = kind == "message"
            text = said(about.content) or ("" if is_context else about.message or as_text(line.item()))
            note = "context" if is_context else kind.removeprefix("stream_")
            self._note(note, text, line, shown=not is_context)
        elif part == "k":
            self._place_compaction(line)
        elif part == "b":
            self._has_ended = True
            if self._answer is not None:
                self._answer["message"]["stopReason"] = "aborted"
            self._close()
        elif kind == "thread_rolled_back":
            self._close()
            dropped = number_of(about.num_turns)
            if dropped and self._prompts:
                self._at = self._prompts[-min(dropped, len(self._prompts))]
                del self._prompts[-dropped:]
            self._answer = None
        elif line is not self._own:
            self._has_ended |= kind in _ENDS
            about_it = {"response_item": kind, "event_msg": f"event {kind}"}.get(line.type, line.type)
            if part == "?":
                self._unknown(about_it or "without type", line)
            else:
                self._chain.unread[about_it] += 1

    def _prompt(self, line: Line) -> None:
        notes, content = _asked(line)
        for note in notes:
            self._note("context", note, line, shown=False)
        self._close()
        self._answer = None
        self._prompts.append(self._at)
        self._make(self._chain.message, "user", line, {"content": content})

    def _add_to_answer(self, line: Line, blocks: list[Object]) -> None:
        """Add content blocks to the assistant's answer that is being built; start an answer if there is none."""
        self._has_ended = False
        if not self._is_open or self._answer is None:
            fields = {"content": [], **_SOURCE, "model": self._model, "stopReason": "stop"}
            self._answer = self._newest = self._make(self._chain.message, "assistant", line, fields)
            self._is_open = True
        message = self._answer["message"]
        message["content"] += blocks
        if line.kind in CALLS:
            message["stopReason"] = "toolUse"

    def _called(self, line: Line) -> Object:
        """Return the block of a call, and keep the call's outputs until the answer ends."""
        call = line.payload.call_id
        outputs = () if call in self._named else self._outputs.get(call, ())
        if not call or call in self._named:
            # pi needs a unique id for each call, but searches have none, and an id may occur twice.
            self._searches += 1
            call = f"{call or line.kind}_{self._searches}"
        self._named.add(call)
        block = call_block(line, call)
        self._results += [(output, call, block["name"]) for output in outputs]
        return block

    def _result(self, line: Line, call: str, name: Json) -> None:
        content, is_error = output_blocks(line)
        fields = {"toolCallId": call, "toolName": name, "content": content, "isError": is_error}
        self._make(self._chain.message, "toolResult", line, fields)

    def _place_compaction(self, line: Line) -> None:
        summary = line.payload.message.strip()
        if not summary:
            kept = objects_of(line.item().get("replacement_history"))
            told = [f"{text_of(one.get('role'))}: {plain(one.get('content'))}" for one in kept if one.get("content")]
            summary = "\n\n".join([NO_SUMMARY, *told])
        self._close()
        tokens = self._total.input_tokens if self._total is not None else 0
        fields = {"summary": summary, "firstKeptEntryId": "", "tokensBefore": tokens}
        made = self._make(self._chain.add, "compaction", line, fields)
        made["firstKeptEntryId"] = made["id"]

    def _make(self, make: Callable[..., Object], kind: str, line: Line, fields: Object) -> Object:
        """Create the next entry as a child of the entry before it."""
        made = make(kind, self._key(line), self._at, line.timestamp, fields)
        self._at = made["id"]
        return made

    def _note(self, kind: str, text: str, line: Line, *, shown: bool) -> None:
        self._close()
        self._at = self._chain.note(kind, text, self._key(line), self._at, line.timestamp, shown=shown)["id"]

    def _unknown(self, kind: str, line: Line) -> None:
        self._close()
        self._at = self._chain.unknown(kind, line.item(), self._key(line), self._at, line.timestamp)

    def _close(self) -> None:
        """End the current answer; make the entries of its results, in file order."""
        self._is_open = False
        results, self._results = self._results, []
        for line, call, name in sorted(results, key=lambda result: result[0].number):
            self._result(line, call, name)

    def _count(self, line: Line) -> None:
        """Add the tokens of a request to the previous answer; ignore a line that only repeats the total."""
        info = line.payload.info
        if info is None or info.total_token_usage is None or info.total_token_usage == self._total:
            return
        self._total = info.total_token_usage
        if line.is_copied:
            return
        used = _used(info)
        before = self._newest
        if before is not None:
            message = before["message"]
            so_far = message.get("usage")
            message["usage"] = used if so_far is None else {key: so_far[key] + count for key, count in used.items()}
        elif used["totalTokens"]:
            fields = {"provider": _SOURCE["provider"], "model": self._model, "usage": used}
            self._make(self._chain.add, "usage", line, fields)

    # ---- facts about the session

    def _has_turns(self) -> bool:
        return any(line.type == "event_msg" and line.kind in _ENDS for line in self._lines)

    def _is_answered(self) -> bool:
        """Return True if the last answer has text and no open call; older versions do not record the end of a turn."""
        if self._newest is None:
            return True
        content = self._newest["message"]["content"]
        has_text = any(block["type"] == "text" for block in content)
        return has_text and all(self._outputs.get(block["id"]) for block in content if block["type"] == "toolCall")

    def _base(self) -> str:
        """Return the id of the thread in whose other file the history before this file stands; "" for none."""
        return text_of(object_of(self._meta.history_base).get("thread_id"))

    def _key(self, line: Line) -> str:
        return f"{self._id}:{line.number}"

    def _header(self) -> Object:
        meta = self._meta
        cwd = meta.cwd or ""
        if not cwd:
            texts = [said(line.payload.content) for line in self._lines if is_message(line, "user")]
            found = [match for text in texts if (match := re.search(r"<cwd>(.*?)</cwd>|working directory: (.*)", text))]
            cwd = ((found[0][1] or found[0][2]) if found else "").strip()
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


def _untold(by_part: dict[str, list[Line]]) -> set[str]:
    """Return the texts in events that are in no item of an answer."""
    events, items = ([line.payload for part in parts for line in by_part[part]] for parts in ("e", "ar"))
    contents = [content for one in items for content in (one.content, one.summary)]
    usual = {part.text for content in contents if content.__class__ is list for part in content}
    if all((one.message or one.text) in usual and not (one.content or one.summary) for one in events):
        return set()
    return {text for one in events for text in texts_in(one)} - {text for one in items for text in texts_in(one)}


def _used(info: Info) -> Object:
    last = info.last_token_usage or _NO_COUNTS
    cached = last.cached_input_tokens
    used = usage_of(max(0, last.input_tokens - cached), last.output_tokens, cached)
    return {**used, "reasoning": last.reasoning_output_tokens}


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
