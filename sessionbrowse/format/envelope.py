"""Envelopes: the facts about one entry that trees and lists need, without the entry's contents.

An open session keeps the envelopes of all its entries in memory.
"""

from __future__ import annotations

import json
import sys
from typing import Literal

from msgspec import Struct

from sessionbrowse.format.entries import TRANSCRIPT_SCHEMA, BadLine
from sessionbrowse.format.json_value import BadJson, Json, is_deep, is_true, loads, trim
from sessionbrowse.format.ordinary_line import (
    REFUSALS,
    OrdinaryAnswer,
    OrdinaryCall,
    OrdinaryMessage,
    OrdinaryResult,
    OrdinaryText,
    OrdinaryUsage,
    decode_ordinary,
)


class Spending(Struct, frozen=True, gc=False, array_like=True):
    """The tokens of each kind and the cost in US dollars of one model call, or the sums over several calls."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    cost: float = 0

    @property
    def tokens(self) -> int:
        """The sum of the tokens of all kinds, as pi computes it, without use of the file's `totalTokens`."""
        return whole(self.input + self.output + self.cache_read + self.cache_write)


def whole(amount: float) -> int:
    """Return a sum of token counts as an integer; 0 if it is infinite."""
    return int(amount) if abs(amount) <= LARGEST else 0


LARGEST = sys.float_info.max


Fault = Literal["no message", "no content", "bad content", "bad name"]
"""A mistake in an entry that makes an agent program fail (tested with pi 1.5.2 and omp 18.2.3).

"no message": the message is missing or null. "no content": a user or assistant message has no content. "bad content":
the content of such a message is neither text nor a list, or has a null block. "bad name": the session's name is not
text.
"""


class Envelope(Struct, frozen=True, gc=False, array_like=True):
    """The facts about one entry that lists and trees need, without the entry's contents.

    `type` and `role` are as in the file, "" if absent. `text` is a label, a session's name or title, or a compaction's
    strategy. `has_text` is True if a model's answer has text other than blanks, `has_words` if it has text other than
    blanks and dots. `has_content` is True if the message has the key `content`, but False for all tool results.
    `timestamp` is ISO 8601 text, or in a few files a number of milliseconds since 1970. `problem` is a sentence about
    the entry's mistakes; `fault` names a mistake that makes an agent program fail. `schema` is set in lines of
    indusagi's transcripts. `id_value` is None if the id is missing or a string, "null" if the id is null, else "true"
    or "false": what JavaScript takes the id for in a condition. `task_spent` is the usage of subagents that a result of
    omp's `task` tool reports.
    """

    type: str = ""
    id: str | None = None
    parent_id: str | None = None
    timestamp: str | float | None = None
    parent_given: bool = True
    role: str = ""
    custom_type: str = ""
    target_id: str | None = None
    text: str | None = None
    provider: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    has_text: bool = False
    has_words: bool = False
    has_content: bool = False
    tool_call_id: str | None = None
    tool_calls: tuple[str, ...] = ()
    message_ms: float | None = None
    spent: Spending | None = None
    problem: str | None = None
    fault: Fault | None = None
    schema: str | None = None
    id_value: Literal["null", "false", "true"] | None = None
    task_spent: Spending | None = None


def read_envelope(line: bytes) -> Envelope | BadLine:
    """Decode the envelope of one line; a header or title slot has the type "session" or "title". Never raises."""
    try:
        entry = decode_ordinary(line)
    except REFUSALS:
        return _read_odd(line)
    if isinstance(entry, OrdinaryMessage):
        # A result of omp's `task` tool is decoded in full: its `details` have the tokens of subagents, but
        # `decode_ordinary` does not decode `details`.
        is_task = isinstance(entry.message, OrdinaryResult) and entry.message.toolName == TASK_TOOL
        return _read_odd(line) if is_task else _of_message(entry)
    return Envelope(
        type=entry.__struct_config__.tag,
        id=entry.id,
        parent_id=entry.parentId,
        timestamp=entry.timestamp,
        role=entry.role or "",
        custom_type=entry.customType or "",
        provider=entry.provider,
        model=entry.modelId or entry.model,
    )


TASK_TOOL = "task"
"""The name of the tool by which omp starts subagents."""
TOO_DEEP = "the entry is nested too deeply: its deepest lists and objects are left out"
CONTENT_NULL = "the message's content is null"
NO_CONTENT = "the message has no content"
_NEED_CONTENT = frozenset({"user", "assistant"})


