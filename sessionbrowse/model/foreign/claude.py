"""The rules of Claude Code's sessions: which records become entries of pi's format, and in which tree.

Claude Code writes one record for each block of an answer. A result may precede the record of its call, a prompt may
exist only in a record of the prompt queue, and links by `parentUuid` may fork although the user went back nowhere. So
all records are read before the first step is made. Then an answer is one entry, its results follow it, and notes do
not fork the tree.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from functools import cached_property
from typing import ClassVar

from msgspec import UNSET, Raw, field

from sessionbrowse.format.json_value import Json, loads
from sessionbrowse.model.foreign.claude_records import (
    PASSED,
    QUEUE,
    STATE_LINES,
    STOP_REASONS,
    AnswerUsage,
    ClaudeRecord,
    answer_blocks,
    blocks_in,
    content_of,
    is_record,
    output_file,
    parent_of,
    result_blocks,
    said,
    spoken_kind,
    user_kind,
    without_injected,
)
from sessionbrowse.model.foreign.steps import ROOT, Reading, Step, header_of
from sessionbrowse.model.foreign.translated import (
    FILES,
    MISSING_PARENT,
    Object,
    Records,
    Translated,
    blocks_of,
    file_text,
    number_of,
    object_of,
    objects_of,
    plain,
    text_of,
)
from sessionbrowse.model.listing.directories import alphanumeric

_SYNTHETIC = "<synthetic>"
_SILENT = "No response requested."
_NOT_PLACED = frozenset({"", "copy", "further", "result"})
_TALK = frozenset({"prompt", "answer", "compaction"})

_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Maps types of lines with a title to the field that has it, the preferred type first.

A line of the type `summary` may belong to another session.
"""
_FILE = re.compile(rb'"type": ?"(?:document|url|file)"')
"""May find a document, or an image elsewhere, in a line."""
_NEAR = 1000
"""The record of a queued prompt may be up to this many lines before the line that takes the prompt out of the queue."""


def claude(content: bytes, path: str = "", *, brief: bool = False) -> Translated:
    """Translate the content of a Claude Code transcript; the file `path` itself is not read.

    With `brief`, a sketch replaces the entries where that is possible, which is faster.
    """
    transcript = _Transcript(content, path)
    return transcript.translated(transcript.header, transcript.name(), brief=brief)


class _Answer(Step, gc=False):
    """The step of an answer: `content` are its records, `results` those of its tool results.

    `end` is the position of its last result's step, or of its own; `ROOT` until they are placed.
    """

    results: list[ClaudeRecord] = field(default_factory=list)
    told: AnswerUsage | None = None
    end: int = ROOT


