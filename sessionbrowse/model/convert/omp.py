"""Convert entries of omp to entries of pi, and back (omp 18.2.3 and 18.3.4, pi 0.87.1 and 1.6.0)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from sessionbrowse.format.json_value import Json, json_bytes, json_object
from sessionbrowse.format.title_slot import Source
from sessionbrowse.model.convert.carried import (
    Entry,
    ReadImage,
    based,
    marked,
    message_of,
    nearest_outside,
    new_entry,
    notes_of,
    text_of,
    unwrapped,
    wrapped,
)
from sessionbrowse.model.session.rules import OMP_ONLY_TYPES

BLOB = "blob:sha256:"
_REFERENCE = re.compile(f'(?<="data":"){BLOB}[0-9a-f]{{64}}(?=")')
NAME_TRIGGER = "pi.session_info"
ROLE_TYPE = "omp.role"
LOST_IMAGE = "ompImage"
"""The key of a text block under which the image is kept that omp's store lacks."""
_REDACTED = "[Reasoning redacted]"
_MODEL_ROLES = frozenset({"developer", "pythonExecution", "fileMention", "hookMessage"})
_SUMMARIES = frozenset({"compaction", "branch_summary"})


def name_line(title: str, source: Source | None, parent_id: Json, timestamp: Json, session_id: str) -> Entry:
    """Return the entry that names a session in pi's format, for the end of the file; equal names get equal ids."""
    named = new_entry(f"{session_id}\0{title}", parent_id, timestamp, {"type": "session_info", "name": title})
    return marked(named, "title", source)


def is_name_line(entry: Entry) -> bool:
    """Return True for an entry that `name_line` made."""
    return entry.get("type") == "session_info" and "title" in notes_of(entry)


def without_name_lines(entries: list[Entry]) -> list[Entry]:
    """Return entries without those that `name_line` made; their children become children of their parents."""
    above = {one["id"]: one.get("parentId") for one in entries if is_name_line(one) and isinstance(one.get("id"), str)}
    kept = []
    for one in entries:
        parent = nearest_outside(above, one.get("parentId"))
        if not is_name_line(one):
            kept.append(one if parent == one.get("parentId") else {**one, "parentId": parent})
    return kept


# ---- omp to pi -----------------------------------------------------------------------------------------------


def to_pi(entry: Entry, read_image: ReadImage) -> Entry:
    """Convert an entry of omp to pi's format."""
    kind, message, model = text_of(entry, "type"), message_of(entry), entry.get("model")
    role = text_of(message, "role")
    if role in _MODEL_ROLES or (role == "bashExecution" and message.get("images")):
        if message.get("excludeFromContext"):
            return wrapped(entry, "omp")
        made = {"type": "custom_message", "customType": ROLE_TYPE, "content": _seen_by_model(message), "display": True}
        return inlined(based(entry, {**made, "details": message}), read_image)
    if kind == "title_change" and entry.get("trigger") == NAME_TRIGGER:
        return based(entry, {"type": "session_info", "name": entry.get("title")})
    if kind == "model_change" and "provider" not in entry and isinstance(model, str):
        provider, slash, name = model.partition("/")
        if slash and entry.get("role") in (None, "default"):
            return _renamed(entry, "model", {"provider": provider, "modelId": name})
        return wrapped(entry, "omp")
    if kind == "model_usage":
        usage: Entry = {key: entry[key] for key in ("provider", "model", "usage") if key in entry}
        return based(entry, {"type": "usage", "kind": entry.get("purpose") or "model_usage", **usage})
    if kind in OMP_ONLY_TYPES:
        return wrapped(entry, "omp")
    if kind in _SUMMARIES and "fromExtension" in entry and "fromHook" not in entry:
        return _renamed(entry, "fromExtension", {"fromHook": entry["fromExtension"]})
    if kind == "thinking_level_change" and not isinstance(entry.get("thinkingLevel"), str):
        return {**entry, "thinkingLevel": "off"}
    return _with_blocks(inlined(entry, read_image), _block_to_pi)


def _seen_by_model(message: Entry) -> Json:
    """Return the content that omp sends to the model for a message whose role pi does not know."""
    content, images, listed = message.get("content"), message.get("images"), message.get("files")
    match message.get("role"):
        case "pythonExecution":
            return _ran(message, f"Ran Python:\n```python\n{text_of(message, 'code')}\n```\n", "Output:\n", "execution")
        case "bashExecution":
            ran = _ran(message, f"Ran `{text_of(message, 'command')}`\n", "", "command")
            return [{"type": "text", "text": ran}, *images] if isinstance(images, list) else ran
        case "fileMention":
            files = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
            groups = [[one for one in files if bool(one.get("image")) is has_image] for has_image in (False, True)]
            texts = [{"type": "text", "text": "\n".join(map(_mention, group))} for group in groups if group]
            return [*texts, *(one["image"] for one in groups[1])]
    return content if isinstance(content, str | list) else ""


