"""Every entry type, role, block, header key and usage field of the fact sheets becomes its struct; nothing is lost."""

from __future__ import annotations

import json
import typing
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from sessionbrowse.format import entries as e
from sessionbrowse.format.codec import (
    BLOCK_TYPES,
    ENTRY_TYPES,
    MESSAGE_TYPES,
    PLAIN_TYPES,
    build,
    content_from_json,
    decode_line,
    from_json,
    message_from_json,
    type_name,
)
from sessionbrowse.format.json_value import MAX_DEPTH, BadJson, loads

BASE = {"id": "b", "parentId": "a", "timestamp": "2026-08-13T08:00:00.000Z"}
OF_BASE: dict[str, Any] = {"id": "b", "parent_id": "a", "timestamp": "2026-08-13T08:00:00.000Z"}
USAGE = {
    "input": 1,
    "output": 2,
    "cacheRead": 3,
    "cacheWrite": 4,
    "totalTokens": 10,
    "cost": {"input": 0.1, "total": 1},
}
OF_USAGE = e.Usage(
    input=1,
    output=2,
    cache_read=3,
    cache_write=4,
    cost=e.Cost(total=1, extra={"input": 0.1}),
    extra={"totalTokens": 10},
)


def decoded(value: object) -> object:
    return decode_line(json.dumps(value).encode())


def with_rest(expected: e.Value, own: dict[str, Any]) -> e.Value:
    """The expected value, with the keys that are no fields of its struct in `extra`."""
    return replace(expected, extra={key: own[key] for key in own if key not in expected.__struct_encode_fields__})


# ---- the first lines -----------------------------------------------------------------------------------------

HEADERS: list[tuple[str, dict[str, Any], e.Header]] = [
    (
        "pi, all versions",
        {"version": 3, "id": "s", "timestamp": "t", "cwd": "/p", "parentSession": "/x.jsonl"},
        e.Header(version=3, id="s", timestamp="t", cwd="/p", parent_session="/x.jsonl"),
    ),
    (
        "v1",
        {
            "id": "s",
            "provider": "anthropic",
            "modelId": "m",
            "thinkingLevel": "off",
            "branchedFrom": "/x",
            "systemPrompt": "p",
            "model": {"id": "m"},
        },
        e.Header(
            id="s",
            provider="anthropic",
            model_id="m",
            thinking_level="off",
            model={"id": "m"},
        ),
    ),
    (
        "omp",
        {
            "id": "s",
            "title": "t",
            "titleSource": "auto",
            "additionalDirectories": ["/a"],
            "previousSessionFiles": ["/b"],
            "providerPromptCacheKey": "k",
        },
        e.Header(
            id="s",
            title="t",
            title_source="auto",
            additional_directories=["/a"],
            provider_prompt_cache_key="k",
        ),
    ),
    (
        "atomic",
        {"id": "s", "internal": True, "workflow": {"runId": "r", "stageId": "s", "stageName": "n"}},
        e.Header(id="s", internal=True, workflow={"runId": "r", "stageId": "s", "stageName": "n"}),
    ),
    (
        "harness",
        {"id": "s", "metadata": {"k": 1}, "mine": [1]},
        e.Header(id="s"),
    ),
]


@pytest.mark.parametrize(("value", "expected"), [row[1:] for row in HEADERS], ids=[row[0] for row in HEADERS])
def test_a_header_keeps_all_its_keys(value: dict[str, Any], expected: e.Header):
    assert decoded({"type": "session", **value}) == with_rest(expected, value)


def test_omps_title_slot_is_a_struct_of_its_own():
    slot = {"type": "title", "v": 1, "title": "t", "source": "user", "updatedAt": "u", "pad": "  "}
    assert decoded(slot) == e.TitleSlot(v=1, title="t", source="user", updated_at="u", pad="  ")


def test_a_title_slot_of_another_version_is_one_too_for_omps_list_reads_it():
    assert decoded({"type": "title", "v": 2, "title": "t"}) == e.TitleSlot(v=2, title="t")


# ---- entries -------------------------------------------------------------------------------------------------

