"""Lines of Codex: their kinds, and their content as blocks of pi's format."""

from __future__ import annotations

import re

from msgspec import Struct

from sessionbrowse.format.json_value import BadJson, Json, loads
from sessionbrowse.model.foreign.translated import Object, as_text, object_of, objects_of, text_block, text_of

_ITEM_TYPES = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})
_INJECTED = (
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
"""Beginnings of messages with the role "user" that Codex wrote."""
CALLS = frozenset(
    {
        "custom_tool_call",
        "function_call",
        "image_generation_call",
        "local_shell_call",
        "tool_search_call",
        "web_search_call",
    }
)
OUTPUTS = frozenset({"custom_tool_call_output", "function_call_output", "tool_search_output"})
PASSED_ITEMS = frozenset({"compaction", "ghost_snapshot"})
PASSED_EVENTS = re.compile(
    r"agent_message|agent_reasoning\w*|token_count|user_message|item_completed|context_compacted|thread_\w+|task_\w+|\w+_end"
    r"|\w+_begin|turn_\w+|entered_review_mode|exited_review_mode|sub_agent_activity|collab_\w+|undo_\w+|view_image_tool_call"
    r"|dynamic_tool_call_\w+|guardian_assessment|plan_update|background_event|mcp_\w+|web_search_\w+"
)
"""Events that repeat items, or show the state of the program."""


def is_record(value: Object) -> bool:
    """Return True for an object that Codex writes as a line of its own."""
    return isinstance(value.get("type"), str) and ("payload" in value or value["type"] in _ITEM_TYPES)


class Line(Struct):
    """A line: its number, time, type and payload. `role` is "prompt" or "note" for a message with the role "user".

    `words` are the user's words in the event of a prompt; "" if there is no event.
    """

    number: int
    timestamp: str
    type: str
    payload: Object
    ordinal: Json = None
    is_copied: bool = False
    role: str = ""
    words: str = ""

    @property
    def kind(self) -> str:
        """The type of the item or event in the line."""
        return text_of(self.payload.get("type"))


def line_of(number: int, value: Object) -> Line:
    """Return a line in the form of today; older versions wrote the first line and the items without an envelope."""
    kind, timestamp = text_of(value.get("type")), text_of(value.get("timestamp"))
    payload = value.get("payload")
    if isinstance(payload, dict):
        return Line(number, timestamp, kind, payload, value.get("ordinal"))
    if "record_type" in value:
        return Line(number, timestamp, text_of(value["record_type"]), value)
    if not kind and "id" in value:
        return Line(number, timestamp, "session_meta", value)
    is_bare = kind in _ITEM_TYPES or kind in CALLS or kind in OUTPUTS
    return Line(number, timestamp, "response_item" if is_bare else kind, value)


def is_message(line: Line, role: str) -> bool:
    return line.type == "response_item" and line.kind == "message" and line.payload.get("role") == role


def is_answer(entry: Object) -> bool:
    return bool(entry["type"] == "message" and entry["message"]["role"] == "assistant")


def event_text(line: Line) -> str | None:
    """Return the user's words in an event; None for other events. Paginated files have an item in place of them."""
    if line.type != "event_msg":
        return None
    if line.kind == "user_message":
        return text_of(line.payload.get("message"))
    item = object_of(line.payload.get("item"))
    if line.kind == "item_completed" and item.get("type") == "UserMessage":
        return plain(item.get("content"))
    return None


def is_injected(item: Object) -> bool:
    return plain(item.get("content")).lstrip().startswith(_INJECTED)


def plain(content: Json) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, [text_of(block.get("text")) for block in objects_of(content)]))


def texts_in(payload: Object) -> list[str]:
    """Return the texts of the model in an item, or in an event that repeats an item, without blanks around them."""
    blocks = [*objects_of(payload.get("content")), *objects_of(payload.get("summary"))]
    texts = [plain(payload.get("content")), *[text_of(block.get("text")) for block in blocks]]
    texts += [text_of(payload.get("message")), text_of(payload.get("text"))]
    return [text.strip() for text in texts if text.strip()]


def blocks_of(content: Json) -> list[Object]:
    """Return the content of a message of Codex as content blocks of pi's format."""
    made: list[Object] = []
    if isinstance(content, str):
        return [text_block(content)]
    for block in objects_of(content):
        url = text_of(block.get("image_url"))
        found = re.match(r"data:([\w/+.-]+);base64,", url)
        if found is not None:
            made.append({"type": "image", "data": url[found.end() :], "mimeType": found[1]})
        elif "text" in block:
            made.append(text_block(text_of(block["text"])))
        else:
            made.append(text_block(as_text(block)))
    return made


def answer_blocks(item: Object) -> list[Object]:
    """Return the blocks of reasoning or of the model's text; encrypted reasoning is an empty block."""
    if item.get("type") == "message":
        return blocks_of(item.get("content"))
    texts = [text_of(one.get("text")) for one in (*objects_of(item.get("summary")), *objects_of(item.get("content")))]
    return [{"type": "thinking", "thinking": "\n\n".join(filter(None, texts)), "thinkingSignature": as_text(item)}]


def call_block(item: Object, call: str) -> Object:
    kind, given = text_of(item.get("type")), item.get("arguments")
    name = text_of(item.get("name")) or kind.removesuffix("_call")
    made: Object = {"type": "toolCall", "id": call, "name": name}
    if kind == "custom_tool_call":
        return {**made, "arguments": {"input": text_of(item.get("input"))}, "customWireName": name}
    if isinstance(given, str):
        try:
            given = loads(given.encode("utf-8", "replace"))
        except BadJson:
            given = {"arguments": given}
    if given is None:
        given = item.get("action")
    if given is None:
        given = {key: value for key, value in item.items() if key not in ("type", "call_id", "id", "name", "result")}
    return {**made, "arguments": given if isinstance(given, dict) else {"arguments": given}}


def output_of(output: Json) -> tuple[list[Object], bool]:
    """Return the content of a result, and True if it tells of an error."""
    if isinstance(output, str) and output.startswith('{"output"'):
        try:
            output = loads(output.encode("utf-8", "replace"))
        except BadJson:
            return [text_block(output)], False
    if isinstance(output, dict):
        inner = output.get("output", output.get("content"))
        code = object_of(output.get("metadata")).get("exit_code")
        failed = output.get("success") is False or (isinstance(code, int) and code != 0)
        return (blocks_of(inner) if isinstance(inner, str | list) else [text_block(as_text(output))]), failed
    if isinstance(output, list):
        return blocks_of(output), False
    return ([text_block(output)] if isinstance(output, str) else [text_block(as_text(output))]), False