class _Transcript(Reading):
    """Reads all records of one file, then makes the steps in file order."""

    agent = "claude"
    source: ClassVar[Object] = {"api": "anthropic-messages", "provider": "anthropic"}

    def __init__(self, content: bytes, path: str) -> None:
        super().__init__(Records(content, ClaudeRecord, is_record))
        self._path = path
        self._found: list[ClaudeRecord] = self.records.found
        # Claude Code names a session by its file.
        self._id = os.path.basename(path).removesuffix(".jsonl") or next(iter(self._sessions()), "")
        self._nodes: dict[str, ClaudeRecord] = {}
        self._answers: dict[str, _Answer] = {}
        self._calls: dict[str, tuple[str, str]] = {}
        self._states: list[ClaudeRecord] = []
        self._results: list[ClaudeRecord] = []
        self._aborted: set[str] = set()
        self._newest_compaction = ROOT
        sides = (one.isSidechain for one in self._found if one.type in ("user", "assistant") and one.uuid)
        self._is_sidechain = next(sides, False) and all(sides)
        self.header = self._header()
        self._index()
        self._pair_results()
        self._take_from_queue()
        for record in self._found:
            kind = record.kind
            if kind in _NOT_PLACED:
                continue
            if kind == "answer":
                self._place_answer(record, self._answers[record.answer])
            elif kind == "compaction":
                self._place_compaction(record)
            else:
                self._place(record)

    # ---- reading all records

    def _index(self) -> None:
        """Determine the kinds of all records, and group the records of each answer."""
        nodes, answers, calls, kind_of = self._nodes, self._answers, self._calls, self._kind
        for record in self._found:
            uuid = record.uuid
            if record.type in STATE_LINES:
                self._states.append(record)
                continue
            if not uuid:
                # The line number is unique, and stays the same if more lines follow.
                record.kind, record.uuid = "unknown", f"{self._id}:{record.number}"
                continue
            before = nodes.setdefault(uuid, record)
            if before is not record:
                if before.raw == record.raw or before.item() == record.item():
                    record.kind = "copy"
                    continue
                record.uuid = f"{uuid}:{record.number}"
            kind, record.text = kind_of(record)
            record.kind = kind
            if kind == "answer":
                message = record.message
                record.answer = key = message.id or record.uuid
                answer = answers.get(key)
                if answer is None:
                    answer = answers[key] = _Answer("assistant", record, [])
                else:
                    record.kind = "further"
                answer.content.append(record)
                # Each record repeats the usage so far, so the last one is that of the answer.
                answer.told = message.usage or answer.told
                answer.stop = message.stop_reason or ""
                if record.isAbortedMidStream:
                    self._aborted.add(key)
                for block in blocks_in(message.content):
                    if block.type == "tool_use":
                        answer.has_calls = True
                        calls.setdefault(block.id, (key, block.name))
            elif kind == "result":
                self._results.append(record)

    def _kind(self, record: ClaudeRecord) -> tuple[str, str]:
        """Return the kind of entry that a record becomes ("" if none), and the text of a prompt or note."""
        kind = record.type
        if record.isSidechain and not self._is_sidechain:
            return "", ""
        if kind == "assistant":
            if record.message.model != _SYNTHETIC:
                return "answer", ""
            text = said(record.message.content)
            return ("", "") if text in ("", _SILENT) else ("notice", text)
        if kind == "user":
            return user_kind(record)
        if kind == "attachment" and record.attachment.type == "queued_command":
            told = spoken_kind(said(record.attachment.prompt))
            return told if record.attachment.commandMode == "prompt" else ("notification", told[1])
        if kind == "system" and record.subtype == "compact_boundary":
            return "compaction", ""
        if kind == "system" and record.subtype == "local_command":
            return "command", said(record.content)
        return ("", "") if kind in PASSED else ("unknown", "")

    def _pair_results(self) -> None:
        """Attach each record of tool results to the answer that made its first call.

        If that call is not in the file, turn the record into a note.
        """
        for record in self._results:
            for block in record.results:
                if block.tool_use_id in self._calls:
                    record.answer = self._calls[block.tool_use_id][0]
                    self._answers[record.answer].results.append(record)
                    break
            else:
                record.kind, record.text = "result-without-call", plain(content_of(record))

    def _take_from_queue(self) -> None:
        """Find prompts that exist only in records of the queue; put each at the record that ended its waiting."""
        operations = [record for record in self._states if record.type == QUEUE]
        records: dict[str, list[ClaudeRecord]] = {}
        for record in self._found if operations else ():
            if record.kind in ("prompt", "notification"):
                records.setdefault(record.text.strip(), []).append(record)
        waiting: list[tuple[str, str]] = []
        count = 0
        for record in operations:
            operation, content = record.item().get("operation"), said(record.content)
            if operation == "enqueue":
                waiting.append((content, f"{self._id}:queue:{count}"))
                count += 1
            elif operation == "popAll":
                waiting.clear()
            elif waiting:
                text, key = next((one for one in waiting if one[0] == content and content), waiting[0])
                waiting.remove((text, key))
                same = records.get(text.strip(), [])
                own = [number for number, each in enumerate(same) if each.number > record.number - _NEAR]
                if own:
                    del same[own[0]]
                elif operation == "remove" and text.strip():
                    record.kind = "command" if text.startswith("/") else spoken_kind(text)[0]
                    record.uuid, record.text = key, text

    @cached_property
    def _above_talk(self) -> set[str]:
        """The uuids of records that have a prompt, an answer or a compaction below them."""
        found: set[str] = set()
        for record in self._found:
            if record.kind not in _TALK:
                continue
            above = self._nodes.get(parent_of(record) or "")
            while above is not None and above.uuid not in found:
                first = self._first(above)
                found |= {above.uuid, first.uuid}
                above = self._nodes.get(parent_of(first) or "")
        return found

    def _first(self, record: ClaudeRecord) -> ClaudeRecord:
        """Return the first record of the answer to which a record belongs; other records themselves."""
        return self._answers[record.answer].line if record.answer else record

    # ---- making steps

    def _place(self, record: ClaudeRecord) -> None:
        """Make the steps of a record that is not part of an answer."""
        kind = record.kind
        if kind == "unknown":
            self.add(Step(kind, record, record.type or "without type"), in_line=True)
        elif kind == "prompt":
            # A queued prompt without talk below it goes in line, like a note.
            in_line = record.parentUuid is UNSET or not (record.type == "user" or record.uuid in self._above_talk)
            parent = self.at if in_line else self._parent(record)
            injected, words = without_injected(content_of(record))
            if injected:
                # Injected text becomes a hidden note above the prompt, so that titles, previews and rows show only the
                # user's words.
                self.add(Step("context", record, injected), parent, in_line=in_line)
                parent = self.at
            self.add(Step("user", record, blocks_of(words)), parent, in_line=in_line)
        else:
            parent = self._parent(record)
            if parent != self.at and record.uuid not in self._above_talk:
                parent = self.at
            has_files = any(block.type in FILES for block in blocks_in(record.message.content))
            content = blocks_of(content_of(record)) if has_files else record.text
            self.add(Step(kind, record, content), parent, in_line=True)
        record.entry = self.at

    def _place_answer(self, first: ClaudeRecord, answer: _Answer) -> None:
        """Make the steps of an answer at its first record, and of its results."""
        self.add(answer, self._parent(first))
        first.entry = self.at
        answer.model = first.message.model
        if (told := answer.told) is not None:
            cached, written = told.cache_read_input_tokens, told.cache_creation_input_tokens
            answer.usage = told.input_tokens, told.output_tokens, cached, written
        reason = STOP_REASONS.get(answer.stop, "toolUse" if answer.has_calls else "stop")
        answer.stop = "aborted" if first.answer in self._aborted else reason
        for record in answer.results:
            for number in range(len(record.results)):
                self.add(Step("toolResult", record, number))
        # Whatever is linked to a part of the group goes on at its end.
        answer.end = self.at

    def _place_compaction(self, record: ClaudeRecord) -> None:
        """Make the step of a compaction: from its boundary record and the summary record below, or only the latter."""
        boundary = self._nodes.get(parent_of(record) or "") if record.isCompactSummary else None
        if boundary is not None and boundary.kind == "compaction" and boundary.entry != ROOT:
            boundary.text, record.entry = boundary.text or record.text, boundary.entry
            return
        metadata = object_of(record.item().get("compactMetadata"))
        segment, messages = object_of(metadata.get("preservedSegment")), object_of(metadata.get("preservedMessages"))
        kept = messages.get("uuids") if isinstance(messages.get("uuids"), list) else []
        head = self._nodes.get(text_of(segment.get("headUuid") or (kept[0] if kept else "")))
        tail = self._nodes.get(text_of(segment.get("tailUuid") or (kept[-1] if kept else "")))
        kept_from = self._first(head).entry if head is not None else ROOT
        self.add(Step("compaction", record, (metadata, kept_from)), self._before_compaction(record))
        self._newest_compaction = record.entry = self.at
        if tail is not None and self._end_of(tail) != ROOT:
            # Later records are linked to the last kept message, but in pi's format they must be below the compaction.
            self.further[self.end(self._end_of(tail))] = record.entry

    def _before_compaction(self, record: ClaudeRecord) -> int:
        """Return the parent of a compaction: its logical parent, or the last step if a compaction is between."""
        logical = record.logicalParentUuid or ""
        above = self._above(logical) if logical in self._nodes else ROOT
        return self.end(above) if above >= max(0, self._newest_compaction) else self.at

    def _parent(self, record: ClaudeRecord) -> int:
        """Return the parent of a record's step."""
        parent = parent_of(record)
        if (record.parentUuid is UNSET and parent is None) or record.uuid not in self._nodes:
            return self.at
        return self.end(self._above(parent))

    def _above(self, uuid: str | None) -> int:
        """Return the step of a record, or of its nearest ancestor that has one; the last step if a link is broken."""
        seen: set[str] = set()
        while uuid is not None:
            record = self._nodes.get(uuid)
            if record is None or uuid in seen:
                if self.at != ROOT:
                    self.unread[MISSING_PARENT] += 1
                return self.at
            seen.add(uuid)
            if record.kind:
                at = self._end_of(record)
                return at if at != ROOT else self.at
            uuid = parent_of(record)
            if uuid is None and record.isSidechain:
                return self.at
        return ROOT

    def _end_of(self, record: ClaudeRecord) -> int:
        """Return the step after which children of a record follow; `ROOT` if none was made yet."""
        return self._answers[record.answer].end if record.answer else record.entry

    # ---- making entries

    def key(self, step: Step) -> str:
        uuid, role = step.line.uuid, step.role
        if role == "toolResult" and step.content:
            return f"{uuid}:{step.content}"
        return f"{uuid}:context" if role == "context" and step.line.kind == "prompt" else str(uuid)

    def message(self, step: Step) -> Object:
        record = step.line
        if step.role == "user":
            return {"content": step.content}
        if step.role == "toolResult":
            return self._result(record, step.content)
        fields: Object = {"content": [block for one in step.content for block in answer_blocks(one)]}
        if record.message.id:
            # Copies of an answer, as in forks, can differ in all else.
            fields["sourceRequest"] = " ".join(filter(None, (record.message.id, record.requestId)))
        return fields

    def _result(self, record: ClaudeRecord, number: int) -> Object:
        result = record.results[number]
        content, blocks = blocks_in(record.message.content), result_blocks(result.content)
        if len(content) > len(record.results) == number + 1:
            beside = [one for one in objects_of(content_of(record)) if one.get("type") != "tool_result"]
            blocks = (loads(bytes(blocks)) if isinstance(blocks, Raw) else blocks) + blocks_of(beside)
        call, file = result.tool_use_id, output_file(result.content)
        name, is_error = self._calls.get(call, ("", ""))[1], bytes(result.is_error) == b"true"
        fields: Object = {"toolCallId": call, "toolName": name, "content": blocks, "isError": is_error}
        return fields if file is None else {**fields, "outputFile": file}

    def compaction(self, step: Step) -> tuple[Object, int]:
        metadata, kept = step.content
        tokens = number_of(metadata.get("preTokens"))
        return {"summary": step.line.text, "tokensBefore": tokens, "details": metadata}, kept

    def count_unread(self) -> None:
        for record in self._found:
            if record.kind not in ("", "copy") and _FILE.search(record.raw) and _has_named(content_of(record)):
                self.unread["document"] += 1
            if record.kind == "copy":
                self.unread["doubled"] += 1
            elif not record.kind and record.type != QUEUE:
                kind = "program's own answer" if record.type == "assistant" else record.type
                self.unread["sidechain" if record.isSidechain else kind] += 1

    # ---- facts about the session

    def _sessions(self) -> list[str]:
        """Return the ids of sessions in the records, the most frequent first."""
        return [name for name, _ in Counter([one.sessionId for one in self._found]).most_common() if name]

    def _header(self) -> Object:
        directories = [cwd for cwd in dict.fromkeys([one.cwd for one in self._found]) if cwd]
        folder = os.path.basename(os.path.dirname(self._path))
        own = [cwd for cwd in directories if alphanumeric(cwd) == folder]
        began = next((one.timestamp for one in self._found if one.timestamp and one.uuid), "")
        made = header_of(self._id, began, (own or directories or [""])[0])
        fork = next(filter(None, [one.forkedFrom for one in self._found]), None)
        origin = fork.sessionId if fork is not None else ""
        if self._is_sidechain:
            made["internal"] = True
            origin = origin or next((name for name in self._sessions() if name != made["id"]), "")
        if origin:
            made["parentSession"] = os.path.join(os.path.dirname(self._path), f"{origin}.jsonl")
        return made

    def name(self) -> str | None:
        """Return the session's own name, else its generated title."""
        told = dict.fromkeys(_TITLES, "")
        for one in [one for one in self._states if one.type in _TITLES]:
            value = one.item()
            if one.type != "summary" or text_of(value.get("leafUuid")) in self._nodes:
                told[one.type] = text_of(value.get(_TITLES[one.type])).strip()
        return next(filter(None, told.values()), None)


def _has_named(content: Json) -> bool:
    """Return True if a file in a content, or in the results in it, is only named in the entries."""
    return any(file_text(block)[1] or _has_named(block.get("content")) for block in objects_of(content))
