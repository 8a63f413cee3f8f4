"""Find what a compaction lost: files, commands and labels of replaced entries that its summary does not mention."""

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
from sessionbrowse.model.edits import paths_of
from sessionbrowse.model.session.session import Session

_COMMAND_KEYS = ("command", "cmd")
_WORD = re.compile(r"[^\s`'\"<>()\[\]{},;|*]+")
_SLASH = re.compile(r"[/\\]")
_SHORTEST_COMMAND = 4
"""Minimum length of a command in characters; shorter commands, such as `ls`, are not worth a report."""
MOST_JUDGED = 500
"""Maximum number of files, of commands and of labels that are searched for in a summary, because the search is slow."""

_Use = tuple[str | None, str, str]
"""A use of a file or command: id of the tool call, path of the file or "", first line of the command or ""."""


class Forgotten(Struct, frozen=True):
    """Files, commands (first lines) and labels that a compaction's summary does not mention, newest first.

    Each file, command and label is paired with the index of the last entry that contains it.
    """

    files: tuple[tuple[str, int], ...] = ()
    commands: tuple[tuple[str, int], ...] = ()
    labels: tuple[tuple[str, int], ...] = ()


def forgotten(session: Session, index: int, left_out: Iterable[int]) -> Forgotten:
    """Return the files, commands and labels of replaced entries that the compaction at `index` does not mention.

    `left_out` are indexes of entries that are no longer in the context. A summary mentions a file by its path or its
    name, and a command by its first line; blanks do not matter, and case matters only in file names. Only the newest
    `MOST_JUDGED` files, commands and labels are checked.

    Raises:
        Unreadable: the file is gone or cannot be read.
    """
    files: dict[str, int] = {}
    commands: dict[str, int] = {}
    labels: dict[str, int] = {}
    calls: dict[str | None, list[_Use]] = {}
    for at in sorted([place for place in left_out if place < index]):
        mark = session.labels.get(at)
        if mark is not None:
            _put(labels, mark.text, at)
        raw = session.raw(at)
        # Entries without tool calls and commands are skipped before they are decoded, because decoding is slow.
        if b"oolCall" not in raw and b"bashExecution" not in raw and b"\\u" not in raw:
            continue
        entry = session.entry(at)
        message = entry.message if isinstance(entry, MessageEntry | TranscriptNode) else None
        used = _used(message)
        if isinstance(message, ToolResultMessage) and (answered := calls.pop(message.tool_call_id, None)):
            # The call is assigned to the entry of its result, because trees show a call in the row of its result.
            used = answered
        for call_id, path, command in used:
            if call_id is not None:
                calls.setdefault(call_id, []).append((None, path, command))
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
    """Return the uses of files and commands in a message: tool calls, or a command that the user ran."""
    if isinstance(message, BashExecutionMessage):
        return [(None, "", _first_line(message.command))]
    content = message.content if isinstance(message, AssistantMessage) else None
    used: list[_Use] = []
    for block in content if isinstance(content, tuple | list) else ():
        if isinstance(block, ToolCallBlock) and isinstance(block.arguments, dict):
            lines = (block.arguments.get(key) for key in _COMMAND_KEYS)
            command = next((value for value in lines if isinstance(value, str)), "")
            used += [(block.id, path, _first_line(command)) for path in paths_of(block.arguments) or [""]]
    return used


def _lost(places: dict[str, int], summary: str) -> tuple[tuple[str, int], ...]:
    """Return the items of `places` (text, entry index) whose text is not in a summary as whole words, newest first."""
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
    """Put the file, command or label `text` at the end of `places`, with the index of the last entry that has it."""
    places.pop(text, None)
    places[text] = index
