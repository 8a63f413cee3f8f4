"""Build the JSON documents of one session that the command line prints: contents, tree, context, labels.

Users rely on the fields of these documents (docs/json.md), so they must not change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import asdict

from sessionbrowse.format.entries import Block, Compaction, ToolCallBlock
from sessionbrowse.format.json_value import BadJson, json_object, loads
from sessionbrowse.model.context import build
from sessionbrowse.model.context.forgotten import forgotten
from sessionbrowse.model.context.message import records_left_out
from sessionbrowse.model.context.token_parts import context_items, largest_items, parts_of_context, used_tokens
from sessionbrowse.model.listing.directories import listed
from sessionbrowse.model.session.parents import count_branches
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree import rows as tree
from sessionbrowse.model.tree.entry_states import EntryStates
from sessionbrowse.model.tree.tool_call_text import Call, other_call_text, tool_call_text
from sessionbrowse.store.own.mirrors import machine_of, place_document

Document = dict[str, Any]


def show_document(session: Session) -> Document:
    """Return the contents of a session file as a JSON document: header, entries, branches, labels, problems."""
    ids = session.ids
    return {
        "agent": session.agent,
        "path": session.path,
        "version": None if session.rules.only_read else session.version,
        "header": _json(session.header_line),
        "title_slot": _json(session.title_slot_line),
        "id": session.id,
        "cwd": session.cwd,
        "name": session.name,
        "leaf_id": session.leaf_id,
        "entry_ids": list(ids),
        "entry_types": [session.envelopes[index].type or None for index in range(len(ids))],
        "labels": {
            ids[index]: (json_object(session.raw(mark.set_by)) or {}).get("label")
            for index, mark in sorted(session.labels.items())
        },
        "label_times": {ids[index]: mark.time for index, mark in sorted(session.labels.items())},
        "root_ids": [ids[index] for index in session.roots],
        "leaf_ids": [ids[index] for index in range(len(ids)) if not session.children(index)],
        "branches": branch_count(session),
        "branch": [ids[index] for index in session.active_branch()],
        "tree": [{"depth": depth, "id": ids[index]} for index, depth in preorder(session)],
        "records_left_out": records_left_out(session),
        "refused": f"{session.agent} {session.refusal}" if session.refusal else None,
        "unlisted": f"{session.agent} {session.unlisted}" if session.unlisted else None,
        "problems": [asdict(problem) for problem in session.problems],
    }


def branch_count(session: Session) -> int:
    """Return the number of branches, as lists show it."""
    return count_branches([entry.type == "message" for entry in session.envelopes], session.parents.__getitem__)


def preorder(session: Session) -> Iterable[tuple[int, int]]:
    """Yield (entry index, depth) for every entry of the tree, parents before children, children sorted by time."""
    stack = [(index, 0) for index in reversed(session.roots)]
    while stack:
        index, depth = stack.pop()
        yield index, depth
        stack += [(child, depth + 1) for child in reversed(session.children(index))]


def tree_document(session: Session, filter_name: str = "default", home: str = "") -> Document:
    """Return the rows of the agent's own tree view as a JSON document."""
    rows = []
    for row in tree.rows(session, filter_name):
        mark = session.labels.get(row.index)
        rows.append(
            {
                "id": session.ids[row.index],
                "depth": row.level,
                "text": tree.row_text(session, row.index, home),
                "label": mark.text if mark is not None else None,
                "active": row.active,
                "leaf": row.leaf,
                "type": session.envelopes[row.index].type or None,
            }
        )
    return {"filter": filter_name, "rows": rows}


def context_document(session: Session, at: int | None = None) -> Document:
    """Return the context that the model would receive at an entry (default: the leaf) as a JSON document."""
    built = build.build(session, at)
    model, items, used = built.model, context_items(built.messages), used_tokens(built)
    parts = {part: tokens for part, tokens in parts_of_context(built).items() if part != "outside"}
    return {
        "at": built.at,
        "model": asdict(model) if model is not None else None,
        "thinking_level": built.thinking_level,
        "messages": [
            {key: getattr(message, key) for key in _MESSAGE_KEYS} | {"calls": _calls(session, message.blocks)}
            for message in built.messages
        ],
        "left_out": [{"entry_id": left.entry_id, "reason": left.reason} for left in built.left_out],
        "tokens": built.tokens,
        "total": used.total,
        "outside": used.outside,
        "parts": dict(sorted(parts.items(), key=lambda part: -part[1])),
        "largest": [{key: getattr(item, key) for key in _ITEM_KEYS} for item in largest_items(items)],
        "forgotten": _forgotten(session, built),
    }


def _calls(session: Session, blocks: Iterable[Block]) -> list[str]:
    """Return the tool calls among a message's blocks as texts, in the form of the agent's tree view."""
    calls = [Call(block.name, block.arguments) for block in blocks if isinstance(block, ToolCallBlock)]
    if session.rules.only_read:
        return [other_call_text(call, "") for call in calls]
    return [tool_call_text(session.rules.tree, call, "") for call in calls]


def _forgotten(session: Session, built: build.Context) -> Document | None:
    """Return the files, commands and labels that the context lost by its last compaction; None without a compaction."""
    compactions = [one.index for one in built.messages if isinstance(one.message, Compaction) and one.index is not None]
    if not compactions:
        return None
    found = forgotten(session, compactions[-1], [left.index for left in built.left_out])
    return {
        "entry_id": session.ids[compactions[-1]],
        "files": [path for path, _ in found.files],
        "commands": [line for line, _ in found.commands],
        "labels": [label for label, _ in found.labels],
    }


_ITEM_KEYS = ("part", "tokens", "entry_id", "tool", "file")
_MESSAGE_KEYS = ("role", "entry_id", "text", "custom_type", "images", "tokens", "sent")


def label_documents(session: Session, home: str = "") -> list[Document]:
    """Return the labels of one session as JSON rows, in file order."""
    states = EntryStates(session)
    documents = []
    for index, mark in sorted(session.labels.items()):
        documents.append(
            {
                "path": session.path,
                "id": session.id,
                "agent": session.agent,
                **place_document(session.path, listed(session.cwd, machine_of(session.path))),
                "session": session.name,
                "entry_id": session.ids[index],
                "label": mark.text,
                "time": mark.time,
                "state": states.of(index),
                "preview": tree.row_text(session, index, home),
            }
        )
    return documents


def _json(line: bytes | None) -> Any:
    if line is None:
        return None
    try:
        return loads(line)
    except BadJson:
        return None
