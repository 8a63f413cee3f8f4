"""The status of a session: how its last message leaves the work, judged by omp's rule."""

from __future__ import annotations

from sessionbrowse.format.entries import TRANSCRIPT_SCHEMA
from sessionbrowse.format.json_value import BadJson, Json, loads
from sessionbrowse.model.listing.summary import SessionStatus

STATUS_BYTES = 32 * 1024
"""Number of bytes at a file's end in which omp looks for the last message."""


def status_at_end(end: bytes) -> SessionStatus | None:
    """Return the status by the last bytes of a file, at most `STATUS_BYTES`; None if they do not tell.

    This is the rule of omp's list (18.2.3): the last whole message in file order counts, on whatever branch it is. The
    lists of pi, atomic and indusagi have no status; their sessions are judged by the same rule.
    """
    stop = len(end)
    while stop >= 0:
        start = end.rfind(b"\n", 0, stop) + 1
        line = end[start:stop]
        stop = start - 1
        # omp skips lines that begin otherwise, such as the rest of a line that begins before these bytes.
        if not line.startswith(b"{"):
            continue
        try:
            entry = loads(line)
        except BadJson:
            continue
        message = _message_of(entry)
        if message is not None:
            return _status_after(message)
    return None


def _message_of(entry: Json) -> dict[str, Json] | None:
    """Return the message of a message entry, empty if it is no object; None for other entries."""
    if not isinstance(entry, dict):
        return None
    is_said = entry.get("kind") == "entry" and entry.get("schema") == TRANSCRIPT_SCHEMA
    message = entry.get("message") if is_said or entry.get("type") == "message" else None
    if isinstance(message, dict):
        return message
    # For JavaScript an empty list is a value, other empty values count as no message.
    return {} if message or message == [] else None


def _status_after(message: dict[str, Json]) -> SessionStatus | None:
    content = message.get("content")
    match message.get("role"), message.get("stopReason"):
        case "assistant", "error":
            return "error"
        case "assistant", "aborted":
            return "aborted"
        case "assistant", "length":
            return "interrupted"
        case "assistant", _:
            blocks = content if isinstance(content, list) else []
            has_calls = any(isinstance(block, dict) and block.get("type") == "toolCall" for block in blocks)
            return "interrupted" if has_calls else "complete"
        case "toolResult", _:
            return "interrupted"
        case "user", _:
            return "pending"
    return None
