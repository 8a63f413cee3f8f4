"""Shrink entries: replace images and output of tools by short texts, and drop reasoning.

The functions return edits of one entry's line; the entry, its id and its parent stay in the session.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sessionbrowse.format.json_value import Json, json_bytes
from sessionbrowse.format.splice import Edits, Path
from sessionbrowse.model.clean.blocks import media_placeholder, medium, short_call_id
from sessionbrowse.model.clean.plan import CleanPlan
from sessionbrowse.model.session.parents import ROOT
from sessionbrowse.model.session.session import Session
from sessionbrowse.text import size as shown_size

_OUTPUT_ROLES = frozenset({"bashExecution", "pythonExecution"})
_THINKING = frozenset({"thinking", "redactedThinking"})
_EXTRAS = ("details", "nestedCalls", "jsonlEvents")
_DATA_URL = "data:"


class Shrunk(Struct, frozen=True):
    """The edits that shrink one line, and the number of images that they replace."""

    edits: Edits
    images: int = 0


def shrunk(value: dict[str, Json], plan: CleanPlan, *, may_drop_thinking: bool, new_call_id: str | None) -> Shrunk:
    """Return the edits that shrink one entry's line according to the plan of the clean copy.

    `new_call_id` is the new value of a tool result's `toolCallId`, None to keep it.
    """
    edits: dict[Path, bytes | None] = {}
    message = value.get("message")
    body: dict[str, Json] = message if value.get("type") == "message" and isinstance(message, dict) else {}
    if plan.results_over is not None:
        edits |= _without_output(body, plan.results_over)
    images = 0
    if plan.images:
        for path, medium in _media(value):
            if not any(path[:length] in edits for length in range(len(path))):
                edits[path] = json_bytes(medium)
                images += 1
    if plan.thinking and may_drop_thinking:
        edits |= _without_thinking(body)
    if new_call_id is not None:
        edits["message", "toolCallId"] = json_bytes(new_call_id)
    return Shrunk(edits, images)


def drops_thinking(value: dict[str, Json]) -> bool:
    """Return True if an entry is an assistant message that has reasoning and also other content."""
    message = value.get("message")
    return isinstance(message, dict) and bool(_without_thinking(message))


def recent_answers(session: Session) -> set[int]:
    """Return the entries after the last user message of each branch; providers require their reasoning."""
    has_child = set(session.parents)
    found: set[int] = set()
    for leaf in range(len(session.parents)):
        if leaf in has_child:
            continue
        at = leaf
        while at != ROOT and at not in found and session.envelopes[at].role != "user":
            found.add(at)
            at = session.parents[at]
    return found


def _without_thinking(message: dict[str, Json]) -> dict[Path, bytes | None]:
    content = message.get("content")
    if message.get("role") != "assistant" or not isinstance(content, list):
        return {}
    gone = [at for at, block in enumerate(content) if isinstance(block, dict) and block.get("type") in _THINKING]
    # Providers refuse an assistant message without content, so a message keeps reasoning that is its only content.
    if not gone or len(gone) == len(content):
        return {}
    edits: dict[Path, bytes | None] = {("message", "content", at): None for at in gone}
    for at, block in enumerate(content):
        if at in gone or not isinstance(block, dict):
            continue
        for key in ("textSignature", "thoughtSignature"):
            if key in block:
                edits["message", "content", at, key] = None
        call_id = block.get("id")
        if block.get("type") == "toolCall" and isinstance(call_id, str) and short_call_id(call_id) != call_id:
            edits["message", "content", at, "id"] = json_bytes(short_call_id(call_id))
    return edits


def _without_output(message: dict[str, Json], limit: int) -> dict[Path, bytes | None]:
    edits: dict[Path, bytes | None] = {}
    role = message.get("role")
    if role in _OUTPUT_ROLES:
        output = message.get("output")
        if isinstance(output, str) and _size(output) > limit:
            edits["message", "output"] = json_bytes(_placeholder("output", _size(output)))
        return edits
    if role != "toolResult":
        return edits
    content = message.get("content")
    if isinstance(content, str) and _size(content) > limit:
        edits["message", "content"] = json_bytes(_placeholder("tool result", _size(content)))
    texts = [
        (at, block["text"])
        for at, block in enumerate(content if isinstance(content, list) else ())
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    total = sum(_size(text) for _, text in texts)
    if total > limit:
        for number, (at, _) in enumerate(texts):
            first = json_bytes(_placeholder("tool result", total))
            # A short text replaces the first text block of the tool result. The other text blocks are removed, because
            # providers refuse empty blocks.
            path: Path = ("message", "content", at, "text") if number == 0 else ("message", "content", at)
            edits[path] = first if number == 0 else None
    for key in _EXTRAS:
        if key in message and len(json_bytes(message[key])) > limit:
            edits["message", key] = None
    return edits


def _media(value: dict[str, Json]) -> Iterator[tuple[Path, dict[str, Json] | str]]:
    """Yield the JSON path of each image or other medium in an entry, and its placeholder (a text block or a text)."""
    waiting: list[tuple[Path, Json]] = [((), value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, list):
            waiting += [((*path, at), one) for at, one in enumerate(item)]
        elif isinstance(item, dict):
            found = medium(item)
            if found is None:
                waiting += [((*path, key), one) for key, one in item.items()]
            else:
                yield path, {"type": "text", "text": found}
        elif isinstance(item, str) and item.startswith(_DATA_URL) and ";base64," in item[:200]:
            kind = item[len(_DATA_URL) :].split(";", 1)[0]
            yield path, media_placeholder(kind, len(item))


def _placeholder(what: str, size: int) -> str:
    return f"[{what} removed: {shown_size(size)}]"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
