"""Files that lie where sessions lie, or look alike, and are none: recognised by their first records."""

from __future__ import annotations

from sessionbrowse.format.codec import BadJson, loads
from sessionbrowse.format.entries import Json

V4 = "pi-agent-core's version 4 store, which sessionbrowse does not support"
_PROBED_LINES = 5


def recognise(head: bytes) -> str | None:
    """Return what a file is instead of a session, as the end of a sentence, or None if it may be a session."""
    for line in head.split(b"\n", _PROBED_LINES)[:_PROBED_LINES]:
        if not line.strip():
            continue
        try:
            value = loads(line)
        except BadJson:
            continue
        if isinstance(value, dict):
            return _kind(value)
    return None


def _kind(value: dict[str, Json]) -> str | None:
    if value.get("v") == 4 and value.get("kind") == "header":
        return V4
    kind = value.get("type")
    if kind in ("session", "title"):
        return None
    if kind in _EVENTS:
        return "an event stream of a pi-family agent, not a session"
    if ("sessionId" in value and "uuid" in value) or kind in ("summary", "file-history-snapshot"):
        return "a transcript of Claude Code, not of a pi-family agent"
    if kind in ("session_meta", "response_item", "event_msg", "turn_context"):
        return "a rollout of Codex, not of a pi-family agent"
    return None


# The events that pi, omp and atomic print with `--mode json`, and subagent logs hold.
_EVENTS = frozenset(
    {
        "agent_start",
        "agent_end",
        "turn_start",
        "turn_end",
        "message_start",
        "message_update",
        "message_end",
        "tool_execution_start",
        "tool_execution_update",
        "tool_execution_end",
        "response",
        "extension_ui_request",
    }
)
