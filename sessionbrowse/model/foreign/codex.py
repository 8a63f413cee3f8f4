"""Sessions of Codex (rollouts) as entries of pi's format.

A rollout has each prompt and answer twice, as an item that the model saw and as an event that the program showed; one
of both becomes an entry. The file is a line without branches; only a rollback makes one. What a fork copied from its
parent is left out, unless it is asked for, and never counted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from sessionbrowse.format.json_value import Json
from sessionbrowse.model.foreign.codex_items import (
    CALLS,
    OUTPUTS,
    PASSED_EVENTS,
    PASSED_ITEMS,
    Line,
    answer_blocks,
    blocks_of,
    call_block,
    event_text,
    is_answer,
    is_injected,
    is_message,
    is_record,
    line_of,
    output_of,
    plain,
    texts_in,
)
from sessionbrowse.model.foreign.translated import (
    Chain,
    Object,
    Records,
    Translated,
    as_text,
    moment_of,
    number_of,
    object_of,
    objects_of,
    text_block,
    text_of,
    usage_of,
)

AGENT = "codex"
PAUSE_MS = 300
"""A longer pause between two lines ends the history that a fork copied from its parent in one burst."""
NO_SUMMARY = "Codex keeps no readable summary of this compaction. It kept these messages:"
REQUEST_HEADING = "## My request for Codex:"

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ENDS = frozenset({"task_complete", "turn_aborted", "turn_complete"})
_PASSED_LINES = frozenset(
    {
        "fork_reference",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "rollout_reference",
        "session_meta",
        "state",
        "token_usage_record",
        "turn_context",
        "world_state",
    }
)


def codex(lines: Iterable[bytes], path: str = "", *, name: str | None = None, copied: bool = False) -> Translated:
    """Return the session in the lines of a rollout of Codex; `path` is the file's path, which is not read.

    `name` is the name in Codex's index of names. With `copied`, history that was copied from the parent is included.
    """
    return _Rollout(lines, path, copied).translated(name)


def _is_part(text: str, words: str) -> bool:
    """Return True if a text of a prompt has the user's words, as the program showed them, or is a part of them."""
    return words in text or text.strip() in words


