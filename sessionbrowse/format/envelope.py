"""What a tree and a list need of one entry, decoded without building the rest.

A session of 100,000 entries is held as envelopes; the text of an entry is decoded from its bytes when it is shown.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from sessionbrowse.format.codec import BadJson, loads
from sessionbrowse.format.entries import TRANSCRIPT_SCHEMA, BadLine, Json
from sessionbrowse.format.javascript import trim


class Spent(Struct, frozen=True, gc=False):
    """Tokens (input, output, cache read, cache write) and US dollars of one call of a model."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    cost: float = 0

    @property
    def tokens(self) -> int:
        """All tokens, as pi adds them up: its own sum, not the stored `totalTokens`."""
        return int(self.input + self.output + self.cache_read + self.cache_write)


class Envelope(Struct, frozen=True, gc=False):
    """One entry without its contents.

    `type` and `role` are the file's own words, "" where there is none. `text` is the value that the entry is about:
    a label's text, a session's name, a compaction's strategy. `has_text` tells whether an assistant's text is more
    than blanks, `has_words` whether it is more than blanks and dots, which is what omp asks. `timestamp` is ISO 8601,
    rarely a number of milliseconds. `problem` is a sentence on what is odd.
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
    spent: Spent | None = None
    problem: str | None = None


def read_envelope(line: bytes) -> Envelope | BadLine:
    """Decode the envelope of one line, header lines included (`type` is then "session" or "title"). Never raises."""
    try:
        wire = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _read_odd(line)
    if wire.schema is not None:
        return _read_odd(line)
    message = wire.message
    if message is None:
        return _of_plain_entry(wire)
    content = message.content
    spoken: list[str] = []
    calls: tuple[str, ...] = ()
    if message.role == "assistant":
        if isinstance(content, list):
            spoken = [block.text for block in content if block.text is not None and block.type == "text"]
            calls = tuple([block.id for block in content if block.type == "toolCall" and block.id is not None])
        elif isinstance(content, str):
            spoken = [content]
    return Envelope(
        type=wire.type,
        id=wire.id,
        parent_id=wire.parentId,
        timestamp=wire.timestamp,
        role=message.role,
        custom_type=message.customType or "",
        provider=message.provider,
        model=message.model,
        stop_reason=message.stopReason,
        has_text=any(trim(text) for text in spoken),
        has_words=any(_is_more_than_dots(text) for text in spoken),
        tool_call_id=message.toolCallId,
        tool_calls=calls,
        message_ms=message.timestamp,
        spent=_spent(message.usage) or _task_spent(message),
        has_content=content is not msgspec.UNSET,
        problem=_missing_content(content) if message.role in _NEED_CONTENT else None,
    )


CONTENT_NULL = "the content is null"
_NEED_CONTENT = frozenset({"user", "assistant"})


def _is_more_than_dots(text: str) -> bool:
    """omp 18.2.3 takes an answer of dots, ellipses and blanks for an empty one."""
    return bool(trim(text).strip(".… \t\n\r"))


def _missing_content(content: object) -> str | None:
    if content is None:
        return CONTENT_NULL
    return "the message has no content" if content is msgspec.UNSET else None


class _Cost(Struct, gc=False):
    total: float = 0


class _Usage(Struct, gc=False):
    input: float = 0
    output: float = 0
    cacheRead: float = 0
    cacheWrite: float = 0
    cost: _Cost | None = None


class _Block(Struct, gc=False):
    type: str = ""
    text: str | None = None
    id: str | None = None


class _Details(Struct, gc=False):
    usage: _Usage | None = None
    strategy: str | None = None


class _Message(Struct, gc=False):
    role: str
    content: list[_Block] | str | msgspec.UnsetType | None = msgspec.UNSET
    timestamp: float | None = None
    provider: str | None = None
    model: str | None = None
    stopReason: str | None = None
    customType: str | None = None
    toolCallId: str | None = None
    toolName: str | None = None
    usage: _Usage | None = None
    details: msgspec.Raw = msgspec.Raw()


class _Wire(Struct, gc=False):
    type: str
    id: str
    parentId: str | None
    timestamp: str
    message: _Message | None = None
    targetId: str | None = None
    label: str | None = None
    name: str | None = None
    title: str | None = None
    provider: str | None = None
    modelId: str | None = None
    model: str | None = None
    role: str | None = None
    customType: str | None = None
    attribution: str | None = None
    usage: _Usage | None = None
    schema: str | None = None
    details: msgspec.Raw = msgspec.Raw()


_decode = msgspec.json.Decoder(_Wire).decode
_decode_details = msgspec.json.Decoder(_Details).decode


def _of_plain_entry(wire: _Wire) -> Envelope:
    kind = wire.type
    match kind:
        case "label":
            text = wire.label
        case "session_info":
            text = wire.name
        case "compaction":
            text = _strategy(wire.details)
        case _:
            text = wire.title
    return Envelope(
        type=kind,
        id=wire.id,
        parent_id=wire.parentId,
        timestamp=wire.timestamp,
        role=wire.role or wire.attribution or "",
        custom_type=wire.customType or "",
        target_id=wire.targetId,
        text=text,
        provider=wire.provider,
        model=wire.modelId or wire.model,
        spent=_spent(wire.usage),
        problem="the message is missing" if kind == "message" else None,
    )


def _strategy(details: msgspec.Raw) -> str | None:
    """atomic's compactions say how they were made; only `verbatim-lines` has an effect there."""
    try:
        return _decode_details(bytes(details)).strategy
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _spent(usage: _Usage | None) -> Spent | None:
    if usage is None:
        return None
    cost = usage.cost.total if usage.cost is not None else 0
    return Spent(usage.input, usage.output, usage.cacheRead, usage.cacheWrite, cost)


