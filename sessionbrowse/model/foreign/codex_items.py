"""Lines of Codex: determine their kinds, and convert their content to blocks of pi's format."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from sessionbrowse.format.json_value import BadJson, Json, loads
from sessionbrowse.format.ordinary_line import REFUSALS
from sessionbrowse.model.foreign.translated import (
    Object,
    RawLine,
    Tokens,
    as_text,
    blocks_of,
    is_string,
    object_of,
    text_block,
    text_of,
    usual_fields,
)

INJECTED = (
    "<environment_context>",
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<skill>",
    "<recommended_plugins>",
    "<user_action>",
    "Warning: apply_patch was requested",
)
"""Beginnings of messages with the role "user" that Codex itself wrote, not the user."""
_ITEMS = {
    "reasoning": "reasoning",
    "call": "custom_tool_call function_call image_generation_call local_shell_call tool_search_call web_search_call",
    "output": "custom_tool_call_output function_call_output tool_search_output",
    "note": "agent_message",
    "passed": "compaction ghost_snapshot",
}
_EVENTS = {
    "note": "error stream_error",
    "shown": "item_completed user_message",
    "repeated": "agent_message agent_reasoning",
    "count": "token_count",
    "aborted": "turn_aborted",
    "rollback": "thread_rolled_back",
    "named": "thread_name_updated",
    "passed": "background_event context_compacted entered_review_mode exited_review_mode guardian_assessment "
    "plan_update sub_agent_activity view_image_tool_call",
}
_LINES = {
    "head": "session_meta",
    "turn": "turn_context",
    "compaction": "compacted",
    "passed": "fork_reference inter_agent_communication inter_agent_communication_metadata rollout_reference state "
    "token_usage_record world_state",
}
"""Map parts (see `part_of`) to types of items, of events, and of other lines."""
_PASSED_EVENTS = "agent_reasoning collab_ dynamic_tool_call_ mcp_ task_ thread_ turn_ undo_ web_search_"
"""Beginnings of types of further events that become no entries."""


@lru_cache(maxsize=256)
def part_of(kind: str, about: str, role: str) -> str:
    """Return the part of a line in the session, by its type (`kind`), and by the type and role of its payload.

    The parts "text", "reasoning" and "call" belong to an answer. "user" is an item and "shown" an event that may be a
    prompt. "repeated" is an event that may repeat an item of an answer. "passed" is a line that becomes no entry.
    """
    if kind == "response_item" and about == "message":
        return {"user": "user", "assistant": "text"}.get(role, "note")
    parts, name = {"response_item": (_ITEMS, about), "event_msg": (_EVENTS, about)}.get(kind, (_LINES, kind))
    part = next((part for part, names in parts.items() if name in names.split()), "unknown")
    is_passed = about.startswith(tuple(_PASSED_EVENTS.split())) or about.endswith(("_begin", "_end"))
    return "passed" if part == "unknown" and kind == "event_msg" and is_passed else part


def _is_item(kind: str) -> bool:
    return part_of("response_item", kind, "user") not in ("note", "passed", "unknown")


def is_record(value: Object) -> bool:
    """Return True for an object that Codex writes as a line of its own."""
    return isinstance(value.get("type"), str) and ("payload" in value or _is_item(value["type"]))


class SaidPart(Struct, gc=False):
    """A part of a message or of a reasoning's summary, without images."""

    text: str = ""


class Counts(Struct, frozen=True, gc=False):
    """Numbers of tokens, by kind."""

    input_tokens: Tokens = 0
    cached_input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    reasoning_output_tokens: Tokens = 0
    total_tokens: Tokens = 0


class Info(Struct, gc=False):
    """The tokens of the session so far, and of the last request."""

    total_token_usage: Counts | None = None
    last_token_usage: Counts | None = None


class Payload(Struct, frozen=True, gc=False):
    """An item, an event or the context of a turn, with only the fields that a list needs."""

    type: str = ""
    role: str = ""
    content: str | list[SaidPart] | None = None
    summary: list[SaidPart] | str | None = ""
    message: str = ""
    text: str = ""
    call_id: str = ""
    name: Raw = Raw()
    arguments: Raw = Raw()
    input: Raw = Raw()
    output: Raw = Raw()
    status: Raw = Raw()
    info: Info | None = None
    item: Payload | None = None
    content_item_kinds: Json = None
    num_turns: Json = None
    thread_name: str = ""
    model: str | None = None


class Meta(Struct, frozen=True, gc=False):
    """The payload of a header."""

    id: str | None = None
    session_id: str | None = None
    timestamp: str = ""
    cwd: str | None = None
    source: Json = None
    thread_source: Json = None
    parent_thread_id: str | None = None
    forked_from_id: str | None = None
    subagent_history_start_ordinal: Json = None
    history_base: Json = None


NO_PAYLOAD = Payload()


class Line(RawLine, kw_only=True, gc=False):
    """A line: its time, type and payload.

    The fields from `part` on are not in the file: `part` is the line's part in the session (see `part_of`), `words` are
    the user's words in a prompt's event, "" without an event, and `call` is the id of a call in pi's format.
    """

    timestamp: str = ""
    type: str = ""
    payload: Payload = NO_PAYLOAD
    ordinal: Json = None
    is_copied: bool = field(default=False, name=" copied")
    part: str = field(default="", name=" part")
    words: str = field(default="", name=" words")
    call: str = field(default="", name=" call")

    def item(self) -> Object:
        """Return the whole payload; in older versions, which wrote no `payload` key, it is the whole line."""
        whole = self.whole()
        payload = whole.get("payload")
        return payload if isinstance(payload, dict) else whole