class _Rollout:
    """Reads the lines of one file, then makes its entries in file order."""

    def __init__(self, lines: Iterable[bytes], path: str, copied: bool) -> None:
        self._path = path
        self._records = Records(lines, is_record)
        self._lines = [line_of(number, value) for number, value in self._records.found]
        self._meta = next((line.payload for line in self._lines if line.type == "session_meta"), {})
        self._own = next((line for line in self._lines if line.type == "session_meta"), None)
        self._with_copied = copied
        self._chain = Chain(AGENT)
        self._at: str | None = None
        self._answer: Object | None = None
        self._is_open = False
        self._calls: set[str] = set()
        self._named: set[str] = set()
        self._results: list[tuple[Line, str, str]] = []
        self._outputs: dict[str, list[Line]] = {}
        self._prompts: list[str | None] = []
        self._total: Json = None
        self._model = ""
        self._searches = 0
        self._said: set[str] = set()
        self._has_ended = True

    def translated(self, name: str | None) -> Translated:
        self._mark_copied()
        self._mark_prompts()
        for line in self._lines:
            if line.type == "response_item" and line.kind in CALLS and (self._with_copied or not line.is_copied):
                self._calls.add(text_of(line.payload.get("call_id")))
            elif line.type == "response_item" and line.kind in OUTPUTS:
                self._outputs.setdefault(text_of(line.payload.get("call_id")), []).append(line)
            elif line.type == "response_item" and (line.kind == "reasoning" or is_message(line, "assistant")):
                self._said |= set(texts_in(line.payload))
        for line in self._lines:
            self._place(line)
        self._close()
        renamed = [
            text_of(line.payload.get("thread_name"))
            for line in self._lines
            if line.type == "event_msg" and line.kind == "thread_name_updated"
        ]
        given = (name or (renamed[-1] if renamed else "")).strip() or None
        return Translated(
            agent=AGENT,
            header=self._header(),
            entries=self._chain.entries,
            name=given,
            name_is_own=given is not None,
            unread=dict(self._chain.unread),
            bad_lines=tuple(self._records.bad),
            torn=self._records.torn,
            has_ended=self._has_ended if self._has_turns() else self._is_answered(),
        )

    # ---- reading all lines

    def _mark_copied(self) -> None:
        """Mark the lines that a fork copied from its parent: from a second header with another id to a pause."""
        own, began = text_of(self._meta.get("id")), moment_of(self._meta.get("timestamp"))
        heads = [line for line in self._lines if line.type == "session_meta"]
        first = text_of(self._meta.get("timestamp"))
        is_alone = "subagent_history_start_ordinal" not in self._meta and len(heads) == 1 and first.endswith("Z")
        # Times in the program's own form are in order as texts; parsing all of them takes a tenth of the reading.
        if is_alone and all(len(one.timestamp) == len(first) and one.timestamp >= first for one in self._lines):
            return
        begins = self._meta.get("subagent_history_start_ordinal")
        in_copy = False
        before: float | None = None
        for line in self._lines:
            moment = moment_of(line.timestamp)
            if in_copy and moment is not None and before is not None and moment - before > PAUSE_MS:
                in_copy = False
            before = moment if moment is not None else before
            if line is self._own:
                continue
            if line.type == "session_meta" and text_of(line.payload.get("id")) != own and own:
                is_other = _UUID.fullmatch(text_of(line.payload.get("id"))) is not None
                in_copy |= is_other and moment_of(line.payload.get("timestamp")) is not None
            is_older = moment is not None and began is not None and moment < began - 1
            is_before = isinstance(begins, int) and isinstance(line.ordinal, int) and line.ordinal < begins
            line.is_copied = in_copy or is_older or is_before
        burst = [line for line in self._lines if line.is_copied]
        if burst and burst[-1].kind in ("task_started", "turn_started"):
            burst[-1].is_copied = False

    def _mark_prompts(self) -> None:
        """Decide for each message with the role "user", and each event with the user's words, if it is a prompt."""
        items = [line for line in self._lines if is_message(line, "user")]
        events = [line for line in self._lines if line.type == "event_msg" and event_text(line) is not None]
        if not events:
            for line in items:
                line.role = "note" if is_injected(line.payload) else "prompt"
            return
        by_text: dict[str, list[Line]] = {}
        for event in events:
            event.role = "prompt"
            by_text.setdefault((event_text(event) or "").strip(), []).append(event)
        following = dict(zip([line.number for line in self._lines], self._lines[1:], strict=False))
        for line in items:
            text, after = plain(line.payload.get("content")).strip(), following.get(line.number)
            words = (event_text(after) or "").strip() if after is not None and after.role == "prompt" else None
            same = [each for each in by_text.get(text, ()) if each.role]
            told = after if words is not None and words in text else same[0] if same else None
            kinds = line.payload.get("content_item_kinds")
            is_named = isinstance(kinds, list) and "user.text" in kinds
            # The event of a prompt follows in the next line, which the program may not have written yet.
            is_last = after is None and not is_injected(line.payload)
            line.role = "prompt" if told is not None or is_named or is_last else "note"
            if told is not None:
                told.role, line.words = "", (event_text(told) or "").strip()

    # ---- making entries

    def _place(self, line: Line) -> None:
        """Make the entries of a line."""
        is_left_out = line.is_copied and not self._with_copied
        if line.type == "turn_context":
            self._model = text_of(line.payload.get("model")) or self._model
        if line.type == "event_msg" and line.kind == "token_count":
            self._count(line)
        if is_left_out:
            self._chain.unread["copied from the parent session"] += 1
        elif line.type == "response_item":
            self._place_item(line)
        elif line.type == "event_msg":
            self._place_event(line)
        elif line.type == "compacted":
            self._place_compaction(line)
        elif line is self._own:
            return
        elif line.type in _PASSED_LINES:
            self._chain.unread[line.type] += 1
        else:
            self._unknown(line.type or "without type", line)

    def _place_item(self, line: Line) -> None:
        kind, item = line.kind, line.payload
        if kind in ("reasoning", *CALLS) or is_message(line, "assistant"):
            self._add_to_answer(line)
        elif kind in OUTPUTS:
            self._close()
            if text_of(item.get("call_id")) not in self._calls:
                self._note("result", plain(item.get("output")) or as_text(item.get("output")), line, shown=True)
        elif kind == "message" and line.role == "prompt":
            self._prompt(line, plain(item.get("content")), item.get("content"))
        elif kind == "message":
            self._note("context", plain(item.get("content")), line, shown=False)
        elif kind == "agent_message":
            text = text_of(item.get("message")) or plain(item.get("content")) or as_text(item)
            self._note("agent_message", text, line, shown=True)
        elif kind in PASSED_ITEMS:
            self._chain.unread[kind] += 1
        else:
            self._unknown(kind or "without type", line)

    def _place_event(self, line: Line) -> None:
        kind, event = line.kind, line.payload
        if kind in _ENDS:
            self._has_ended = True
        if line.role == "prompt":
            self._prompt(line, event_text(line) or "", None)
        elif kind == "thread_rolled_back":
            self._close()
            dropped = number_of(event.get("num_turns"))
            if dropped and self._prompts:
                self._at = self._prompts[-min(dropped, len(self._prompts))]
                del self._prompts[-dropped:]
            self._answer = None
        elif kind == "turn_aborted":
            if self._answer is not None:
                self._answer["message"]["stopReason"] = "aborted"
            self._close()
        elif kind in ("agent_message", "agent_reasoning") and not set(texts_in(event)) <= self._said:
            # The program showed a text that is in no item: nothing else tells it.
            text = "\n".join(texts_in(event))
            is_answer = kind == "agent_message"
            self._add_to_answer(line, [text_block(text) if is_answer else {"type": "thinking", "thinking": text}])
        elif kind in ("error", "stream_error"):
            self._note("error", text_of(event.get("message")) or as_text(event), line, shown=True)
        elif PASSED_EVENTS.fullmatch(kind):
            self._chain.unread[f"event {kind}"] += 1
        else:
            self._unknown(f"event {kind}", line)

    def _prompt(self, line: Line, text: str, content: Json) -> None:
        before, heading, words = text.partition(REQUEST_HEADING)
        if heading and words.strip():
            # Editors put open files and selections before the user's words.
            if before.strip():
                self._note("context", before.strip(), line, shown=False)
            content = [text_block(words.strip())] + [each for each in blocks_of(content) if each["type"] == "image"]
        else:
            content = blocks_of(content) or [text_block(text)]
        beside = [one for one in content if one["type"] == "text" and not _is_part(one["text"], line.words)]
        if beside and len(beside) < len(content):
            self._note("context", "\n".join([one["text"] for one in beside]), line, shown=False)
            content = [one for one in content if one not in beside]
        self._close()
        self._answer = None
        self._prompts.append(self._at)
        made = self._chain.message("user", self._key(line), self._at, line.timestamp, content=content)
        self._at = made["id"]

    def _add_to_answer(self, line: Line, blocks: list[Object] | None = None) -> None:
        """Add an item, or blocks, to the answer at hand, or begin a new answer."""
        self._has_ended = False
        if not self._is_open or self._answer is None:
            self._answer = self._chain.message(
                "assistant",
                self._key(line),
                self._at,
                line.timestamp,
                content=[],
                api="openai-codex-responses",
                provider="openai-codex",
                model=self._model,
                stopReason="stop",
            )
            self._at, self._is_open = self._answer["id"], True
        message = self._answer["message"]
        if line.kind not in CALLS:
            message["content"] += answer_blocks(line.payload) if blocks is None else blocks
            return
        call = text_of(line.payload.get("call_id"))
        outputs = [] if call in self._named else self._outputs.get(call, [])
        if not call or call in self._named:
            # Searches have no id, and one id may be written twice; pi needs ids.
            self._searches += 1
            call = f"{call or line.kind}_{self._searches}"
        self._named.add(call)
        block = call_block(line.payload, call)
        message["content"].append(block)
        message["stopReason"] = "toolUse"
        results = [output for output in outputs if self._with_copied or not output.is_copied]
        self._results += [(output, call, text_of(block["name"])) for output in results]

    def _result(self, line: Line, call: str, name: str) -> None:
        output = line.payload.get("output", line.payload.get("tools"))
        content, is_error = output_of(output)
        made = self._chain.message(
            "toolResult",
            self._key(line),
            self._at,
            line.timestamp,
            toolCallId=call,
            toolName=name,
            content=content,
            isError=is_error or line.payload.get("status") == "failed",
        )
        self._at = made["id"]

    def _place_compaction(self, line: Line) -> None:
        summary = text_of(line.payload.get("message")).strip()
        if not summary:
            kept = objects_of(line.payload.get("replacement_history"))
            told = [f"{text_of(one.get('role'))}: {plain(one.get('content'))}" for one in kept if one.get("content")]
            summary = "\n\n".join([NO_SUMMARY, *told])
        self._close()
        made = self._chain.add(
            "compaction",
            self._key(line),
            self._at,
            line.timestamp,
            summary=summary,
            firstKeptEntryId="",
            tokensBefore=number_of(object_of(object_of(self._total)).get("input_tokens")),
        )
        made["firstKeptEntryId"] = self._at = made["id"]

    def _note(self, kind: str, text: str, line: Line, *, shown: bool) -> None:
        self._close()
        self._at = self._chain.note(kind, text, self._key(line), self._at, line.timestamp, shown=shown)["id"]

    def _unknown(self, kind: str, line: Line) -> None:
        self._close()
        self._at = self._chain.unknown(kind, line.payload, self._key(line), self._at, line.timestamp)

    def _close(self) -> None:
        """End the answer at hand: its results follow it, in file order."""
        self._is_open = False
        results, self._results = self._results, []
        for line, call, name in sorted(results, key=lambda result: result[0].number):
            self._result(line, call, name)

    def _count(self, line: Line) -> None:
        """Add the tokens of a request to the answer before, once: the program writes an unchanged total again."""
        info = object_of(line.payload.get("info"))
        total = info.get("total_token_usage")
        if not isinstance(total, dict) or total == self._total:
            return
        self._total = total
        if line.is_copied:
            return
        last = object_of(info.get("last_token_usage"))
        cached = number_of(last.get("cached_input_tokens"))
        used = usage_of(
            max(0, number_of(last.get("input_tokens")) - cached), number_of(last.get("output_tokens")), cached
        )
        used["reasoning"] = number_of(last.get("reasoning_output_tokens"))
        before = next((one for one in reversed(self._chain.entries) if is_answer(one)), None)
        if before is not None:
            message = before["message"]
            message["usage"] = {key: message.get("usage", {}).get(key, 0) + count for key, count in used.items()}
        elif used["totalTokens"]:
            made = self._chain.add(
                "usage",
                self._key(line),
                self._at,
                line.timestamp,
                provider="openai-codex",
                model=self._model,
                usage=used,
            )
            self._at = made["id"]

    # ---- facts about the session

    def _has_turns(self) -> bool:
        return any(line.type == "event_msg" and line.kind in _ENDS for line in self._lines)

    def _is_answered(self) -> bool:
        """Return True if the last answer has a text and no open call; older versions do not note the end of a turn."""
        answers = [one["message"]["content"] for one in self._chain.entries if is_answer(one)]
        results = {call for call, outputs in self._outputs.items() if outputs}
        return not answers or (
            any(block["type"] == "text" for block in answers[-1])
            and all(block["id"] in results for block in answers[-1] if block["type"] == "toolCall")
        )

    def _id(self) -> str:
        named = _UUID.search(os.path.basename(self._path))
        return text_of(self._meta.get("id")) or text_of(self._meta.get("session_id")) or (named[0] if named else "")

    def _key(self, line: Line) -> str:
        return f"{self._id()}:{line.number}"

    def _header(self) -> Object:
        meta = self._meta
        cwd = text_of(meta.get("cwd"))
        if not cwd:
            texts = [plain(line.payload.get("content")) for line in self._lines if is_message(line, "user")]
            found = [match for text in texts if (match := re.search(r"<cwd>(.*?)</cwd>|working directory: (.*)", text))]
            cwd = ((found[0][1] or found[0][2]) if found else "").strip()
        first = next((line.timestamp for line in self._lines if line.timestamp), "")
        made: Object = {
            "type": "session",
            "version": 3,
            "id": self._id(),
            "timestamp": text_of(meta.get("timestamp")) or first,
            "cwd": cwd,
        }
        source = meta.get("source")
        subagent = source.get("subagent") if isinstance(source, dict) else None
        spawned = text_of(object_of(object_of(subagent).get("thread_spawn")).get("parent_thread_id"))
        parent = spawned or text_of(meta.get("parent_thread_id")) or text_of(meta.get("forked_from_id"))
        if parent:
            made["parentSession"] = parent
        if subagent is not None or meta.get("thread_source") not in (None, "user"):
            made["internal"] = True
        return made
