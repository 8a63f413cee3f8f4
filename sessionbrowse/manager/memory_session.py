"""A session in memory: header, entries as the file's own JSON objects, tree, labels, leaf.

Nothing in this module reads or writes the disk. Entries are the decoded JSON objects themselves, so that unknown keys
keep their position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import UNSET

from sessionbrowse.format.codec import type_name
from sessionbrowse.format.entries import Block, Compaction, Message, UnknownBlock, Value
from sessionbrowse.format.json_value import is_true, trim
from sessionbrowse.model.session.records import generation_of
from sessionbrowse.model.session.rules import Rules
from sessionbrowse.model.session.session import Session
from sessionbrowse.text import parse_time

Json = Any
EntryObject = dict[str, Json]
"""An entry as a dict like the JSON object in the file: keys in camelCase, times as ISO 8601 UTC with milliseconds."""

CURRENT_SESSION_VERSION = 3
"""The format version that all four programs write (pi 0.35 and newer)."""


class SessionTreeNode:
    """One entry of the tree with its children, oldest first.

    Nodes are compared by identity, because comparing trees of tens of thousands of nodes would overflow the stack.
    """

    __slots__ = ("children", "entry", "label", "label_timestamp")

    def __init__(self, entry: EntryObject, label: str | None, label_timestamp: str | None) -> None:
        self.entry = entry
        self.label = label
        self.label_timestamp = label_timestamp
        self.children: list[SessionTreeNode] = []

    def __repr__(self) -> str:
        return f"<SessionTreeNode {self.entry.get('type')} {self.entry.get('id')}, {len(self.children)} children>"


class MemorySession:
    """Header and entries of one session in memory; `add` updates ids, labels and leaf."""

    def __init__(self, rules: Rules, header: EntryObject, entries: Iterable[EntryObject] = ()) -> None:
        self.rules = rules
        self.header = header
        self.entries: list[EntryObject] = []
        self.by_id: dict[str, EntryObject] = {}
        self.labels: dict[str, tuple[str, Json]] = {}
        self.leaf: str | None = None
        for entry in entries:
            self.add(entry)

    @property
    def last_id(self) -> str | None:
        """The id of the last entry in file order, which is the leaf when a program loads the file."""
        return id_of(self.entries[-1]) if self.entries else None

    def add(self, entry: EntryObject) -> None:
        """Add an entry to the session, after all others, and make it the leaf."""
        self.entries.append(entry)
        entry_id = id_of(entry)
        if entry_id is not None:
            self.by_id[entry_id] = entry
        self.leaf = entry_id
        if entry.get("type") == "label" and isinstance(entry.get("targetId"), str):
            if is_true(entry.get("label")):
                self.labels[entry["targetId"]] = (entry["label"], entry.get("timestamp"))
            else:
                self.labels.pop(entry["targetId"], None)

    def has_conversation(self) -> bool:
        """Return True if the session has a message that makes its program write the session to disk.

        For pi 0.99 and newer that is a user or assistant message; for omp 18, atomic 0.9 and indusagi 0.12 an
        assistant message.
        """
        wanted = ("user", "assistant") if self.rules.agent == "pi" else ("assistant",)
        return any(role_of(entry) in wanted for entry in self.entries)

    def branch(self, from_id: str | None) -> list[EntryObject]:
        """Return the path from the root to an entry; a cycle of parents ends the path (pi would loop endlessly)."""
        path: list[EntryObject] = []
        seen: set[str] = set()
        current = from_id
        while current and current not in seen and current in self.by_id:
            seen.add(current)
            entry = self.by_id[current]
            path.append(entry)
            parent = entry.get("parentId")
            current = parent if isinstance(parent, str) else None
        path.reverse()
        return path

    def children(self, parent_id: str | None) -> list[EntryObject]:
        """Return an entry's direct children in file order; for None, the entries without a parent."""
        return [entry for entry in self.by_id.values() if entry.get("parentId", UNSET) == parent_id]

    def tree(self) -> list[SessionTreeNode]:
        """Return the roots in file order: entries whose parent is None, missing from the file, or the entry itself."""
        nodes: dict[str | None, SessionTreeNode] = {}
        for entry in self.entries:
            label, time = self.labels.get(id_of(entry) or "", (None, None))
            nodes[id_of(entry)] = SessionTreeNode(entry, label, time if self.rules.agent in ("pi", "atomic") else None)
        roots: list[SessionTreeNode] = []
        for entry in self.entries:
            node, parent_id = nodes[id_of(entry)], entry.get("parentId")
            parent = nodes.get(parent_id) if isinstance(parent_id, str) and parent_id != id_of(entry) else None
            (roots if parent is None else parent.children).append(node)
        for node in nodes.values():
            if len(node.children) > 1:
                node.children.sort(key=lambda child: time_ms(child.entry.get("timestamp")) or 0)
        return roots

    def name(self) -> str | None:
        """Return the session's display name by the rules of its program, None if there is no name."""
        if self.rules.name == "title_slot":
            title = self.header.get("title")
            return title if isinstance(title, str) and title else None
        for entry in reversed(self.entries):
            if entry.get("type") != "session_info":
                continue
            name = entry.get("name")
            text = name if isinstance(name, str) else ""
            if self.rules.name == "session_info_filled":
                if text:
                    return text
                continue
            return trim(text) or None
        return None

    def without_last(self) -> Callable[[], None]:
        """Return a function that reverts the next `add`, for use if the file cannot be written (pi 1.5)."""
        leaf, labels = self.leaf, dict(self.labels)

        def take_back() -> None:
            entry_id = id_of(self.entries.pop())
            if entry_id is not None:
                del self.by_id[entry_id]
            self.leaf, self.labels = leaf, labels

        return take_back