ENTRIES: list[tuple[str, dict[str, Any], type[e.EntryBase], dict[str, Any]]] = [
    (
        "model_change",
        {"provider": "p", "modelId": "m"},
        e.ModelChange,
        {"provider": "p", "model_id": "m"},
    ),
    (
        "model_change",
        {"model": "p/m", "role": "plan", "resolvedModelIsFallback": True},
        e.ModelChange,
        {"model": "p/m", "role": "plan"},
    ),
    ("thinking_level_change", {"thinkingLevel": "max"}, e.ThinkingLevelChange, {"thinking_level": "max"}),
    (
        "thinking_level_change",
        {"thinkingLevel": None, "configured": "auto"},
        e.ThinkingLevelChange,
        {"thinking_level": None, "configured": "auto"},
    ),
    (
        "compaction",
        {
            "summary": "s",
            "firstKeptEntryId": "k",
            "tokensBefore": 9,
            "details": {"readFiles": []},
            "usage": USAGE,
            "fromHook": True,
            "systemMessage": {"role": "system"},
        },
        e.Compaction,
        {
            "summary": "s",
            "first_kept_entry_id": "k",
            "tokens_before": 9,
            "details": {"readFiles": []},
            "usage": OF_USAGE,
            "system_message": {"role": "system"},
        },
    ),
    (
        "compaction",
        {
            "shortSummary": "s",
            "tokensAfter": 5,
            "providerReplayThroughEntryId": "r",
            "preserveData": {"x": 1},
            "fromExtension": False,
        },
        e.Compaction,
        {
            "short_summary": "s",
            "provider_replay_through_entry_id": "r",
            "preserve_data": {"x": 1},
        },
    ),
    ("compaction", {"firstKeptEntryIndex": 3}, e.Compaction, {"first_kept_entry_index": 3}),
    (
        "branch_summary",
        {"fromId": "root", "summary": "s", "details": {}, "usage": USAGE, "fromHook": False, "fromExtension": True},
        e.BranchSummary,
        {
            "from_id": "root",
            "summary": "s",
            "details": {},
            "usage": OF_USAGE,
        },
    ),
    ("custom", {"customType": "todo", "data": [1]}, e.Custom, {"custom_type": "todo", "data": [1]}),
    (
        "custom_message",
        {
            "customType": "c",
            "content": "text",
            "display": False,
            "details": 1,
            "attribution": "user",
            "excludeFromContext": True,
            "stageAdmissionKey": "k",
            "protectedReconciliation": {"delivery": "steer"},
        },
        e.CustomMessage,
        {
            "custom_type": "c",
            "content": "text",
            "display": False,
            "details": 1,
            "attribution": "user",
            "exclude_from_context": True,
        },
    ),
    ("label", {"targetId": "x", "label": "l"}, e.Label, {"target_id": "x", "label": "l"}),
    ("label", {"targetId": "x"}, e.Label, {"target_id": "x"}),
    ("session_info", {"name": "n"}, e.SessionInfoEntry, {"name": "n"}),
    (
        "context_edit",
        {"targetId": "x", "replacement": {"content": "c"}},
        e.ContextEdit,
        {"target_id": "x", "replacement": {"content": "c"}},
    ),
    (
        "session_summary",
        {"summary": "s", "summarizedThroughId": "x", "usage": USAGE},
        e.SessionSummary,
        {"summary": "s", "usage": OF_USAGE},
    ),
    (
        "service_tier_change",
        {"serviceTier": {"openai": "flex"}},
        e.ServiceTierChange,
        {"service_tier": {"openai": "flex"}},
    ),
    ("service_tier_change", {"serviceTier": "priority"}, e.ServiceTierChange, {"service_tier": "priority"}),
    ("mode_change", {"mode": "plan", "data": {"x": 1}}, e.ModeChange, {"mode": "plan", "data": {"x": 1}}),
    ("ttsr_injection", {"injectedRules": ["r"]}, e.TtsrInjection, {"injected_rules": ["r"]}),
    (
        "message",
        {"message": {"role": "user", "content": "hi"}},
        e.MessageEntry,
        {"message": e.UserMessage(content="hi")},
    ),
]


@pytest.mark.parametrize(
    ("kind", "own", "struct", "expected"), ENTRIES, ids=[f"{row[0]}-{number}" for number, row in enumerate(ENTRIES)]
)
def test_every_entry_type_becomes_its_struct(
    kind: str, own: dict[str, Any], struct: type[e.EntryBase], expected: dict[str, Any]
):
    entry = decoded({"type": kind, **BASE, **own})
    assert entry == with_rest(struct(**OF_BASE, **expected), own)
    assert type_name(entry) == kind


