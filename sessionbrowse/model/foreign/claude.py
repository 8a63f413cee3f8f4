"""Sessions of Claude Code as entries of pi's format.

Claude Code writes one record for each block of an answer, results before their call's record, prompts that stand only
in a line of its queue, and links by `parentUuid` that fork without a user going back. So all records are read before
the first entry is made: an answer is one entry, its results follow it, and notes go in line.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from sessionbrowse.model.foreign.claude_records import (
    HIDDEN,
    PASSED,
    STATE_LINES,
    STOP_REASONS,
    answer_block,
    blocks_of,
    called,
    is_record,
    parent_of,
    passed_name,
    plain,
    prompt_content,
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
    number_of,
    object_of,
    objects_of,
    text_block,
    text_of,
    usage_of,
)
from sessionbrowse.model.listing.directories import alphanumeric

AGENT = "claude"
_SYNTHETIC = "<synthetic>"
_SILENT = "No response requested."

_NEAR = 1000
"""A prompt that was taken out of the queue may be recorded that many lines before the line that says so."""


def claude(lines: Iterable[bytes], path: str = "") -> Translated:
    """Return the session in the lines of a transcript of Claude Code; `path` is the file's path, which is not read."""
    return _Transcript(lines, path).translated()


class _Node(Struct):
    """A record with a `uuid`: `kind` is that of its entry, "" if the record is no entry.

    `first` is the record that begins its answer, or the answer's first record for a result; `entry` is the id of the
    record's entry once it is made.
    """

    number: int
    record: Object
    kind: str
    text: str = ""
    first: _Node | None = None
    entry: str | None = None
    is_double: bool = False
    has_talk_below: bool = False


class _Answer(Struct):
    """The records of one answer, and those with the results of its calls."""

    records: list[_Node]
    results: list[_Node]


