"""Made-up sessions with every kind of entry, message and block, undamaged: tests damage, copy and list them."""

from __future__ import annotations

from typing import Any

from tests.support.session_files import answer, entry, header, line, slot, user

USAGE = {"input": 5, "output": 7, "cacheRead": 1, "cacheWrite": 0, "totalTokens": 13, "cost": {"total": 0.5}}


def call(entry_id: str, parent: str, name: str, **arguments: Any) -> bytes:
    block = {"type": "toolCall", "id": f"call-{entry_id}", "name": name, "arguments": arguments}
    return answer(entry_id, parent, content=[{"type": "thinking", "thinking": "hm"}, block], stopReason="toolUse")


def bash(entry_id: str, parent: str, **more: Any) -> bytes:
    return entry("message", entry_id, parent, message={"role": "bashExecution", "command": "ls", "output": "x", **more})


def result(entry_id: str, parent: str, of: str, **more: Any) -> bytes:
    content = [{"type": "text", "text": "output"}, {"type": "image", "data": "QUJD", "mimeType": "image/png"}]
    message = {"role": "toolResult", "toolCallId": f"call-{of}", "toolName": "bash", "content": content, **more}
    return entry("message", entry_id, parent, message=message)


OF_PI = [
    header(parentSession="/other.jsonl"),
    entry("model_change", "m0", None, provider="anthropic", modelId="sonnet"),
    entry("thinking_level_change", "t0", "m0", thinkingLevel="high"),
    entry("message", "sy", "t0", message={"role": "system", "content": "be good", "sections": {"a": "b"}}),
    user("a", "sy", "Add OpenAPI docs\u2028 \U0001f600"),
    call("b", "a", "read", path="/home/dev/webshop/x.py", offset=5, limit=10),
    result("c", "b", "b"),
    answer("d", "c", "done"),
    entry("label", "l", "d", targetId="d", label="good"),
    user("e", "c", "another way", second=9),
    entry(
        "message",
        "f",
        "e",
        message={"role": "bashExecution", "command": "ls", "output": "x", "excludeFromContext": True},
    ),
    entry("compaction", "g", "f", summary="so far", firstKeptEntryId="e", tokensBefore=12345, usage=USAGE),
    entry("branch_summary", "h", "c", fromId="g", summary="tried this"),
    entry("custom", "i", "h", customType="todo", data={"todos": [1, 2]}),
    entry("custom_message", "j", "i", customType="note", content=[{"type": "text", "text": "n"}], display=True),
    entry("context_edit", "k", "j", targetId="c", replacement=None),
    entry("usage", "u", "k", kind="cache_warm", provider="p", model="m", usage=USAGE),
    entry("session_info", "n", "u", name="OpenAPI"),
    entry("later_type", "z", "n", what=[{"x": None}]),
]
OF_OMP = [
    slot("OpenAPI"),
    header(title="old", additionalDirectories=["/x"]),
    entry("session_init", "a", None, systemPrompt="p", task="t", tools=["read"]),
    entry("model_change", "b", "a", model="anthropic/sonnet", role="default"),
    entry("mode_change", "c", "b", mode="plan", data={}),
    entry("service_tier_change", "d", "c", serviceTier={"openai": "flex"}),
    user("e", "d", "Add docs"),
    entry("custom", "f", "e", customType="tool_execution_start", data={}),
    call("g", "f", "bash", command="ls"),
    result("h", "g", "g", prunedAt=5),
    entry("message", "i", "h", message={"role": "developer", "content": "note", "synthetic": True}),
    entry("message", "j", "i", message={"role": "pythonExecution", "code": "1+1", "output": "2"}),
    entry("message", "k", "j", message={"role": "fileMention", "files": [{"path": "a.py", "content": "x"}]}),
    answer(
        "l",
        "k",
        content=[
            {"type": "redactedThinking", "data": "x"},
            {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
        ],
    ),
    entry(
        "compaction",
        "m",
        "l",
        summary="s",
        shortSummary="short",
        firstKeptEntryId="i",
        tokensBefore=9,
        preserveData={"snapcompact": {}},
    ),
    entry("reset_boundary", "n", "m"),
    entry(
        "custom_message",
        "o",
        "n",
        customType="skill-prompt",
        content="<system-x>c</system-x>",
        attribution="user",
        display=True,
    ),
    answer("p", "o", content=[], stopReason="aborted"),
    entry("model_usage", "q", "p", purpose="title", provider="p", model="m", usage=USAGE),
    entry("ttsr_injection", "r", "q", injectedRules=["x"]),
    entry("credential_pin", "s", "r", provider="p", hash="h"),
    entry("title_change", "t", "s", title="OpenAPI", source="auto"),
    entry("custom", "u", "t", customType="session_exit", data={"kind": "normal"}),
]
OF_ATOMIC = [
    header(internal=True, workflow={"runId": "r", "stageId": "s", "stageName": "n"}),
    *OF_PI[1:8],
    entry(
        "compaction",
        "v",
        "d",
        summary="[User]: x",
        firstKeptEntryId="c",
        tokensBefore=9,
        details={"strategy": "verbatim-lines"},
    ),
    entry("session_summary", "w", "v", summary="about docs", summarizedThroughId="d"),
    entry("context_compaction", "x", "w", deletedTargets=[{"kind": "entry", "entryId": "a"}]),
    entry("custom_message", "y", "x", customType="intercom_message", content="c", excludeFromContext=True),
]
OF_VERSION_1 = [
    header(None, provider="p", modelId="m", thinkingLevel="off", branchedFrom="/x"),
    user(None, None, "one"),
    answer(None, None, "two"),
    entry("compaction", None, None, summary="s", firstKeptEntryIndex=2, tokensBefore=5),
    entry("message", None, None, message={"role": "hookMessage", "customType": "x", "content": "c"}),
]
NODE = {"schema": "indus/transcript@1", "kind": "entry"}
TRANSCRIPT = [
    line({"schema": "indus/transcript@1", "kind": "head", "sessionId": "s", "leaf": "2"}),
    *[
        line(
            {
                **NODE,
                "id": own,
                "prev": prev,
                "role": role,
                "message": {"role": role, "content": f"text {own}"},
                "at": "t",
            }
        )
        for own, prev, role in [
            ("0", None, "user"),
            ("1", "0", "assistant"),
            ("2", "1", "user"),
            ("3", "2", "assistant"),
        ]
    ],
]
SESSIONS = [OF_PI, OF_OMP, OF_ATOMIC, OF_VERSION_1, TRANSCRIPT]