def _of_message(entry: OrdinaryMessage) -> Envelope:
    message = entry.message
    texts: list[str] = []
    calls: list[str] = []
    usage: OrdinaryUsage | None = None
    if isinstance(message, OrdinaryAnswer):
        usage = message.usage
        if isinstance(message.content, str):
            texts = [message.content]
        else:
            for block in message.content:
                if isinstance(block, OrdinaryText):
                    texts.append(block.text or "")
                elif isinstance(block, OrdinaryCall) and block.id is not None:
                    calls.append(block.id)
    return Envelope(
        type="message",
        id=entry.id,
        parent_id=entry.parentId,
        timestamp=entry.timestamp,
        role=message.role,
        provider=message.provider,
        model=message.model,
        stop_reason=message.stopReason,
        has_text=any(map(trim, texts)),
        has_words=any(map(is_more_than_dots, texts)),
        has_content=not isinstance(message, OrdinaryResult),
        tool_call_id=message.toolCallId,
        tool_calls=tuple(calls),
        message_ms=message.timestamp,
        spent=_spent(usage),
    )


def _spent(usage: OrdinaryUsage | None) -> Spending | None:
    if usage is None:
        return None
    cost = usage.cost.total if usage.cost is not None else 0
    return Spending(usage.input, usage.output, usage.cacheRead, usage.cacheWrite, cost)


def is_more_than_dots(text: str) -> bool:
    """Return False for a text of only dots, ellipses and blanks; omp 18.2.3 treats such an answer as empty."""
    return trim(text).strip(".… \t\n\r") != ""


# ---- odd lines: all lines that `ordinary_line` refuses -------------------------------------------------------


def _read_odd(line: bytes) -> Envelope | BadLine:
    try:
        value = loads(line)
    except BadJson as error:
        return BadLine(str(error))
    if not isinstance(value, dict):
        return Envelope(problem=f"the line holds {_kind_of(value)} where an entry belongs")
    if value.get("schema") == TRANSCRIPT_SCHEMA:
        return _of_transcript(value)
    odd = _Oddities([TOO_DEEP] if is_deep(line) else [])
    kind = odd.text(value, "type")
    if "type" not in value:
        odd.problems.append("the entry has no type")
    message: Json = value.get("message")
    is_message = kind == "message"
    body: dict[str, Json] = message if is_message and isinstance(message, dict) else {}
    if is_message:
        odd.check_message(message)
    source = body if is_message else value
    about = {"label": "label", "session_info": "name", "title_change": "title"}.get(kind or "")
    details = value.get("details")
    strategy = _word(details.get("strategy")) if kind == "compaction" and isinstance(details, dict) else ""
    texts, calls = _texts_and_calls(body.get("content"))
    return Envelope(
        type=kind or "",
        id=odd.entry_id(value),
        id_value=_id_value(value),
        parent_id=_id(value.get("parentId")),
        timestamp=odd.time(value),
        parent_given="parentId" in value,
        role=_word(source.get("role")) or ("" if is_message else _word(value.get("attribution"))),
        custom_type=_word(source.get("customType")),
        target_id=None if is_message else _id(value.get("targetId")),
        text=odd.shown(value, about) if about else strategy or None,
        provider=_word(source.get("provider")) or None,
        model=_word(source.get("modelId")) or _word(source.get("model")) or None,
        stop_reason=_word(body.get("stopReason")) or None,
        has_content="content" in body and body.get("role") != "toolResult",
        has_text=body.get("role") == "assistant" and any(map(trim, texts)),
        has_words=body.get("role") == "assistant" and any(map(is_more_than_dots, texts)),
        tool_call_id=_id(body.get("toolCallId")),
        tool_calls=calls,
        message_ms=_number(body.get("timestamp")),
        spent=_odd_spent(source.get("usage")),
        task_spent=_odd_task_spent(body),
        problem=odd.sentence(),
        fault=odd.fault,
    )


def _of_transcript(value: dict[str, Json]) -> Envelope:
    """Return the envelope of a line of an `indus/transcript@1` file, the newer format of indusagi."""
    if value.get("kind") != "entry":
        return Envelope(
            type="head", text=_word(value.get("leaf")) or None, id=_id(value.get("sessionId")), schema=TRANSCRIPT_SCHEMA
        )
    message = value.get("message")
    body: dict[str, Json] = message if isinstance(message, dict) else {}
    texts, calls = _texts_and_calls(body.get("content"))
    usable = all(isinstance(value.get(key), str) for key in ("id", "role", "at"))
    return Envelope(
        type="message",
        id=_id(value.get("id")),
        parent_id=_id(value.get("prev")),
        timestamp=value["at"] if isinstance(value.get("at"), str) else None,
        role=_word(body.get("role")) or _word(value.get("role")),
        custom_type=_word(body.get("customType")),
        provider=_word(body.get("provider")) or None,
        model=_word(body.get("model")) or None,
        stop_reason=_word(body.get("stopReason")) or None,
        has_text=any(map(trim, texts)),
        has_words=any(map(is_more_than_dots, texts)),
        has_content="content" in body,
        tool_call_id=_id(body.get("toolCallId")),
        tool_calls=calls,
        message_ms=_number(body.get("timestamp")),
        spent=_odd_spent(body.get("usage")),
        problem=None if usable else "the entry's id, role or time is missing or no text: indusagi ignores the entry",
        schema=TRANSCRIPT_SCHEMA,
    )


