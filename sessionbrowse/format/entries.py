"""The structs of the format: header, entries, messages, content blocks, usage.

There is one struct for each kind of object that pi, omp, atomic and indusagi write. A field is named like the JSON key,
but in snake_case; `None` means that the key is absent, null or has a value of a wrong type. `extra` keeps all other
keys unchanged: unknown keys, keys that sessionbrowse does not read, and keys with a value of a wrong type. Sources:
pi 0.12 … 1.5.2, omp 5 … 18, atomic 0.8 … 0.9.15, indusagi 1.
"""

from __future__ import annotations

from msgspec import Struct, field

from sessionbrowse.format.json_value import Json


class Value(Struct, frozen=True, kw_only=True, rename="camel"):
    """A JSON object of a session file as a struct; the base class of headers, entries, messages and blocks."""

    extra: dict[str, Json] = field(default_factory=dict, name="@extra")


# ---- money and tokens ----------------------------------------------------------------------------------------


class Cost(Value, frozen=True, kw_only=True):
    """The cost of one call of a model, in US dollars."""

    total: float | None = None


class Usage(Value, frozen=True, kw_only=True):
    """The numbers of tokens that one call of a model used, and its cost."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    cost: Cost | None = None


# ---- content blocks ------------------------------------------------------------------------------------------


class TextBlock(Value, frozen=True, kw_only=True):
    """A block of text in a message's content."""

    text: str | None = None


class ThinkingBlock(Value, frozen=True, kw_only=True):
    """A content block with the model's reasoning; the text is empty if the provider redacted it."""

    thinking: str | None = None
    thinking_signature: str | None = None
    redacted: bool | None = None


class RedactedThinkingBlock(Value, frozen=True, kw_only=True):
    """A content block with reasoning of the model that its provider encrypted (omp)."""

    data: str | None = None


class ImageBlock(Value, frozen=True, kw_only=True):
    """A content block with an image: `data` is base64 text, or omp's reference to a blob: `blob:sha256:<hex>`."""

    data: str | None = None
    mime_type: str | None = None


class ToolCallBlock(Value, frozen=True, kw_only=True):
    """A content block in which the model calls a tool."""

    id: str | None = None
    name: str | None = None
    arguments: Json = None
    intent: str | None = None


class FallbackBlock(Value, frozen=True, kw_only=True):
    """A content block in which omp notes a change of the model; `from_` and `to` are objects with the key `model`."""

    from_: dict[str, Json] | None = field(default=None, name="from")
    to: dict[str, Json] | None = None


class ServerToolBlock(Value, frozen=True, kw_only=True):
    """A content block of a tool that Anthropic runs on its own servers (omp)."""

    block: Json = None


class UnknownBlock(Value, frozen=True, kw_only=True):
    """A content block of an unknown type; `raw` is its JSON value, which need not be an object."""

    type: str = ""
    raw: Json = None


Block = (
    TextBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ImageBlock
    | ToolCallBlock
    | FallbackBlock
    | ServerToolBlock
    | UnknownBlock
)
Content = str | tuple[Block, ...] | None
"""The content of a message: text or blocks; None if the content is missing, null or of another type."""


# ---- messages ------------------------------------------------------------------------------------------------


class UserMessage(Value, frozen=True, kw_only=True):
    """A message of the user; `attribution` is the message's author as omp names it: "user" or "agent"."""

    content: Content = None
    timestamp: float | None = None
    attribution: str | None = None


class DeveloperMessage(UserMessage, frozen=True, kw_only=True):
    """An instruction to the model that omp itself wrote."""


class SystemMessage(Value, frozen=True, kw_only=True):
    """The system prompt or a change of it (pi 0.86)."""

    content: Content = None
    timestamp: float | None = None
    sections: dict[str, Json] | None = None
    tools_added: list[Json] | None = None


class AssistantMessage(Value, frozen=True, kw_only=True):
    """One answer of the model."""

    content: Content = None
    timestamp: float | None = None
    provider: str | None = None
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    thinking_level: str | None = None
    retry_recovery: Json = None


class ToolResultMessage(Value, frozen=True, kw_only=True):
    """The result of a tool call."""

    content: Content = None
    timestamp: float | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    details: Json = None
    usage: Usage | None = None
    is_error: bool | None = None


