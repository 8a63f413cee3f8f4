"""The context of a session as JSON objects like those in the file, and pi's functions on lists of entries (pi 1.5.2).

`model/context` selects the messages that the model receives, by each program's rules. This module returns
these messages as JSON objects with the keys of the session file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from sessionbrowse.agents import AGENTS
from sessionbrowse.format.entries import Compaction
from sessionbrowse.format.json_value import BadJson, json_line, loads, trim
from sessionbrowse.format.lines import line_blocks
from sessionbrowse.manager.memory_session import (
    CURRENT_SESSION_VERSION,
    EntryObject,
    MemorySession,
    id_of,
    plain,
    time_ms,
)
from sessionbrowse.model.context import build as model_context
from sessionbrowse.model.context.message import ContextMessage, ModelRef, context_message, stored_message
from sessionbrowse.model.context.pi import entries_taking_part
from sessionbrowse.model.fork import ReadLine
from sessionbrowse.model.session.rules import Rules
from sessionbrowse.model.session.session import Session, build_session

Json = Any
MessageObject = dict[str, Json]
"""A message as a dict with camelCase keys: copied from the file, or built from a summary as the agent does."""

_PI = AGENTS["pi"].rules
_HEADER: EntryObject = {"type": "session", "version": CURRENT_SESSION_VERSION, "id": "", "timestamp": "", "cwd": ""}
_REPAIRED_ROLES = frozenset({"user", "assistant", "toolResult"})
_EDITABLE_ROLES = frozenset({"user", "assistant", "toolResult", "custom"})
_BLOCK_ROLES = frozenset({"assistant", "toolResult"})


class ModelChoice(Struct, frozen=True, kw_only=True):
    """Provider and id of a model, as the session file contains them."""

    provider: str | None
    model_id: str | None


class SessionContext(Struct, frozen=True, kw_only=True):
    """The messages that the model would receive, and the settings at the leaf.

    `messages` have the file's keys; summaries have the roles `compactionSummary` and `branchSummary`, and a `timestamp`
    in milliseconds. The last six fields are set only for omp.
    """

    messages: list[MessageObject]
    thinking_level: str | None = "off"
    model: ModelChoice | None = None
    models: dict[str, str] = {}
    service_tier: dict[str, str] | None = None
    mode: str = "none"
    mode_data: Json = None
    injected_ttsr_rules: tuple[str, ...] = ()
    configured_thinking_level: str | None = None


class ProjectedEntry(Struct, frozen=True, kw_only=True):
    """An entry of the context, and the messages that the model receives for it (none, one, or two)."""

    source_entry: EntryObject
    messages: list[MessageObject]


class SessionProjection(Struct, frozen=True, kw_only=True):
    """pi's context, and the entry from which each message comes (pi 0.87)."""

    entries: list[ProjectedEntry]
    messages: list[MessageObject]
    thinking_level: str | None
    model: ModelChoice | None


def context_of(memory: MemorySession) -> SessionContext:
    """Return the context at a session's leaf, by the rules of the session's program."""
    return _context(memory.rules, memory.header, memory.branch(memory.leaf))


# ---- pi's functions over entries -----------------------------------------------------------------------------


def parse_session_entries(content: str | bytes) -> list[Json]:
    """Return the JSON values of a file's lines, including the header; lines that are not JSON are left out."""
    text = content if isinstance(content, str) else content.decode("utf-8", "replace")
    found: list[Json] = []
    for line in trim(text).split("\n"):
        if not trim(line):
            continue
        try:
            found.append(loads(line.encode("utf-8", "surrogatepass")))
        except BadJson:
            continue
    return found


def get_latest_compaction_entry(entries: Iterable[EntryObject]) -> EntryObject | None:
    """Return the last compaction entry of a list, None if there is none."""
    found = None
    for entry in entries:
        if entry.get("type") == "compaction":
            found = entry
    return found


def build_context_entries(
    entries: list[EntryObject], leaf_id: str | UnsetType | None = UNSET, by_id: Mapping[str, EntryObject] | None = None
) -> list[EntryObject]:
    """Return the entries in pi's context at a leaf: the latest compaction, the entries it keeps, and all later ones.

    If `leaf_id` is None, the leaf is before the first entry; if omitted or unknown, the last entry is the leaf.
    """
    path = _path(entries, leaf_id, by_id)
    session, _ = session_of(_PI, [_HEADER, *path])
    return [path[index] for index in entries_taking_part(session, session.branch(session.leaf))]


