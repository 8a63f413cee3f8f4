"""Session files with one odd field each: every field of every entry type absent, null, empty or of another type.

The samples are whole entries as pi and omp write them; the shapes are made by walking through their JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

Json = Any
Path = tuple[str | int, ...]
ABSENT = object()
LAST_WORD = "LASTWORD"
"""The last text of every file: a program that draws it has drawn the whole branch."""
SUBJECT = "0000005a"
"""The id of the entry whose field is odd."""


class Shape(Struct, frozen=True):
    """A file with one odd field: `name` is `sample:path=value`, and `content` the bytes of the file."""

    name: str
    content: bytes

    @property
    def is_of_header(self) -> bool:
        """True if the odd field is in the header, which a program also reads when it starts with the session."""
        return self.name.startswith("header:")


class Sample(Struct, frozen=True):
    """A whole entry, the entries that belong before and behind it, and the paths at and below which it becomes odd."""

    subject: Json
    before: tuple[Json, ...] = ()
    after: tuple[Json, ...] = ()
    below: tuple[Path, ...] = ()


def shapes(agent: str) -> Iterator[Shape]:
    """Yield the sound file of each sample (its name ends with `:`), then a file for each odd value of each field.

    A field that several samples of one type and role have, such as `message.usage.cost`, becomes odd in the first only.
    """
    seen = set()
    for name, sample in _samples(agent).items():
        lines, at = _lines(agent, sample)
        yield Shape(f"{name}:", _bytes(lines))
        kind = (sample.subject["type"], sample.subject.get("message", {}).get("role"))
        for path, value in _fields(lines[at]):
            if not any(path[: len(top)] == top for top in sample.below or ((),)):
                continue
            for odd in _odd_values(path, value):
                word = f"{'.'.join(map(str, path))}={_word(odd)}"
                key = (*kind, name if sample.below else "", word, type(value))
                if key not in seen:
                    seen.add(key)
                    changed = [*lines[:at], with_value(lines[at], path, odd), *lines[at + 1 :]]
                    yield Shape(f"{name}:{word}", _bytes(changed))


def with_value(value: Json, path: Path, new: Json) -> Json:
    """Return a JSON value with another value at a path; `ABSENT` removes the key."""
    step, rest = path[0], path[1:]
    copied: Json = list(value) if isinstance(value, list) else dict(value)
    if rest:
        copied[step] = with_value(value[step], rest, new)
    elif new is ABSENT:
        del copied[step]
    else:
        copied[step] = new
    return copied


def _word(value: Json) -> str:
    return "absent" if value is ABSENT else json.dumps(value)


def _bytes(lines: list[Json]) -> bytes:
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def _fields(value: Json, above: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Yield each field and each list element of a JSON value, nested ones too; of free data only the whole."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        path = (*above, key)
        yield path, item
        if key not in _FREE:
            yield from _fields(item, path)


_FREE = frozenset({"data", "outputSchema", "preserveData", "diagnostics", "systemMessage"})
"""Fields with data of an extension or a provider; only the field as a whole is changed."""


def _odd_values(path: Path, value: Json) -> Iterator[Json]:
    if isinstance(path[-1], str):
        yield ABSENT
    if path in (("type",), ("timestamp",)):  # every entry has these: fewer values are enough
        yield 7
        return
    if value is not None:
        yield None
    match value:
        case str():
            yield from (7, {}, "") if value else (7, {})
        case bool():
            yield from ("odd",)
        case int() | float():
            yield from ("odd", {})
        case list():
            yield from ("odd", {}, []) if value else ("odd", {})
        case dict():
            yield from ("odd", [], {}) if value else ("odd", [])
        case _:
            yield from (7, {})


# ---- the files -----------------------------------------------------------------------------------------------


def _lines(agent: str, sample: Sample) -> tuple[list[Json], int]:
    """Return a session's lines and the position of the sample's subject among them.

    A session has first lines, a question and an answer, the sample's entries, and a last question and answer.
    """
    first = _first_lines(agent)
    own = [] if sample.subject["type"] in ("session", "title") else [*sample.before, sample.subject, *sample.after]
    opening = [_message("user", content="first question"), _answer(_text("first answer"))]
    ending = [_message("user", content="last question"), _answer(_text(f"last answer {LAST_WORD}"))]
    lines = first
    parent: str | None = None
    for number, entry in enumerate([*opening, *own, *ending], 1):
        entry_id = SUBJECT if entry is sample.subject else f"{number:08x}"
        lines.append({"type": entry["type"], "id": entry_id, "parentId": parent, "timestamp": _at(number)} | entry)
        parent = entry_id
    types = [line["type"] for line in _first_lines(agent)]
    at = len(types) + len(opening) + len(sample.before) if own else types.index(sample.subject["type"])
    return lines, at


def _at(second: int) -> str:
    return f"2026-01-02T03:04:{second:02d}.000Z"


def _first_lines(agent: str) -> list[Json]:
    header = {"type": "session", "version": 3, "id": "01a1fdf4-18ec-752a-8903-a8afe2b70430", "timestamp": _at(0)}
    header |= {"cwd": "/", "parentSession": "/sessions/parent.jsonl"}
    if agent == "pi":
        return [header]
    slot = {"type": "title", "v": 1, "title": "A name", "source": "user", "updatedAt": _at(0), "pad": " " * 150}
    more = {"title": "A name", "titleSource": "user", "additionalDirectories": ["/srv"], "previousSessionFiles": ["/a"]}
    return [slot, header | more]


def _entry(kind: str, /, **own: Json) -> Json:
    return {"type": kind, **own}


def _message(role: str, **message: Json) -> Json:
    return {"type": "message", "message": {"role": role, **message, "timestamp": 1_767_323_041_000}}


def _answer(content: Json, **more: Json) -> Json:
    made_by = {"api": "openai-responses", "provider": "openai", "model": "gpt-5", "usage": _usage()}
    return _message("assistant", content=content, **{**made_by, "stopReason": "stop", **more})


def _usage() -> Json:
    cost = {"input": 0.1, "output": 0.2, "cacheRead": 0.01, "cacheWrite": 0.02, "total": 0.33}
    return {"input": 10, "output": 5, "cacheRead": 3, "cacheWrite": 2, "totalTokens": 20, "cost": cost}


_END: tuple[Path, ...] = (("message", "content"), ("message", "errorMessage"), ("message", "stopReason"))


def _text(text: str) -> list[Json]:
    return [{"type": "text", "text": text}]


def _image() -> Json:
    data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    return {"type": "image", "data": data, "mimeType": "image/png"}


def _calling(name: str, **arguments: Json) -> Json:
    call = {"type": "toolCall", "id": "c1", "name": name, "arguments": arguments}
    return _answer([*_text("I call"), call], stopReason="toolUse")


def _result(name: str, **more: Json) -> Json:
    body = {"toolCallId": "c1", "toolName": name, "content": _text("result text"), "isError": False}
    return _message("toolResult", **(body | more))


def _samples(agent: str) -> dict[str, Sample]:
    samples = _shared_samples() | (_pi_samples() if agent == "pi" else _omp_samples())
    for tool, (arguments, details) in (_PI_TOOLS if agent == "pi" else _OMP_TOOLS).items():
        call, result = _calling(tool, **arguments), _result(tool, details=details)
        samples[f"call-{tool}"] = Sample(call, after=(result,), below=(("message", "content", 1),))
        samples[f"result-{tool}"] = Sample(result, before=(call,), below=(("message", "details"),))
    return samples


_PI_TOOLS: dict[str, tuple[Json, Json]] = {
    "read": ({"path": "/a", "offset": 1, "limit": 2}, {"truncation": {"truncated": False}}),
    "bash": ({"command": "ls", "timeout": 5}, {"fullOutputPath": "/tmp/a"}),
    "edit": (
        {"path": "/a", "edits": [{"oldText": "a", "newText": "b"}]},
        {"diff": "-1 a\n+1 b", "firstChangedLine": 1},
    ),
    "write": ({"path": "/a", "content": "text"}, {}),
    "grep": ({"pattern": "a", "path": "/", "glob": "*.py", "limit": 3}, {"matchLimitReached": 3}),
    "find": ({"pattern": "*.py", "path": "/", "limit": 3}, {"resultLimitReached": 3}),
    "ls": ({"path": "/", "limit": 3}, {"entryLimitReached": 3}),
    "mine": ({"a": 1}, {"b": 1}),
}
_OMP_TOOLS: dict[str, tuple[Json, Json]] = {
    "read": ({"path": "/a", "offset": 1, "limit": 2}, {"resolvedPath": "/a"}),
    "bash": ({"command": "ls", "timeout": 5}, {"exitCode": 0}),
    "edit": (
        {"input": "¶/a\n1:b"},
        {"diff": "-1|a\n+1|b", "path": "/a", "perFileResults": [{"path": "/a", "diff": "-1|a"}]},
    ),
    "write": ({"path": "/a", "content": "text"}, {}),
    "grep": ({"pattern": "a", "path": "/", "glob": "*.py"}, {"matchCount": 3, "fileCount": 1, "files": ["/a"]}),
    "glob": ({"pattern": "*.py", "path": "/"}, {"fileCount": 3, "files": ["/a"]}),
    "task": (
        {"agent": "scout", "tasks": [{"id": "A", "description": "d", "assignment": "a"}]},
        {"results": [], "usage": _usage()},
    ),
    "todo": (
        {"ops": [{"op": "done", "task": "a"}]},
        {"phases": [{"name": "p", "tasks": [{"content": "c", "status": "pending"}]}]},
    ),
    "mine": ({"a": 1}, {"b": 1}),
}


_COMPACTION = {"summary": "The summary", "firstKeptEntryId": "00000002", "tokensBefore": 12000}


def _shared_samples() -> dict[str, Sample]:
    thinking = {"type": "thinking", "thinking": "I think", "thinkingSignature": "c2ln"}
    said = {"type": "text", "text": "text", "textSignature": "c2ln"}
    call = _calling("read", path="/a")
    shell = {"command": "ls", "output": "files", "exitCode": 0, "cancelled": False, "truncated": True}
    note = {"customType": "note", "content": [*_text("note"), _image()], "display": True, "details": {"a": 1}}
    return {
        "header": Sample({"type": "session"}),
        "user": Sample(_message("user", content=[*_text("question"), _image()])),
        "user-text": Sample(_message("user", content="question")),
        "assistant": Sample(_answer([thinking, said, {"type": "thinking", "thinking": "", "redacted": True}])),
        "assistant-error": Sample(_answer([], stopReason="error", errorMessage="overloaded"), below=_END),
        "assistant-aborted": Sample(_answer(_text("half"), stopReason="aborted"), below=_END),
        "tool-result": Sample(_result("read", content=[*_text("out"), _image()]), before=(call,)),
        "bash": Sample(_message("bashExecution", **shell, fullOutputPath="/tmp/a", excludeFromContext=False)),
        "custom-role": Sample(_message("custom", **note)),
        "unknown-role": Sample(_message("narrator", content=_text("once"))),
        "thinking_level_change": Sample(_entry("thinking_level_change", thinkingLevel="high")),
        "compaction": Sample(_entry("compaction", **_COMPACTION, details={"readFiles": ["/a"], "modifiedFiles": []})),
        "branch_summary": Sample(_entry("branch_summary", fromId="00000001", summary="The branch", details={"a": 1})),
        "custom": Sample(_entry("custom", customType="state", data={"a": 1})),
        "custom_message": Sample(_entry("custom_message", **note)),
        "custom_message-text": Sample(_entry("custom_message", customType="note", content="note", display=True)),
        "label": Sample(_entry("label", targetId="00000001", label="mark")),
        "unknown-type": Sample(_entry("from_tomorrow", content="x")),
    }


def _pi_samples() -> dict[str, Sample]:
    tool = {"name": "read", "description": "Read a file", "parameters": {}}
    system = {"content": "Be brief.", "sections": {"rules": "None.", "tools": None}, "toolsAdded": [tool]}
    nested = {"calls": [{"id": "n1", "name": "read", "status": "ok"}], "complete": True}
    return {
        "system": Sample(_message("system", **system, toolsRemoved=[{"name": "write"}])),
        "assistant-more": Sample(
            _answer(
                _text("more"),
                responseModel="gpt-5",
                responseId="r",
                thinkingLevel="high",
                durationMs=5,
                diagnostics=[{"type": "anthropic"}],
                deferred={"provider": "a", "modelId": "b", "api": "c", "id": "d"},
            )
        ),
        "nested-calls": Sample(
            _result("read", usage=_usage(), nestedCalls=nested), before=(_calling("read", path="/a"),)
        ),
        "model_change": Sample(_entry("model_change", provider="openai", modelId="gpt-5")),
        "compaction-pi": Sample(
            _entry(
                "compaction",
                **_COMPACTION,
                usage=_usage(),
                fromHook=False,
                systemMessage={"role": "system", "content": "s", "timestamp": 1},
            )
        ),
        "branch_summary-pi": Sample(
            _entry("branch_summary", fromId="root", summary="s", usage=_usage(), fromHook=True)
        ),
        "session_info": Sample(_entry("session_info", name="A name")),
        "usage": Sample(_entry("usage", kind="cache_warm", provider="openai", model="gpt-5", usage=_usage(), note="n")),
        "context_edit": Sample(_entry("context_edit", targetId="00000001", replacement={"content": "other"})),
        "title_change": Sample(_entry("title_change", title="Name", source="user")),
    }


def _omp_samples() -> dict[str, Sample]:
    compaction = _COMPACTION | {
        "shortSummary": "short",
        "tokensAfter": 5,
        "method": "soft",
        "providerReplayThroughEntryId": "00000002",
        "warning": "w",
    }
    python = {"code": "1", "output": "1", "exitCode": 0, "cancelled": False, "truncated": False}
    file = {"path": "/a", "content": "text", "lineCount": 1, "byteSize": 4, "image": _image()}
    session_init = {"systemPrompt": "p", "task": "t", "tools": ["read"], "agent": "scout", "modelRole": "smol"}
    usage = {"purpose": "title", "role": "tiny", "api": "a", "provider": "p", "model": "m", "usage": _usage()}
    return {
        "title": Sample({"type": "title"}),
        "developer": Sample(_message("developer", content=_text("rule"), attribution="agent")),
        "user-more": Sample(_message("user", content="q", synthetic=False, steering=False, attribution="user")),
        "assistant-more": Sample(
            _answer(
                [
                    {"type": "redactedThinking", "data": "c2ln"},
                    {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
                    *_text("t"),
                ],
                duration=5,
                ttft=1,
                completedAt=1_767_323_041_000,
                upstreamProvider="p",
                upstreamModel="m",
                contextSnapshot={"promptTokens": 1, "nonMessageTokens": 1, "compactionEpoch": 0},
            )
        ),
        "assistant-recovered": Sample(
            _answer(_text("t"), stopReason="error", errorMessage="e", retryRecovery={"kind": "recovered"})
        ),
        "python": Sample(_message("pythonExecution", **python, excludeFromContext=False)),
        "hook-message": Sample(_message("hookMessage", customType="note", content="note", display=True)),
        "file-mention": Sample(_message("fileMention", files=[file])),
        "model_change": Sample(
            _entry("model_change", model="openai/gpt-5", role="default", resolvedModelIsFallback=False)
        ),
        "thinking-configured": Sample(_entry("thinking_level_change", thinkingLevel="high", configured="auto")),
        "service_tier_change": Sample(_entry("service_tier_change", serviceTier={"openai": "priority"})),
        "mode_change": Sample(_entry("mode_change", mode="plan", data={"planFilePath": "local://PLAN.md"})),
        "compaction-omp": Sample(_entry("compaction", **compaction, preserveData={"a": 1}, fromExtension=False)),
        "reset_boundary": Sample(_entry("reset_boundary")),
        "title_change": Sample(
            _entry("title_change", title="A name", source="user", previousTitle="P", trigger="replan")
        ),
        "custom_message-user": Sample(
            _entry("custom_message", customType="skill-prompt", content="c", display=True, attribution="user")
        ),
        "tool_execution_start": Sample(_entry("custom", customType="tool_execution_start", data={"toolCallId": "c1"})),
        "session_exit": Sample(_entry("custom", customType="session_exit", data={"kind": "normal"})),
        "session_init": Sample(_entry("session_init", **session_init, outputSchema={}, spawns="*")),
        "ttsr_injection": Sample(_entry("ttsr_injection", injectedRules=["a"])),
        "credential_pin": Sample(_entry("credential_pin", provider="anthropic", hash="00")),
        "model_usage": Sample(_entry("model_usage", **usage, stopReason="stop")),
        "session_info": Sample(_entry("session_info", name="pi's name")),
    }
