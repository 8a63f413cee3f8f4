"""atomic's context: a verbatim compaction is one message in a transcript's grammar; pi's summaries have no effect."""

from __future__ import annotations

from typing import Any

import pytest

from sessionbrowse.format.entries import ImageBlock, TextBlock
from sessionbrowse.model.context.atomic import COMPACTION_PREFIX
from sessionbrowse.model.context.build import Context, build
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

VERBATIM = {"details": {"strategy": "verbatim-lines"}}


def atomic(*lines: Line | str, at: int | None = None) -> Context:
    return context("atomic", *lines, at=at)


def tail(*lines: Line) -> str:
    """Return the transcript that atomic writes for kept entries."""
    made = atomic(*lines, compaction("[User]: old", "e0", **VERBATIM))
    assert len(made.messages) == 1
    head = COMPACTION_PREFIX + "[User]: old"
    assert made.messages[0].text.startswith(head)
    return made.messages[0].text[len(head) :].removeprefix("\n\n")


def test_a_verbatim_compaction_is_one_message_with_the_kept_entries_inside():
    made = atomic(user("old"), user("kept"), answer("yes"), compaction("[User]: old", "e1", **VERBATIM), user("new"))
    assert said(made) == [
        f"custom: {COMPACTION_PREFIX}[User]: old\n\n[User]: kept\n\n[Assistant]: yes",
        "user: new",
    ]
    assert made.messages[0].custom_type == "compaction"
    assert reasons(made) == {
        "e0": "before the compaction",
        "e1": "the compaction quotes the entry",
        "e2": "the compaction quotes the entry",
    }


@pytest.mark.parametrize("kept", [None, "missing", "e2"])
def test_a_compaction_that_keeps_nothing_is_only_its_own_text(kept: str | None):
    made = atomic(user("old"), compaction("[User]: old", kept, **VERBATIM), user("new"))
    assert said(made) == [f"custom: {COMPACTION_PREFIX}[User]: old", "user: new"]


@pytest.mark.parametrize("details", [None, {}, {"strategy": "summary"}, {"readFiles": []}, 5])
def test_summaries_of_pi_have_no_effect(details: Any):
    made = atomic(user("old"), compaction("sum", "e2", details=details), user("new"))
    assert said(made) == ["user: old", "user: new"]
    assert reasons(made) == {"e1": "a summary that atomic ignores"}


def test_the_last_verbatim_compaction_wins_over_newer_summaries():
    made = atomic(user("a"), compaction("one", None, **VERBATIM), user("b"), compaction("two", None), user("c"))
    assert said(made) == [f"custom: {COMPACTION_PREFIX}one", "user: b", "user: c"]


# ---- the grammar -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "written"),
    [
        ([user("plain\n")], "[User]: plain\n"),
        ([user([text("a"), text("b\n")])], "[User]: ab"),
        ([note("string\n")], "[User]: string"),
        ([user("  ")], ""),
        ([note("x", excludeFromContext=True)], ""),
        ([bash("ls", exitCode=2)], "[User]: Ran `ls`\n```\nout\n```\n\nCommand exited with code 2"),
        ([bash("ls", output="", cancelled=True)], "[User]: Ran `ls`\n(no output)\n\n(command cancelled)"),
        ([bash("ls", excludeFromContext=True)], ""),
        ([system("rules")], ""),
        (
            [{"type": "branch_summary", "fromId": "root", "summary": "tried"}],
            "[User]: The following is a summary of a branch that this conversation came back from:"
            "\n\n<summary>\ntried</summary>",
        ),
        (
            [answer([{"type": "thinking", "thinking": "hm"}, text("a"), text("b")])],
            "[Assistant thinking]: hm\n\n[Assistant]: a\nb",
        ),
        (
            [answer([call("c1", path="é", limit=2.0, deep={"a": [None, 1e-7]}), call("c2")], "stop")],
            '[Assistant tool calls]: read(path="é", limit=2, deep={"a":[null,1e-7]}); read()',
        ),
        (
            [answer([call("c1")], "toolUse"), result("c1", "out")],
            "[Assistant tool calls]: read()\n\n[Tool result]: out",
        ),
    ],
)
def test_kept_entries_are_written_as_sections(lines: list[Line], written: str):
    assert tail(*lines) == written


def test_a_kept_result_without_its_call_goes_and_a_call_without_its_result_gets_one():
    assert tail(result("ghost", "stray"), user("q")) == "[User]: q"
    written = tail(answer([call("c1")], "toolUse"), user("q"))
    assert written.startswith("[Assistant tool calls]: read()\n\n[Tool result]: Tool execution was interrupted")
    assert written.endswith("\n\n[User]: q")
    assert tail(answer([call("c1")], "toolUse")) == "[Assistant tool calls]: read()"


def test_kept_images_stay_images_at_their_place():
    made = atomic(user([text("see"), IMAGE]), answer("ok"), compaction("", "e0", **VERBATIM))
    assert made.messages[0].blocks == (
        TextBlock(text=f"{COMPACTION_PREFIX}[User]: see\n"),
        ImageBlock(data="QUJD", mime_type="image/png"),
        TextBlock(text="\n\n[Assistant]: ok"),
    )
    assert made.messages[0].images == 1


@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("1e21", "1e+21"),
        ("123456789012345678", "123456789012345680"),
        ("0.000001", "0.000001"),
        ("1.5e-7", "1.5e-7"),
        ("-2.50", "-2.5"),
        ("1e400", "null"),
        ('"\\ud800\\n"', '"\\ud800\\n"'),
    ],
)
def test_arguments_are_written_as_javascript_writes_json(number: str, written: str):
    lines: list[Line | str] = [
        '{"type":"message","id":"e0","parentId":null,"timestamp":"x","message":{"role":"assistant","content":'
        f'[{{"type":"toolCall","id":"c","name":"n","arguments":{{"v":{number}}}}}],"stopReason":"stop"}}}}',
        compaction("", "e0", **VERBATIM) | {"parentId": "e0"},
    ]
    text_of_compaction = build(session("atomic", lines)).messages[0].text
    assert text_of_compaction == f"{COMPACTION_PREFIX}[Assistant tool calls]: n(v={written})"


# ---- what is not sent --------------------------------------------------------------------------------------


def test_blank_excluded_and_stray_messages_stay_in_the_list_but_are_not_sent():
    made = atomic(
        user(" "),
        note("x", excludeFromContext=True),
        result("ghost"),
        answer([call("c1")], "toolUse"),
        result("c1"),
        result("c1", "again"),
        system("of pi"),
    )
    assert [message.sent for message in made.messages] == [False, False, False, True, True, False, False]
    assert [message.tokens for message in made.messages if not message.sent] == [0] * 5


def test_a_leaf_without_an_id_has_no_path():
    made = atomic(user("q"), '{"type":"message","parentId":"e0","timestamp":"x","message":{"role":"user"}}')
    assert (made.messages, made.left_out, made.at) == ((), (), None)


def test_entries_of_atomic_are_left_out_with_their_reason():
    made = atomic(user("q"), {"type": "session_summary", "summary": "s"}, {"type": "context_edit", "targetId": "e0"})
    assert said(made) == ["user: q"]
    assert reasons(made) == {
        "e1": "a summary for the list of sessions",
        "e2": "a context edit, which atomic ignores",
    }