def _task_spent(message: _Message) -> Spent | None:
    """omp counts what a `task` tool's subagents spent through the result's details."""
    if message.toolName != "task":
        return None
    try:
        return _spent(_decode_details(bytes(message.details)).usage)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


# ---- the odd line: anything the strict shape above refuses ------------------------------------------------------


def _read_odd(line: bytes) -> Envelope | BadLine:
    try:
        value = loads(line)
    except BadJson as error:
        return BadLine(str(error))
    if not isinstance(value, dict):
        return Envelope(problem=f"a JSON {_kind_of(value)} where an entry belongs")
    if value.get("schema") == TRANSCRIPT_SCHEMA:
        return _of_transcript(value)
    problems: list[str] = []
    kind = _text(value, "type", problems)
    if kind in ("session", "title"):
        return Envelope(type=kind, id=_text(value, "id", problems), problem=_first(problems))
    if kind is None:
        problems.insert(0, "the entry has no type")
    entry_id = _id(value.get("id"))
    if entry_id is not None and not isinstance(value["id"], str):
        problems.insert(0, "the id is no text")
    timestamp = value.get("timestamp")
    if not isinstance(timestamp, str):
        timestamp = timestamp if _is_number(timestamp) else None
        if kind not in ("session", "title"):
            problems.append("the entry has no time" if timestamp is None else "the time is a number")
    message: Json = value.get("message")
    body: dict[str, Json] = message if isinstance(message, dict) else {}
    if kind == "message":
        if not isinstance(message, dict):
            problems.insert(0, "the message is missing" if message is None else "the message is no object")
        else:
            _check_message(body, problems)
    content = body.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    if isinstance(content, str):
        texts = [content]
    spoken = [text for text in texts if isinstance(text, str)] if body.get("role") == "assistant" else []
    is_message = kind == "message"
    source = body if is_message else value
    about = {"label": "label", "session_info": "name", "title_change": "title"}.get(kind or "")
    details = value.get("details")
    strategy = _word(details.get("strategy")) if kind == "compaction" and isinstance(details, dict) else ""
    milliseconds = body.get("timestamp")
    return Envelope(
        type=kind or "",
        id=entry_id,
        parent_id=_id(value.get("parentId")),
        timestamp=timestamp,
        parent_given="parentId" in value,
        role=_word(source.get("role")) or ("" if is_message else _word(value.get("attribution"))),
        custom_type=_word(source.get("customType")),
        target_id=_id(value.get("targetId")),
        text=_shown(value.get(about), about, problems) if about else strategy or None,
        provider=_word(source.get("provider")) or None,
        model=_word(source.get("modelId")) or _word(source.get("model")) or None,
        stop_reason=_word(body.get("stopReason")) or None,
        has_content="content" in body,
        has_text=any(trim(text) for text in spoken),
        has_words=any(_is_more_than_dots(text) for text in spoken),
        tool_call_id=_id(body.get("toolCallId")),
        tool_calls=tuple(
            [call for block in blocks if block.get("type") == "toolCall" and (call := _id(block.get("id"))) is not None]
        ),
        message_ms=milliseconds if _is_number(milliseconds) else None,
        spent=_odd_spent(source.get("usage")) or _odd_task_spent(body),
        problem=_first(problems),
    )


