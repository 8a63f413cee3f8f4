"""Compute the status of a session (complete, interrupted, error, …) from its last message, by omp's rule."""

from __future__ import annotations

from sessionbrowse.format.entries import TRANSCRIPT_SCHEMA
from sessionbrowse.format.json_value import Json, json_object
from sessionbrowse.format.ordinary_line import REFUSALS, OrdinaryAnswer, OrdinaryResult, OrdinaryUser, decode_ordinary
from sessionbrowse.model.listing.summary import SessionStatus

STATUS_BYTES = 32 * 1024
"""Number of bytes at a file's end in which omp looks for the last message."""


def status_at_end(end: bytes) -> SessionStatus | None:
    """Return a session's status, given the last bytes of its file (at most `STATUS_BYTES`); None if unknown.

    The rule is that of omp's session list (18.2.3): the last complete message in the file decides, even on an inactive
    branch. pi, atomic and indusagi show no status in their lists, so omp's rule is used for their sessions too.
    """
    stop = len(end)
    while stop >= 0:
        start = end.rfind(b"\n", 0, stop) + 1
        line = end[start:stop]
        stop = start - 1
        # omp skips lines that do not begin with `{`. The first line may be one: `end`, the last bytes of the file, may
        # begin in the middle of a line.
        if not line.startswith(b"{"):
            continue
        try:
            said = _ordinary(decode_ordinary(line).message)
        except REFUSALS:
            said = _odd(line)
        if said is not None:
            return status_after(*said)
    return None


_Said = tuple[Json, Json, bool]
"""Three facts of a message: its role, its stop reason, and True if it calls tools."""


def _ordinary(message: OrdinaryUser | OrdinaryAnswer | OrdinaryResult | None) -> _Said | None:
    """Return role, stop reason and tool-call flag of a message that `decode_ordinary` decoded."""
    if message is None:
        return None
    blocks = message.content if isinstance(message, OrdinaryAnswer) and isinstance(message.content, list) else []
    return message.role, message.stopReason, "toolCall" in [block.type for block in blocks]


def _odd(line: bytes) -> _Said | None:
    """Return role, stop reason and tool-call flag of the message in any line; None if the line contains no message.

    The role is None if the message is no JSON object.
    """
    entry = json_object(line)
    if entry is None:
        return None
    is_said = entry.get("kind") == "entry" and entry.get("schema") == TRANSCRIPT_SCHEMA
    message = entry.get("message") if is_said or entry.get("type") == "message" else None
    if not isinstance(message, dict):
        # omp tests `if (message)`: in JavaScript an empty list counts as true, but null, 0 and "" count as false.
        return (None, None, False) if message or message == [] else None
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    has_calls = any(isinstance(block, dict) and block.get("type") == "toolCall" for block in blocks)
    return message.get("role"), message.get("stopReason"), has_calls


def status_after(role: Json, stop_reason: Json, has_calls: bool) -> SessionStatus | None:
    """Return the status of a session from its last message: role, stop reason, and True if the message calls tools."""
    if role == "assistant":
        return _AFTER_ANSWER.get(str(stop_reason)) or ("interrupted" if has_calls else "complete")
    return _AFTER_OTHERS.get(str(role))


_AFTER_ANSWER: dict[str, SessionStatus] = {"error": "error", "aborted": "aborted", "length": "interrupted"}
_AFTER_OTHERS: dict[str, SessionStatus] = {"toolResult": "interrupted", "user": "pending"}
