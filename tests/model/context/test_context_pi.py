"""pi's context: what a compaction keeps, what an edit changes, which model and level hold."""

from __future__ import annotations

import pytest

from sessionbrowse.format.entries import AssistantMessage, BranchSummary, Compaction, ImageBlock, TextBlock
from sessionbrowse.model.context.build import Context, ModelRef, build
from tests.support.context_sample import (
    IMAGE,
    Line,
    answer,
    bash,
    call,
    compaction,
    context,
    note,
    reasons,
    result,
    said,
    session,
    system,
    text,
    user,
)


def pi(*lines: Line | str, at: int | None = None) -> Context:
    return context("pi", *lines, at=at)


# ---- plain paths -------------------------------------------------------------------------------------------


def test_messages_come_in_the_order_of_the_path_with_the_entry_they_come_from():
    made = pi(user("q"), answer([text("a"), call("c1", path="x")], "toolUse"), result("c1"), bash("ls"))
    assert said(made) == ["user: q", "assistant: a", "toolResult: done", "bashExecution: ls"]
    assert [(message.entry_id, message.index) for message in made.messages] == [
        ("e0", 0),
        ("e1", 1),
        ("e2", 2),
        ("e3", 3),
    ]
    assert made.messages[1].tool_calls == ("c1",)
    assert (made.at, made.index) == ("e3", 3)
    assert made.left_out == ()


def test_a_context_can_be_asked_for_at_any_entry():
    lines = [user("q"), answer("a"), user("other", parentId="e0") | {"parentId": "e0"}, answer("b")]
    assert said(pi(*lines, at=1)) == ["user: q", "assistant: a"]
    assert said(pi(*lines)) == ["user: q", "user: other", "assistant: b"]


def test_text_blocks_are_joined_by_newlines_and_images_are_counted():
    made = pi(user([text("one"), IMAGE, text("two")]))
    assert (made.messages[0].text, made.messages[0].images) == ("one\ntwo", 1)


def test_large_images_stay_in_the_file():
    large = {"type": "image", "data": "A" * 5000, "mimeType": "image/png"}
    message = pi(user([large, IMAGE])).messages[0]
    assert [block.data for block in message.blocks if isinstance(block, ImageBlock)] == [None, "QUJD"]
    assert message.images == 2


def test_bookkeeping_is_left_out_and_each_kind_says_what_it_is():
    made = pi(
        user("q"),
        {"type": "label", "targetId": "e0", "label": "x"},
        {"type": "session_info", "name": "n"},
        {"type": "custom", "customType": "state", "data": {}},
        {"type": "model_change", "provider": "p", "modelId": "m"},
        {"type": "thinking_level_change", "thinkingLevel": "high"},
        {"type": "usage", "kind": "cache_warm"},
        {"type": "branch_summary", "fromId": "e0", "summary": ""},
        {"type": "brand_new"},
        {"type": "reset_boundary"},
    )
    assert said(made) == ["user: q"]
    assert reasons(made) == {
        "e1": "a label",
        "e2": "the session's name",
        "e3": "extension state",
        "e4": "model change",
        "e5": "thinking level change",
        "e6": "usage record",
        "e7": "empty branch summary",
        "e8": "pi does not know entries of the type brand_new",
        "e9": "a /clear command, which pi ignores",
    }


def test_a_branch_summary_and_an_extension_message_are_messages():
    made = pi(
        note("hidden", display=False), {"type": "branch_summary", "fromId": "root", "summary": "tried"}, note(None)
    )
    assert said(made) == ["custom: hidden", "branchSummary: tried", "custom: "]
    assert [message.custom_type for message in made.messages] == ["note", None, "note"]
    assert isinstance(made.messages[1].message, BranchSummary)


def test_commands_run_with_two_bangs_and_foreign_roles_stay_in_the_list_but_are_not_sent():
    made = pi(
        bash("secret", excludeFromContext=True),
        bash("shown"),
        {"message": {"role": "developer", "content": "of omp"}},
        system("rules"),
    )
    assert [message.sent for message in made.messages] == [False, True, False, True]
    assert [message.tokens > 0 for message in made.messages] == [False, True, False, True]
    assert made.tokens == sum(message.tokens for message in made.messages)


# ---- model and level ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "model"),
    [
        ([user("q")], None),
        ([answer("a")], ModelRef("p", "m")),
        ([{"type": "model_change", "provider": "x", "modelId": "y"}], ModelRef("x", "y")),
        ([answer("a"), {"type": "model_change", "provider": "x", "modelId": "y"}], ModelRef("x", "y")),
        ([{"type": "model_change", "provider": "x", "modelId": "y"}, answer("a")], ModelRef("p", "m")),
        ([{"type": "model_change", "model": "x/y"}], ModelRef(None, None)),
    ],
)
def test_the_model_is_the_last_change_or_answer_on_the_path(lines: list[Line], model: ModelRef | None):
    assert pi(*lines).model == model


def test_the_thinking_level_is_off_until_it_changes_and_a_compaction_does_not_forget_it():
    level = {"type": "thinking_level_change", "thinkingLevel": "high"}
    assert pi(user("q")).thinking_level == "off"
    assert pi(level, user("q"), compaction("sum", None), user("r")).thinking_level == "high"


# ---- compaction --------------------------------------------------------------------------------------------


def test_a_compaction_comes_first_then_what_it_keeps_then_what_follows():
    made = pi(user("old"), answer("older"), user("kept"), compaction("sum", "e2"), user("new"))
    assert said(made) == ["compactionSummary: sum", "user: kept", "user: new"]
    assert reasons(made) == {"e0": "before the compaction", "e1": "before the compaction"}
    assert isinstance(made.messages[0].message, Compaction)
    assert made.messages[0].entry_id == "e3"