def build_session_projection(
    entries: list[EntryObject], leaf_id: str | UnsetType | None = UNSET, by_id: Mapping[str, EntryObject] | None = None
) -> SessionProjection:
    """Return pi's context at a leaf, together with the entry from which each message comes."""
    path = _path(entries, leaf_id, by_id)
    session, _ = session_of(_PI, [_HEADER, *path])
    made = model_context.build(session)
    messages = _objects(session, path, made.messages)
    by_index: dict[int | None, list[MessageObject]] = {}
    for message, as_object in zip(made.messages, messages, strict=True):
        by_index.setdefault(message.index, []).append(as_object)
    return SessionProjection(
        entries=[
            ProjectedEntry(source_entry=path[index], messages=by_index.get(index, []))
            for index in entries_taking_part(session, session.branch(session.leaf))
        ],
        messages=messages,
        thinking_level=made.thinking_level,
        model=_choice(made.model),
    )


def build_session_context(
    entries: list[EntryObject], leaf_id: str | UnsetType | None = UNSET, by_id: Mapping[str, EntryObject] | None = None
) -> SessionContext:
    """Return pi's context at a leaf: messages, thinking level, model."""
    return _context(_PI, _HEADER, _path(entries, leaf_id, by_id))


def session_entry_to_context_messages(entry: EntryObject) -> list[MessageObject]:
    """Return the messages that the model receives for one entry: none, one, or a system message and a summary."""
    return _messages_of(entry, repairs=True)


def current_system_message(messages: Iterable[MessageObject]) -> MessageObject | None:
    """Merge all system messages into one with the current prompt and tools (pi 0.86); None if there are none."""
    texts: list[str] = []
    sections: dict[str, Json] = {}
    tools: dict[Json, Json] = {}
    timestamp: Json = None
    for message in messages:
        if message.get("role") != "system":
            continue
        timestamp = message.get("timestamp") if timestamp is None else timestamp
        text = _content_text(message.get("content"))
        if text:
            texts.append(text)
        for name, value in (message.get("sections") or {}).items():
            sections.pop(name, None) if value is None else sections.__setitem__(name, value)
        for tool in message.get("toolsRemoved") or ():
            tools.pop(tool.get("name"), None)
        for tool in message.get("toolsAdded") or ():
            tools[tool.get("name")] = tool
    if timestamp is None and not tools:
        return None
    return {
        "role": "system",
        "content": "\n\n".join(texts),
        **({"sections": sections} if sections else {}),
        **({"toolsAdded": list(tools.values())} if tools else {}),
        "timestamp": timestamp or 0,
    }


def _path(
    entries: list[EntryObject], leaf_id: str | UnsetType | None, by_id: Mapping[str, EntryObject] | None
) -> list[EntryObject]:
    if leaf_id is None or not entries:
        return []
    known = by_id if by_id is not None else {found: entry for entry in entries if (found := id_of(entry))}
    leaf = known.get(leaf_id) if isinstance(leaf_id, str) else None
    path: list[EntryObject] = []
    seen: set[int] = set()
    current: EntryObject | None = leaf or entries[-1]
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        path.append(current)
        parent = current.get("parentId")
        current = known.get(parent) if isinstance(parent, str) and parent else None
    path.reverse()
    return path


def _messages_of(entry: EntryObject, *, repairs: bool) -> list[MessageObject]:
    timestamp = time_ms(entry.get("timestamp"))
    match entry.get("type"):
        case "message":
            message = entry.get("message")
            if not isinstance(message, dict):
                return []
            role = message.get("role")
            if repairs and message.get("content") is None and (role in _REPAIRED_ROLES or role == "system"):
                return [{**message, "content": "" if role == "system" else []}]
            return [message]
        case "custom_message":
            made = {"role": "custom", "customType": entry.get("customType"), "content": entry.get("content")}
            if repairs and made["content"] is None:
                made["content"] = []
            made |= {key: entry[key] for key in ("display", "details") if key in entry}
            return [made | {"timestamp": timestamp}]
        case "branch_summary" if entry.get("summary"):
            made = {"role": "branchSummary", "summary": entry["summary"], "fromId": entry.get("fromId")}
            return [made | {"timestamp": timestamp}]
        case "compaction":
            made = {"role": "compactionSummary", "summary": entry.get("summary")}
            made |= {"tokensBefore": entry.get("tokensBefore"), "timestamp": timestamp}
            system = entry.get("systemMessage") if repairs else None
            return [system, made] if isinstance(system, dict) else [made]
        case _:
            return []