def memory_session_of(session: Session) -> MemorySession:
    """Return a session file's content, migrated to format version 3; lines that are no JSON objects are left out."""
    found = {index: entry for index, entry in session.fields_of_many(range(len(session.ids))) if entry}
    header = dict(_header_object(session))
    generation = generation_of(session.version)
    entries = [_migrated(session, index, found[index], generation) for index in sorted(found)]
    if generation < CURRENT_SESSION_VERSION:
        header["version"] = CURRENT_SESSION_VERSION
    memory = MemorySession(session.rules, header, entries)
    if session.envelopes and session.leaf_id is None:
        memory.leaf = None
    return memory


def id_of(entry: EntryObject) -> str | None:
    """Return an entry's id, None if it is missing or not a string."""
    entry_id = entry.get("id")
    return entry_id if isinstance(entry_id, str) else None


def role_of(entry: EntryObject) -> str | None:
    """Return the role of an entry's message, None if it has no message."""
    message = entry.get("message") if entry.get("type") == "message" else None
    return message.get("role") if isinstance(message, dict) else None


def time_ms(timestamp: Json) -> float | None:
    """Return a time as milliseconds since 1970, None if JavaScript would parse it as an invalid date."""
    if isinstance(timestamp, str):
        return parse_time(timestamp)
    return timestamp if isinstance(timestamp, int | float) and not isinstance(timestamp, bool) else None


def _header_object(session: Session) -> EntryObject:
    from sessionbrowse.format.json_value import loads

    header: EntryObject = loads(session.header_line) if session.header_line else {}
    if session.rules.name == "title_slot" and session.title_slot is not None:
        # In omp the title slot overrides the header. So the header's title and title source are removed first, even
        # if the slot contains no title.
        header = {key: value for key, value in header.items() if key not in ("title", "titleSource")}
        if session.title_slot.title:
            header["title"] = session.title_slot.title
        if session.title_slot.source:
            header["titleSource"] = session.title_slot.source
    return header


def _migrated(session: Session, index: int, entry: EntryObject, generation: int) -> EntryObject:
    if generation == 1:
        parent = session.parents[index]
        entry["id"] = session.ids[index]
        entry["parentId"] = session.ids[parent] if parent >= 0 else None
        if entry.get("type") == "compaction" and "firstKeptEntryIndex" in entry:
            del entry["firstKeptEntryIndex"]
            decoded = session.entry(index)
            if isinstance(decoded, Compaction) and decoded.first_kept_entry_id is not None:
                entry["firstKeptEntryId"] = decoded.first_kept_entry_id
    if generation < CURRENT_SESSION_VERSION:
        rename_hook_message(entry)
    return entry


def rename_hook_message(entry: EntryObject) -> None:
    """Change the role `hookMessage` of a message (format version 2) to `custom` (version 3), in place."""
    if role_of(entry) == "hookMessage":
        entry["message"]["role"] = "custom"


def migrate_session_entries(entries: list[EntryObject], new_id: Callable[[set[str]], str]) -> None:
    """Migrate a file's JSON objects (header and entries) to format version 3, in place (pi 0.31 and 0.35)."""
    header = next((entry for entry in entries if entry.get("type") == "session"), {})
    generation = generation_of(header.get("version", 1))
    if generation == 1:
        _add_ids(entries, new_id)
    if generation < CURRENT_SESSION_VERSION:
        for entry in entries:
            if entry.get("type") == "session":
                entry["version"] = CURRENT_SESSION_VERSION
            else:
                rename_hook_message(entry)


def _add_ids(entries: list[EntryObject], new_id: Callable[[set[str]], str]) -> None:
    taken: set[str] = set()
    previous: str | None = None
    for entry in entries:
        if entry.get("type") == "session":
            continue
        entry["id"], entry["parentId"] = new_id(taken), previous
        previous = entry["id"]
        taken.add(entry["id"])
        if entry.get("type") == "compaction" and isinstance(entry.get("firstKeptEntryIndex"), int):
            kept = entry.pop("firstKeptEntryIndex")
            target = entries[kept] if 0 <= kept < len(entries) else {}
            if target.get("type") != "session" and id_of(target):
                entry["firstKeptEntryId"] = target["id"]


_LARGEST_PLAIN = 1e21
"""JavaScript writes whole numbers below this limit without an exponent."""


def plain(value: Json) -> Json:
    """Return a value as JSON: structs of `format.entries` become objects with the file's keys, tuples become lists.

    Whole numbers are written without a decimal point, as in JavaScript.
    """
    if isinstance(value, UnknownBlock):
        return value.raw
    if isinstance(value, Value):
        return _object(value)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_PLAIN:
        return int(value)
    return value


def _object(value: Value) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if isinstance(value, Message):
        found["role"] = type_name(value)
    elif isinstance(value, Block):
        found["type"] = type_name(value)
    for name, key in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
        item = getattr(value, name)
        if name not in ("extra", "role") and item is not None:
            found[key] = plain(item)
    return found | {key: plain(item) for key, item in value.extra.items()}
