"""Contexts of damaged, foreign and very long sessions: every entry of the path is accounted for, nothing raises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.format.lines import line_blocks
from sessionbrowse.model.context.build import Context, build
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.session.session import Session, build_session
from tests.support.context_sample import (
    TIME,
    answer,
    compaction,
    context,
    note,
    of_bytes,
    reasons,
    result,
    said,
    session,
    text,
    user,
)

AGENTS = sorted(RULES)


def check(opened: Session, at: int | None = None) -> Context:
    """Build a context and check that each entry of its path is a message or left out once, with a reason."""
    made = build(opened, at)
    included = {message.index for message in made.messages}
    left_out = [left.index for left in made.left_out]
    assert len(left_out) == len(set(left_out))
    assert not included & set(left_out)
    assert included | set(left_out) == (set(opened.branch(made.index)) if made.index is not None else set())
    assert all(left.reason for left in made.left_out)
    assert made.tokens == sum(message.tokens for message in made.messages)
    assert all(message.sent or message.tokens == 0 for message in made.messages)
    return made


ODD_VALUES: list[Any] = [None, 5, True, [], {}, "x", [None], [5], [{"type": 5}], [{}], {"a": []}]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("role", ["user", "assistant", "toolResult", "bashExecution", "fileMention", "system", 5, None])
def test_messages_with_values_of_wrong_types_never_raise(agent: str, role: Any):
    for value in ODD_VALUES:
        odd = dict.fromkeys(
            (
                "content",
                "command",
                "output",
                "files",
                "stopReason",
                "toolCallId",
                "summary",
                "customType",
                "sections",
                "toolsAdded",
                "images",
                "retryRecovery",
                "provider",
                "model",
                "excludeFromContext",
            ),
            value,
        )
        check(session(agent, [user("q"), {"message": {"role": role, **odd}}, {"message": value}, user("r")]))


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    "kind",
    [
        "compaction",
        "custom_message",
        "branch_summary",
        "context_edit",
        "model_change",
        "thinking_level_change",
        "service_tier_change",
        "mode_change",
        "ttsr_injection",
        "custom",
        "reset_boundary",
        "label",
    ],
)
def test_entries_with_values_of_wrong_types_never_raise(agent: str, kind: str):
    for value in ODD_VALUES:
        odd = dict.fromkeys(
            (
                "summary",
                "firstKeptEntryId",
                "details",
                "preserveData",
                "systemMessage",
                "content",
                "customType",
                "targetId",
                "replacement",
                "provider",
                "modelId",
                "model",
                "role",
                "thinkingLevel",
                "configured",
                "serviceTier",
                "mode",
                "data",
                "injectedRules",
                "providerReplayThroughEntryId",
            ),
            value,
        )
        check(session(agent, [user("q"), {"type": kind, **odd}, user("r")]))


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("preserved", ODD_VALUES)
def test_odd_kept_data_of_compactions_never_raises(agent: str, preserved: Any):
    for key in ("snapcompact", "openaiRemoteCompaction"):
        check(session(agent, [user("q"), compaction("s", "e0", preserveData={key: preserved})]))
        nested = dict.fromkeys(("frames", "text", "textHead", "truncatedChars", "provider"), preserved)
        check(session(agent, [user("q"), compaction("s", "e0", preserveData={key: nested})]))


@pytest.mark.parametrize("agent", AGENTS)
def test_a_missing_message_is_left_out_with_its_reason(agent: str):
    made = context(agent, user("q"), {"message": None}, {}, {"message": "text"}, user("r"))
    assert said(made) == ["user: q", "user: r"]
    why = reasons(made)
    assert (why["e1"], why["e2"]) == ("the message is missing", "the message is missing")
    assert why["e3"].startswith("the message is ")
    assert why["e3"] != why["e1"]


@pytest.mark.parametrize("agent", AGENTS)
def test_null_content_is_an_empty_message(agent: str):
    made = context(agent, user(None), result("c", None) | {"message": {"role": "toolResult", "content": None}})
    assert said(made) == ["user: ", "toolResult: "]


@pytest.mark.parametrize("agent", AGENTS)
def test_lines_that_are_no_entries_are_left_out(agent: str):
    made = check(session(agent, [user("q"), "42", "[]", '"x"', "{}", "{torn", '{"type":"message"}']))
    assert made.messages == ()


@pytest.mark.parametrize("agent", AGENTS)
def test_loops_and_double_ids_end(agent: str):
    for lines in (
        [user("a") | {"id": "x", "parentId": "y"}, user("b") | {"id": "y", "parentId": "x"}],
        [user("a") | {"id": "x", "parentId": "x"}],
        [user("a"), answer("b"), user("c") | {"id": "e0", "parentId": "e1"}],
    ):
        opened = session(agent, lines)
        for at in [None, *range(len(opened.envelopes))]:
            check(opened, at)


@pytest.mark.parametrize("agent", AGENTS)
def test_half_characters_and_huge_numbers_pass_through(agent: str):
    odd = (
        '{"type":"message","id":"e0","parentId":null,"timestamp":"x","message":{"role":"assistant","content":'
        '[{"type":"text","text":"\\ud83d"},{"type":"toolCall","id":"c","name":"\\udc00","arguments":'
        '{"n":1e999,"m":123456789012345678901234567890,"s":"\\ud800"}}]}}'
    )
    made = check(session(agent, [odd, result("c", "\ud800 half") | {"parentId": "e0"}]))
    assert made.messages[0].text == "\ud83d"
    assert made.tokens > 0


KINDS = [
    "user",
    "answer",
    "call",
    "result",
    "aborted",
    "compaction",
    "verbatim",
    "reset",
    "edit",
    "note",
    "label",
    "system",
]


@st.composite
def trees(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Entries of every kind that matters, hanging on one another in any way."""
    lines: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 14))):
        target = f"e{draw(st.integers(0, 15))}"
        parent = (
            None if number == 0 or draw(st.integers(0, 12)) == 0 else f"e{draw(st.integers(max(0, number - 3), 15))}"
        )
        kind = draw(st.sampled_from(KINDS))
        call_id = f"c{draw(st.integers(0, 2))}"
        calls = [text("t"), {"type": "toolCall", "id": call_id, "name": "n", "arguments": {}}]
        line: dict[str, Any] = {
            "user": user("u"),
            "answer": answer("a"),
            "call": answer(calls, "toolUse"),
            "result": result(call_id),
            "aborted": answer(calls, "aborted"),
            "compaction": compaction("s", target),
            "verbatim": compaction("s", target, details={"strategy": "verbatim-lines"}),
            "reset": {"type": "reset_boundary"},
            "edit": {"type": "context_edit", "targetId": target, "replacement": {"content": "edited"}},
            "note": note("n", "interrupted-thinking"),
            "label": {"type": "label", "targetId": target, "label": "l"},
            "system": {"message": {"role": "system", "content": "s"}},
        }[kind]
        lines.append({**line, "id": f"e{number}", "parentId": parent})
    return lines


