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
    PASSED_ITEMS,
    USER_EVENTS,
    Counts,
    Line,
    Payload,
    answer_blocks,
    blocks_of,
    call_block,
    complete,
    event_text,
    is_injected,
    is_message,
    is_passed,
    is_record,
    output_of,
    said,
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
    plain,
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


def codex(
    lines: Iterable[bytes], path: str = "", *, name: str | None = None, copied: bool = False, brief: bool = False
) -> Translated:
    """Return the session in the lines of a rollout of Codex; `path` is the file's path, which is not read.

    `name` is the name in Codex's index of names. With `copied`, history that was copied from the parent is included.
    With `brief`, entries have only the content that a list of sessions shows, and they are made faster.
    """
    return _Rollout(lines, path, copied, brief).translated(name)


def _is_part(text: str, words: str) -> bool:
    """Return True if a text of a prompt has the user's words, as the program showed them, or is a part of them."""
    return words in text or text.strip() in words


class _Rollout:
    """Reads the lines of one file, then makes its entries in file order."""

    def __init__(self, lines: Iterable[bytes], path: str, copied: bool, brief: bool) -> None:
        self._path = path
        self._brief = brief
        self._records = Records(lines, Line, is_record)
        self._lines = self._records.found
        for line in self._lines:
            complete(line)
        self._heads = [line for line in self._lines if line.type == "session_meta"]
        self._own = self._heads[0] if self._heads else None
        self._meta = self._heads[0].about if self._heads else Payload()
        named = _UUID.search(os.path.basename(path))
        self._id = self._meta.id or self._meta.session_id or (named[0] if named else "")
        self._with_copied = copied
        self._chain = Chain(AGENT, brief=brief)
        self._at: str | None = None
        self._answer: Object | None = None
        self._newest: Object | None = None
        self._is_open = False
        self._calls: set[str] = set()
        self._named: set[str] = set()
        self._results: list[tuple[Line, str, str]] = []
        self._outputs: dict[str, list[Line]] = {}
        self._prompts: list[str | None] = []
        self._total: Counts | None = None
        self._model = ""
        self._searches = 0
        self._said: set[str] = set()
        self._has_ended = True

    def translated(self, name: str | None) -> Translated:
        self._mark_copied()
        self._mark_prompts()
        for line in self._lines:
            if line.type != "response_item":
                continue
            if line.kind in CALLS:
                if self._with_copied or not line.is_copied:
                    self._calls.add(line.about.call_id)
            elif line.kind in OUTPUTS:
                self._outputs.setdefault(line.about.call_id, []).append(line)
            elif line.kind == "reasoning" or is_message(line, "assistant"):
                self._said.update(texts_in(line.about))
        for line in self._lines:
            self._place(line)
        self._close()
        events = [line for line in self._lines if line.kind == "thread_name_updated" and line.type == "event_msg"]
        given = (name or (events[-1].about.thread_name if events else "")).strip() or None
        ended = self._has_ended if self._has_turns() else self._is_answered()
        return self._chain.translated(
            self._header(), self._records, given, name_is_own=given is not None, has_ended=ended
        )

    # ---- reading all lines

    def _mark_copied(self) -> None:
        """Mark the lines that a fork copied from its parent: from a second header with another id to a pause."""
        first = self._meta.timestamp
        begins = self._meta.subagent_history_start_ordinal
        # Times in the program's own form are in order as texts; parsing all of them takes a tenth of the reading.
        if begins is None and len(self._heads) == 1 and first.endswith("Z"):
            times = [line.timestamp for line in self._lines]
            if min(times) >= first and set(map(len, times)) == {len(first)}:
                return
        own, began = self._meta.id or "", moment_of(first)
        in_copy = False
        before: float | None = None
        for line in self._lines:
            moment = moment_of(line.timestamp)
            if in_copy and moment is not None and before is not None and moment - before > PAUSE_MS:
                in_copy = False
            before = moment if moment is not None else before
            if line is self._own:
                continue
            if line.type == "session_meta" and line.about.id != own and own:
                is_other = _UUID.fullmatch(line.about.id or "") is not None
                in_copy |= is_other and moment_of(line.about.timestamp) is not None
            is_older = moment is not None and began is not None and moment < began - 1
            is_before = isinstance(begins, int) and isinstance(line.ordinal, int) and line.ordinal < begins
            line.is_copied = in_copy or is_older or is_before
        burst = [line for line in self._lines if line.is_copied]
        if burst and burst[-1].kind in ("task_started", "turn_started"):
            burst[-1].is_copied = False

    def _mark_prompts(self) -> None:
        """Decide for each message with the role "user", and each event with the user's words, if it is a prompt."""
        items = [line for line in self._lines if line.kind == "message" and is_message(line, "user")]
        events = [line for line in self._lines if line.kind in USER_EVENTS and event_text(line) is not None]
        if not events:
            for line in items:
                line.role = "note" if is_injected(line) else "prompt"
            return
        by_text: dict[str, list[Line]] = {}
        for event in events:
            event.role = "prompt"
            by_text.setdefault((event_text(event) or "").strip(), []).append(event)
        following = dict(zip(map(id, self._lines), self._lines[1:], strict=False))
        for line in items:
            text, after = said(line.about.content).strip(), following.get(id(line))
            words = (event_text(after) or "").strip() if after is not None and after.role == "prompt" else None
            same = [each for each in by_text.get(text, ()) if each.role]
            told = after if words is not None and words in text else same[0] if same else None
            kinds = line.about.content_item_kinds
            is_named = isinstance(kinds, list) and "user.text" in kinds
            # The event of a prompt follows in the next line, which the program may not have written yet.
            is_last = after is None and not is_injected(line)
            line.role = "prompt" if told is not None or is_named or is_last else "note"
            if told is not None:
                told.role, line.words = "", (event_text(told) or "").strip()

    # ---- making entries

    def _place(self, line: Line) -> None:
        """Make the entries of a line."""
        is_left_out = line.is_copied and not self._with_copied
        if line.type == "turn_context":
            self._model = line.about.model or self._model
        elif line.kind == "token_count" and line.type == "event_msg":
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
        kind, about = line.kind, line.about
        if kind == "reasoning" or kind in CALLS or is_message(line, "assistant"):
            self._add_to_answer(line)
        elif kind in OUTPUTS:
            self._close()
            if about.call_id not in self._calls:
                output = self._whole(line).get("output")
                self._note("result", plain(output) or as_text(output), line, shown=True)
        elif kind == "message" and line.role == "prompt":
            self._prompt(line, said(about.content), line.item().get("content"))
        elif kind == "message":
            self._note("context", said(about.content), line, shown=False)
        elif kind == "agent_message":
            text = about.message or said(about.content) or as_text(self._whole(line))
            self._note("agent_message", text, line, shown=True)
        elif kind in PASSED_ITEMS:
            self._chain.unread[kind] += 1
        else:
            self._unknown(kind or "without type", line)

    def _whole(self, line: Line) -> Object:
        """Return the whole payload of a line; nothing if only a list shows the session."""
        return {} if self._brief else line.item()

    def _place_event(self, line: Line) -> None:
        kind, event = line.kind, line.about
        if kind in _ENDS:
            self._has_ended = True
        if line.role == "prompt":
            self._prompt(line, event_text(line) or "", None)
        elif kind == "thread_rolled_back":
            self._close()
            dropped = number_of(event.num_turns)
            if dropped and self._prompts:
                self._at = self._prompts[-min(dropped, len(self._prompts))]
                del self._prompts[-dropped:]
            self._answer = None
        elif kind == "turn_aborted":
            if self._answer is not None:
                self._answer["message"]["stopReason"] = "aborted"
            self._close()
        elif kind in ("agent_message", "agent_reasoning") and not self._said.issuperset(texts_in(event)):
            # The program showed a text that is in no item: nothing else tells it.
            text = "\n".join(texts_in(event))
            is_text = kind == "agent_message"
            self._add_to_answer(line, [text_block(text) if is_text else {"type": "thinking", "thinking": text}])
        elif kind in ("error", "stream_error"):
            self._note("error", event.message or as_text(self._whole(line)), line, shown=True)
        elif is_passed(kind):
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
        made = self._chain.message("user", self._key(line), self._at, line.timestamp, {"content": content})
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
                {
                    "content": [],
                    "api": "openai-codex-responses",
                    "provider": "openai-codex",
                    "model": self._model,
                    "stopReason": "stop",
                },
            )
            self._newest = self._answer
            self._at, self._is_open = self._answer["id"], True
        message = self._answer["message"]
        if line.kind not in CALLS:
            if blocks is None:
                blocks = _brief_blocks(line) if self._brief else answer_blocks(line.item())
            message["content"] += blocks
            return
        call = line.about.call_id
        outputs = [] if call in self._named else self._outputs.get(call, [])
        if not call or call in self._named:
            # Searches have no id, and one id may be written twice; pi needs ids.
            self._searches += 1
            call = f"{call or line.kind}_{self._searches}"
        self._named.add(call)
        block: Object = {"type": "toolCall", "id": call, "name": ""}
        if not self._brief:
            block = call_block(line.item(), call)
        message["content"].append(block)
        message["stopReason"] = "toolUse"
        results = [output for output in outputs if self._with_copied or not output.is_copied]
        self._results += [(output, call, text_of(block["name"])) for output in results]

    def _result(self, line: Line, call: str, name: str) -> None:
        item = self._whole(line)
        content, is_error = ([], False) if self._brief else output_of(item.get("output", item.get("tools")))
        made = self._chain.message(
            "toolResult",
            self._key(line),
            self._at,
            line.timestamp,
            {
                "toolCallId": call,
                "toolName": name,
                "content": content,
                "isError": is_error or item.get("status") == "failed",
            },
        )
        self._at = made["id"]

    def _place_compaction(self, line: Line) -> None:
        summary = line.about.message.strip()
        if not summary:
            kept = objects_of(self._whole(line).get("replacement_history"))
            told = [f"{text_of(one.get('role'))}: {plain(one.get('content'))}" for one in kept if one.get("content")]
            summary = "\n\n".join([NO_SUMMARY, *told])
        self._close()
        made = self._chain.add(
            "compaction",
            self._key(line),
            self._at,
            line.timestamp,
            {
                "summary": summary,
                "firstKeptEntryId": "",
                "tokensBefore": self._total.input_tokens if self._total is not None else 0,
            },
        )
        made["firstKeptEntryId"] = self._at = made["id"]

    def _note(self, kind: str, text: str, line: Line, *, shown: bool) -> None:
        self._close()
        self._at = self._chain.note(kind, text, self._key(line), self._at, line.timestamp, shown=shown)["id"]

    def _unknown(self, kind: str, line: Line) -> None:
        self._close()
        self._at = self._chain.unknown(kind, self._whole(line), self._key(line), self._at, line.timestamp)

    def _close(self) -> None:
        """End the answer at hand: its results follow it, in file order."""
        self._is_open = False
        results, self._results = self._results, []
        for line, call, name in sorted(results, key=lambda result: result[0].number):
            self._result(line, call, name)

    def _count(self, line: Line) -> None:
        """Add the tokens of a request to the answer before, once: the program writes an unchanged total again."""
        info = line.about.info
        if info is None or info.total_token_usage is None or info.total_token_usage == self._total:
            return
        self._total = info.total_token_usage
        if line.is_copied:
            return
        last = info.last_token_usage or Counts()
        cached = last.cached_input_tokens
        used = usage_of(max(0, last.input_tokens - cached), last.output_tokens, cached)
        used["reasoning"] = last.reasoning_output_tokens
        before = self._newest
        if before is not None:
            message = before["message"]
            so_far = message.get("usage")
            message["usage"] = used if so_far is None else {key: so_far[key] + count for key, count in used.items()}
        elif used["totalTokens"]:
            made = self._chain.add(
                "usage",
                self._key(line),
                self._at,
                line.timestamp,
                {"provider": "openai-codex", "model": self._model, "usage": used},
            )
            self._at = made["id"]

    # ---- facts about the session

    def _has_turns(self) -> bool:
        return any(line.type == "event_msg" and line.kind in _ENDS for line in self._lines)

    def _is_answered(self) -> bool:
        """Return True if the last answer has a text and no open call; older versions do not note the end of a turn."""
        if self._newest is None:
            return True
        content = self._newest["message"]["content"]
        has_text = any(block["type"] == "text" for block in content)
        return has_text and all(self._outputs.get(block["id"]) for block in content if block["type"] == "toolCall")

    def _key(self, line: Line) -> str:
        return f"{self._id}:{line.number}"

    def _header(self) -> Object:
        meta = self._meta
        cwd = meta.cwd or ""
        if not cwd:
            texts = [said(line.about.content) for line in self._lines if is_message(line, "user")]
            found = [match for text in texts if (match := re.search(r"<cwd>(.*?)</cwd>|working directory: (.*)", text))]
            cwd = ((found[0][1] or found[0][2]) if found else "").strip()
        first = next((line.timestamp for line in self._lines if line.timestamp), "")
        made: Object = {
            "type": "session",
            "version": 3,
            "id": self._id,
            "timestamp": meta.timestamp or first,
            "cwd": cwd,
        }
        subagent = object_of(meta.source).get("subagent")
        spawned = text_of(object_of(object_of(subagent).get("thread_spawn")).get("parent_thread_id"))
        parent = spawned or meta.parent_thread_id or meta.forked_from_id
        if parent:
            made["parentSession"] = parent
        if subagent is not None or meta.thread_source not in (None, "user"):
            made["internal"] = True
        return made


def _brief_blocks(line: Line) -> list[Object]:
    """Return a block of an answer's text without the text, for the question if the answer has one."""
    return [{"type": "text", "text": ""}] if line.kind == "message" and line.about.content not in (None, []) else []