def _of_transcript(value: dict[str, Json]) -> Envelope:
    """indusagi's newer file: nodes of a chain; their own roles, their message's shape."""
    if value.get("kind") != "entry":
        return Envelope(type="head", text=_word(value.get("leaf")) or None, id=_id(value.get("sessionId")))
    message = value.get("message")
    body: dict[str, Json] = message if isinstance(message, dict) else {}
    content = body.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    texts = [content] if isinstance(content, str) else [b.get("text") for b in blocks if b.get("type") == "text"]
    milliseconds = body.get("timestamp")
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
        has_text=any(isinstance(text, str) and trim(text) for text in texts),
        has_words=any(isinstance(text, str) and _is_more_than_dots(text) for text in texts),
        has_content="content" in body,
        tool_call_id=_id(body.get("toolCallId")),
        tool_calls=tuple(
            [call for block in blocks if block.get("type") == "toolCall" and (call := _id(block.get("id"))) is not None]
        ),
        message_ms=milliseconds if _is_number(milliseconds) else None,
        spent=_odd_spent(body.get("usage")),
        problem=None if usable else "the node lacks a text id, role or time: indusagi ignores it",
    )


def _check_message(body: dict[str, Json], problems: list[str]) -> None:
    role = body.get("role")
    if not isinstance(role, str):
        problems.append("the message has no role")
    content = body.get("content")
    if role not in _NEED_CONTENT:
        return
    if content is None:
        problems.insert(0, CONTENT_NULL if "content" in body else "the message has no content")
    elif not isinstance(content, str | list):
        problems.insert(0, f"the content is a {_kind_of(content)}")
    elif isinstance(content, list) and None in content:
        problems.insert(0, "a content block is null")
    elif isinstance(content, list) and not all(isinstance(block, dict) for block in content):
        problems.insert(0, "a content block is no object")


def _odd_task_spent(body: dict[str, Json]) -> Spent | None:
    details = body.get("details")
    return _odd_spent(details.get("usage")) if body.get("toolName") == "task" and isinstance(details, dict) else None


def _odd_spent(usage: Json) -> Spent | None:
    if not isinstance(usage, dict):
        return None
    cost = usage.get("cost")
    total = cost.get("total") if isinstance(cost, dict) else 0
    numbers = [usage.get(key) for key in ("input", "output", "cacheRead", "cacheWrite")] + [total]
    return Spent(*[number if _is_number(number) else 0 for number in numbers])


def _text(value: dict[str, Json], key: str, problems: list[str]) -> str | None:
    item = value.get(key)
    if item is None or isinstance(item, str):
        return item
    problems.append(f"{key} is a {_kind_of(item)}")
    return None


def _shown(item: Json, key: str, problems: list[str]) -> str | None:
    """The text of a label or name; a number is shown as the file has it."""
    if item is None or isinstance(item, str):
        return item
    problems.append(f"{key} is a {_kind_of(item)}")
    return str(item) if _is_number(item) and item != 0 else None


def _id(item: Json) -> str | None:
    if isinstance(item, str):
        return item
    return msgspec.json.encode(item).decode() if _is_number(item) else None


def _word(item: Json) -> str:
    return item if isinstance(item, str) else ""


def _is_number(item: Json) -> bool:
    return isinstance(item, int | float) and not isinstance(item, bool) and item == item and abs(item) != float("inf")


def _kind_of(item: Json) -> str:
    match item:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _first(problems: list[str]) -> str | None:
    return problems[0] if problems else None
