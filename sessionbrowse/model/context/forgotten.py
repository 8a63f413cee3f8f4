"""The losses of a compaction: files, commands and labels before it that its summary does not mention."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from sessionbrowse.format.entries import (
    AssistantMessage,
    BashExecutionMessage,
    Compaction,
    Message,
    MessageEntry,
    ToolCallBlock,
    ToolResultMessage,
    TranscriptNode,
)
from sessionbrowse.model.context.build import build
from sessionbrowse.model.session.session import Session

_PATH_KEYS = ("path", "file_path", "filePath")
_COMMAND_KEYS = ("command", "cmd")
_WORD = re.compile(r"[^\s`'\"<>()\[\]{},;|*]+")
_SLASH = re.compile(r"[/\\]")
_SHORTEST_COMMAND = 4
"""Minimum number of characters of a command: shorter ones, such as `ls`, say nothing."""


_Use = tuple[str | None, str, str]


class Forgotten(Struct, frozen=True):
    """Files, first lines of commands, and labels, each with the index of the last entry that has it, newest first."""

    files: tuple[tuple[str, int], ...] = ()
    commands: tuple[tuple[str, int], ...] = ()
    labels: tuple[tuple[str, int], ...] = ()


def forgotten(session: Session, index: int) -> Forgotten | None:
    """Return what the compaction at `index` forgot; None if the entry is no compaction.

    Entries that the context at the compaction still has are not forgotten. A file is mentioned by its path or its name,
    a command by its first line, blanks joined; case counts only for files.

    Raises:
        Unreadable: the file is gone or cannot be read.
    """
    compaction = session.entry(index)
    if not isinstance(compaction, Compaction):
        return None
    files: dict[str, int] = {}
    commands: dict[str, int] = {}
    labels: dict[str, int] = {}
    calls: dict[str | None, list[_Use]] = {}
    for at in sorted([left.index for left in build(session, index).left_out]):
        mark = session.labels.get(at)
        if mark is not None:
            _put(labels, mark.text, at)
        raw = session.raw(at)
        # Most entries hold neither calls nor commands, and decoding is what takes time.
        if b"oolCall" not in raw and b"bashExecution" not in raw and b"\\u" not in raw:
            continue
        entry = session.entry(at)
        message = entry.message if isinstance(entry, MessageEntry | TranscriptNode) else None
        used = _used(message)
        if isinstance(message, ToolResultMessage):
            # Trees show a call in the row of its result.
            used = calls.pop(message.tool_call_id, [])
        for call_id, path, command in used:
            if call_id is not None:
                calls[call_id] = [(None, path, command)]
            if path:
                _put(files, path, at)
            if len(command) >= _SHORTEST_COMMAND:
                _put(commands, command, at)
    summary = compaction.summary or ""
    folded = " ".join(summary.split()).casefold()
    names = {_name(word.rstrip(".:!?")) for word in _WORD.findall(summary)}

    def is_lost(text: str) -> bool:
        return not _stands_in(" ".join(text.split()).casefold(), folded)

    return Forgotten(
        files=_newest((path, at) for path, at in files.items() if _name(path) not in names and is_lost(path)),
        commands=_newest((line, at) for line, at in commands.items() if is_lost(line)),
        labels=_newest((label, at) for label, at in labels.items() if is_lost(label)),
    )


def _used(message: Message | None) -> list[_Use]:
    """Return id, path and first line of the command of each call in a message; an empty text stands for none."""
    if isinstance(message, BashExecutionMessage):
        return [(None, "", _first_line(message.command))]
    content = message.content if isinstance(message, AssistantMessage) else None
    used: list[_Use] = []
    for block in content if isinstance(content, tuple | list) else ():
        if isinstance(block, ToolCallBlock) and isinstance(block.arguments, dict):
            paths = (block.arguments.get(key) for key in _PATH_KEYS)
            lines = (block.arguments.get(key) for key in _COMMAND_KEYS)
            path = next((value for value in paths if isinstance(value, str)), "")
            used.append((block.id, path, _first_line(next((value for value in lines if isinstance(value, str)), ""))))
    return used


def _stands_in(text: str, summary: str) -> bool:
    """Tell whether a text stands in a summary as whole words."""
    at = summary.find(text)
    while at >= 0:
        end = at + len(text)
        if not (summary[at - 1 : at].isalnum() and text[:1].isalnum()) and not summary[end : end + 1].isalnum():
            return True
        at = summary.find(text, at + 1)
    return False


def _name(path: str) -> str:
    return _SLASH.split(path.rstrip("/\\"))[-1]


def _first_line(command: str | None) -> str:
    lines = (command or "").strip().splitlines()
    return " ".join(lines[0].split()) if lines else ""


def _put(places: dict[str, int], text: str, index: int) -> None:
    """Note the last place of a text, as the newest of all."""
    places.pop(text, None)
    places[text] = index


def _newest(items: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    return tuple(reversed(list(items)))
