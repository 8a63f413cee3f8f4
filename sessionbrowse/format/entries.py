"""The structs of the format: header, entries, messages, content blocks, usage.

One struct for each kind that pi, omp, atomic and indusagi write. A field has the name of the file's camelCase key in
snake_case; `None` means that the key is absent, null or of a wrong type. `extra` keeps every other key unchanged: keys
that no reader needs, unknown keys, and keys with a value of a wrong type. Sources: pi 0.12 … 1.5.2, omp 5 … 18,
atomic 0.8 … 0.9.15, indusagi 1.
"""

from __future__ import annotations

from msgspec import Struct, field

from sessionbrowse.format.json_value import Json


class Value(Struct, frozen=True, kw_only=True, rename="camel"):
    """A decoded JSON object of a known kind."""

    extra: dict[str, Json] = field(default_factory=dict, name="@extra")


# ---- money and tokens ----------------------------------------------------------------------------------------


class Cost(Value, frozen=True, kw_only=True):
    """US dollars of one answer."""

    total: float | None = None


class Usage(Value, frozen=True, kw_only=True):
    """Tokens of one answer."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    cost: Cost | None = None


# ---- content blocks ------------------------------------------------------------------------------------------


class TextBlock(Value, frozen=True, kw_only=True):
    """Plain text."""

    text: str | None = None


class ThinkingBlock(Value, frozen=True, kw_only=True):
    """The model's reasoning; empty when the provider redacted it."""

    thinking: str | None = None
    thinking_signature: str | None = None
    redacted: bool | None = None


class RedactedThinkingBlock(Value, frozen=True, kw_only=True):
    """Reasoning that the provider keeps encrypted (omp)."""

    data: str | None = None


class ImageBlock(Value, frozen=True, kw_only=True):
    """An image: base64 text in `data`, or omp's `blob:sha256:<hex>` reference."""

    data: str | None = None
    mime_type: str | None = None


class ToolCallBlock(Value, frozen=True, kw_only=True):
    """A call of a tool by the model."""

    id: str | None = None
    name: str | None = None
    arguments: Json = None
    intent: str | None = None


class FallbackBlock(Value, frozen=True, kw_only=True):
    """omp's note that another model answered; `from_` and `to` are objects with a `model`."""

    from_: dict[str, Json] | None = field(default=None, name="from")
    to: dict[str, Json] | None = None


class ServerToolBlock(Value, frozen=True, kw_only=True):
    """A provider-side tool of Anthropic (omp)."""

    block: Json = None


class UnknownBlock(Value, frozen=True, kw_only=True):
    """A block of an unknown type; `raw` is the whole value, which need not be an object."""

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
"""The content of a message: text, blocks, or None if it is absent, null or neither of them."""


# ---- messages ------------------------------------------------------------------------------------------------


class UserMessage(Value, frozen=True, kw_only=True):
    """A message of the user; omp adds the person or program to which it is attributed."""

    content: Content = None
    timestamp: float | None = None
    attribution: str | None = None


class DeveloperMessage(UserMessage, frozen=True, kw_only=True):
    """An instruction of the program itself (omp)."""


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
    """A message of an extension stored with role `custom` (before v3: `hookMessage`)."""

    content: Content = None
    custom_type: str | None = None
    display: bool | None = None
    details: Json = None
    attribution: str | None = None
    timestamp: float | None = None


class FileMentionMessage(Value, frozen=True, kw_only=True):
    """Files that the user mentioned in a prompt (omp)."""

    files: list[Json] | None = None
    timestamp: float | None = None


class UnknownMessage(Value, frozen=True, kw_only=True):
    """A message with an unknown role, or without one (then `role` is empty)."""

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
    """omp's 256-byte first line that holds the session's name; an empty title means unnamed."""

    v: Json = None
    title: str | None = None
    source: str | None = None
    updated_at: str | None = None
    pad: str | None = None


class Header(Value, frozen=True, kw_only=True):
    """The `type: "session"` line. `version` absent means 1; any version of 3 or more is read as 3."""

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


