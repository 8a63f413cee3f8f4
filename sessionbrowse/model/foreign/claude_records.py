"""Records of Claude Code: their kinds, and their content as blocks of pi's format."""

from __future__ import annotations

import re
from contextlib import suppress

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.json import Decoder

from sessionbrowse.format.json_value import Json
from sessionbrowse.format.lines import is_deep
from sessionbrowse.format.ordinary_line import REFUSALS
from sessionbrowse.model.foreign.translated import (
    Object,
    Raw,
    Tokens,
    as_text,
    object_of,
    objects_of,
    text_block,
    text_of,
)

STATE_LINES = frozenset(
    {
        "agent-name",
        "ai-title",
        "atis-latch",
        "bridge-session",
        "custom-title",
        "file-history-delta",
        "file-history-snapshot",
        "frame-link",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "queue-operation",
        "relocated",
        "summary",
        "tag",
        "worktree-state",
    }
)
"""Lines without a `uuid`, written again and again: the state of the program, not the conversation."""
PASSED = frozenset({"attachment", "progress", "system"})
"""Records in the chain of parents that are no entries, but for prompts, compactions and local commands among them."""

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
"""Beginnings of texts in user records that the user did not write, and the kinds of their notes."""
HIDDEN = frozenset({"caveat", "context", "meta"})

_INJECTED = r"(?:ide|browser)_\w+|system-reminder|[a-z-]+-hook|[a-z-]+-diagnostics"
_FIRST = re.compile(rf"\s*<({_INJECTED})>.*?</\1>\s*", re.DOTALL)
_LAST = re.compile(rf"</({_INJECTED})>\s*\Z")

NO_TEXT = frozenset({"thinking", "redacted_thinking", "tool_use"})
"""Blocks of an answer without text; blocks of unknown kinds are shown as text."""
STOP_REASONS = {"max_tokens": "length", "tool_use": "toolUse", "refusal": "error"}


class Block(Struct, gc=False):
    """A block of a prompt, an answer or a result, without what only an opened session shows."""

    type: str = ""
    id: str = ""
    name: str = ""
    text: str = ""
    tool_use_id: str = ""


class AnswerUsage(Struct, gc=False):
    """The tokens of a request."""

    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    cache_read_input_tokens: Tokens = 0
    cache_creation_input_tokens: Tokens = 0


class Message(Struct, frozen=True, gc=False):
    """A message of the model's interface."""

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
    """The author of a prompt ("human", or a part of the program), or the session from which a session was forked."""

    kind: str | None = None
    sessionId: str = ""


_NO_MESSAGE, _NO_ATTACHMENT, _NO_ORIGIN = Message(), Attachment(), PromptOrigin()


class ClaudeRecord(Raw, kw_only=True, gc=False):
    """A line of Claude Code, with the fields that decide what it is and where it stands, first those of most lines.

    From `kind` on, the fields are ours: `kind` is that of the record's entry, "" if it is no entry. `answer` is the key
    of the answer to which it belongs, also for a result; `entry` is the id of its entry once that is made. `queued` is
    a prompt that stands only in a line of the queue.
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
    compactMetadata: Json = None
    forkedFrom: PromptOrigin | None = None
    operation: str = ""
    content: str | list[Block] = ""
    customTitle: str = ""
    aiTitle: str = ""
    summary: str = ""
    leafUuid: str | None = None
    kind: str = field(default="", name=" kind")
    text: str = field(default="", name=" text")
    answer: str = field(default="", name=" answer")
    entry: str | None = field(default=None, name=" entry")
    queued: str = field(default="", name=" queued")
    is_double: bool = field(default=False, name=" double")
    has_talk_below: bool = field(default=False, name=" talk")


def is_record(value: Object) -> bool:
    """Return True for an object that Claude Code writes as a line of its own."""
    return isinstance(value.get("type"), str) and ("uuid" in value or "sessionId" in value or "leafUuid" in value)


def parent_of(record: ClaudeRecord) -> str | None:
    if record.subtype == "compact_boundary":
        return record.logicalParentUuid or None
    return record.parentUuid if isinstance(record.parentUuid, str) else None


def passed_name(record: ClaudeRecord) -> str:
    if record.isSidechain:
        return "sidechain"
    return record.type if record.type != "assistant" else "program's own answer"


def user_kind(record: ClaudeRecord) -> tuple[str, str]:
    """Return the kind of a user record, and its text; the order of the tests decides."""
    content = record.message.content
    blocks = blocks_in(content)
    if results_in(record):
        return "result", ""
    text = said(content)
    if record.isCompactSummary:
        return "compaction", text
    if record.isMeta:
        return "note:meta", text
    kind, told = spoken_kind(text)
    if kind == "note:context" and any(block.type != "text" for block in blocks):
        kind, told = "prompt", ""
    if kind == "prompt" and record.origin.kind not in (None, "human"):
        return "note:notification", text
    return kind, told


def results_in(record: ClaudeRecord) -> list[str]:
    """Return the ids of the calls to which a user record has results."""
    return [block.tool_use_id for block in blocks_in(record.message.content) if block.type == "tool_result"]


def spoken_kind(text: str) -> tuple[str, str]:
    """Return the kind and the words of a text that stands where the user's words stand."""
    injected, rest = _split(text)
    if injected and not rest:
        return "note:context", text
    text, start = rest, rest.lstrip()
    if start.startswith("<command-message>"):
        command, arguments = _COMMAND.search(text), _ARGUMENTS.search(text)
        words = [found[1].strip() for found in (command, arguments) if found is not None]
        return "prompt", " ".join(filter(None, words)) or text
    for beginning, kind in _NOTES.items():
        if start.startswith(beginning):
            return f"note:{kind}", text
    return "prompt", text


