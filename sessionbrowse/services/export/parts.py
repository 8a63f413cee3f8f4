"""Split an entry's content into parts for an export: texts, reasoning, tool calls, output, images."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

from sessionbrowse.model.edits import EDIT_KEYS, edits_of
from sessionbrowse.model.search.entry_text import content_text
from sessionbrowse.model.system_prompt import system_text
from sessionbrowse.text import clean, clean_lines

Json = Any
PartKind = Literal["text", "thinking", "call", "edit", "output", "diff", "image", "note"]

ROLES = {
    "user": "User",
    "assistant": "Assistant",
    "toolResult": "Tool result",
    "bashExecution": "Shell command",
    "pythonExecution": "Python",
    "developer": "Developer",
    "system": "System",
    "custom": "Note",
}
CHANGE_TYPES = frozenset({"model_change", "thinking_level_change", "service_tier_change", "mode_change"})
"""Types of entries that change settings; a page shows them folded, and never before the first message."""
_LONGEST_SHORT = 120
"""Length in characters of the longest argument that a page shows beside a tool's name."""
HIDDEN_TYPES = frozenset({"label", "session_info", "custom", "session_exit", "credential_pin", "title_change"})


SHOWN_AS_EDIT = frozenset({"edits", *[key for keys in EDIT_KEYS for key in keys]})


class PrintedPart(Struct, frozen=True):
    """A part of an entry for an export: its kind (text, call, image, …), title, and text (for an image: base64).

    Title and text are without control characters, except the data of an image, which no format prints unchecked.
    """

    kind: PartKind
    title: str
    text: str


def heading(value: dict[str, Json]) -> str:
    """Return the heading of an entry: the role of its message (with a tool's name), or the type of another entry."""
    message = value.get("message")
    if value.get("type") == "message" and isinstance(message, dict):
        role = str(message.get("role") or "message")
        name = message.get("toolName")
        shown = ROLES.get(role) or _marked(role)
        return f"{shown}: {name}" if isinstance(name, str) else shown
    return _marked(str(value.get("customType") or value.get("type") or "entry").replace("_", " ").capitalize())


def _marked(kind: str) -> str:
    """Return the heading for a role or type that the format does not define; never that of a user or a model."""
    return f"{kind} (other)" if clean(kind).strip().casefold() in {role.casefold() for role in ROLES.values()} else kind


def parts(value: dict[str, Json]) -> Iterator[PrintedPart]:
    """Yield the parts of an entry, given as a JSON object; nothing for an entry without text."""
    message = value.get("message")
    if value.get("type") == "message" and isinstance(message, dict):
        yield from _of_message(message)
        return
    if value.get("type") == "custom_message":
        # Texts that no program shows, such as Codex's rules for its model, are folded like the model's thoughts.
        for part in _of_content(value.get("content"), "text"):
            is_hidden = part.kind == "text" and value.get("display") is False
            yield PrintedPart("thinking", "hidden text", part.text) if is_hidden else part
    for key in ("summary", "name", "label", "modelId", "model", "thinkingLevel", "mode", "task"):
        if isinstance(value.get(key), str):
            yield PrintedPart("text" if key == "summary" else "note", key, _shown(value[key]))


def _of_message(message: dict[str, Json]) -> Iterator[PrintedPart]:
    role = message.get("role")
    for key in ("command", "code"):
        if isinstance(message.get(key), str):
            yield PrintedPart("call", key, _shown(message[key]))
    if role == "system":
        parts = (message.get(key) for key in ("sections", "toolsAdded", "toolsRemoved"))
        yield PrintedPart("text", "", _shown(system_text(content_text(message.get("content")), *parts)))
        return
    yield from _of_content(message.get("content"), "output" if role == "toolResult" else "text")
    if isinstance(message.get("output"), str):
        yield PrintedPart("output", "output", _shown(message["output"]))
    details = message.get("details")
    if isinstance(details, dict) and isinstance(details.get("diff"), str):
        yield PrintedPart("diff", "changes", _shown(details["diff"]))
    if isinstance(message.get("errorMessage"), str):
        yield PrintedPart("note", "error", _shown(message["errorMessage"]))
    files = message.get("files")
    for file in files if isinstance(files, list) else ():
        if isinstance(file, dict) and isinstance(file.get("path"), str):
            yield PrintedPart("output", clean(file["path"]), _shown(str(file.get("content") or "")))


def _of_content(content: Json, kind: PartKind) -> Iterator[PrintedPart]:
    if isinstance(content, str):
        yield PrintedPart(kind, "output" if kind == "output" else "", _shown(content))
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        match block.get("type"):
            case "text":
                yield PrintedPart(kind, "output" if kind == "output" else "", _shown(str(block.get("text") or "")))
            case "thinking":
                # A provider may give only a signature of what its model thought.
                if thought := str(block.get("thinking") or ""):
                    yield PrintedPart("thinking", "thinking", _shown(thought))
            case "toolCall":
                yield _call(clean(str(block.get("name") or "tool")), block.get("arguments"))
            case "image":
                yield PrintedPart("image", clean(str(block.get("mimeType") or "")), str(block.get("data") or ""))
            case other:
                yield PrintedPart("note", clean(str(other or "(no type)")), "")


def _call(name: str, arguments: Json) -> PrintedPart:
    """Return a tool call in the browser's form: short arguments beside the name, edits as lines, other text below."""
    if not isinstance(arguments, dict):
        return PrintedPart("call", name, "" if arguments is None else _shown(_json(arguments)))
    edits = edits_of(arguments)
    beside, below = [name], []
    for key, value in arguments.items():
        if edits and key in SHOWN_AS_EDIT:
            continue
        text = value if isinstance(value, str) else _json(value)
        if len(text) <= _LONGEST_SHORT and "\n" not in text:
            beside.append(clean(f"$ {text}" if key == "command" else f"{key} {text}"))
        else:
            below.append(f"{'$' if key == 'command' else key}\n{text}")
    for old, new in edits:
        below += [f"-{line}" for line in old.split("\n")] + [f"+{line}" for line in new.split("\n")]
    return PrintedPart("edit" if edits else "call", "  ".join(beside), _shown("\n".join(below)))


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _shown(text: str) -> str:
    """Return a text without control characters, because a terminal would execute them."""
    return "\n".join(clean_lines(text))
