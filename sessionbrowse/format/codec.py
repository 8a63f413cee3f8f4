"""Decode one line of a session file into one struct, and recognise files that are no sessions by their first lines.

No function raises: a line that is not JSON is a `BadLine`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, get_type_hints

from sessionbrowse.format.entries import (
    TRANSCRIPT_SCHEMA,
    AssistantMessage,
    BadLine,
    BashExecutionMessage,
    Block,
    BranchSummary,
    Compaction,
    Content,
    ContextEdit,
    Cost,
    Custom,
    CustomMessage,
    CustomRoleMessage,
    DeveloperMessage,
    Entry,
    EntryBase,
    FallbackBlock,
    FileMentionMessage,
    Header,
    ImageBlock,
    Label,
    Message,
    MessageEntry,
    ModeChange,
    ModelChange,
    PlainEntry,
    PythonExecutionMessage,
    RedactedThinkingBlock,
    ServerToolBlock,
    ServiceTierChange,
    SessionInfoEntry,
    SessionSummary,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ThinkingLevelChange,
    TitleSlot,
    ToolCallBlock,
    ToolResultMessage,
    TranscriptNode,
    TtsrInjection,
    UnknownBlock,
    UnknownEntry,
    UnknownMessage,
    Usage,
    UserMessage,
    Value,
)
from sessionbrowse.format.json_value import BadJson, Json, json_object, loads

BLOCK_TYPES: dict[str, type[Value]] = {
    "text": TextBlock,
    "thinking": ThinkingBlock,
    "redactedThinking": RedactedThinkingBlock,
    "image": ImageBlock,
    "toolCall": ToolCallBlock,
    "fallback": FallbackBlock,
    "anthropicServerTool": ServerToolBlock,
}
MESSAGE_TYPES: dict[str, type[Value]] = {
    "user": UserMessage,
    "developer": DeveloperMessage,
    "system": SystemMessage,
    "assistant": AssistantMessage,
    "toolResult": ToolResultMessage,
    "bashExecution": BashExecutionMessage,
    "pythonExecution": PythonExecutionMessage,
    "custom": CustomRoleMessage,
    "hookMessage": CustomRoleMessage,
    "fileMention": FileMentionMessage,
}
ENTRY_TYPES: dict[str, type[EntryBase]] = {
    "message": MessageEntry,
    "model_change": ModelChange,
    "thinking_level_change": ThinkingLevelChange,
    "compaction": Compaction,
    "branch_summary": BranchSummary,
    "custom": Custom,
    "custom_message": CustomMessage,
    "label": Label,
    "session_info": SessionInfoEntry,
    "context_edit": ContextEdit,
    "session_summary": SessionSummary,
    "service_tier_change": ServiceTierChange,
    "mode_change": ModeChange,
    "ttsr_injection": TtsrInjection,
}


PLAIN_TYPES = frozenset(
    {
        "context_compaction",  # These types have no struct: an old kind of compaction (atomic 0.8.26–0.9.8, no effect);
        "context_window_change",  # a change of the size of the context window (atomic 0.9.0–0.9.10);
        "credential_pin",  # a hash of the account that served the session (omp);
        "mcp_tool_selection",  # the MCP tools that the user chose (omp 13–16);
        "model_usage",  # the cost of a model call that left no message (omp);
        "reset_boundary",  # a `/clear` command, after which the model receives no older entries (omp);
        "session_init",  # the prompt and tools with which a subagent was started (omp);
        "title_change",  # a renaming, which omp also writes into the title slot (omp);
        "usage",  # and the cost of a model call that left no message (pi 0.86).
    }
)
UNREAD_KEYS = frozenset(
    {
        "addedToolNames",
        "api",
        "completedAt",
        "contextSnapshot",
        "deferred",
        "diagnostics",
        "duration",
        "durationMs",
        "endTurn",
        "fromExtension",
        "fromHook",
        "historyRewriteAt",
        "meta",
        "method",
        "nestedCalls",
        "outputFile",
        "protectedReconciliation",
        "providerPayload",
        "providerThinkingLevel",
        "prunedAt",
        "rawStopReason",
        "requestControls",
        "resolvedModelIsFallback",
        "responseId",
        "responseModel",
        "sourceRequest",
        "stageAdmissionKey",
        "steering",
        "summarizedThroughId",
        "synthetic",
        "tokensAfter",
        "toolsRemoved",
        "ttft",
        "upstreamModel",
        "upstreamProvider",
        "useless",
        "warning",
    }
)
"""JSON keys of messages and entries that agent programs write and sessionbrowse does not read; `extra` keeps them."""


def unknown_keys(value: Value) -> dict[str, Json]:
    """Return those keys and values in a struct's `extra` whose keys are not in `UNREAD_KEYS`."""
    return {key: item for key, item in value.extra.items() if key not in UNREAD_KEYS}