class _Oddities:
    """Reads the values of an entry that has an unusual form; collects a sentence about each mistake in the entry."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        self.fault: Fault | None = None

    def sentence(self) -> str | None:
        return "; ".join(self.problems) or None

    def text(self, value: dict[str, Json], key: str) -> str | None:
        item = value.get(key)
        if item is None or isinstance(item, str):
            return item
        self.problems.append(f"the {key} is {_kind_of(item)}")
        return None

    def entry_id(self, value: dict[str, Json]) -> str | None:
        item = value.get("id")
        if item is not None and not isinstance(item, str):
            self.problems.append(f"the id is {_kind_of(item)}")
        return _id(item)

    def time(self, value: dict[str, Json]) -> str | float | None:
        item = value.get("timestamp")
        if isinstance(item, str):
            return item
        moment = _number(item)
        self.problems.append("the entry has no time" if moment is None else "the entry's time is a number")
        return moment

    def shown(self, value: dict[str, Json], key: str) -> str | None:
        """Return the text of a label or name; a value of another type, which pi accepts too, is returned as JSON."""
        item = value.get(key)
        if item is None or isinstance(item, str):
            return item
        self.problems.append(f"the {key} is {_kind_of(item)}")
        if key == "name":
            self.fault = "bad name"
        return None if item is False or item == 0 else json.dumps(item, ensure_ascii=False)

    def check_message(self, message: Json) -> None:
        """Add a sentence to `problems` if a message has the wrong type, a wrong role, or wrong content; set `fault`.

        Content is checked only in user and assistant messages.
        """
        if not isinstance(message, dict):
            self.problems.append("the message is missing" if message is None else f"the message is {_kind_of(message)}")
            self.fault = "no message" if message is None else None
            return
        role = message.get("role")
        if not isinstance(role, str):
            self.problems.append("the message has no role" if role is None else f"the role is {_kind_of(role)}")
            return
        if role not in _NEED_CONTENT:
            return
        content = message.get("content")
        if "content" not in message:
            self.problems.append(NO_CONTENT)
            self.fault = "no content"
        elif not isinstance(content, str | list):
            self.problems.append(CONTENT_NULL if content is None else f"the message's content is {_kind_of(content)}")
            self.fault = "bad content"
        elif isinstance(content, list) and None in content:
            self.problems.append("a content block is null")
            self.fault = "bad content"
        elif isinstance(content, list) and not all(isinstance(block, dict) for block in content):
            self.problems.append("a content block is no object")


def _texts_and_calls(content: Json) -> tuple[list[str], tuple[str, ...]]:
    if isinstance(content, str):
        return [content], ()
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    calls = [_id(block.get("id")) for block in blocks if block.get("type") == "toolCall"]
    return [text for text in texts if isinstance(text, str)], tuple([call for call in calls if call is not None])


def _odd_task_spent(body: dict[str, Json]) -> Spending | None:
    details = body.get("details")
    return _odd_spent(details.get("usage")) if body.get("toolName") == TASK_TOOL and isinstance(details, dict) else None


def _odd_spent(usage: Json) -> Spending | None:
    if not isinstance(usage, dict):
        return None
    cost = usage.get("cost")
    total = cost.get("total") if isinstance(cost, dict) else 0
    return Spending(*[_number(item) or 0 for item in (*map(usage.get, _COUNTS), total)])


_COUNTS = ("input", "output", "cacheRead", "cacheWrite")


def _id(item: Json) -> str | None:
    if isinstance(item, str):
        return item
    return json.dumps(item) if _number(item) is not None else None


def _id_value(value: dict[str, Json]) -> Literal["null", "false", "true"] | None:
    item = value.get("id", "")
    if isinstance(item, str):
        return None
    return "null" if item is None else "true" if is_true(item) else "false"


def _word(item: Json) -> str:
    return item if isinstance(item, str) else ""


def _number(item: Json) -> float | None:
    """Return a finite number unchanged, None for any other value.

    With an infinite number such as 1e999, all sums of tokens and costs would be infinite.
    """
    if isinstance(item, bool) or not isinstance(item, int | float) or not abs(item) <= LARGEST:
        return None
    return item


def _kind_of(item: Json) -> str:
    match item:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "an array"
        case _:
            return "an object"
