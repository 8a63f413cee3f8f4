"""Records of Claude Code: their kinds, and their content as blocks of pi's format."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import UNSET, Raw, Struct, UnsetType, field

from sessionbrowse.format.json_value import Json, loads
from sessionbrowse.model.foreign.steps import ROOT
from sessionbrowse.model.foreign.translated import (
    Object,
    RawLine,
    Tokens,
    as_text,
    blocks_of,
    is_string,
    object_of,
    objects_of,
    text_block,
    text_of,
)

QUEUE = "queue-operation"
STATE_LINES = frozenset(
    f"{QUEUE} agent-name ai-title atis-latch bridge-session custom-title file-history-delta file-history-snapshot "
    "frame-link last-prompt mode permission-mode pr-link relocated summary tag worktree-state".split()
)
"""Types of lines without `uuid` that store the program's state, not the conversation; they are written repeatedly."""
PASSED = frozenset({"attachment", "progress", "system"})
"""Types of records that become no entries, except the prompts, compactions and local commands among them."""

_COMMAND = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_NOTES = {
    "<command-name>": "command",
    "<local-command-stdout>": "output",
    "<local-command-stderr>": "output",
    "<local-command-caveat>": "caveat",
    "<bash-input>": "command",
    "<bash-stdout>": "output",
    "<bash-stderr>": "output",
    "Caveat: The messages below": "caveat",
    "[Request interrupted": "interrupt",
    "<task-notification>": "notification",
    "<teammate-message>": "notification",
}
"""Maps beginnings of texts that the program, not the user, wrote into user records, to kinds of notes."""

_INJECTED = r"(?:ide|browser)_\w+|system-reminder|[a-z-]+-hook|[a-z-]+-diagnostics"
_FIRST = re.compile(rf"\s*<({_INJECTED})>.*?</\1>\s*", re.DOTALL)
_LAST = re.compile(rf"</({_INJECTED})>\s*\Z")

_PERSISTED, _PERSISTED_BYTES = re.compile(rb"tool-results[/\\]+(\w[\w.-]*)"), 4096
"""Finds the name of such a file in the beginning of a result's text."""

STOP_REASONS = {"max_tokens": "length", "tool_use": "toolUse", "refusal": "error"}


class Block(Struct, gc=False):
    """A block of a prompt, an answer or a result; JSON that entries only copy is not decoded."""

    type: str = ""
    id: str = ""
    name: str = ""
    text: str = ""
    tool_use_id: str = ""
    thinking: Raw = Raw()
    signature: Raw = Raw()
    input: Raw = Raw()
    content: Raw = Raw()
    is_error: Raw = Raw()


class AnswerUsage(Struct, gc=False):
    """The tokens of one request to the model."""

    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    cache_read_input_tokens: Tokens = 0
    cache_creation_input_tokens: Tokens = 0


class Message(Struct, frozen=True, gc=False):
    """A message as Anthropic's API defines it."""

    model: str = ""
    id: str = ""
    content: str | list[Block] = ""
    stop_reason: str | None = None
    usage: AnswerUsage | None = None


class Attachment(Struct, frozen=True, gc=False):
    """A file, note or command that Claude Code adds to a prompt; the prompt itself if the type is "queued_command"."""

    type: str = ""
    prompt: str | list[Block] = ""
    commandMode: str = "prompt"


class PromptOrigin(Struct, frozen=True, gc=False):
    """The author of a prompt (`kind`: "human" or a part of the program), or the source of a fork (`sessionId`)."""

    kind: str | None = None
    sessionId: str = ""


_NO_MESSAGE, _NO_ATTACHMENT, _NO_ORIGIN = Message(), Attachment(), PromptOrigin()


class ClaudeRecord(RawLine, kw_only=True, gc=False):
    """A line of Claude Code, with the fields that decide its kind and its place in the tree.

    The fields from `kind` on are not in the file: `kind` is the kind of entry that the record becomes; "copy" for a
    doubled line, "further" for one of an answer but its first, "" for one that becomes no entry. `text` is that of a
    prompt or note. `answer` is the key of the answer to which the record or its results belong, `entry` the position of
    its step.
    """

    parentUuid: str | UnsetType | None = UNSET
    isSidechain: bool = False
    cwd: str = ""
    sessionId: str = ""
    type: str = ""
    message: Message = _NO_MESSAGE
    uuid: str = ""
    timestamp: str = ""
    subtype: str = ""
    isMeta: bool = False
    isCompactSummary: bool = False
    isAbortedMidStream: bool = False
    origin: PromptOrigin = _NO_ORIGIN
    attachment: Attachment = _NO_ATTACHMENT
    logicalParentUuid: str | None = None
    forkedFrom: PromptOrigin | None = None
    requestId: str | None = None
    content: str | list[Block] = ""
    kind: str = field(default="", name=" kind")
    text: str = field(default="", name=" text")
    answer: str = field(default="", name=" answer")
    results: Sequence[Block] = field(default=(), name=" results")
    entry: int = field(default=ROOT, name=" entry")


def is_record(value: Object) -> bool:
    """Return True for an object that Claude Code writes as a line of its own."""
    return isinstance(value.get("type"), str) and ("uuid" in value or "sessionId" in value or "leafUuid" in value)