class _Transcript:
    """Reads the records of one file, then makes its entries in file order."""

    def __init__(self, lines: Iterable[bytes], path: str) -> None:
        self._path = path
        self._records = Records(lines, is_record)
        self._chain = Chain(AGENT)
        self._nodes: dict[str, _Node] = {}
        self._answers: dict[str, _Answer] = {}
        self._calls: dict[str, tuple[_Answer, str]] = {}
        self._lines: list[_Node] = []
        talk = [one for _, one in self._records.found if one.get("type") in ("user", "assistant") and "uuid" in one]
        self._is_sidechain = bool(talk) and all(one.get("isSidechain") is True for one in talk)
        self._sessions = Counter(text_of(one.get("sessionId")) for _, one in self._records.found)

    def translated(self) -> Translated:
        for number, record in self._records.found:
            self._index(number, record)
        self._pair_results()
        self._queue()
        self._find_talk()
        for node in self._lines:
            self._place(node)
        name, is_own = self._name()
        return Translated(
            agent=AGENT,
            header=self._header(),
            entries=self._chain.entries,
            name=name,
            name_is_own=is_own,
            unread=dict(self._chain.unread),
            bad_lines=tuple(self._records.bad),
            torn=self._records.torn,
            has_ended=self._has_ended(),
        )

    # ---- reading all records

    def _index(self, number: int, record: Object) -> None:
        """Note a record and its kind; count the records that are no entries."""
        kind, uuid = text_of(record.get("type")), text_of(record.get("uuid"))
        if kind in STATE_LINES or not uuid:
            if kind == "queue-operation":
                self._lines.append(_Node(number, record, kind))
            elif kind in STATE_LINES:
                self._chain.unread[kind] += 1
            else:
                self._lines.append(_Node(number, record, "unknown"))
            return
        node = _Node(number, record, "")
        before = self._nodes.get(uuid)
        if before is not None and before.record == record:
            self._chain.unread["doubled"] += 1
            return
        if before is None:
            self._nodes[uuid] = node
        node.is_double = before is not None
        if node.is_double:
            # Its entry needs an id that stays the same when further lines with this uuid are written.
            record["uuid"] = f"{uuid}:{number}"
        node.kind, node.text = self._kind(record)
        if not node.kind:
            self._chain.unread[passed_name(record)] += 1
        elif node.kind == "answer":
            self._group(node)
        self._lines.append(node)

    def _kind(self, record: Object) -> tuple[str, str]:
        """Return the kind of a record's entry ("" for none), and the text of a prompt or note."""
        kind = text_of(record.get("type"))
        if record.get("isSidechain") is True and not self._is_sidechain:
            return "", ""
        if kind == "assistant":
            message = object_of(record.get("message"))
            if message.get("model") != _SYNTHETIC:
                return "answer", ""
            text = plain(message.get("content"))
            return ("", "") if text in ("", _SILENT) else ("note:notice", text)
        if kind == "user":
            return user_kind(record)
        if kind == "attachment":
            attached = object_of(record.get("attachment"))
            if attached.get("type") != "queued_command":
                return "", ""
            told = spoken_kind(plain(attached.get("prompt")))
            return told if attached.get("commandMode", "prompt") == "prompt" else ("note:notification", told[1])
        if kind == "system":
            if record.get("subtype") == "compact_boundary":
                return "compaction", ""
            if record.get("subtype") == "local_command":
                return "note:command", text_of(record.get("content"))
        return ("", "") if kind in PASSED else ("unknown", "")

    def _group(self, node: _Node) -> None:
        message = object_of(node.record.get("message"))
        key = text_of(message.get("id")) or text_of(node.record.get("uuid"))
        answer = self._answers.setdefault(key, _Answer([], []))
        answer.records.append(node)
        node.first = answer.records[0]
        for block in objects_of(message.get("content")):
            if block.get("type") == "tool_use":
                self._calls.setdefault(text_of(block.get("id")), (answer, text_of(block.get("name"))))

    def _pair_results(self) -> None:
        """Give each record with results to the answer with its first call; without a call in the file it is a note."""
        for node in self._lines:
            if node.kind == "result":
                found = [self._calls[call] for call in called(node.record) if call in self._calls]
                if found:
                    found[0][0].results.append(node)
                    node.first = found[0][0].records[0]
                else:
                    node.kind, node.text = (
                        "note:result-without-call",
                        plain(object_of(node.record.get("message")).get("content")),
                    )

    def _queue(self) -> None:
        """Find the prompts that stand only in a line of the queue, and place each at the line that took it out."""
        records: dict[str, list[_Node]] = {}
        for node in self._lines:
            if node.kind in ("prompt", "note:notification"):
                records.setdefault(node.text.strip(), []).append(node)
        waiting: list[tuple[str, str]] = []
        session, count, taken = self._id(), 0, set[int]()
        for node in self._lines:
            if node.kind != "queue-operation":
                continue
            operation, content = node.record.get("operation"), plain(node.record.get("content"))
            node.kind = ""
            if operation == "enqueue":
                waiting.append((content, f"{session}:queue:{count}"))
                count += 1
            elif operation == "popAll":
                waiting.clear()
            elif waiting:
                named = [number for number, (text, _) in enumerate(waiting) if text == content] if content else []
                text, key = waiting.pop(named[0] if named else 0)
                own = [each for each in records.get(text.strip(), ()) if id(each) not in taken]
                own = [each for each in own if each.number > node.number - _NEAR]
                if own:
                    taken.add(id(own[0]))
                elif operation == "remove" and text.strip():
                    kind, node.text = spoken_kind(text)
                    node.kind = "note:command" if text.startswith("/") else kind
                    node.record = {**node.record, "uuid": key, "message": {"content": text}}

    def _find_talk(self) -> None:
        """Mark the records below which a prompt, an answer or a compaction stands."""
        for node in self._lines:
            if node.kind not in ("prompt", "answer", "compaction") or node.first not in (None, node):
                continue
            above = self._nodes.get(parent_of(node.record) or "")
            while above is not None and not above.has_talk_below:
                above.has_talk_below = True
                at = above.first or above
                at.has_talk_below = True
                above = self._nodes.get(parent_of(at.record) or "")

    # ---- making entries

    def _place(self, node: _Node) -> None:
        """Make the entries of a record; those of an answer at its first record."""
        record = node.record
        key, timestamp = text_of(record.get("uuid")), record.get("timestamp")
        if node.kind == "unknown":
            kind = text_of(record.get("type"))
            key = key or f"{self._id()}:{node.number}"
            node.entry = self._chain.unknown(kind, record, key, self._chain.last, timestamp)
        elif node.kind == "answer":
            if node.first is node:
                self._place_answer(node)
        elif node.kind == "compaction":
            self._place_compaction(node)
        elif node.kind == "prompt":
            is_linked = "parentUuid" in record and (node.has_talk_below or record.get("type") == "user")
            parent = self._parent(node) if is_linked else self._chain.last
            injected, words = without_injected(prompt_content(record))
            if injected:
                # A hidden note above the prompt: titles, previews and rows show the user's words.
                note = f"{key}:context"
                made = self._chain.note(
                    "context", injected, note, parent, timestamp, shown=False, in_line=not is_linked
                )
                parent = made["id"]
            content = blocks_of(words, node.text)
            made = self._chain.message("user", key, parent, timestamp, in_line=not is_linked, content=content)
            node.entry = made["id"]
        elif node.kind.startswith("note:"):
            kind = node.kind.removeprefix("note:")
            parent = self._parent(node) if node.has_talk_below and not node.is_double else self._chain.last
            shown = kind not in HIDDEN
            node.entry = self._chain.note(kind, node.text, key, parent, timestamp, shown=shown)["id"]

    def _place_answer(self, first: _Node) -> None:
        message = object_of(first.record.get("message"))
        answer = self._answers[text_of(message.get("id")) or text_of(first.record.get("uuid"))]
        blocks: list[Object] = []
        for node in answer.records:
            content = object_of(node.record.get("message")).get("content")
            blocks += map(answer_block, objects_of(content))
            blocks += [text_block(content)] if isinstance(content, str) else []
        last = object_of(answer.records[-1].record.get("message"))
        fields: Object = {
            "content": blocks,
            "api": "anthropic-messages",
            "provider": "anthropic",
            "model": text_of(message.get("model")),
        }
        usages = [object_of(object_of(node.record.get("message")).get("usage")) for node in answer.records]
        usage = next((each for each in reversed(usages) if each), None)
        if usage is not None:
            fields["usage"] = usage_of(
                number_of(usage.get("input_tokens")),
                number_of(usage.get("output_tokens")),
                number_of(usage.get("cache_read_input_tokens")),
                number_of(usage.get("cache_creation_input_tokens")),
            )
        has_calls = any(block["type"] == "toolCall" for block in blocks)
        reason = STOP_REASONS.get(text_of(last.get("stop_reason")), "toolUse" if has_calls else "stop")
        if any(node.record.get("isAbortedMidStream") is True for node in answer.records):
            reason = "aborted"
        fields["stopReason"] = reason
        key, timestamp = text_of(first.record.get("uuid")), first.record.get("timestamp")
        made = self._chain.message("assistant", key, self._parent(first), timestamp, **fields)
        for node in answer.records:
            node.entry = made["id"]
        for node in answer.results:
            self._place_results(node)

    def _place_results(self, node: _Node) -> None:
        """Make an entry for each tool result in a record; its parent is the answer or the result before it."""
        record = node.record
        content = objects_of(object_of(record.get("message")).get("content"))
        results = [block for block in content if block.get("type") == "tool_result"]
        beside = [block for block in content if block.get("type") != "tool_result"]
        for number, block in enumerate(results):
            call = text_of(block.get("tool_use_id"))
            blocks = blocks_of(block.get("content"), "")
            if number == len(results) - 1:
                blocks += blocks_of(beside, "")
            key = text_of(record.get("uuid")) + (f":{number}" if number else "")
            made = self._chain.message(
                "toolResult",
                key,
                self._chain.last,
                record.get("timestamp"),
                in_line=True,
                toolCallId=call,
                toolName=self._calls[call][1] if call in self._calls else "",
                content=blocks,
                isError=block.get("is_error") is True,
            )
            node.entry = made["id"]

    def _place_compaction(self, node: _Node) -> None:
        """Make the entry of a compaction, from its boundary and the summary below it, or from a summary alone."""
        record, entries = node.record, self._chain.entries
        if record.get("isCompactSummary") is True:
            boundary = self._nodes.get(text_of(record.get("parentUuid")))
            if boundary is not None and boundary.kind == "compaction" and boundary.entry is not None:
                made = next(one for one in reversed(entries) if one["id"] == boundary.entry)
                made["summary"] = made["summary"] or node.text
                node.entry = boundary.entry
                return
        metadata = object_of(record.get("compactMetadata"))
        made = self._chain.add(
            "compaction",
            text_of(record.get("uuid")),
            self._before_compaction(node),
            record.get("timestamp"),
            summary=node.text,
            firstKeptEntryId="",
            tokensBefore=number_of(metadata.get("preTokens")),
            details=metadata,
        )
        made["firstKeptEntryId"] = made["id"]
        node.entry = made["id"]
        segment, messages = object_of(metadata.get("preservedSegment")), object_of(metadata.get("preservedMessages"))
        kept = messages.get("uuids") if isinstance(messages.get("uuids"), list) else []
        head = self._nodes.get(text_of(segment.get("headUuid") or (kept[0] if kept else "")))
        tail = self._nodes.get(text_of(segment.get("tailUuid") or (kept[-1] if kept else "")))
        if head is not None and head.entry is not None:
            made["firstKeptEntryId"] = head.entry
        if tail is not None and tail.entry is not None:
            # The conversation goes on below the last message that was kept, not below the summary.
            self._chain.join(tail.entry, made["id"])

    def _before_compaction(self, node: _Node) -> str | None:
        """Return the entry before a compaction: its logical parent, or the last if a later one stands between."""
        logical = text_of(node.record.get("logicalParentUuid"))
        entry = self._above(logical) if logical in self._nodes else None
        for one in reversed(self._chain.entries):
            if one["id"] == entry:
                return self._chain.end(entry)
            if one["type"] == "compaction":
                break
        return self._chain.last

    def _parent(self, node: _Node) -> str | None:
        """Return the entry below which a record's entry hangs; None for a root."""
        uuid = parent_of(node.record)
        if node.is_double or (uuid is None and "parentUuid" not in node.record):
            return self._chain.last
        return self._chain.end(self._above(uuid))

    def _above(self, uuid: str | None) -> str | None:
        """Return the entry of the record or of the nearest above it with one; the last entry if a link is broken."""
        seen: set[str] = set()
        while uuid is not None:
            node = self._nodes.get(uuid)
            if node is None or uuid in seen:
                if self._chain.last is not None:
                    self._chain.unread[MISSING_PARENT] += 1
                return self._chain.last
            seen.add(uuid)
            if node.kind:
                entry = node.entry or (node.first.entry if node.first is not None else None)
                return entry or self._chain.last
            uuid = parent_of(node.record)
            if uuid is None and node.record.get("isSidechain") is True:
                return self._chain.last
        return None

    # ---- facts about the session

    def _id(self) -> str:
        """Return the session's id: the file's name, which the program takes, else the one that most lines name."""
        stem = os.path.basename(self._path).removesuffix(".jsonl")
        named = [name for name, _ in self._sessions.most_common() if name]
        return stem or (named[0] if named else "")

    def _header(self) -> Object:
        records = [one for _, one in self._records.found if isinstance(one.get("uuid"), str)]
        directories = [cwd for cwd in dict.fromkeys([text_of(one.get("cwd")) for one in records]) if cwd]
        folder = os.path.basename(os.path.dirname(self._path))
        own = [cwd for cwd in directories if alphanumeric(cwd) == folder]
        times = [one["timestamp"] for one in records if isinstance(one.get("timestamp"), str)]
        made: Object = {
            "type": "session",
            "version": 3,
            "id": self._id(),
            "timestamp": times[0] if times else "",
            "cwd": (own or directories or [""])[0],
        }
        parent = next((name for name, _ in self._sessions.most_common() if name and name != made["id"]), None)
        forked = next((object_of(one.get("forkedFrom")) for one in records if "forkedFrom" in one), {})
        origin = text_of(forked.get("sessionId")) or (parent if self._is_sidechain else None)
        if origin:
            made["parentSession"] = os.path.join(os.path.dirname(self._path), f"{origin}.jsonl")
        if self._is_sidechain:
            made["internal"] = True
        return made

    def _name(self) -> tuple[str | None, bool]:
        """Return the session's name or title, and True if the user gave it."""
        found: dict[str, str] = {}
        for _, one in self._records.found:
            kind = one.get("type")
            if kind == "custom-title":
                found["custom"] = text_of(one.get("customTitle"))
            elif kind == "ai-title":
                found["ai"] = text_of(one.get("aiTitle"))
            elif kind == "summary" and text_of(one.get("leafUuid")) in self._nodes:
                found["summary"] = text_of(one.get("summary"))
        custom = found.get("custom", "").strip()
        return custom or found.get("ai", "").strip() or found.get("summary", "").strip() or None, bool(custom)

    def _has_ended(self) -> bool:
        """Return False if the last answer has no text yet, or calls without a result."""
        answers = [one for one in self._chain.entries if object_of(one.get("message")).get("role") == "assistant"]
        if not answers:
            return True
        content = answers[-1]["message"]["content"]
        calls = {block["id"] for block in content if block["type"] == "toolCall"}
        answered = {text_of(object_of(one.get("message")).get("toolCallId")) for one in self._chain.entries}
        return calls <= answered and any(block["type"] == "text" and block["text"] for block in content)