class BashExecutionMessage(Value, frozen=True, kw_only=True):
    """A shell command that the user ran with `!`; `!!` sets `exclude_from_context`."""

    command: str | None = None
    output: str | None = None
    exit_code: float | None = None
    cancelled: bool | None = None
    truncated: bool | None = None
    full_output_path: str | None = None
    exclude_from_context: bool | None = None
    images: list[Json] | None = None
    timestamp: float | None = None


class PythonExecutionMessage(Value, frozen=True, kw_only=True):
    """Python code that the user ran (omp)."""

    code: str | None = None
    output: str | None = None
    exit_code: float | None = None
    cancelled: bool | None = None
    truncated: bool | None = None
    exclude_from_context: bool | None = None
    timestamp: float | None = None


class CustomRoleMessage(Value, frozen=True, kw_only=True):
    """A message of an extension, with the role `custom`, or `hookMessage` in files of format version 1 or 2."""

    content: Content = None
    custom_type: str | None = None
    display: bool | None = None
    details: Json = None
    attribution: str | None = None
    timestamp: float | None = None


class FileMentionMessage(Value, frozen=True, kw_only=True):
    """A message with the files that the user mentioned in a prompt (omp)."""

    files: list[Json] | None = None
    timestamp: float | None = None


class UnknownMessage(Value, frozen=True, kw_only=True):
    """A message with an unknown role; `role` is empty if the message has no role."""

    role: str = ""
    content: Content = None
    timestamp: float | None = None


Message = (
    UserMessage
    | DeveloperMessage
    | SystemMessage
    | AssistantMessage
    | ToolResultMessage
    | BashExecutionMessage
    | PythonExecutionMessage
    | CustomRoleMessage
    | FileMentionMessage
    | UnknownMessage
)


# ---- the first lines -----------------------------------------------------------------------------------------


class TitleSlot(Value, frozen=True, kw_only=True):
    """omp's title slot: the first line of a file, 256 bytes, with the session's name; "" means that it has no name."""

    v: Json = None
    title: str | None = None
    source: str | None = None
    updated_at: str | None = None
    pad: str | None = None


class Header(Value, frozen=True, kw_only=True):
    """The header of a session: its line with `type: "session"`.

    A missing `version` means format version 1; any version above 3 is read as 3. For a session of Claude Code or Codex,
    `unread` counts the records that are no entries, by kind; `unfinished` is True if its last turn has no end; `places`
    has a pair of line and byte offset in its own file for each line without a record, in the order of the translation.
    """

    id: str | None = None
    version: Json = None
    timestamp: str | None = None
    cwd: str | None = None
    parent_session: str | None = None
    provider: str | None = None
    model_id: str | None = None
    model: Json = None
    thinking_level: str | None = None
    title: str | None = None
    title_source: str | None = None
    additional_directories: list[Json] | None = None
    provider_prompt_cache_key: str | None = None
    internal: bool | None = None
    workflow: dict[str, Json] | None = None
    unread: dict[str, Json] | None = None
    unfinished: bool | None = None
    places: list[Json] | None = None


# ---- entries -------------------------------------------------------------------------------------------------


class EntryBase(Value, frozen=True, kw_only=True):
    """The fields that all entries have; `timestamp` is ISO 8601 UTC as in the file."""

    id: str | None = None
    parent_id: str | None = None
    timestamp: str | None = None


class MessageEntry(EntryBase, frozen=True, kw_only=True):
    """An entry that holds a message; `message` is None if it is missing or not an object."""

    message: Message | None = None


class ModelChange(EntryBase, frozen=True, kw_only=True):
    """A change of the model: pi sets `provider` and `model_id`, omp sets `model` to `provider/id` and adds a `role`."""

    provider: str | None = None
    model_id: str | None = None
    model: str | None = None
    role: str | None = None


class ThinkingLevelChange(EntryBase, frozen=True, kw_only=True):
    """A change of the model's thinking level; `thinking_level` is None if omp stored null."""

    thinking_level: str | None = None
    configured: str | None = None


