"""Our answers about one file, through the library functions that make the command line's documents."""

from __future__ import annotations

import json
import re
from functools import cached_property
from json import JSONDecoder
from pathlib import Path
from typing import Any

from msgspec import Struct

from sessionbrowse.agents import Surroundings
from sessionbrowse.cli.commands.lists import summary_document
from sessionbrowse.format.codec import decode_line, type_name
from sessionbrowse.format.entries import (
    BadLine,
    Cost,
    Header,
    TitleSlot,
    UnknownBlock,
    UnknownEntry,
    Usage,
    Value,
)
from sessionbrowse.model.tree import rows
from sessionbrowse.services.inspect import documents as inspect
from sessionbrowse.services.list.gather import gather_summaries, select
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.read.summarise import summarise_path
from tests.support.program_search import searched_rows

from .digest import first_units, message_digest, sha1, utf16_units

Document = dict[str, Any]
# As many UTF-16 units of each text as the ask_* scripts give.
TEXT_UNITS = 300
_ESCAPES = re.compile("\x1b\\[[0-9;:]*[A-Za-z]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)")


class Row(Struct, frozen=True):
    """One row of the tree, drawn parts and all, as the oracles have it."""

    index: int
    id: str | None
    depth: int
    connector: str | None
    gutters: list[list[Any]]
    foldable: bool
    active: bool
    label: str | None
    text: str


class Ours:
    """One session file as we read it."""

    def __init__(self, path: Path, agent: str, home: str) -> None:
        self.path = path
        self.home = home
        self.session = open_session(path, agent)
        summary = summarise_path(str(path), lambda _: agent)
        assert summary is not None
        self.listing: Document = summary_document(summary)
        self.hidden = summary.hidden
        self.show: Document = inspect.show_document(self.session)
        self._contexts: dict[int | None, Document] = {}
        self._digests: dict[int, str | None] = {}

    def refusal(self) -> str | None:
        """Return why the program itself would not open the file as it is."""
        return self.session.refusal

    def context(self, at: int | None) -> Document:
        """Return the context document from an entry, counted in file order; None is the leaf."""
        if at not in self._contexts:
            self._contexts[at] = inspect.context_document(self.session, at)
        return self._contexts[at]

    def context_lines(self, at: int | None, *, sources: bool = True) -> list[str]:
        """Return the context from an entry, one line for each message; `sources` adds the entries they are from."""
        return [
            message_line(
                message["role"],
                message["entry_id"] if sources else None,
                message["custom_type"],
                message["images"],
                first_units(message["text"], TEXT_UNITS),
                utf16_units(message["text"]),
                sha1(message["text"]),
            )
            for message in self.context(at)["messages"]
        ]

    def branch_at(self, at: int) -> list[int]:
        """Return the path from the root to an entry."""
        return self.session.branch(at)

    @cached_property
    def index_by_id(self) -> dict[str, int]:
        """Entries by id; a later one replaces an earlier one."""
        return self.session.index_by_id

    def rows(self, mode: str, query: str = "", folds: list[str] | None = None) -> list[Row]:
        """Return the rows of the tree; `folds` are entry ids, ignored where nothing can be folded."""
        folded = frozenset(self.index_by_id[each] for each in folds or [] if each in self.index_by_id)
        made = []
        for row in searched_rows(self.session, mode, query, folded=folded):
            mark = self.session.labels.get(row.index)
            made.append(
                Row(
                    index=row.index,
                    id=self.session.envelopes[row.index].id,
                    depth=row.level,
                    connector=row.connector,
                    gutters=[list(gutter) for gutter in row.gutters],
                    foldable=row.foldable,
                    active=row.active,
                    label=mark.text if mark is not None else None,
                    text=_plain(rows.row_text(self.session, row.index, self.home)),
                )
            )
        return made

    def stored_digest(self, index: int) -> str | None:
        """Return the digest of an entry's message in the file, None where something changes it for the model."""
        if index not in self._digests:
            message = self._stored_message(index)
            self._digests[index] = None if message is None else message_digest(message)
        return self._digests[index]

    def _stored_message(self, index: int) -> Document | None:
        entry = self._stored[index]
        message = entry.get("message") if isinstance(entry, dict) and entry.get("type") == "message" else None
        if not isinstance(message, dict) or entry.get("id") in self._edited:
            return None
        if message.get("content") is None and message.get("role") != "bashExecution":
            return None  # pi gives the model an empty list instead
        return message

    @cached_property
    def _edited(self) -> set[str]:
        return {
            entry["targetId"]
            for entry in self._stored
            if isinstance(entry, dict) and entry.get("type") == "context_edit"
        }

    @cached_property
    def _stored(self) -> list[Any]:
        stored = []
        for index in range(len(self.session.envelopes)):
            value = json.loads(self._first_value(index).decode("utf-8", "replace"))
            message = value.get("message") if isinstance(value, dict) else None
            if isinstance(message, dict) and message.get("role") == "hookMessage":
                message["role"] = "custom"  # as migrated
            stored.append(value)
        return stored

    def _first_value(self, index: int) -> bytes:
        """Return the line's first JSON value: omp keeps the first of two that are fused on one line."""
        text = self.session.raw(index).decode("utf-8-sig", "surrogateescape").strip()
        return text[: JSONDecoder().raw_decode(text)[1]].encode("utf-8", "surrogateescape")

    def lost_in_decoding(self) -> list[tuple[int, Any, Any]]:
        """Return the entries that our structs do not hold whole: (index, in the file, in the struct)."""
        lost = []
        for index in range(len(self.session.envelopes)):
            stored = _without_nulls(self._stored[index])
            decoded = _without_nulls(_as_json(decode_line(self._first_value(index))))
            if stored != decoded:
                lost.append((index, stored, decoded))
        return lost


def _plain(text: str) -> str:
    """Drop colours and links, as the oracles do with whole drawn rows: those of the session's text go too."""
    return _ESCAPES.sub("", text)


def message_line(
    role: str, entry_id: str | None, custom_type: str | None, images: int, text: str, units: int, digest: str
) -> str:
    """Return a message of a context as one line; a long text is cut, with its length and SHA-1 behind it."""
    words = [role, custom_type or "", f"<{entry_id}>" if entry_id else "", f"{images} images" if images else ""]
    rest = f" … {units} {digest}" if units > TEXT_UNITS else ""
    return f"{' '.join(filter(None, words))}: {text}{rest}"


def list_folder(root: Path, agent: str, sort: str = "newest") -> list[Document]:
    """Return our list of a sessions folder."""
    around = Surroundings(home=str(root), environ={}, cwd=str(root))
    scope = Scope(around=around, roots=(str(root),), agents=(agent,), hidden=True)
    return [summary_document(summary) for summary in select(gather_summaries(scope), sort=sort)]


def _as_json(value: Any) -> Any:
    match value:
        case UnknownEntry() | UnknownBlock():
            return value.raw
        case Value():
            made = {
                encoded: _as_json(item)
                for name, encoded in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
                if name != "extra" and (item := getattr(value, name)) is not None
            }
            return _kind(value) | made | value.extra
        case tuple():
            return [_as_json(item) for item in value]
        case BadLine():
            return value.reason
    return value


def _kind(value: Value) -> Document:
    match value:
        case Header():
            return {"type": "session"}
        case TitleSlot():
            return {"type": "title"}
        case Cost() | Usage():
            return {}
    name = type_name(value)
    return {"role" if type(value).__name__.endswith("Message") and name != "custom_message" else "type": name}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