def test_the_table_above_has_every_entry_type():
    assert {row[0] for row in ENTRIES} == set(ENTRY_TYPES)
    assert {row[2] for row in ENTRIES} == set(ENTRY_TYPES.values())


@pytest.mark.parametrize("kind", sorted(PLAIN_TYPES))
def test_an_entry_of_which_nothing_is_read_keeps_its_keys_as_they_stand(kind: str):
    own = {"purpose": "title", "model": "m", "usage": USAGE, "task": [1], "contextWindow": 200_000}
    entry = decoded({"type": kind, **BASE, **own})
    assert entry == e.PlainEntry(type=kind, **OF_BASE, extra=own)
    assert type_name(typing.cast("e.Value", entry)) == kind


def test_a_transcript_node_has_its_own_names_for_parent_and_time():
    node = {
        "schema": e.TRANSCRIPT_SCHEMA,
        "kind": "entry",
        "id": "b",
        "prev": "a",
        "at": "t",
        "role": "tool",
        "message": {"role": "toolResult"},
        "parentId": "kept as it stands",
    }
    assert decoded(node) == e.TranscriptNode(
        id="b",
        parent_id="a",
        timestamp="t",
        role="tool",
        message=e.ToolResultMessage(),
        extra={"parentId": "kept as it stands"},
    )


# ---- messages ------------------------------------------------------------------------------------------------

MESSAGES: list[tuple[str, dict[str, Any], e.Message]] = [
    (
        "user",
        {"content": "hi", "timestamp": 5, "synthetic": True, "steering": False, "attribution": "agent"},
        e.UserMessage(content="hi", timestamp=5, attribution="agent"),
    ),
    ("developer", {"content": "d", "synthetic": True}, e.DeveloperMessage(content="d")),
    (
        "system",
        {"content": "s", "timestamp": 1, "sections": {"a": None}, "toolsAdded": [{}], "toolsRemoved": ["x"]},
        e.SystemMessage(content="s", timestamp=1, sections={"a": None}, tools_added=[{}]),
    ),
    (
        "assistant",
        {
            "content": [],
            "timestamp": 1,
            "provider": "p",
            "model": "m",
            "usage": USAGE,
            "stopReason": "deferred",
            "errorMessage": "e",
            "responseModel": "r",
            "responseId": "i",
            "thinkingLevel": "low",
            "providerThinkingLevel": {"x": 1},
            "rawStopReason": "raw",
            "endTurn": True,
            "upstreamProvider": "u",
            "upstreamModel": "v",
            "completedAt": 3,
            "retryRecovery": {"z": 1},
            "providerPayload": {"w": 1},
        },
        e.AssistantMessage(
            content=(),
            timestamp=1,
            provider="p",
            model="m",
            usage=OF_USAGE,
            stop_reason="deferred",
            error_message="e",
            thinking_level="low",
            retry_recovery={"z": 1},
        ),
    ),
    (
        "toolResult",
        {
            "content": [],
            "timestamp": 1,
            "toolCallId": "c",
            "toolName": "bash",
            "details": {"d": 1},
            "usage": USAGE,
            "nestedCalls": {"calls": [], "complete": True},
            "addedToolNames": ["t"],
            "isError": True,
            "prunedAt": 4,
        },
        e.ToolResultMessage(
            content=(),
            timestamp=1,
            tool_call_id="c",
            tool_name="bash",
            details={"d": 1},
            usage=OF_USAGE,
            is_error=True,
        ),
    ),
    (
        "bashExecution",
        {
            "command": "ls",
            "output": "o",
            "exitCode": 1,
            "cancelled": False,
            "truncated": True,
            "fullOutputPath": "/o",
            "excludeFromContext": True,
            "images": [{}],
            "timestamp": 2,
        },
        e.BashExecutionMessage(
            command="ls",
            output="o",
            exit_code=1,
            cancelled=False,
            truncated=True,
            full_output_path="/o",
            exclude_from_context=True,
            images=[{}],
            timestamp=2,
        ),
    ),
    (
        "pythonExecution",
        {
            "code": "1",
            "output": "o",
            "exitCode": 0,
            "cancelled": True,
            "truncated": False,
            "excludeFromContext": False,
            "timestamp": 2,
        },
        e.PythonExecutionMessage(
            code="1",
            output="o",
            exit_code=0,
            cancelled=True,
            truncated=False,
            exclude_from_context=False,
            timestamp=2,
        ),
    ),
    (
        "custom",
        {"content": "c", "customType": "t", "display": True, "details": 1, "attribution": "user", "timestamp": 1},
        e.CustomRoleMessage(content="c", custom_type="t", display=True, details=1, attribution="user", timestamp=1),
    ),
    ("hookMessage", {"content": "c", "customType": "t"}, e.CustomRoleMessage(content="c", custom_type="t")),
    (
        "fileMention",
        {"files": [{"path": "a"}], "timestamp": 1},
        e.FileMentionMessage(files=[{"path": "a"}], timestamp=1),
    ),
    ("robot", {"content": "c", "x": 1}, e.UnknownMessage(role="robot", content="c")),
]