class _Copied(Struct):
    payload: Raw


_decode_meta, _decode_copied = Decoder(Meta).decode, Decoder(_Copied).decode
_decode_text, _decode_raw = Decoder(str).decode, Decoder(Raw).decode


def meta_of(line: Line) -> Meta:
    try:
        return _decode_meta(_decode_copied(line.raw).payload)
    except REFUSALS:
        return usual_fields(line.item(), Meta)


def complete(line: Line) -> None:
    """Convert a line of an older version, which has its fields outside of `payload`, to today's form."""
    value = line.whole()
    line.payload = usual_fields(value, Payload)
    if "record_type" in value:
        line.type = text_of(value["record_type"])
    elif not line.type and "id" in value:
        line.type = "session_meta"
    elif _is_item(line.type):
        line.type = "response_item"


def event_text(line: Line) -> str | None:
    """Return the user's words in an event, None for other events; in newer files they are in the event's `item`."""
    if line.type != "event_msg":
        return None
    if line.payload.type == "user_message":
        return line.payload.message
    item = line.payload.item
    return said(item.content) if line.payload.type == "item_completed" and item and item.type == "UserMessage" else None


def said(content: str | list[SaidPart] | None) -> str:
    """Return the text in a message's content."""
    return content if isinstance(content, str) else "\n".join([part.text for part in content or () if part.text])


def texts_in(about: Payload) -> list[str]:
    """Return the model's texts in an item, or in an event that repeats an item, stripped of blanks."""
    parts = [part for each in (about.content, about.summary) if isinstance(each, list) for part in each]
    texts = [said(about.content), *[part.text for part in parts], about.message, about.text]
    return [text.strip() for text in texts if text and not text.isspace()]


def answer_blocks(line: Line) -> list[Object]:
    """Convert a line of an answer to pi's content blocks.

    Reasoning that is stored encrypted becomes an empty thinking block.
    """
    about = line.payload
    if line.part == "call":
        return [_call_block(line)]
    if line.type == "event_msg":
        text = "\n".join(texts_in(about))
        return [text_block(text) if line.part == "text" else {"type": "thinking", "thinking": text}]
    summary, said = (
        [one.text for one in each] if isinstance(each, list) else [] for each in (about.summary, about.content)
    )
    if about.type == "message":
        return list(map(text_block, said)) if said and all(said) else blocks_of(line.item().get("content"))
    text = "\n\n".join(filter(None, summary + said))
    return [{"type": "thinking", "thinking": text, "thinkingSignature": _payload_text(line)}]


def _payload_text(line: Line) -> str:
    try:
        return bytes(_decode_copied(line.raw).payload).decode()
    except REFUSALS:
        return as_text(line.item())


def call_name(line: Line) -> Json:
    """Return the name of the tool in a call."""
    about = line.payload
    return about.name if is_string(about.name, 1) else about.type.removesuffix("_call")


def _call_block(line: Line) -> Object:
    about, name = line.payload, call_name(line)
    made: Object = {"type": "toolCall", "id": line.call, "name": name}
    if about.type == "custom_tool_call":
        return {**made, "arguments": {"input": about.input if is_string(about.input) else ""}, "customWireName": name}
    if is_string(about.arguments):
        with suppress(*REFUSALS):
            text = _decode_text(about.arguments).encode()
            if text.startswith(b"{") and b"\n" not in text:
                return {**made, "arguments": _decode_raw(text)}
    item = line.item()
    given = item.get("arguments")
    if isinstance(given, str):
        with suppress(BadJson):
            given = loads(given.encode("utf-8", "replace"))
    if given is None:
        given = item.get("action")
    if given is None:
        given = {key: value for key, value in item.items() if key not in ("type", "call_id", "id", "name", "result")}
    return {**made, "arguments": given if isinstance(given, dict) else {"arguments": given}}


def output_blocks(line: Line) -> tuple[Json, bool]:
    """Return the content of a tool result, and True if the tool failed."""
    about = line.payload
    content: Json = Raw(b'[{"type":"text","text":%b}]' % about.output)
    is_error = False
    if not is_string(about.output) or bytes(about.output).startswith(b'"{\\"output\\"'):
        content, is_error = _output_of(loads(bytes(about.output)) if about.output else line.item().get("tools"))
    return content, is_error or bytes(about.status) == b'"failed"'


def _output_of(output: Json) -> tuple[list[Object], bool]:
    """Return the content of a tool result, and True if the tool failed."""
    failed = False
    if isinstance(output, str) and output.startswith('{"output"'):
        with suppress(BadJson):
            output = loads(output.encode("utf-8", "replace"))
    if isinstance(output, dict):
        inner = output.get("output", output.get("content"))
        code = object_of(output.get("metadata")).get("exit_code")
        failed = output.get("success") is False or (isinstance(code, int) and code != 0)
        output = inner if isinstance(inner, str | list) else output
    if isinstance(output, list):
        return blocks_of(output), failed
    return [text_block(output if isinstance(output, str) else as_text(output))], failed