def parent_of(record: ClaudeRecord) -> str | None:
    if record.subtype == "compact_boundary":
        return record.logicalParentUuid or None
    return record.parentUuid if isinstance(record.parentUuid, str) else None


def user_kind(record: ClaudeRecord) -> tuple[str, str]:
    """Return the kind of a user record, and its text; the first test that matches decides."""
    content = record.message.content
    blocks = blocks_in(content)
    record.results = [block for block in blocks if block.type == "tool_result"]
    if record.results:
        return "result", ""
    text = said(content)
    if record.isCompactSummary:
        return "compaction", text
    if record.isMeta:
        return "meta", text
    kind, told = spoken_kind(text)
    if kind == "context" and any(block.type != "text" for block in blocks):
        kind, told = "prompt", ""
    if kind == "prompt" and record.origin.kind not in (None, "human"):
        return "notification", text
    return kind, told


def spoken_kind(text: str) -> tuple[str, str]:
    """Return the kind of a text in a user record (the program may have written it), and the user's words in it."""
    injected, rest = _split(text)
    if injected and not rest:
        return "context", text
    start = rest.lstrip()
    return next((kind for beginning, kind in _NOTES.items() if start.startswith(beginning)), "prompt"), _typed(rest)


def _typed(text: str) -> str:
    """Return what the user typed to run a custom command; any other text as it is."""
    if not text.lstrip().startswith("<command-message>"):
        return text
    words = [found[1].strip() for found in (_COMMAND.search(text), _ARGUMENTS.search(text)) if found is not None]
    return " ".join(filter(None, words)) or text


def without_injected(content: Json) -> tuple[str, Json]:
    """Split a prompt into the texts that the program or an editor wrote around the user's words, and the rest."""
    found: list[str] = []
    kept: list[Json] = []
    for block in [text_block(content)] if isinstance(content, str) and content else objects_of(content):
        blocks, words = _split(text_of(block.get("text"))) if block.get("type") == "text" else ([], "")
        found += blocks
        kept += [{**block, "text": _typed(words)}] if words else [] if blocks else [block]
    return "\n".join(found), kept


def _split(text: str) -> tuple[list[str], str]:
    """Return the injected blocks at both ends of a text, and the text between them."""
    first: list[str] = []
    last: list[str] = []
    while (found := _FIRST.match(text)) is not None:
        first.append(found[0].strip())
        text = text[found.end() :]
    while (
        text.rstrip().endswith(">")
        and (found := _LAST.search(text)) is not None
        and (at := text.rfind(f"<{found[1]}>")) >= 0
    ):
        last.insert(0, text[at:].strip())
        text = text[:at].rstrip()
    return first + last, text


def content_of(record: ClaudeRecord) -> Json:
    """Return the whole content of a message or of a queued prompt."""
    if record.type == QUEUE:
        return record.text
    if record.type == "attachment":
        return object_of(record.item().get("attachment")).get("prompt")
    return object_of(record.item().get("message")).get("content")


def blocks_in(content: str | list[Block]) -> list[Block]:
    """Return the blocks in a message's content; none if the content is a text."""
    return content if content.__class__ is list else []


def said(content: str | list[Block]) -> str:
    """Return the text in a message's content."""
    if isinstance(content, str):
        return content
    return "\n".join([block.text for block in content if block.text])


def answer_blocks(record: ClaudeRecord) -> list[Object]:
    """Convert the content of an answer's record to pi's blocks."""
    content = record.message.content
    if isinstance(content, str):
        return [text_block(content)] if content else []
    return [_answer_block(block, record, number) for number, block in enumerate(content)]


def _answer_block(block: Block, record: ClaudeRecord, number: int) -> Object:
    match block.type:
        case "text":
            return text_block(block.text)
        case "thinking":
            made: Object = {"type": "thinking", "thinking": block.thinking if is_string(block.thinking) else ""}
            return {**made, "thinkingSignature": block.signature} if is_string(block.signature, 1) else made
        case "tool_use":
            given: Json = block.input
            if not bytes(given).startswith(b"{"):
                given = {} if bytes(given) in (b"", b"null") else {"input": given}
            return {"type": "toolCall", "id": block.id, "name": block.name, "arguments": given}
    whole = objects_of(content_of(record))[number]
    if block.type == "redacted_thinking":
        text, signature = "[Reasoning redacted]", text_of(whole.get("data"))
        return {"type": "thinking", "thinking": text, "thinkingSignature": signature, "redacted": True}
    return text_block(as_text(whole))


def output_file(content: Raw) -> str | None:
    """Return the name of the file with a tool's whole output, which Claude Code keeps in the session's folder."""
    head = bytes(memoryview(content)[:_PERSISTED_BYTES])
    found = _PERSISTED.search(head) if b"<persisted-output>" in head else None
    return found[1].decode() if found is not None else None


def result_blocks(content: Raw) -> Json:
    """Convert the content of a tool result to pi's blocks."""
    if is_string(content):
        return Raw(b'[{"type":"text","text":%b}]' % content) if is_string(content, 1) else []
    return blocks_of(loads(bytes(content)) if content else [])
