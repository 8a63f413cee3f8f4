"""The status of a session: how its last message leaves the work, judged by omp's rule."""

from __future__ import annotations

from sessionbrowse.format.entries import TRANSCRIPT_SCHEMA
from sessionbrowse.format.json_value import BadJson, Json, loads
from sessionbrowse.format.ordinary_line import REFUSALS, OrdinaryAnswer, OrdinaryResult, OrdinaryUser, decode_ordinary
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
            said = _ordinary(decode_ordinary(line).message)
        except REFUSALS:
            said = _odd(line)
        if said is not None:
            return _status_after(*said)
    return None


_Said = tuple[Json, Json, bool]
"""The role and stop reason of a message, and True if it calls tools."""


def _ordinary(message: OrdinaryUser | OrdinaryAnswer | OrdinaryResult | None) -> _Said | None:
    """Return what an ordinary entry says; this takes half the time of `_odd`."""
    if message is None:
        return None
    blocks = message.content if isinstance(message, OrdinaryAnswer) and isinstance(message.content, list) else []
    return message.role, message.stopReason, "toolCall" in [block.type for block in blocks]


def _odd(line: bytes) -> _Said | None:
    """Return what a line says, without role if its message is no object; None for lines that hold no message."""
    try:
        entry = loads(line)
    except BadJson:
        return None
    if not isinstance(entry, dict):
        return None
    is_said = entry.get("kind") == "entry" and entry.get("schema") == TRANSCRIPT_SCHEMA
    message = entry.get("message") if is_said or entry.get("type") == "message" else None
    if not isinstance(message, dict):
        # omp asks whether the message is true: in JavaScript an empty list is, while null, 0 and "" are not.
        return (None, None, False) if message or message == [] else None
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    has_calls = any(isinstance(block, dict) and block.get("type") == "toolCall" for block in blocks)
    return message.get("role"), message.get("stopReason"), has_calls


def _status_after(role: Json, stop_reason: Json, has_calls: bool) -> SessionStatus | None:
    match role, stop_reason:
        case "assistant", "error":
            return "error"
        case "assistant", "aborted":
            return "aborted"
        case "assistant", "length":
            return "interrupted"
        case "assistant", _:
            return "interrupted" if has_calls else "complete"
        case "toolResult", _:
            return "interrupted"
        case "user", _:
            return "pending"
    return None
