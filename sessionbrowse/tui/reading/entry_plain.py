"""Convert an entry, its raw line or its context to plain text, for the clipboard or an editor."""

from __future__ import annotations

from typing import Any

import msgspec

from sessionbrowse.format.entries import (
    BashExecutionMessage,
    BranchSummary,
    Compaction,
    CustomMessage,
    Entry,
    Message,
    MessageEntry,
    PythonExecutionMessage,
    SessionSummary,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    TranscriptNode,
)
from sessionbrowse.format.entries import Content as MessageContent
from sessionbrowse.model.context import build
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.system_prompt import text_of
from sessionbrowse.text import json_exact
from sessionbrowse.tui.reading.texts import pretty_json


def entry_text(session: Session, index: int) -> str:
    """Return the text of an entry, such as a message or summary; if there is no text, the entry's line in the file.

    Raises:
        Unreadable: the file is gone or cannot be read.
    """
    said = _said(session.entry(index))
    return said if said.strip() else raw_text(session, index)


def raw_text(session: Session, index: int) -> str:
    """Return an entry's line in the session file, without its line end.

    Raises:
        Unreadable: the file is gone or cannot be read.
    """
    return session.raw(index).decode("utf-8", "replace").strip("\r\n")


def context_text(session: Session, index: int) -> str:
    """Return the messages that the model would receive at an entry as one text; a heading names each message's role.

    Raises:
        Unreadable: the file is gone or cannot be read.
    """
    sent = [message for message in build.build(session, index).messages if message.sent]
    return "\n\n".join([f"## {message.role}\n\n{message.text}".rstrip() for message in sent])


def _said(entry: Entry) -> str:
    match entry:
        case MessageEntry(message=message) | TranscriptNode(message=message) if message is not None:
            return _message(message)
        case Compaction(summary=summary) | BranchSummary(summary=summary) | SessionSummary(summary=summary):
            return summary or ""
        case CustomMessage():
            return _content(entry.content)
    return ""


def _message(message: Message) -> str:
    match message:
        case BashExecutionMessage():
            return f"$ {message.command or ''}\n{message.output or ''}"
        case PythonExecutionMessage():
            return f"{message.code or ''}\n{message.output or ''}"
    content: MessageContent = getattr(message, "content", None)
    return text_of(message, _content(content)) if isinstance(message, SystemMessage) else _content(content)


def _content(content: MessageContent) -> str:
    """Return the text blocks of a message; if the message has no text, its thinking blocks and tool calls."""
    if content is None or isinstance(content, str):
        return content or ""
    texts = [block.text for block in content if isinstance(block, TextBlock) and block.text]
    if texts:
        return "\n".join(texts)
    thought = [block.thinking for block in content if isinstance(block, ThinkingBlock) and block.thinking]
    calls = [_call(block.name, block.arguments) for block in content if isinstance(block, ToolCallBlock)]
    return "\n\n".join([*thought, *calls])


def _call(name: str | None, arguments: Any) -> str:
    if isinstance(arguments, dict) and isinstance(arguments.get("command"), str):
        return str(arguments["command"])
    try:
        shown = pretty_json(msgspec.json.encode(arguments))
    except (UnicodeEncodeError, OverflowError):
        shown = json_exact(arguments)
    return f"{name or '(no name)'} {shown}"