class Compaction(EntryBase, frozen=True, kw_only=True):
    """A compaction: its summary replaces older history in what the model receives.

    In format version 1 the first kept entry is named by its position among the file's lines; the header is 0.
    """

    summary: str | None = None
    short_summary: str | None = None
    first_kept_entry_id: str | None = None
    first_kept_entry_index: int | None = None
    tokens_before: float | None = None
    provider_replay_through_entry_id: str | None = None
    details: Json = None
    preserve_data: Json = None
    usage: Usage | None = None
    system_message: dict[str, Json] | None = None


class BranchSummary(EntryBase, frozen=True, kw_only=True):
    """The summary of a branch that the user left.

    `from_id` is the id of the leaf that was left (pi since 0.84.3), or the id of this entry's parent (other programs).
    The programs write "root" if this id is null.
    """

    from_id: str | None = None
    summary: str | None = None
    details: Json = None
    usage: Usage | None = None


class Custom(EntryBase, frozen=True, kw_only=True):
    """An entry in which an extension stores its state; the model never receives it."""

    custom_type: str | None = None
    data: Json = None


class CustomMessage(EntryBase, frozen=True, kw_only=True):
    """An entry with a message that an extension sends to the model."""

    custom_type: str | None = None
    content: Content = None
    display: bool | None = None
    details: Json = None
    attribution: str | None = None
    exclude_from_context: bool | None = None


class Label(EntryBase, frozen=True, kw_only=True):
    """An entry that sets the user's label on the entry `target_id`, or clears it if `label` is missing."""

    target_id: str | None = None
    label: str | None = None


class SessionInfoEntry(EntryBase, frozen=True, kw_only=True):
    """An entry that sets the session's name, as pi, atomic and indusagi write it."""

    name: str | None = None


class ContextEdit(EntryBase, frozen=True, kw_only=True):
    """An entry of pi 0.87 that replaces what the model receives for the entry `target_id`.

    If `replacement` is None, the model no longer receives the entry `target_id`.
    """

    target_id: str | None = None
    replacement: dict[str, Json] | None = None


class SessionSummary(EntryBase, frozen=True, kw_only=True):
    """An entry with a short description of the session, which atomic shows in its list of sessions."""

    summary: str | None = None
    usage: Usage | None = None


class ServiceTierChange(EntryBase, frozen=True, kw_only=True):
    """A change of omp's service tiers: an object with a tier for each provider, one word in older files, or null."""

    service_tier: Json = None


class ModeChange(EntryBase, frozen=True, kw_only=True):
    """A change of omp's mode, such as "plan", "goal", "vibe" or "none"."""

    mode: str | None = None
    data: Json = None


class TtsrInjection(EntryBase, frozen=True, kw_only=True):
    """An entry with the names of rules, instructions for the model, that omp added to what the model receives."""

    injected_rules: list[Json] | None = None


class TranscriptNode(EntryBase, frozen=True, kw_only=True):
    """An entry of an `indus/transcript@1` file, indusagi's newer format: `prev` is the parent's id, `at` the time."""

    parent_id: str | None = field(default=None, name="prev")
    timestamp: str | None = field(default=None, name="at")
    role: str | None = None
    message: Message | None = None


class PlainEntry(EntryBase, frozen=True, kw_only=True):
    """An entry of a type without a struct of its own (`entry_types.PLAIN_TYPES`); `extra` has its special keys."""

    type: str = ""


class UnknownEntry(EntryBase, frozen=True, kw_only=True):
    """An entry of an unknown type, or a line whose JSON value is no object; `raw` is the JSON value of the line."""

    type: str = ""
    raw: Json = None


Entry = (
    MessageEntry
    | ModelChange
    | ThinkingLevelChange
    | Compaction
    | BranchSummary
    | Custom
    | CustomMessage
    | Label
    | SessionInfoEntry
    | ContextEdit
    | SessionSummary
    | ServiceTierChange
    | ModeChange
    | TtsrInjection
    | TranscriptNode
    | PlainEntry
    | UnknownEntry
)


class BadLine(Struct, frozen=True):
    """A line that is not JSON; `reason` explains the mistake to the user."""

    reason: str


TRANSCRIPT_SCHEMA = "indus/transcript@1"
"""The value of `schema` in every line of a file that indusagi 2 or later wrote."""
