"""Map the types of blocks, messages and entries to structs; list the JSON keys that sessionbrowse does not read."""

from __future__ import annotations

from sessionbrowse.format.entries import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessage,
    CustomRoleMessage,
    DeveloperMessage,
    EntryBase,
    FallbackBlock,
    FileMentionMessage,
    ImageBlock,
    Label,
    MessageEntry,
    ModeChange,
    ModelChange,
    PlainEntry,
    PythonExecutionMessage,
    RedactedThinkingBlock,
    ServerToolBlock,
    ServiceTierChange,
    SessionInfoEntry,
    SessionSummary,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ThinkingLevelChange,
    ToolCallBlock,
    ToolResultMessage,
    TranscriptNode,
    TtsrInjection,
    UnknownBlock,
    UnknownEntry,
    UnknownMessage,
    UserMessage,
    Value,
)
from sessionbrowse.format.json_value import Json

BLOCK_TYPES: dict[str, type[Value]] = {
    "text": TextBlock,
    "thinking": ThinkingBlock,
    "redactedThinking": RedactedThinkingBlock,
    "image": ImageBlock,
    "toolCall": ToolCallBlock,
    "fallback": FallbackBlock,
    "anthropicServerTool": ServerToolBlock,
}
MESSAGE_TYPES: dict[str, type[Value]] = {
    "user": UserMessage,
    "developer": DeveloperMessage,
    "system": SystemMessage,
    "assistant": AssistantMessage,
    "toolResult": ToolResultMessage,
    "bashExecution": BashExecutionMessage,
    "pythonExecution": PythonExecutionMessage,
    "custom": CustomRoleMessage,
    "hookMessage": CustomRoleMessage,
    "fileMention": FileMentionMessage,
}
ENTRY_TYPES: dict[str, type[EntryBase]] = {
    "message": MessageEntry,
    "model_change": ModelChange,
    "thinking_level_change": ThinkingLevelChange,
    "compaction": Compaction,
    "branch_summary": BranchSummary,
    "custom": Custom,
    "custom_message": CustomMessage,
    "label": Label,
    "session_info": SessionInfoEntry,
    "context_edit": ContextEdit,
    "session_summary": SessionSummary,
    "service_tier_change": ServiceTierChange,
    "mode_change": ModeChange,
    "ttsr_injection": TtsrInjection,
}


PLAIN_TYPES = frozenset(
    {
        "context_compaction",  # These types have no struct: an old kind of compaction (atomic 0.8.26–0.9.8, no effect);
        "context_window_change",  # a change of the size of the context window (atomic 0.9.0–0.9.10);
        "credential_pin",  # a hash of the account that served the session (omp);
        "mcp_tool_selection",  # the MCP tools that the user chose (omp 13–16);
        "model_usage",  # the cost of a model call that left no message (omp);
        "reset_boundary",  # a `/clear` command, after which the model receives no older entries (omp);
        "session_init",  # the prompt and tools with which a subagent was started (omp);
        "title_change",  # a renaming, which omp also writes into the title slot (omp);
        "usage",  # and the cost of a model call that left no message (pi 0.86).
    }
)
UNREAD_KEYS = frozenset(
    {
        "addedToolNames",
        "api",
        "completedAt",
        "contextSnapshot",
        "deferred",
        "diagnostics",
        "duration",
        "durationMs",
        "endTurn",
        "fromExtension",
        "fromHook",
        "historyRewriteAt",
        "meta",
        "method",
        "nestedCalls",
        "protectedReconciliation",
        "providerPayload",
        "providerThinkingLevel",
        "prunedAt",
        "rawStopReason",
        "requestControls",
        "resolvedModelIsFallback",
        "responseId",
        "responseModel",
        "stageAdmissionKey",
        "steering",
        "summarizedThroughId",
        "synthetic",
        "tokensAfter",
        "toolsRemoved",
        "ttft",
        "upstreamModel",
        "upstreamProvider",
        "useless",
        "warning",
    }
)
"""JSON keys of messages and entries that agent programs write and sessionbrowse does not read; `extra` keeps them."""


def unknown_keys(value: Value) -> dict[str, Json]:
    """Return those keys and values in a struct's `extra` whose keys are not in `UNREAD_KEYS`."""
    return {key: item for key, item in value.extra.items() if key not in UNREAD_KEYS}


def type_name(value: Value) -> str:
    """Return a block's or entry's type, or a message's role, as in the file: `toolCall`, `user`, `model_change`."""
    match value:
        case UnknownBlock() | UnknownEntry() | PlainEntry():
            return value.type
        case UnknownMessage():
            return value.role
        case TranscriptNode():
            return "entry"
    return _NAMES[type(value)]


_NAMES: dict[type[Value], str] = {
    kind: name for table in (BLOCK_TYPES, ENTRY_TYPES) for name, kind in table.items()
} | {kind: name for name, kind in MESSAGE_TYPES.items() if name != "hookMessage"}