def without_injected(content: Json) -> tuple[str, Json]:
    """Return the blocks in a prompt that the program or an editor wrote around the user's words; and the rest."""
    if not isinstance(content, list):
        blocks, words = _split(text_of(content))
        return "\n".join(blocks), words
    found: list[str] = []
    kept: list[Json] = []
    for block in objects_of(content):
        blocks, words = _split(text_of(block.get("text"))) if block.get("type") == "text" else ([], "")
        found += blocks
        kept += [block] if not blocks else [{**block, "text": words}] if words else []
    return "\n".join(found), kept


def _split(text: str) -> tuple[list[str], str]:
    """Return the injected blocks at both ends of a text, and the text between them; a text without blocks as it is."""
    first: list[str] = []
    last: list[str] = []
    while (found := _FIRST.match(text)) is not None:
        first.append(found[0].strip())
        text = text[found.end() :]
    while (found := _LAST.search(text)) is not None and (at := text.rfind(f"<{found[1]}>")) >= 0:
        last.insert(0, text[at:].strip())
        text = text[:at].rstrip()
    return first + last, text


def content_of(record: ClaudeRecord) -> Json:
    """Return the whole content of a message or of a queued prompt."""
    if record.type == "attachment":
        return object_of(record.whole().get("attachment")).get("prompt")
    with suppress(*REFUSALS):
        if not is_deep(record.raw):
            # Results have a second copy beside the message, which is not decoded.
            return _decode_content(record.raw).message.content
    return object_of(record.whole().get("message")).get("content")


class _Content(Struct):
    content: Json = None


class _WithContent(Struct):
    message: _Content


_decode_content = Decoder(_WithContent).decode


def blocks_in(content: str | list[Block]) -> list[Block]:
    """Return the blocks of a content; a content that is a text has none."""
    return content if content.__class__ is list else []


def said(content: str | list[Block]) -> str:
    """Return the text in a message's content."""
    if isinstance(content, str):
        return content
    return "\n".join([block.text for block in content if block.text])


def blocks_of(content: Json, words: str) -> list[Object]:
    """Return the content of a prompt or result as pi's blocks; `words` stand in place of a text, if there are any."""
    if not isinstance(content, list):
        text = words or text_of(content)
        return [text_block(text)] if text else []
    texts = [block for block in objects_of(content) if block.get("type") == "text"]
    made = [text_block(words)] if words and len(texts) == 1 else []
    for block in objects_of(content):
        kind, source = block.get("type"), object_of(block.get("source"))
        if kind == "text":
            made += [] if words and len(texts) == 1 else [text_block(text_of(block.get("text")))]
        elif kind == "image" and source.get("type") == "base64":
            made.append(
                {"type": "image", "data": text_of(source.get("data")), "mimeType": text_of(source.get("media_type"))}
            )
        elif kind == "tool_reference":
            made.append(text_block(f"[tool reference: {text_of(block.get('tool_name'))}]"))
        else:
            made.append(text_block(as_text(block)))
    return made


def answer_blocks(content: Json) -> list[Object]:
    """Return the content of an answer's record as pi's blocks."""
    return [text_block(content)] if isinstance(content, str) else [_answer_block(one) for one in objects_of(content)]


def _answer_block(block: Object) -> Object:
    kind = block.get("type")
    if kind == "text":
        return text_block(text_of(block.get("text")))
    if kind == "thinking":
        made: Object = {"type": "thinking", "thinking": text_of(block.get("thinking"))}
        return {**made, "thinkingSignature": block["signature"]} if text_of(block.get("signature")) else made
    if kind == "redacted_thinking":
        signature = text_of(block.get("data"))
        text = "[Reasoning redacted]"
        return {"type": "thinking", "thinking": text, "thinkingSignature": signature, "redacted": True}
    if kind == "tool_use":
        given = block.get("input")
        arguments = given if isinstance(given, dict) else {} if given is None else {"input": given}
        return {
            "type": "toolCall",
            "id": text_of(block.get("id")),
            "name": text_of(block.get("name")),
            "arguments": arguments,
        }
    return text_block(as_text(block))