@pytest.mark.parametrize("kept", [None, "missing", "e2", "e3"])
def test_a_first_kept_entry_that_is_not_before_the_compaction_keeps_nothing(kept: str | None):
    made = pi(user("old"), answer("older"), compaction("sum", kept), user("new"))
    assert said(made) == ["compactionSummary: sum", "user: new"]


def test_only_the_last_compaction_speaks_even_if_it_keeps_an_older_one():
    made = pi(user("a"), compaction("first", "e0"), user("b"), compaction("second", "e1"), user("c"))
    assert said(made) == ["compactionSummary: second", "user: b", "user: c"]
    assert reasons(made) == {"e0": "before the compaction", "e1": "older compaction"}


def test_system_messages_before_a_compaction_are_replaced_by_the_one_it_stored():
    stored = {"role": "system", "content": "now", "timestamp": 1}
    made = pi(system("then"), user("q"), compaction("sum", "e0", systemMessage=stored), system("later"))
    assert said(made) == ["system: now", "compactionSummary: sum", "user: q", "system: later"]
    assert [message.entry_id for message in made.messages] == ["e2", "e2", "e1", "e3"]
    assert reasons(made) == {"e0": "a system message before the compaction"}


def test_the_text_of_a_system_message_is_in_its_sections():
    prompt: Line = {"role": "system", "content": "", "sections": {"preamble": "Be kind.", "cwd": "/p", "odd": 5}}
    prompt["toolsAdded"] = [{"name": "read", "description": "d"}, {"name": "bash"}, "odd", {"name": 5}]
    change = {
        "role": "system",
        "content": "First",
        "sections": {"cwd": None, "b": "B"},
        "toolsRemoved": [{"name": "bash"}],
    }
    made = pi({"type": "message", "message": prompt}, user("q"), {"type": "message", "message": change})
    assert [message.text for message in made.messages] == [
        "Be kind.\n\n/p\n\nTools added: read, bash.",
        "q",
        'First\n\nRemoved system prompt section "cwd".\n\nB\n\nTools removed: bash.',
    ]


def test_a_compaction_on_another_branch_changes_nothing():
    made = pi(user("q"), compaction("sum", None), answer("a") | {"parentId": "e0"})
    assert said(made) == ["user: q", "assistant: a"]


# ---- edits -------------------------------------------------------------------------------------------------


def edit(target: str, replacement: Line | None) -> Line:
    return {"type": "context_edit", "targetId": target, "replacement": replacement}


def test_an_edit_removes_or_replaces_what_the_model_sees():
    made = pi(user("q"), answer([call("c1")], "toolUse"), result("c1", "long"), edit("e2", {"content": "short"}))
    assert said(made) == ["user: q", "assistant: ", "toolResult: short"]
    assert made.messages[2].blocks == (TextBlock(text="short"),)
    made = pi(user("q"), answer("a"), edit("e1", None))
    assert said(made) == ["user: q"]
    assert reasons(made) == {"e1": "a context edit removes the entry", "e2": "a context edit"}


def test_the_last_edit_of_an_entry_wins():
    made = pi(user("q"), answer("a"), edit("e1", None), edit("e1", {"content": "b"}))
    assert said(made) == ["user: q", "assistant: b"]
    message = made.messages[1].message
    assert isinstance(message, AssistantMessage)
    assert message.model == "m"


def test_an_edit_that_a_compaction_cut_away_has_no_effect():
    made = pi(user("q"), edit("e2", None), user("kept"), compaction("sum", "e2"))
    assert said(made) == ["compactionSummary: sum", "user: kept"]


def test_an_edit_can_remove_a_compaction_but_not_rewrite_it():
    assert said(pi(user("q"), compaction("sum", None), edit("e1", None))) == []
    made = pi(
        user("q"), compaction("sum", None), bash("ls"), edit("e1", {"content": "x"}), edit("e2", {"content": "x"})
    )
    assert said(made) == ["compactionSummary: sum", "bashExecution: ls"]


def test_an_edit_of_another_branch_has_no_effect():
    made = pi(user("q"), edit("e0", None), answer("a") | {"parentId": "e0"})
    assert said(made) == ["user: q", "assistant: a"]


# ---- the odd line ------------------------------------------------------------------------------------------


def test_a_leaf_without_an_id_is_still_where_pi_starts():
    made = pi(user("q"), '{"type":"message","parentId":"e0","timestamp":"x","message":{"role":"user","content":"r"}}')
    assert said(made) == ["user: q", "user: r"]
    assert made.at is None


def test_a_file_without_entries_has_an_empty_context():
    made = pi()
    assert (made.at, made.index, made.model, made.thinking_level, made.messages, made.tokens) == (
        None,
        None,
        None,
        "off",
        (),
        0,
    )


def test_a_first_version_file_keeps_by_index():
    lines = [user("a"), user("b"), {"type": "compaction", "summary": "sum", "firstKeptEntryIndex": 2}, user("c")]
    made = build(session("pi", lines, version=1))
    assert said(made) == ["compactionSummary: sum", "user: b", "user: c"]


def test_a_second_version_hook_message_is_a_custom_message():
    hook = {"message": {"role": "hookMessage", "customType": "h", "content": "x"}}
    assert said(build(session("pi", [hook], version=2))) == ["custom: x"]
    made = build(session("pi", [hook], version=3))
    assert said(made) == ["hookMessage: x"]
    assert not made.messages[0].sent