# ---- entries -------------------------------------------------------------------------------------------------


class EntryBase(Value, frozen=True, kw_only=True):
    """The fields of every entry; `timestamp` is ISO 8601 UTC as in the file."""

    id: str | None = None
    parent_id: str | None = None
    timestamp: str | None = None


class MessageEntry(EntryBase, frozen=True, kw_only=True):
    """An entry that holds a message; `message` is None if it is missing or not an object."""

    message: Message | None = None


class ModelChange(EntryBase, frozen=True, kw_only=True):
    """A change of model: pi writes provider and model id, omp `provider/id` in `model` with a role."""

    provider: str | None = None
    model_id: str | None = None
    model: str | None = None
    role: str | None = None


class ThinkingLevelChange(EntryBase, frozen=True, kw_only=True):
    """A change of the thinking level; omp may store null."""

    thinking_level: str | None = None
    configured: str | None = None


class Compaction(EntryBase, frozen=True, kw_only=True):
    """A compaction: a summary replaces the older history.

    Format version 1 names the first kept entry by its index, counting the header.
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
    """The summary of a branch that the user left; `from_id` is `"root"` or an entry id."""

    from_id: str | None = None
    summary: str | None = None
    details: Json = None
    usage: Usage | None = None


class Custom(EntryBase, frozen=True, kw_only=True):
    """State of an extension; never part of the context."""

    custom_type: str | None = None
    data: Json = None


class CustomMessage(EntryBase, frozen=True, kw_only=True):
    """A message that an extension put into the context."""

    custom_type: str | None = None
    content: Content = None
    display: bool | None = None
    details: Json = None
    attribution: str | None = None
    exclude_from_context: bool | None = None


class Label(EntryBase, frozen=True, kw_only=True):
    """The user's label on the entry `target_id`; without `label` it clears the label."""

    target_id: str | None = None
    label: str | None = None


class SessionInfoEntry(EntryBase, frozen=True, kw_only=True):
    """The session's name as pi, atomic and indusagi store it."""

    name: str | None = None


class ContextEdit(EntryBase, frozen=True, kw_only=True):
    """A change of an earlier entry for the model only (pi 0.87): `replacement` is new content, None hides the entry."""

    target_id: str | None = None
    replacement: dict[str, Json] | None = None


class SessionSummary(EntryBase, frozen=True, kw_only=True):
    """atomic's short description of a session for its picker."""

    summary: str | None = None
    usage: Usage | None = None


class ServiceTierChange(EntryBase, frozen=True, kw_only=True):
    """A change of omp's service tier: an object by provider family, a text in older versions, or null."""

    service_tier: Json = None


class ModeChange(EntryBase, frozen=True, kw_only=True):
    """A change of omp's mode, such as plan, goal, vibe, or none."""

    mode: str | None = None
    data: Json = None


class TtsrInjection(EntryBase, frozen=True, kw_only=True):
    """The names of rules that omp put into the context."""

    injected_rules: list[Json] | None = None


class TranscriptNode(EntryBase, frozen=True, kw_only=True):
    """An entry of an `indus/transcript@1` file: `prev` is the parent's id, `at` the time, `role` its role."""

    parent_id: str | None = field(default=None, name="prev")
    timestamp: str | None = field(default=None, name="at")
    role: str | None = None
    message: Message | None = None


class PlainEntry(EntryBase, frozen=True, kw_only=True):
    """An entry of one of `entry_types.PLAIN_TYPES`: no code reads its own keys, so all stay in `extra`."""

    type: str = ""


class UnknownEntry(EntryBase, frozen=True, kw_only=True):
    """An entry of an unknown type, or a JSON value that is no object; `raw` is the whole value."""

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
    """A line that is not JSON; `reason` is a sentence that tells the user what is wrong."""

    reason: str


TRANSCRIPT_SCHEMA = "indus/transcript@1"
"""The `schema` of every line of indusagi's newer files."""
