"""Made-up sessions for the tests of the tree: entries in short, and rows drawn as lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree import rows as tree
from sessionbrowse.store.read.session_file import open_session

Entry = dict[str, Any]
HEADER: Entry = {"type": "session", "version": 3, "id": "sid-1", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/p"}


def session_of(tmp_path: Path, *entries: Entry, agent: str = "pi", header: Entry = HEADER) -> Session:
    """Write the entries, a second apart where they have no time of their own, and read them as the agent does."""
    path = tmp_path / f"{agent}.jsonl"
    lines = [header]
    for second, entry in enumerate(entries):
        stamp = f"2026-01-02T03:{4 + second // 60:02}:{second % 60:02}.000Z"
        lines.append({"timestamp": stamp, **entry})
    # Surrogates must come out as escapes, as JSON.stringify writes them.
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return open_session(path, agent)


def entry(entry_type: str, entry_id: str, parent: str | None, /, **fields: Any) -> Entry:
    """An entry of any type."""
    return {"type": entry_type, "id": entry_id, "parentId": parent, **fields}


def message(role: str, entry_id: str, parent: str | None, content: Any = "", **fields: Any) -> Entry:
    """A message entry of any role."""
    return entry("message", entry_id, parent, message={"role": role, "content": content, "timestamp": 1, **fields})


def user(entry_id: str, parent: str | None, text: Any) -> Entry:
    """Return a user message."""
    return message("user", entry_id, parent, text)


def answer(entry_id: str, parent: str | None, text: str = "", *calls: Entry, **fields: Any) -> Entry:
    """An answer with text and tool calls."""
    content: Any = ([{"type": "text", "text": text}] if text else []) + list(calls)
    fields = {"content": content, "stopReason": "toolUse" if calls else "stop", **fields}
    return message("assistant", entry_id, parent, **fields)


def call(call_id: str, name: Any, arguments: Any) -> Entry:
    """A tool call of an answer."""
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def result(entry_id: str, parent: str | None, call_id: str, text: str = "", **fields: Any) -> Entry:
    """The result of a tool call."""
    content = [{"type": "text", "text": text}]
    return message("toolResult", entry_id, parent, content, toolCallId=call_id, toolName="read", **fields)


def label(entry_id: str, parent: str | None, target: str, text: str) -> Entry:
    """A label entry."""
    return entry("label", entry_id, parent, targetId=target, label=text)


def drawn(session: Session, rows: Iterable[tree.Row], home: str = "") -> list[str]:
    """Return the rows as pi draws them, without the cursor's columns."""
    lines = []
    for row in rows:
        mark = session.labels.get(row.index)
        name = f"[{mark.text}] " if mark is not None else ""
        active = "• " if row.active else ""
        lines.append(f"{tree.prefix(row)}{active}{name}{tree.row_text(session, row.index, home)}".rstrip())
    return lines


def ids(session: Session, rows: Iterable[tree.Row]) -> str:
    """Return the ids of the rows with blanks between."""
    return " ".join(session.envelopes[row.index].id or "-" for row in rows)
