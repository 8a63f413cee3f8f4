"""The agent programs' type names for the structs of `entries`, and the entry types and keys that no code reads."""

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
        "context_compaction",  # atomic 0.8.26–0.9.8: an older kind of compaction, which has no effect now;
        "context_window_change",  # atomic 0.9.0–0.9.10: a change of the context window;
        "credential_pin",  # omp: the account that served the session, as a hash;
        "mcp_tool_selection",  # omp 13–16: the chosen MCP tools;
        "model_usage",  # omp: the cost of a model call that left no message;
        "reset_boundary",  # omp: `/clear`, after which the model receives no older entry;
        "session_init",  # omp: the prompt and tools that a subagent was started with;
        "title_change",  # omp: a renaming; the title slot decides the name;
        "usage",  # pi 0.86: the cost of a model call that left no message
    }
)
UNREAD_KEYS = frozenset(
    {
        "addedToolNames",
        "api",
        "completedAt",
        "deferred",
        "diagnostics",
        "duration",
        "endTurn",
        "fromExtension",
        "fromHook",
        "meta",
        "method",
        "nestedCalls",
        "protectedReconciliation",
        "providerPayload",
        "providerThinkingLevel",
        "prunedAt",
        "rawStopReason",
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
"""Keys of messages and entries that the programs write but no code here reads: they stay in `extra`."""


def unknown_keys(value: Value) -> dict[str, Json]:
    """Return the keys in a value's `extra` that the format's documents do not name."""
    return {key: item for key, item in value.extra.items() if key not in UNREAD_KEYS}


def type_name(value: Value) -> str:
    """Return the type or role by which a file names a block, message or entry (`toolCall`, `user`, `model_change`)."""
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