def _content_text(content: Json) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(block.get("text", "") for block in blocks if isinstance(block, dict) and block["type"] == "text")


# ---- the model's context as objects --------------------------------------------------------------------------


def _context(rules: Rules, header: EntryObject, path: list[EntryObject]) -> SessionContext:
    if not path:
        return SessionContext(messages=[])
    session, _ = session_of(rules, [header, *path])
    made = model_context.build(session)
    context = SessionContext(
        messages=_objects(session, path, made.messages), thinking_level=made.thinking_level, model=_choice(made.model)
    )
    if made.omp is None:
        return context
    return replace(context, **asdict(made.omp))


def _choice(model: ModelRef | None) -> ModelChoice | None:
    return ModelChoice(provider=model.provider, model_id=model.model_id) if model is not None else None


def session_of(rules: Rules, objects: Iterable[EntryObject]) -> tuple[Session, ReadLine]:
    """Return a `Session` built from JSON objects as if from a file, and a function that reads that file's bytes."""
    content = b"".join(json_line(value) for value in objects)

    def read(offset: int, size: int) -> bytes:
        return content[offset : offset + size]

    return build_session(line_blocks([content]), rules, "memory", read), read


def _objects(session: Session, path: list[EntryObject], messages: Iterable[ContextMessage]) -> list[MessageObject]:
    """Return the messages of a context as JSON objects; in pi sessions, with the context edits in `path` applied."""
    edits = {
        entry.get("targetId"): entry["replacement"].get("content")
        for entry in path
        if entry.get("type") == "context_edit" and isinstance(entry.get("replacement"), dict)
    }
    return [_object_of(session, path, message, edits) for message in messages]


def _object_of(
    session: Session, path: list[EntryObject], message: ContextMessage, edits: Mapping[Json, Json]
) -> MessageObject:
    """Return a context message as a JSON object.

    If the program sends the message unchanged, this is the object in the file. Otherwise it is a new object with the
    content that the program sends.
    """
    index = message.index
    entry: EntryObject = path[index] if index is not None else {}
    is_pi = session.rules.context == "pi"
    source = _messages_of(entry, repairs=is_pi or session.rules.agent == "atomic")
    kind = entry.get("type")
    if is_pi or session.rules.context == "indusagi":
        made = source[0] if message.role == "system" else source[-1]
        if not is_pi or entry.get("id") not in edits or message.role not in _EDITABLE_ROLES:
            return made
        content = edits[entry["id"]]
        in_blocks = message.role in _BLOCK_ROLES and isinstance(content, str)
        return {**made, "content": [{"type": "text", "text": content}] if in_blocks else content}
    if kind == "message" and index is not None and source:
        stored = stored_message(session, index)
        if stored is not None and context_message(session, index, message.role, stored).message == message.message:
            return source[0]
        return {**source[0], "content": [plain(block) for block in message.blocks]}
    if kind == "compaction" and isinstance(message.message, Compaction):
        names = ("shortSummary", "tokensAfter", "method", "warning")
        extra = {name: entry[name] for name in names if entry.get(name) is not None}
        blocks = {"blocks": [plain(block) for block in message.blocks]} if message.blocks else {}
        return source[-1] | extra | blocks
    if kind == "custom_message" or kind == "branch_summary":
        extra = {name: entry[name] for name in ("attribution", "excludeFromContext") if name in entry}
        made = source[0] | extra if source else plain(message.message)
        return made if made.get("customType") else made | ({"customType": message.custom_type} if extra else {})
    made = plain(message.message)
    assert isinstance(made, dict)
    return made | {"timestamp": time_ms(entry.get("timestamp"))}
