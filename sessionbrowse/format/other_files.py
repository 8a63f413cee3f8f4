"""Recognise files that are not sessions, but look like sessions or are stored among them, by their first lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sessionbrowse.format.json_value import Json, json_object

V4 = "a session in pi-agent-core's format version 4, which sessionbrowse does not support"
EVENT_STREAM = "an event stream of pi, omp or atomic, not a session"
CLAUDE_CODE = "a transcript of Claude Code without a conversation"
PROBED_LINES = 5
"""Number of lines at the beginning of a file that `recognise` examines."""
STATE_LINES = 1000
"""Number of lines with the state of Claude Code that may stand before the first record of the conversation."""
HEAD_SIZES = (4096, 64 * 1024, 16 * 1024 * 1024)
"""Numbers of bytes at the beginning of a file that `program_of_file` examines, one after the other."""
ZSTD = b"\x28\xb5\x2f\xfd"
"""The first bytes of a zstd file; among the agents, only Codex compresses sessions with zstd."""
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