@pytest.mark.parametrize(("role", "own", "expected"), MESSAGES, ids=[row[0] for row in MESSAGES])
def test_every_role_becomes_its_struct(role: str, own: dict[str, Any], expected: e.Message):
    message = message_from_json({"role": role, **own})
    assert message == with_rest(expected, own)
    # v2's hookMessage is v3's custom.
    assert type_name(expected) == {"hookMessage": "custom"}.get(role, role)


def test_the_table_above_has_every_role():
    assert {row[0] for row in MESSAGES} == {*MESSAGE_TYPES, "robot"}


# ---- blocks and usage ------------------------------------------------------------------------------------------

BLOCKS: list[tuple[dict[str, Any], e.Block]] = [
    ({"type": "text", "text": "t", "textSignature": "s"}, e.TextBlock(text="t")),
    (
        {"type": "thinking", "thinking": "t", "thinkingSignature": "s", "redacted": True},
        e.ThinkingBlock(thinking="t", thinking_signature="s", redacted=True),
    ),
    ({"type": "redactedThinking", "data": "d"}, e.RedactedThinkingBlock(data="d")),
    ({"type": "image", "data": "QQ==", "mimeType": "image/png"}, e.ImageBlock(data="QQ==", mime_type="image/png")),
    (
        {
            "type": "toolCall",
            "id": "c",
            "name": "bash",
            "arguments": {"command": "ls"},
            "thoughtSignature": "s",
            "intent": "i",
        },
        e.ToolCallBlock(id="c", name="bash", arguments={"command": "ls"}, intent="i"),
    ),
    (
        {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
        e.FallbackBlock(from_={"model": "a"}, to={"model": "b"}),
    ),
    ({"type": "anthropicServerTool", "block": {"x": 1}}, e.ServerToolBlock(block={"x": 1})),
    ({"type": "hologram", "x": 1}, e.UnknownBlock(type="hologram", raw={"type": "hologram", "x": 1})),
    ({"type": 5}, e.UnknownBlock(raw={"type": 5})),
]


@pytest.mark.parametrize(("value", "expected"), BLOCKS, ids=[str(row[0]["type"]) for row in BLOCKS])
def test_every_block_becomes_its_struct(value: dict[str, Any], expected: e.Block):
    rest = {} if isinstance(expected, e.UnknownBlock) else {key: value[key] for key in value if key != "type"}
    assert content_from_json([value]) == (with_rest(expected, rest),)


def test_the_table_above_has_every_block():
    assert {row[0]["type"] for row in BLOCKS} == {*BLOCK_TYPES, "hologram", 5}


def test_blocks_that_are_no_objects_are_kept_raw():
    assert content_from_json([None, 5, "x"]) == (
        e.UnknownBlock(),
        e.UnknownBlock(raw=5),
        e.UnknownBlock(raw="x"),
    )


def test_every_key_of_usage_is_kept():
    usage = {
        "input": 1,
        "output": 2,
        "cacheRead": 3,
        "cacheWrite": 4,
        "cacheWrite1h": 5,
        "reasoningTokens": 7,
        "contextTokens": 8,
        "premiumRequests": 9,
        "totalTokens": 10,
        "cost": {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "total": 10},
        "later": 1,
    }
    message = message_from_json({"role": "assistant", "usage": usage})
    assert isinstance(message, e.AssistantMessage)
    assert message.usage == e.Usage(
        input=1,
        output=2,
        cache_read=3,
        cache_write=4,
        cost=e.Cost(total=10, extra={"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}),
        extra={
            "cacheWrite1h": 5,
            "reasoningTokens": 7,
            "contextTokens": 8,
            "premiumRequests": 9,
            "totalTokens": 10,
            "later": 1,
        },
    )


# ---- nothing is lost -------------------------------------------------------------------------------------------


def test_unknown_keys_are_kept_as_they_stand_also_those_that_name_types_elsewhere():
    entry = decoded({"type": "label", **BASE, "targetId": "x", "role": "r", "kind": "k", "schema": "s", "new": [1]})
    assert entry == e.Label(**OF_BASE, target_id="x", extra={"role": "r", "kind": "k", "schema": "s", "new": [1]})


MISTYPED: list[tuple[dict[str, Any], e.Value]] = [
    ({"type": "label", "id": 5, "label": ["x"]}, e.Label(extra={"id": 5, "label": ["x"]})),
    ({"type": "session", "id": 5, "cwd": {}}, e.Header(extra={"id": 5, "cwd": {}})),
    ({"type": "message", "message": "text"}, e.MessageEntry(extra={"message": "text"})),
    ({"type": "session_info", "name": 5}, e.SessionInfoEntry(extra={"name": 5})),
    ({"type": "compaction", "usage": [1]}, e.Compaction(extra={"usage": [1]})),
    ({"type": "compaction", "tokensBefore": "many"}, e.Compaction(extra={"tokensBefore": "many"})),
    ({"type": "custom_message", "content": 5}, e.CustomMessage(extra={"content": 5})),
    (
        {"type": "message", "message": {"role": "user", "content": {"a": 1}, "timestamp": "t"}},
        e.MessageEntry(message=e.UserMessage(extra={"content": {"a": 1}, "timestamp": "t"})),
    ),
    (
        {"type": "message", "message": {"role": 5, "content": "c"}},
        e.MessageEntry(message=e.UnknownMessage(content="c", extra={"role": 5})),
    ),
]


@pytest.mark.parametrize(("value", "expected"), MISTYPED, ids=[str(number) for number in range(len(MISTYPED))])
def test_values_of_a_wrong_type_are_kept_in_extra(value: dict[str, Any], expected: e.Value):
    assert decoded(value) == expected


ODD: list[Any] = [
    None,
    True,
    5,
    5.0,
    -0.5,
    1e308 * 10,
    10**400,
    "",
    "x",
    "\ud800",
    [],
    [None],
    ["\ud800"],
    {},
    {"a": [1]},
]


def test_any_value_in_any_field_is_kept_there_or_in_extra():
    structs: list[type[e.Value]] = [e.Header, e.TitleSlot, e.TranscriptNode, e.UnknownMessage, e.Usage, e.Cost]
    structs += [*ENTRY_TYPES.values(), *MESSAGE_TYPES.values(), *BLOCK_TYPES.values()]
    for struct in structs:
        for name, key in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True):
            for odd in ODD if name != "extra" else ():
                built = build(struct, {key: odd}, frozenset())
                is_in_field = getattr(built, name) not in (None, "")
                assert is_in_field != (key in built.extra) or odd in (None, ""), (struct, key, odd)


@pytest.mark.parametrize(
    "value", [None, 5, "text", [1], True, {}, {"type": None}, {"type": "later", "id": "x", "y": 1}]
)
def test_what_nobody_knows_is_kept_raw(value: object):
    entry = decoded(value)
    assert isinstance(entry, e.UnknownEntry)
    assert entry.raw == value


def test_an_unknown_entry_still_has_its_type_id_parent_and_time():
    entry = decoded({"type": "later", **BASE, "data": 1})
    assert isinstance(entry, e.UnknownEntry)
    assert (entry.type, entry.id, entry.parent_id, entry.timestamp) == ("later", "b", "a", BASE["timestamp"])


def test_all_values_are_frozen():
    structs: set[type[e.Value]] = {
        *ENTRY_TYPES.values(),
        *MESSAGE_TYPES.values(),
        *BLOCK_TYPES.values(),
        e.Header,
        e.TitleSlot,
    }
    for struct in structs:
        assert struct.__struct_config__.frozen, struct
        with pytest.raises(AttributeError):
            struct().extra = {}  # type: ignore[misc]


# ---- JSON as JavaScript reads it -------------------------------------------------------------------------------

SAME_AS_JAVASCRIPT: list[tuple[str, bytes, object]] = [
    ("lone surrogate", b'"\\ud800"', "\ud800"),
    ("surrogate pair", b'"\\ud83d\\ude00"', "\U0001f600"),
    ("invalid UTF-8", b'"a\xffb"', "a\ufffdb"),
    ("half a character", b'"\xe2\x80"', "\ufffd"),
    ("raw line separators", b'"\xe2\x80\xa8\xc2\x85"', "\u2028\x85"),
    ("infinite number", b"1e999", float("inf")),
    ("duplicate keys", b'{"a":1,"a":2}', {"a": 2}),
    ("blanks around", b" \t\r\n5\r\n ", 5),
    ("integer of 30 digits", b"123456789012345678901234567890", 123456789012345678901234567890),
    ("integer of 5000 digits", b"9" * 5000, float("inf")),
    ("integer of 41 digits", b"[1" + b"0" * 40 + b"]", [10**40]),
    ("control character escaped", b'"\\u0000\\u001b"', "\0\x1b"),
]


@pytest.mark.parametrize(
    ("line", "expected"), [row[1:] for row in SAME_AS_JAVASCRIPT], ids=[row[0] for row in SAME_AS_JAVASCRIPT]
)
def test_json_that_javascript_reads_is_read_alike(line: bytes, expected: object):
    assert loads(line) == expected


REFUSED: list[tuple[str, bytes, str]] = [
    ("NaN", b'{"a":NaN}', "not JSON: NaN is not JSON"),
    ("Infinity", b"[-Infinity]", "not JSON: -Infinity is not JSON"),
    ("torn", b'{"type":"message","id', "torn: the line is not complete"),
    ("torn in a number", b'{"a":1', "torn: the line is not complete"),
    ("fused", b'{"a":1}{"b":2}', "two records fused on one line"),
    ("fused with a blank", b'{"a":1} {"b":2}', "two records fused on one line"),
    ("junk behind", b'{"a":1}xyz', "more text after the JSON value"),
    ("byte order mark", b'\xef\xbb\xbf{"a":1}', "starts with a byte order mark"),
    ("NUL bytes", b"\0\0\0", "holds NUL bytes where JSON should be"),
    ("raw control character", b'{"a":"\x01"}', "not JSON: invalid control character at character 7"),
    ("words", b"hello", "not JSON: expecting value at character 1"),
    ("trailing comma", b'{"a":1,}', "not JSON: trailing comma at character 7"),
    ("trailing comma in a list", b'{"a":[1 , ]}', "not JSON: trailing comma at character 9"),
    ("comma alone", b"[,]", "not JSON: expecting value at character 2"),
    ("leading zero", b"[01]", "not JSON: expecting ',' delimiter at character 3"),
]


@pytest.mark.parametrize(("line", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_is_no_json_is_a_bad_line_with_a_reason(line: bytes, reason: str):
    assert decode_line(line) == e.BadLine(reason)
    with pytest.raises(BadJson) as raised:
        loads(line)
    assert str(raised.value) == reason


def depth_of(value: object) -> int:
    depth = 0
    while isinstance(value, list | dict) and value:
        value = value[0] if isinstance(value, list) else next(iter(value.values()))
        depth += 1
    return depth


@pytest.mark.parametrize("depth", [150, 300, 990, 5000, 200_000])
def test_a_record_nested_very_deeply_keeps_all_but_the_deepest_values(depth: int):
    line = b'{"type":"custom","id":"b","data":' + b'{"a":[' * (depth // 2) + b"]}" * (depth // 2)
    line += b',"customType":"deep","parentId":"a"}'
    entry = decode_line(line)
    assert isinstance(entry, e.Custom)
    assert (entry.id, entry.parent_id, entry.custom_type) == ("b", "a", "deep")
    # The record itself is the first level; the innermost container is empty, as in the file.
    assert depth_of(entry.data) == min(depth - 1, MAX_DEPTH - 1)


def test_brackets_in_texts_are_no_nesting():
    text = "[{" * 1000
    assert loads(json.dumps({"a": text}).encode()) == {"a": text}


def test_every_value_can_be_encoded_again_without_losing_a_key():
    """The struct's own JSON has the keys of the file: what is written nowhere else cannot be lost."""
    for kind, own, _, _ in ENTRIES:
        value = {"type": kind, **BASE, **own}
        encoded = json.loads(msgspec.json.encode(from_json(value)))
        assert set(value) - {"type"} <= {*encoded, *encoded["@extra"]}, kind
