"""Recognise files that are not sessions, but look like sessions or are stored among them, by their first lines."""

from __future__ import annotations

from collections.abc import Iterator

from sessionbrowse.format.json_value import Json, json_object

V4 = "a session in pi-agent-core's format version 4, which sessionbrowse does not support"
EVENT_STREAM = "an event stream of pi, omp or atomic, not a session"
CLAUDE_CODE = "a transcript of Claude Code, which sessionbrowse does not support"
CODEX = "a session of Codex (a rollout), which sessionbrowse does not support"
PROBED_LINES = 5
"""Number of lines at the beginning of a file that `recognise` examines."""


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


def _first_objects(head: bytes) -> Iterator[dict[str, Json]]:
    for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n", PROBED_LINES)[:PROBED_LINES]:
        value = json_object(line)
        if value is not None:
            yield value


def _of_others(kind: str | None, value: dict[str, Json]) -> str | None:
    if value.get("v") == 4 and value.get("kind") == "header":
        return V4
    if "sessionId" in value and ("uuid" in value or kind in _CLAUDE_CODE_TYPES):
        return CLAUDE_CODE
    if kind in ("summary", "file-history-snapshot") and ("leafUuid" in value or "messageId" in value):
        return CLAUDE_CODE
    if kind in ("session_meta", "response_item", "event_msg", "turn_context") or "record_type" in value:
        return CODEX
    return None


_CLAUDE_CODE_TYPES = frozenset({"user", "assistant", "summary", "system", "queue-operation", "file-history-snapshot"})

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
