"""Translate sessions of Claude Code into entries of pi's format.

Claude Code writes one record for each block of an answer. A result may precede the record of its call, a prompt may
exist only in a record of the prompt queue, and links by `parentUuid` may fork although the user went back nowhere. So
all records are read before the first entry is made. Then an answer is one entry, its results follow it, and notes do
not fork the tree.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable
from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType

from sessionbrowse.format.json_value import loads
from sessionbrowse.model.foreign.claude_records import (
    HIDDEN,
    NO_TEXT,
    PASSED,
    STATE_LINES,
    STOP_REASONS,
    AnswerUsage,
    ClaudeRecord,
    answer_blocks,
    blocks_in,
    blocks_of,
    content_of,
    is_record,
    output_file,
    parent_of,
    passed_name,
    result_blocks,
    results_in,
    said,
    spoken_kind,
    user_kind,
    without_injected,
)
from sessionbrowse.model.foreign.translated import (
    MISSING_PARENT,
    Chain,
    Object,
    Records,
    Translated,
    first_text,
    header_of,
    newest_ms,
    number_of,
    object_of,
    objects_of,
    plain,
    text_of,
    usage_of,
)
from sessionbrowse.model.listing.directories import alphanumeric
from sessionbrowse.model.listing.summary import SessionStatus, Sketch
from sessionbrowse.model.listing.summary_builder import status_after
from sessionbrowse.text import model_name

AGENT = "claude"
_SOURCE = {"api": "anthropic-messages", "provider": "anthropic"}
_SYNTHETIC = "<synthetic>"
_SILENT = "No response requested."

_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Maps types of lines with a title to the field that has it, the preferred type first.

A line of the type `summary` may belong to another session.
"""
_NEAR = 1000
"""The record of a queued prompt may be up to this many lines before the line that takes the prompt out of the queue."""


def claude(lines: Iterable[bytes], path: str = "", *, brief: bool = False) -> Translated:
    """Translate the lines of a Claude Code transcript; the file `path` itself is not read.

    With `brief`, a sketch replaces the entries where that is possible, which is faster.
    """
    transcript = _Transcript(lines, path)
    return (transcript.sketched() if brief else None) or transcript.translated()


class _Answer(Struct):
    """The records of one answer, and the records with its tool results; `entry` is the id of its entry, if made."""

    records: list[ClaudeRecord]
    results: list[ClaudeRecord]
    entry: str | None = None