def type_name(value: Value) -> str:
    """Return a block's or entry's type, or a message's role, as in the file: `toolCall`, `user`, `model_change`."""
    match value:
        case UnknownBlock() | UnknownEntry() | PlainEntry():
            return value.type
        case UnknownMessage():
            return value.role
        case TranscriptNode():
            return "entry"
    return _NAMES[type(value)]


_NAMES: dict[type[Value], str] = {
    kind: name for table in (BLOCK_TYPES, ENTRY_TYPES) for name, kind in table.items()
} | {kind: name for name, kind in MESSAGE_TYPES.items() if name != "hookMessage"}


V = TypeVar("V", bound=Value)


def decode_line(line: bytes) -> Header | TitleSlot | Entry | BadLine:
    """Decode one line of a session file into its struct. Never raises."""
    try:
        value = loads(line)
    except BadJson as error:
        return BadLine(str(error))
    return from_json(value)


def from_json(value: Json) -> Header | TitleSlot | Entry:
    """Convert the JSON value of a line into its struct, an `UnknownEntry` if the value is no object of a known type."""
    if not isinstance(value, dict):
        return UnknownEntry(type="", raw=value)
    kind = value.get("type")
    if kind == "session":
        return build(Header, value)
    if kind == "title":
        return build(TitleSlot, value)
    if value.get("schema") == TRANSCRIPT_SCHEMA and value.get("kind") == "entry":
        return build(TranscriptNode, value, _NODE_KEYS)
    struct = ENTRY_TYPES.get(kind) if isinstance(kind, str) else None
    if struct is not None:
        return build(struct, value)  # type: ignore[return-value]
    if isinstance(kind, str) and kind in PLAIN_TYPES:
        return build(PlainEntry, value, frozenset())
    named = {key: value[key] for key in ("id", "parentId", "timestamp") if isinstance(value.get(key), str)}
    return UnknownEntry(
        type=kind if isinstance(kind, str) else "",
        id=named.get("id"),
        parent_id=named.get("parentId"),
        timestamp=named.get("timestamp"),
        raw=value,
    )


def message_from_json(value: Json) -> Message | None:
    """Convert the JSON value of a message into its struct; return None if the value is not an object."""
    if not isinstance(value, dict):
        return None
    role = value.get("role")
    struct = MESSAGE_TYPES.get(role) if isinstance(role, str) else None
    if struct is not None:
        return build(struct, value, _MESSAGE_KEYS)  # type: ignore[return-value]
    return build(UnknownMessage, value)