@given(lines=trees(), agent=st.sampled_from(AGENTS))
def test_every_entry_of_any_path_is_accounted_for(lines: list[dict[str, Any]], agent: str):
    opened = session(agent, lines)
    for at in [None, *range(len(opened.envelopes))]:
        made = check(opened, at)
        texts = {"u", "a", "t", "", "n", "s", "done", "edited"}
        assert {message.text for message in made.messages if message.custom_type != "compaction"} <= texts


@pytest.mark.parametrize(
    "count", [20_000, pytest.param(200_000, marks=pytest.mark.stress)], ids=["deeper than recursion", "very deep"]
)
def test_a_long_path_is_no_deeper_than_any_other(count: int):
    ends = {0: user("first"), count - 1: answer("last")}
    lines = [json.dumps({"type": "session", "version": 3, "id": "s", "timestamp": TIME, "cwd": "/p"})]
    for number in range(count):
        kind = {"type": "message", **ends[number]} if number in ends else {"type": "label", "targetId": "e0"}
        parent = f"e{number - 1}" if number else None
        lines.append(json.dumps({"id": f"e{number}", "parentId": parent, "timestamp": TIME, **kind}))
    opened = of_bytes("pi", "\n".join(lines).encode())
    for agent in AGENTS:
        opened.rules = RULES[agent]
        made = check(opened)
        assert said(made) == ["user: first", "assistant: last"]
        assert len(made.left_out) == count - 2


def test_only_entries_whose_content_is_needed_are_read():
    content = b"\n".join(
        [
            json.dumps({"type": "session", "version": 3, "id": "s", "timestamp": TIME, "cwd": "/p"}).encode(),
            json.dumps({"type": "message", "id": "a", "parentId": None, "timestamp": TIME, **user("old")}).encode(),
            json.dumps({"type": "label", "id": "b", "parentId": "a", "timestamp": TIME, "targetId": "a"}).encode(),
            json.dumps({"id": "c", "parentId": "b", "timestamp": TIME, **compaction("sum", None)}).encode(),
        ]
    )
    read: list[bytes] = []

    def read_bytes(at: int, size: int) -> bytes:
        read.append(content[at : at + size])
        return read[-1]

    build(build_session(line_blocks([content]), RULES["pi"], "/x", read_bytes))
    assert {json.loads(line)["id"] for line in read} == {"c"}


def test_every_session_of_the_corpus_has_a_context_at_every_branch_tip(corpus: Path):
    built = 0
    for path in sorted(corpus.rglob("*.jsonl")):
        agent = path.relative_to(corpus).parts[0]
        opened = of_bytes(agent, path.read_bytes(), str(path))
        tips = [index for index in range(len(opened.envelopes)) if not opened.children(index)]
        for at in [None, *tips]:
            made = check(opened, at)
            built += bool(made.messages)
    assert built > 19
