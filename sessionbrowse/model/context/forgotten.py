"""The losses of a compaction: files, commands and labels before it that its summary does not mention."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

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
from sessionbrowse.model.edits import path_of
from sessionbrowse.model.session.session import Session

_COMMAND_KEYS = ("command", "cmd")
_WORD = re.compile(r"[^\s`'\"<>()\[\]{},;|*]+")
_SLASH = re.compile(r"[/\\]")
_SHORTEST_COMMAND = 4
"""Minimum number of characters of a command: shorter ones, such as `ls`, say nothing."""
MOST_JUDGED = 500
"""Maximum number of texts of each kind that are looked for in a summary, which may be a megabyte."""

_Use = tuple[str | None, str, str]
"""Id of a call, path, and first line of the command; an empty text stands for none."""


class Forgotten(Struct, frozen=True):
    """Files, first lines of commands, and labels, each with the index of the last entry that has it, newest first."""

    files: tuple[tuple[str, int], ...] = ()
    commands: tuple[tuple[str, int], ...] = ()
    labels: tuple[tuple[str, int], ...] = ()


def forgotten(session: Session, index: int, left_out: Iterable[int]) -> Forgotten:
    """Return what the compaction at `index` forgot of the entries `left_out`, which are not in the context after it.

    A file is mentioned by its path or its name, a command by its first line, blanks joined; case counts only for names
    of files. Of each kind the newest `MOST_JUDGED` are judged.

    Raises:
        Unreadable: the file is gone or cannot be read.
    """
    files: dict[str, int] = {}
    commands: dict[str, int] = {}
    labels: dict[str, int] = {}
    calls: dict[str | None, _Use] = {}
    for at in sorted([place for place in left_out if place < index]):
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
        if isinstance(message, ToolResultMessage) and (answered := calls.pop(message.tool_call_id, None)):
            # Trees show a call in the row of its result.
            used = [answered]
        for call_id, path, command in used:
            if call_id is not None:
                calls[call_id] = (None, path, command)
            if path:
                _put(files, path, at)
            if len(command) >= _SHORTEST_COMMAND:
                _put(commands, command, at)
    compaction = session.entry(index)
    summary = (compaction.summary if isinstance(compaction, Compaction) else None) or ""
    folded = " ".join(summary.split()).casefold()
    names = {_name(word.rstrip(".:!?")) for word in _WORD.findall(summary)}
    return Forgotten(
        files=_lost({path: at for path, at in files.items() if _name(path) not in names}, folded),
        commands=_lost(commands, folded),
        labels=_lost(labels, folded),
    )


def _used(message: Message | None) -> list[_Use]:
    """Return the calls in a message."""
    if isinstance(message, BashExecutionMessage):
        return [(None, "", _first_line(message.command))]
    content = message.content if isinstance(message, AssistantMessage) else None
    used: list[_Use] = []
    for block in content if isinstance(content, tuple | list) else ():
        if isinstance(block, ToolCallBlock) and isinstance(block.arguments, dict):
            lines = (block.arguments.get(key) for key in _COMMAND_KEYS)
            command = next((value for value in lines if isinstance(value, str)), "")
            used.append((block.id, path_of(block.arguments), _first_line(command)))
    return used


def _lost(places: dict[str, int], summary: str) -> tuple[tuple[str, int], ...]:
    """Return the newest texts that stand nowhere in a summary as whole words, newest first."""
    found = []
    for text, at in islice(reversed(places.items()), MOST_JUDGED):
        wanted = re.escape(" ".join(text.split()).casefold())
        if re.search(rf"(?<!\w){wanted}(?!\w)" if text[:1].isalnum() else rf"{wanted}(?!\w)", summary) is None:
            found.append((text, at))
    return tuple(found)


def _name(path: str) -> str:
    return _SLASH.split(path.rstrip("/\\"))[-1]


def _first_line(command: str | None) -> str:
    lines = (command or "").strip().splitlines()
    return " ".join(lines[0].split()) if lines else ""


def _put(places: dict[str, int], text: str, index: int) -> None:
    """Note the last place of a text, as the newest of all."""
    places.pop(text, None)
    places[text] = index