class _Transcript:
    """Reads all records of one file, then makes the entries in file order."""

    def __init__(self, lines: Iterable[bytes], path: str) -> None:
        self._path = path
        self._records = Records(lines, ClaudeRecord, is_record)
        self._chain = Chain(AGENT)
        self._nodes: dict[str, ClaudeRecord] = {}
        self._answers: dict[str, _Answer] = {}
        self._calls: dict[str, tuple[str, str]] = {}
        self._lines: list[ClaudeRecord] = []
        self._last_answer: _Answer | None = None
        self._answered = set[str]()
        sides = [one.isSidechain for one in self._records.found if one.type in ("user", "assistant") and one.uuid]
        self._is_sidechain = bool(sides) and all(sides)

    def translated(self) -> Translated:
        for record in self._records.found:
            self._index(record)
        self._pair_results()
        self._queue()
        self._find_talk()
        for record in self._lines:
            self._place(record)
        facts = {"name": self._name(self._nodes), "has_ended": self._has_ended()}
        return self._chain.translated(self._header(), self._records, **facts)

    # ---- a session without branches, for lists

    def sketched(self) -> Translated | None:
        """Return the session with a sketch (facts for its summary) instead of entries; None if that is not possible.

        It is possible if the session has no branches and no bad lines: then entries need no ids. `places` maps each
        record to the number of the last prompt, answer or compaction up to it: 0 before the first one, -1 if a child of
        this record may be a branch.
        """
        records, places = self._records, dict[str | UnsetType | None, int]()
        answers, used, answered = dict[str, int](), dict[str, AnswerUsage](), set[str]()
        prompts, firsts, boundaries = list[ClaudeRecord](), list[ClaudeRecord](), set[str]()
        newest, now, notes, results = "", 0, 0, 0
        if records.bad or records.torn:
            return None
        calls, early, missing = dict[str, str](), list[list[str]](), set[object]()
        for record in records.found:
            uuid, parent, message = record.uuid, record.parentUuid, record.message
            if not uuid and record.type in STATE_LINES and record.type != "queue-operation":
                continue
            if not uuid or uuid in places or uuid in missing or (record.isSidechain and not self._is_sidechain):
                return None
            above = places.get(parent)
            if above is None:
                above = now if parent is UNSET else -1 if parent and now else 0
                missing.update([parent] if parent else [])
            content = message.content if message.content.__class__ is list else ()
            if record.type == "assistant":
                key = message.id or uuid
                if key not in answers:
                    if above != now or message.model == _SYNTHETIC:
                        return None
                    newest, now = key, now + 1
                    answers[key] = now
                    firsts.append(record)
                if message.usage is not None:
                    used[key] = message.usage
                for block in content:
                    if block.type == "tool_use":
                        calls.setdefault(block.id, key)
                places[uuid] = answers[key]
                continue
            called = [block.tool_use_id for block in content if block.type == "tool_result"]
            if called and record.type == "user":
                # A result may precede the line of its call.
                key = calls.get(called[0], "")
                if key:
                    answered.add(key)
                else:
                    early.append(called)
                results += len(called)
                places[uuid] = answers[key] if key else -1
                continue
            kind, record.text = self._kind(record) if record.type != "progress" else ("", "")
            if not kind or (kind == "compaction" and record.isCompactSummary and parent in boundaries):
                places[uuid] = above if parent is not UNSET else 0
            elif kind in ("prompt", "compaction"):
                if kind == "compaction":
                    above = places.get(record.logicalParentUuid, -1) if record.logicalParentUuid else now
                if above != now or record.isCompactSummary or b"preserved" in record.raw:
                    return None
                now += 1
                places[uuid] = now
                if kind == "prompt":
                    newest = ""
                    prompts.append(record)
                else:
                    notes += 1
                    boundaries.add(uuid)
            elif record.type in STATE_LINES:
                return None
            else:
                # A note makes no branch, unless a prompt, an answer or a compaction is below it.
                is_in_place = above == now or kind == "unknown"
                notes, now = notes + 1, now or 1
                places[uuid] = now if is_in_place else -1
        late = [next((calls[call] for call in called if call in calls), None) for called in early]
        if not now or None in late:
            return None
        answered.update(filter(None, late))
        told = [self._words(record) for record in prompts]
        model = next((one.message.model for one in reversed(firsts) if one.message.model), None)
        of_newest = [one for one in records.found if one.type == "assistant" and (one.message.id or one.uuid) == newest]
        status: SessionStatus | None = "pending" if prompts else None
        if newest in answered:
            status = "interrupted"
        elif newest:
            has_calls = newest in calls.values()
            status = status_after("assistant", _stop_reason(of_newest, has_calls), has_calls)
        messages = len(prompts) + len(firsts) + results
        name, header = self._name(places), self._header()
        sketch = Sketch(
            header={**header, "title": name},
            entries=messages + notes + sum(1 for injected, _ in told if injected),
            messages=messages,
            first=first_text(content for _, content in told),
            active_ms=newest_ms([one.timestamp for one in (*prompts, *firsts)]),
            tokens=sum(map(_total, used.values())),
            model=model_name(_SOURCE["provider"], model) if model else None,
            status=status,
        )
        return self._chain.translated(header, records, name=name, sketch=sketch)

    # ---- reading all records

    def _index(self, record: ClaudeRecord) -> None:
        """Store a record and its kind; only count it if it becomes no entry."""
        kind, uuid = record.type, record.uuid
        if kind in STATE_LINES or not uuid:
            if kind in STATE_LINES and kind != "queue-operation":
                self._chain.unread[kind] += 1
            else:
                record.kind = kind if kind == "queue-operation" else "unknown"
                self._lines.append(record)
            return
        before = self._nodes.setdefault(uuid, record)
        if before is not record:
            if before.raw == record.raw or before.whole() == record.whole():
                self._chain.unread["doubled"] += 1
                return
            record.is_double = True
            # The uuid occurs twice. The line number makes it unique, and stays the same if more lines with this uuid
            # follow.
            record.uuid = f"{uuid}:{record.number}"
        record.kind, record.text = self._kind(record)
        if not record.kind:
            self._chain.unread[passed_name(record)] += 1
            return
        self._lines.append(record)
        if record.kind == "answer":
            message = record.message
            record.answer = key = message.id or record.uuid
            answer = self._answers.get(key)
            if answer is None:
                answer = self._answers[key] = _Answer([], [])
            answer.records.append(record)
            for block in blocks_in(message.content):
                if block.type == "tool_use":
                    self._calls.setdefault(block.id, (key, block.name))

    def _kind(self, record: ClaudeRecord) -> tuple[str, str]:
        """Return the kind of entry that a record becomes ("" if none), and the text of a prompt or note."""
        kind = record.type
        if record.isSidechain and not self._is_sidechain:
            return "", ""
        if kind == "assistant":
            if record.message.model != _SYNTHETIC:
                return "answer", ""
            text = said(record.message.content)
            return ("", "") if text in ("", _SILENT) else ("note:notice", text)
        if kind == "user":
            return user_kind(record)
        if kind == "attachment":
            attached = record.attachment
            if attached.type != "queued_command":
                return "", ""
            told = spoken_kind(said(attached.prompt))
            return told if attached.commandMode == "prompt" else ("note:notification", told[1])
        if kind == "system":
            if record.subtype == "compact_boundary":
                return "compaction", ""
            if record.subtype == "local_command":
                return "note:command", said(record.content)
        return ("", "") if kind in PASSED else ("unknown", "")

    def _pair_results(self) -> None:
        """Attach each record of tool results to the answer that made its first call.

        If that call is not in the file, turn the record into a note.
        """
        for record in self._lines:
            if record.kind == "result":
                found = next((self._calls[call] for call in results_in(record) if call in self._calls), None)
                if found is not None:
                    record.answer = found[0]
                    self._answers[found[0]].results.append(record)
                else:
                    record.kind, record.text = "note:result-without-call", plain(content_of(record))

    def _queue(self) -> None:
        """Find prompts that exist only in records of the queue; put each at the record that ended its waiting."""
        if "queue-operation" not in [record.kind for record in self._lines]:
            return
        records: dict[str, list[ClaudeRecord]] = {}
        for record in self._lines:
            if record.kind in ("prompt", "note:notification"):
                records.setdefault(record.text.strip(), []).append(record)
        waiting: list[tuple[str, str]] = []
        session, count, taken = self._id(), 0, set[int]()
        for record in self._lines:
            if record.kind != "queue-operation":
                continue
            operation, content = record.whole().get("operation"), said(record.content)
            record.kind = ""
            if operation == "enqueue":
                waiting.append((content, f"{session}:queue:{count}"))
                count += 1
            elif operation == "popAll":
                waiting.clear()
            elif waiting:
                named = [number for number, (text, _) in enumerate(waiting) if text == content] if content else []
                text, key = waiting.pop(named[0] if named else 0)
                own = [each for each in records.get(text.strip(), ()) if id(each) not in taken]
                own = [each for each in own if each.number > record.number - _NEAR]
                if own:
                    taken.add(id(own[0]))
                elif operation == "remove" and text.strip():
                    kind, record.text = spoken_kind(text)
                    record.kind = "note:command" if text.startswith("/") else kind
                    record.uuid, record.queued = key, text

    def _find_talk(self) -> None:
        """Mark the records that have a prompt, an answer or a compaction below them."""
        nodes, answers = self._nodes, self._answers
        for record in self._lines:
            if record.kind not in ("prompt", "answer", "compaction"):
                continue
            if record.answer and answers[record.answer].records[0] is not record:
                continue
            above = nodes.get(parent_of(record) or "")
            while above is not None and not above.has_talk_below:
                above.has_talk_below = True
                at = answers[above.answer].records[0] if above.answer else above
                at.has_talk_below = True
                above = nodes.get(parent_of(at) or "")

    # ---- making entries

    def _place(self, record: ClaudeRecord) -> None:
        """Make the entries of a record; the entries of an answer are made at its first record."""
        kind, key, timestamp = record.kind, record.uuid, record.timestamp
        if not kind or kind == "result":
            return
        if kind == "answer":
            answer = self._answers[record.answer]
            if answer.records[0] is record:
                self._place_answer(record, answer)
        elif kind == "unknown":
            key = key or f"{self._id()}:{record.number}"
            kind = record.type or "without type"
            record.entry = self._chain.unknown(kind, record.whole(), key, self._chain.last, timestamp)
        elif kind == "compaction":
            self._place_compaction(record)
        elif kind == "prompt":
            is_linked = record.parentUuid is not UNSET and (record.has_talk_below or record.type == "user")
            parent = self._parent(record) if is_linked else self._chain.last
            injected, content = self._words(record)
            if injected:
                # Injected text becomes a hidden note above the prompt, so that titles, previews and rows show only the
                # user's words.
                note = f"{key}:context"
                made = self._chain.note(
                    "context", injected, note, parent, timestamp, shown=False, in_line=not is_linked
                )
                parent = made["id"]
            made = self._chain.message("user", key, parent, timestamp, {"content": content}, in_line=not is_linked)
            record.entry = made["id"]
        else:
            kind = kind.removeprefix("note:")
            parent = self._parent(record) if record.has_talk_below and not record.is_double else self._chain.last
            shown = kind not in HIDDEN
            record.entry = self._chain.note(kind, record.text, key, parent, timestamp, shown=shown)["id"]

    @staticmethod
    def _words(record: ClaudeRecord) -> tuple[str, list[Object]]:
        """Split a prompt into the text that the program put around the user's words, and the user's own content."""
        injected, words = without_injected(record.queued or content_of(record))
        return injected, blocks_of(words, record.text)

    def _place_answer(self, first: ClaudeRecord, answer: _Answer) -> None:
        records = answer.records
        content = [block for record in records for block in answer_blocks(record)]
        has_calls = "toolCall" in [block["type"] for block in content]
        message = first.message
        fields: Object = {"content": content, **_SOURCE, "model": message.model}
        usage = next((record.message.usage for record in reversed(records) if record.message.usage is not None), None)
        if usage is not None:
            fields["usage"] = _tokens(usage)
        if message.id:
            # Copies of an answer, as in forks, can differ in all else.
            fields["sourceRequest"] = " ".join(filter(None, (message.id, first.requestId)))
        fields["stopReason"] = _stop_reason(records, has_calls)
        parent = self._parent(first)
        answer.entry = self._chain.message("assistant", first.uuid, parent, first.timestamp, fields)["id"]
        self._last_answer = answer
        for record in answer.results:
            self._place_results(record)

    def _place_results(self, record: ClaudeRecord) -> None:
        """Make an entry for each tool result in a record; its parent is the answer or the previous result."""
        content = blocks_in(record.message.content)
        found = [block for block in content if block.type == "tool_result"]
        for number, result in enumerate(found):
            call = result.tool_use_id
            blocks = result_blocks(result.content)
            if len(content) > len(found) == number + 1:
                beside = [one for one in objects_of(content_of(record)) if one.get("type") != "tool_result"]
                blocks = (loads(bytes(blocks)) if isinstance(blocks, Raw) else blocks) + blocks_of(beside, "")
            key, name = f"{record.uuid}:{number}" if number else record.uuid, self._calls.get(call, ("", ""))[1]
            is_error, file = bytes(result.is_error) == b"true", output_file(result.content)
            fields: Object = {"toolCallId": call, "toolName": name, "content": blocks, "isError": is_error}
            if file is not None:
                fields["outputFile"] = file
            parent = self._chain.last
            made = self._chain.message("toolResult", key, parent, record.timestamp, fields, in_line=True)
            self._answered.add(call)
            record.entry = made["id"]

    def _place_compaction(self, record: ClaudeRecord) -> None:
        """Make the entry of a compaction: from its boundary record and the summary record below, or only the latter."""
        entries = self._chain.entries
        if record.isCompactSummary:
            boundary = self._nodes.get(parent_of(record) or "")
            if boundary is not None and boundary.kind == "compaction" and boundary.entry is not None:
                made = next(one for one in reversed(entries) if one["id"] == boundary.entry)
                made["summary"] = made["summary"] or record.text
                record.entry = boundary.entry
                return
        metadata = object_of(record.whole().get("compactMetadata"))
        made = self._chain.add(
            "compaction",
            record.uuid,
            self._before_compaction(record),
            record.timestamp,
            {
                "summary": record.text,
                "firstKeptEntryId": "",
                "tokensBefore": number_of(metadata.get("preTokens")),
                "details": metadata,
            },
        )
        made["firstKeptEntryId"] = record.entry = made["id"]
        segment, messages = object_of(metadata.get("preservedSegment")), object_of(metadata.get("preservedMessages"))
        kept = messages.get("uuids") if isinstance(messages.get("uuids"), list) else []
        head = self._entry_of(self._nodes.get(text_of(segment.get("headUuid") or (kept[0] if kept else ""))))
        tail = self._entry_of(self._nodes.get(text_of(segment.get("tailUuid") or (kept[-1] if kept else ""))))
        if head is not None:
            made["firstKeptEntryId"] = head
        if tail is not None:
            # Later records are linked to the last kept message, but in pi's format they must be below the compaction.
            self._chain.join(tail, made["id"])

    def _before_compaction(self, record: ClaudeRecord) -> str | None:
        """Return the parent of a compaction: its logical parent, or the last entry if a compaction is between."""
        logical = record.logicalParentUuid or ""
        entry = self._above(logical) if logical in self._nodes else None
        for one in reversed(self._chain.entries):
            if one["id"] == entry:
                return self._chain.end(entry)
            if one["type"] == "compaction":
                break
        return self._chain.last

    def _parent(self, record: ClaudeRecord) -> str | None:
        """Return the id of the entry that becomes the parent of a record's entry; None for a root."""
        if record.is_double or (record.parentUuid is UNSET and parent_of(record) is None):
            return self._chain.last
        return self._chain.end(self._above(parent_of(record)))

    def _above(self, uuid: str | None) -> str | None:
        """Return the entry of a record, or of its nearest ancestor that has one; the last entry if a link is broken."""
        seen: set[str] = set()
        while uuid is not None:
            record = self._nodes.get(uuid)
            if record is None or uuid in seen:
                if self._chain.last is not None:
                    self._chain.unread[MISSING_PARENT] += 1
                return self._chain.last
            seen.add(uuid)
            if record.kind:
                return self._entry_of(record) or self._chain.last
            uuid = parent_of(record)
            if uuid is None and record.isSidechain:
                return self._chain.last
        return None

    def _entry_of(self, record: ClaudeRecord | None) -> str | None:
        """Return the id of the entry made from a record; None if no entry was made yet.

        All records of one answer share the answer's entry.
        """
        if record is None or not record.answer:
            return record.entry if record is not None else None
        return record.entry or self._answers[record.answer].entry

    # ---- facts about the session

    def _sessions(self) -> list[str]:
        """Return the ids of sessions in the records, the most frequent first."""
        return [name for name, _ in Counter([one.sessionId for one in self._records.found]).most_common() if name]

    def _id(self) -> str:
        """Return the session's id: the file's name, as Claude Code does, else the most frequent id in the lines."""
        stem = os.path.basename(self._path).removesuffix(".jsonl")
        return stem or next(iter(self._sessions()), "")

    def _header(self) -> Object:
        records = self._records.found
        directories = [cwd for cwd in dict.fromkeys([one.cwd for one in records if one.uuid]) if cwd]
        folder = os.path.basename(os.path.dirname(self._path))
        own = [cwd for cwd in directories if alphanumeric(cwd) == folder]
        began = next((one.timestamp for one in records if one.timestamp and one.uuid), "")
        made = header_of(self._id(), began, (own or directories or [""])[0])
        forks = [one.forkedFrom.sessionId for one in records if one.forkedFrom is not None and one.uuid]
        origin = forks[0] if forks else ""
        if self._is_sidechain:
            origin = origin or next((name for name in self._sessions() if name != made["id"]), "")
        if origin:
            made["parentSession"] = os.path.join(os.path.dirname(self._path), f"{origin}.jsonl")
        if self._is_sidechain:
            made["internal"] = True
        return made

    def _name(self, known: Container[Any]) -> str | None:
        """Return the session's own name, else its generated title."""
        told = dict.fromkeys(_TITLES, "")
        for one in [one for one in self._records.found if one.type in _TITLES]:
            value = one.whole()
            if one.type != "summary" or text_of(value.get("leafUuid")) in known:
                told[one.type] = text_of(value.get(_TITLES[one.type])).strip()
        return next(filter(None, told.values()), None)

    def _has_ended(self) -> bool:
        """Return False if the last answer has no text yet, or calls without a result."""
        if self._last_answer is None:
            return True
        contents = [record.message.content for record in self._last_answer.records]
        blocks = [block for content in contents for block in blocks_in(content)]
        calls = {block.id for block in blocks if block.type == "tool_use"}
        has_text = any(isinstance(content, str) and content for content in contents) or any(
            block.text if block.type == "text" else block.type not in NO_TEXT for block in blocks
        )
        return calls <= self._answered and has_text


def _total(usage: AnswerUsage) -> int:
    cached = usage.cache_read_input_tokens + usage.cache_creation_input_tokens
    return usage.input_tokens + usage.output_tokens + cached


def _tokens(usage: AnswerUsage) -> Object:
    cached, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    return usage_of(usage.input_tokens, usage.output_tokens, cached, written)


def _stop_reason(records: list[ClaudeRecord], has_calls: bool) -> str:
    if True in [record.isAbortedMidStream for record in records]:
        return "aborted"
    return STOP_REASONS.get(records[-1].message.stop_reason or "", "toolUse" if has_calls else "stop")