def content_from_json(value: Json) -> Content:
    """Convert the JSON value of a message's content into a text or blocks; return None for any other value."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return tuple(_block(item) for item in value)
    return None


def build(struct: type[V], value: dict[str, Json], implied: frozenset[str] = frozenset({"type"})) -> V:
    """Return a struct with the values of a JSON object; `extra` keeps unknown keys and values of a wrong type.

    Never raises. The struct does not store the keys in `implied`, such as `type`: the struct's class implies the values
    of these keys.
    """
    known = _fields(struct)
    found: dict[str, Any] = {}
    extra: dict[str, Json] = {}
    for key, item in value.items():
        if key in implied:
            continue
        field = known.get(key)
        if field is None:
            extra[key] = item
        elif item is not None:
            name, exact, convert = field
            taken = convert(item) if convert is not None else item if item.__class__ is exact else None
            if taken is None:
                extra[key] = item
            else:
                found[name] = taken
    return struct(**found, extra=extra)


_MESSAGE_KEYS = frozenset({"role"})
_NODE_KEYS = frozenset({"schema", "kind"})


def _block(value: Json) -> Block:
    if isinstance(value, dict):
        kind = value.get("type")
        struct = BLOCK_TYPES.get(kind) if isinstance(kind, str) else None
        if struct is not None:
            return build(struct, value)  # type: ignore[return-value]
        return UnknownBlock(type=kind if isinstance(kind, str) else "", raw=value)
    return UnknownBlock(type="", raw=value)


def _usage(value: Json) -> Usage | None:
    return build(Usage, value) if isinstance(value, dict) else None


def _cost(value: Json) -> Cost | None:
    return build(Cost, value) if isinstance(value, dict) else None


def _float(value: Json) -> float | None:
    # A number too large for a double, which JavaScript reads as infinity, is a mistake in the file: the result is None.
    is_number = value.__class__ in (int, float) and abs(value) <= sys.float_info.max
    return float(value) if is_number else None


def _int(value: Json) -> int | None:
    """Return an integral number as an int, other values as None; 3.0 becomes 3, because JavaScript has no integers."""
    is_whole = value.__class__ is int or (value.__class__ is float and value.is_integer())
    return int(value) if is_whole else None


def _anything(value: Json) -> Json:
    return value


_CONVERTERS: dict[Any, Callable[[Json], Any]] = {
    Any: _anything,
    float | None: _float,
    int | None: _int,
    Message | None: message_from_json,
    Content: content_from_json,
    Usage | None: _usage,
    Cost | None: _cost,
}


# Maps the type of a struct's field to the class that a JSON value of this field must have. A value of this class is
# stored unchanged; a value of another class goes to `extra`.
_EXACT_TYPES: dict[Any, type] = {
    str: str,
    str | None: str,
    bool | None: bool,
    list[Json] | None: list,
    dict[str, Json] | None: dict,
}
_Field = tuple[str, type | None, Callable[[Json], Any] | None]
_FIELDS: dict[type, dict[str, _Field]] = {}


def _fields(struct: type[Value]) -> dict[str, _Field]:
    """Map each JSON key of a struct to the field's name, the class of its values, and a function to convert values."""
    known = _FIELDS.get(struct)
    if known is None:
        hints = get_type_hints(struct)
        known = {
            encoded: (name, _EXACT_TYPES.get(hints[name]), _CONVERTERS.get(hints[name]))
            for name, encoded in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
            if name != "extra"
        }
        _FIELDS[struct] = known
    return known


# ---- files of other programs, and files that only look like sessions ---------------------------------------------

V4 = "a session in pi-agent-core's format version 4, which sessionbrowse does not support"
EVENT_STREAM = "an event stream of pi, omp or atomic, not a session"
CLAUDE_CODE = "a transcript of Claude Code without a conversation"
PROBED_LINES = 5
"""Number of lines at the beginning of a file that `recognise` examines."""
STATE_LINES = 1000
"""Number of lines with the state of Claude Code that may stand before the first record of the conversation."""
HEAD_SIZES = (4096, 64 * 1024, 16 * 1024 * 1024)
"""Sizes in bytes of a file's beginning that `program_of_file` reads until one shows which program wrote the file."""
ZSTD = b"\x28\xb5\x2f\xfd"
"""The bytes with which a file compressed with zstd begins; Codex is the only agent that compresses sessions so."""
OURS = (b'{"type":"session"', b'{"type":"title"')
"""The first bytes of nearly all sessions of pi, omp, atomic and indusagi."""