def _mention(file: Entry) -> str:
    inner = f"\n{file['content']}\n" if file.get("content") else "\n"
    return f'<file path="{text_of(file, "path")}">{inner}</file>'


def _ran(message: Entry, start: str, before_output: str, what: str) -> str:
    output, code = message.get("output"), message.get("exitCode")
    text = f"{start}{before_output}```\n{output}\n```" if output else f"{start}(no output)"
    if message.get("cancelled"):
        return f"{text}\n\n({what} cancelled)"
    failed = "Command exited" if what == "command" else "Execution failed"
    return f"{text}\n\n{failed} with code {code}" if code not in (None, 0) else text


def _block_to_pi(block: Entry) -> Entry:
    if block.get("type") != "redactedThinking" or not isinstance(block.get("data"), str):
        return block
    made = _renamed(block, "data", {"thinkingSignature": block["data"], "redacted": True})
    return {"thinking": _REDACTED} | made | {"type": "thinking"}


# ---- pi to omp -----------------------------------------------------------------------------------------------


def from_pi(entry: Entry, _: ReadImage) -> Entry:
    """Convert an entry of pi to omp's format."""
    kind, details = text_of(entry, "type"), entry.get("details")
    provider, model = entry.get("provider"), entry.get("modelId")
    if kind == "custom":
        return unwrapped(entry, "omp") or entry
    if kind == "session_info":
        title = text_of(entry, "name")
        return based(entry, {"type": "title_change", "title": title, "source": "user", "trigger": NAME_TRIGGER})
    if kind == "model_change" and "model" not in entry and isinstance(provider, str) and isinstance(model, str):
        return _renamed(entry, "provider", {"model": f"{provider}/{model}"}, "modelId")
    if kind in _SUMMARIES and "fromHook" in entry and "fromExtension" not in entry:
        return _renamed(entry, "fromHook", {"fromExtension": entry["fromHook"]})
    if kind == "custom_message" and entry.get("customType") == ROLE_TYPE and isinstance(details, dict):
        return based(entry, {"type": "message", "message": details})
    return _with_blocks(entry, _block_from_pi)


def _block_from_pi(block: Entry) -> Entry:
    if block.get("type") == "text" and isinstance(block.get(LOST_IMAGE), dict):
        return dict(block[LOST_IMAGE])
    signature = block.get("thinkingSignature")
    if block.get("type") == "thinking" and block.get("redacted") is True and isinstance(signature, str):
        made = _renamed(block, "thinkingSignature", {"data": signature}, "redacted")
        if made.get("thinking") == _REDACTED:
            del made["thinking"]
        return made | {"type": "redactedThinking"}
    return block


# ---- both ----------------------------------------------------------------------------------------------------


def _renamed(value: Entry, key: str, instead: Entry, *gone: str) -> Entry:
    """Replace the member `key` of an object by the members of `instead`, at the same place; drop the members `gone`."""
    made: Entry = {}
    for name, member in value.items():
        if name not in gone:
            made |= instead if name == key else {name: member}
    return made


def _with_blocks(entry: Entry, change: Callable[[Entry], Entry]) -> Entry:
    """Apply `change` to an entry's content blocks; return the same object if no block changes."""
    holder = message_of(entry) or entry
    content = holder.get("content")
    if not isinstance(content, list):
        return entry
    blocks = [change(block) if isinstance(block, dict) else block for block in content]
    if all(new is old for new, old in zip(blocks, content, strict=True)):
        return entry
    changed = {**holder, "content": blocks}
    return changed if holder is entry else {**entry, "message": changed}


def inlined(entry: Entry, read_image: ReadImage) -> Entry:
    """Return an entry with the data of its images in it, instead of references to omp's blob store."""
    return _with_blocks(entry, partial(_inlined_block, read_image))


def with_images(entry: Entry, read_image: ReadImage) -> Entry:
    """Return an entry with all images in it that omp has moved into its blob store, from any list in an entry."""
    text = json_bytes(entry).decode()
    return json_object(_REFERENCE.sub(lambda found: read_image(found[0]) or found[0], text).encode()) or entry


def _inlined_block(read_image: ReadImage, block: Entry) -> Entry:
    data = block.get("data")
    if block.get("type") != "image" or not isinstance(data, str) or not data.startswith(BLOB):
        return block
    found = read_image(data)
    # If the reference stayed as the image's data, the provider would get invalid base64.
    missing = {"type": "text", "text": f"[image not available: {data}]", LOST_IMAGE: block}
    return missing if found is None else {**block, "data": found}