def recognise(head: bytes) -> str | None:
    """Return a description of a file that is not a session ("an event stream …"); None if it may be a session.

    `head` are the first bytes of the file.
    """
    has_header = False
    for value in _first_objects(head):
        kind = value.get("type")
        if "parentId" in value or not isinstance(kind, str | None):
            return None
        if kind in ("session", "title"):
            # A file with a header need not be a session: `pi --mode json` prints a header before its events.
            has_header = True
        elif kind in _EVENTS:
            return EVENT_STREAM
        elif not has_header:
            other = _of_others(kind, value)
            if other is not None:
                return other
    return None


def program_of_file(read: Callable[[int], bytes]) -> str | None:
    """Return "claude" or "codex" if a file is a session of Claude Code or Codex; `read(n)` reads its first n bytes."""
    for size in HEAD_SIZES:
        head = read(size)
        if head.startswith((*OURS, ZSTD)):
            return "codex" if head.startswith(ZSTD) else None
        found = other_program(head)
        # A pasted text, or the state of many files, can stand before the first record.
        if found is not None or len(head) < size:
            return found
    return None


def other_program(head: bytes) -> str | None:
    """Return "claude" or "codex" if a file's first bytes are those of a session of Claude Code or Codex; else None."""
    # The first line may be longer than the bytes at hand.
    found = _BEGINNING.match(head[:200].lstrip(b"\xef\xbb\xbf \t\r\n\0"))
    if found is not None and found[1]:
        return "codex"
    for number, value in enumerate(_first_objects(head, STATE_LINES)):
        kind = value.get("type")
        if not isinstance(kind, str | None):
            continue
        if "parentId" in value or kind in ("session", "title") or "schema" in value:
            return None
        if (kind in _CODEX_TYPES and isinstance(value.get("payload"), dict)) or "record_type" in value:
            return "codex"
        if number == 0 and kind is None and {"id", "timestamp", "instructions"} <= value.keys():
            return "codex"
        if kind in ("user", "assistant", "system", "progress", "attachment") and "uuid" in value:
            return "claude"
    return "claude" if found is not None else None


def _first_objects(head: bytes, most: int = PROBED_LINES) -> Iterator[dict[str, Json]]:
    for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n", most)[:most]:
        value = json_object(line)
        if value is not None:
            yield value


def _of_others(kind: str | None, value: dict[str, Json]) -> str | None:
    if value.get("v") == 4 and value.get("kind") == "header":
        return V4
    is_state = kind in ("summary", "file-history-snapshot") and ("leafUuid" in value or "messageId" in value)
    return CLAUDE_CODE if is_state or ("sessionId" in value and kind is not None) else None


_CODEX_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context"})
_BEGINNING = re.compile(
    rb'\{"timestamp":"[^"]*",(?:"ordinal":\d+,)?"type":"(session_meta)"|\{"(?:parentUuid|isSidechain)":'
)

# These are the types of the events that pi, omp and atomic print with `--mode json` or `--mode rpc`
# (pi 1.5.2, docs/json.md). Logs of subagents contain such events too.
_EVENTS = frozenset(
    {
        "agent_start",
        "agent_end",
        "agent_settled",
        "turn_start",
        "turn_end",
        "message_start",
        "message_update",
        "message_end",
        "tool_execution_start",
        "tool_execution_update",
        "tool_execution_end",
        "compaction_start",
        "compaction_end",
        "auto_compaction_start",
        "auto_compaction_end",
        "auto_retry_start",
        "auto_retry_end",
        "queue_update",
        "entry_appended",
        "session_info_changed",
        "thinking_level_changed",
        "response",
        "extension_ui_request",
    }
)
