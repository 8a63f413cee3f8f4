"""omp's context: `/clear`, dropped turns, its kinds of compaction, notes, models by role."""

from __future__ import annotations

from typing import Any

import pytest

from sessionbrowse.format.entries import ImageBlock, TextBlock, ThinkingBlock
from sessionbrowse.model.context.build import Context, ModelRef
from tests.support.context_sample import (
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
    text,
    user,
)

RESET: Line = {"type": "reset_boundary"}


def omp(*lines: Line | str, at: int | None = None) -> Context:
    return context("omp", *lines, at=at)


# ---- /clear and compaction ---------------------------------------------------------------------------------


def test_clear_hides_everything_before_it():
    made = omp(user("q"), answer("a"), {"type": "label", "targetId": "e0", "label": "x"}, RESET, user("r"))
    assert said(made) == ["user: r"]
    assert reasons(made) == {
        "e0": "cleared by /clear",
        "e1": "cleared by /clear",
        "e2": "a label",
        "e3": "a /clear command",
    }


def test_the_later_of_clear_and_compaction_decides():
    made = omp(user("q"), compaction("sum", "e0"), user("r"), RESET, user("s"))
    assert said(made) == ["user: s"]
    assert reasons(made)["e1"] == "cleared by /clear"
    made = omp(user("q"), RESET, user("r"), compaction("sum", "e0"), user("s"))
    assert said(made) == ["compactionSummary: sum", "user: q", "user: r", "user: s"]


@pytest.mark.parametrize("kept", [None, "missing", "e2", "e3"])
def test_a_first_kept_entry_that_is_not_before_the_compaction_keeps_nothing(kept: str | None):
    made = omp(user("old"), answer("older"), compaction("sum", kept), user("new"))
    assert said(made) == ["compactionSummary: sum", "user: new"]


def remote(**more: Any) -> Line:
    history = {"provider": "openai", "replacementHistory": [{"type": "message"}], **more}
    return {"preserveData": {"openaiRemoteCompaction": history}}


def test_a_provider_with_its_own_history_replaces_the_kept_entries():
    lines = [user("a"), answer("b"), user("c")]
    made = omp(*lines, compaction("sum", "e1", **remote()), user("d"))
    assert said(made) == ["compactionSummary: sum", "user: d"]
    assert reasons(made) == {
        "e0": "before the compaction",
        "e1": "the provider's compacted history replaces the entry",
        "e2": "the provider's compacted history replaces the entry",
    }
    made = omp(*lines, compaction("sum", "e1", **remote(), providerReplayThroughEntryId="e1"), user("d"))
    assert said(made) == ["compactionSummary: sum", "user: c", "user: d"]


@pytest.mark.parametrize("broken", [{"provider": ""}, {"provider": 5}, {"replacementHistory": [1]}])
def test_a_provider_history_that_is_not_valid_changes_nothing(broken: Line):
    made = omp(user("a"), compaction("sum", "e0", **remote(**broken)))
    assert said(made) == ["compactionSummary: sum", "user: a"]


def snapshot(through: str, **more: Any) -> Line:
    made = {"provider": "anthropic", "content": "SUMMARY", **more}
    return {"preserveData": {"anthropicCompaction": made}, "providerReplayThroughEntryId": through}


def test_what_followed_the_last_entry_of_a_summary_by_anthropic_is_kept():
    lines = [user("a"), answer("b"), user("c"), answer("d")]
    made = omp(*lines, compaction("sum", "", **snapshot("e1")), user("e"))
    assert said(made) == ["compactionSummary: sum", "user: c", "assistant: d", "user: e"]
    assert reasons(made) == {"e0": "before the compaction", "e1": "before the compaction"}
    # An entry that is named as the first kept one comes first.
    assert said(omp(*lines, compaction("sum", "e3", **snapshot("e0")))) == ["compactionSummary: sum", "assistant: d"]


@pytest.mark.parametrize("broken", [{"provider": ""}, {"provider": 5}, {"content": ""}, {"content": None}])
def test_a_summary_that_anthropic_did_not_make_keeps_nothing_after_its_last_entry(broken: Line):
    made = omp(user("a"), user("b"), compaction("sum", "", **snapshot("e0", **broken)))
    assert said(made) == ["compactionSummary: sum"]


def test_a_rollover_brings_back_the_request_it_cut():
    rollover = {"details": {"kind": "experimental-context-rollover"}}
    skill = note("expanded", "skill-prompt", attribution="user")
    by_agent = note("reminder", "skill-prompt", attribution="agent")
    made = omp(user("first"), skill, by_agent, answer("a"), answer("b"), compaction("sum", "e4", **rollover))
    assert said(made) == ["compactionSummary: sum", "custom: expanded", "assistant: b"]
    made = omp(user("first"), answer("a"), user("kept"), compaction("sum", "e2", **rollover))
    assert said(made) == ["compactionSummary: sum", "user: kept"]


def frames(*payloads: str) -> list[Line]:
    shape = {"mimeType": "image/png", "cols": 1, "rows": 1, "chars": 1, "font": "f"}
    return [{"data": payload, **shape} for payload in payloads]


def snap(**archive: Any) -> Line:
    return compaction("lead-in", None, method="snapcompact", preserveData={"snapcompact": archive})


def test_an_archive_of_pictures_is_sent_beside_the_summary():
    made = omp(user("q"), snap(frames=frames("AAAA", "BBBB"), textHead="old█line", textTail="new\x0e"))
    message = made.messages[0]
    assert (message.text, message.images) == ("lead-in", 2)
    assert message.blocks == (
        TextBlock(text="old\nline\n-------------- imaged middle below\n"),
        ImageBlock(data="AAAA", mime_type="image/png"),
        ImageBlock(data="BBBB", mime_type="image/png"),
        TextBlock(text="-------------- imaged middle above\nnew"),
    )


def test_pictures_beyond_the_limit_of_a_request_are_left_out_oldest_first():
    made = omp(user("q"), snap(frames=frames("A" * 2_000_000, "B" * 2_000_000)))
    blocks = made.messages[0].blocks
    assert made.messages[0].images == 1
    assert isinstance(blocks[0], TextBlock)
    assert "1 archived image frame could not be included. 2.0 MB" in (blocks[0].text or "")


def test_frames_that_omp_cannot_read_are_no_archive():
    made = omp(user("q"), snap(frames=[{"data": "AAAA", "mimeType": "image/png"}, 5, None]))
    assert (made.messages[0].images, made.messages[0].blocks) == (0, ())


# ---- turns that are not sent -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (answer("a", retryRecovery={"kind": "superseded"}), "a failed answer that omp retried"),
        (answer("a", retryRecovery={}), "a failed answer that omp retried"),
        (answer([], "error"), "a failed answer without content"),
        (answer([text("  ")], "error"), "a failed answer without content"),
        (answer("partly", "error"), "a failed answer, which omp does not send"),
        (answer("partly", "aborted"), "an aborted answer, which omp does not send"),
        (answer([call("c9")], "toolUse"), "a tool call without result"),
        (note("plan", "prewalk-plan"), "a note that omp sends in one turn only"),
        (note("vibe", "vibe-mode-context"), "a note that omp sends in one turn only"),
        (note(None), "the message's content is missing"),
        ({"type": "branch_summary", "fromId": "e0", "summary": ""}, "empty branch summary"),
    ],
)
def test_what_omp_does_not_send_is_left_out_with_its_reason(turn: Line, reason: str):
    made = omp(user("q"), turn, user("r"))
    assert said(made) == ["user: q", "user: r"]
    assert reasons(made) == {"e1": reason}


def test_a_turn_that_was_cut_by_its_length_is_sent():
    assert said(omp(user("q"), answer("half", "length"))) == ["user: q", "assistant: half"]


def test_the_results_of_an_aborted_turn_go_with_it():
    made = omp(
        user("q"),
        answer([call("c1"), call("c2")], "aborted"),
        result("c1"),
        {"type": "custom", "customType": "session_exit"},
        result("c2"),
        user("r"),
    )
    assert said(made) == ["user: q", "user: r"]
    assert reasons(made)["e4"] == "a tool result of an aborted answer, which omp does not send"


def test_a_note_of_interrupted_thinking_saves_an_aborted_turn():
    made = omp(user("q"), answer("half", "aborted"), note("was thinking", "interrupted-thinking"))
    assert said(made) == ["user: q", "assistant: half", "custom: was thinking"]


def test_a_call_without_result_is_cut_out_with_signatures_of_thinking():
    signed = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}
    hidden = {"type": "redactedThinking", "data": "x"}
    made = omp(user("q"), answer([signed, hidden, call("c1"), call("c2")], "toolUse"), result("c2"), user("r"))
    message = made.messages[1]
    assert message.tool_calls == ("c2",)
    assert message.blocks[0] == ThinkingBlock(thinking="hm")
    assert len(message.blocks) == 2


def test_an_answer_with_all_its_results_keeps_its_signatures():
    signed = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}
    made = omp(user("q"), answer([signed, call("c1")], "toolUse"), result("c1"))
    assert made.messages[1].blocks[0] == ThinkingBlock(thinking="hm", thinking_signature="sig")


def test_a_result_on_another_branch_does_not_count():
    lines = [user("q"), answer([text("look"), call("c1")], "toolUse"), result("c1"), user("r") | {"parentId": "e1"}]
    made = omp(*lines)
    assert said(made) == ["user: q", "assistant: look", "user: r"]
    assert made.messages[1].tool_calls == ()


def test_many_aborted_turns_in_a_row_take_no_longer_than_others():
    turns = [line for n in range(3000) for line in (answer([call(f"c{n}")], "aborted"), result(f"c{n}"))]
    assert said(omp(user("q"), *turns)) == ["user: q"]


# ---- omp's own messages ------------------------------------------------------------------------------------


def test_roles_of_omp_give_their_own_text():
    made = omp(
        {"message": {"role": "developer", "content": "be brief"}},
        {"message": {"role": "pythonExecution", "code": "1+1", "output": "2"}},
        {
            "message": {
                "role": "fileMention",
                "files": [{"path": "a.py", "content": "x"}, {"path": "b.png", "image": {}}],
            }
        },
        {"message": {"role": "fileMention", "files": []}},
        bash("ls", excludeFromContext=True),
        note("hi", ""),
    )
    assert said(made) == [
        "developer: be brief",
        "pythonExecution: 1+1",
        "fileMention: a.py\nb.png",
        "fileMention: ",
        "bashExecution: ls",
        "custom: hi",
    ]
    assert [message.sent for message in made.messages] == [True, True, True, False, False, True]
    assert made.messages[5].custom_type == "custom-message"


def notes(words: Any, **more: Any) -> Line:
    data = {"version": 1, "text": words, **more}
    return {"type": "custom", "customType": "experimental_context_notes", "data": data}


def test_the_newest_notes_stand_in_front_and_name_their_entry():
    made = omp(user("q"), notes("old"), notes("now"), user("r"))
    assert [(message.role, message.entry_id) for message in made.messages] == [
        ("custom", "e2"),
        ("user", "e0"),
        ("user", "e3"),
    ]
    assert made.messages[0].custom_type == "experimental_context_notes"
    assert made.messages[0].text.startswith("<experimental-context-notes>\nThis opt-in experimental notebook")
    assert made.messages[0].text.endswith("\n\nLatest notebook revision:\nnow\n</experimental-context-notes>")


@pytest.mark.parametrize(
    "lines",
    [
        [notes("old"), RESET],
        [notes("old"), notes("")],
        [notes("x" * 16_385)],
        [notes(5)],
        [notes("x", more=1)],
        [notes("x", version=2)],
    ],
)
def test_cleared_or_odd_notes_are_not_sent(lines: list[Line]):
    assert said(omp(*lines, user("r"))) == ["user: r"]


def test_odd_notes_do_not_hide_older_good_ones():
    assert omp(notes("good"), notes("x", version=2), user("r")).messages[0].entry_id == "e0"


def test_notes_are_laid_out_as_omp_does():
    made = omp(notes("a  \n\n\n\nb\n\nc\n| x | y |\n|:--|---:|\n```\n\n\nkept\n```\n\n</tag>"))
    body = made.messages[0].text.partition("Latest notebook revision:\n")[2]
    assert body == ("a\nb\n\nc\n|x|y|\n|:---|---:|\n```\n\n\nkept\n```\n</tag>\n</experimental-context-notes>")


# ---- settings ----------------------------------------------------------------------------------------------


def changed(model: str, **more: Any) -> Line:
    return {"type": "model_change", "model": model, **more}


@pytest.mark.parametrize(
    ("lines", "models"),
    [
        ([answer("a")], {"default": "p/m"}),
        ([changed("x/y"), answer("a")], {"default": "x/y"}),
        ([answer("a"), changed("x/y"), answer("b")], {"default": "x/y"}),
        ([changed("x/y", role="small"), answer("a")], {"small": "x/y", "default": "p/m"}),
        ([changed("x/y"), changed("z/w", role="default")], {"default": "z/w"}),
        ([{"type": "model_change", "provider": "p", "modelId": "m"}], {}),
    ],
)
def test_a_named_default_model_is_not_overridden_by_answers(lines: list[Line], models: dict[str, str]):
    made = omp(user("q"), *lines)
    assert made.omp is not None
    assert made.omp.models == models


def test_the_model_is_the_default_one_split_at_its_first_slash():
    assert omp(changed("x/y/z")).model == ModelRef("x", "y/z")
    assert omp(changed("bare")).model == ModelRef(None, "bare")
    assert omp(user("q")).model is None


@pytest.mark.parametrize(
    ("change", "level", "configured"),
    [
        ({"thinkingLevel": "high"}, "high", "high"),
        ({"thinkingLevel": None}, "off", None),
        ({"thinkingLevel": "low", "configured": "auto"}, "low", "auto"),
    ],
)
def test_a_thinking_level_of_null_is_off(change: Line, level: str, configured: str | None):
    made = omp({"type": "thinking_level_change", **change})
    assert made.omp is not None
    assert (made.thinking_level, made.omp.configured_thinking_level) == (level, configured)


@pytest.mark.parametrize(
    ("tier", "by_family"),
    [
        ("priority", {"openai": "priority", "anthropic": "priority", "google": "priority"}),
        ("claude-only", {"anthropic": "priority"}),
        ("flex", {"openai": "flex"}),
        ("never heard of", None),
        ({"openai": "flex", "google": "odd"}, {"openai": "flex"}),
        ({"openai": ["flex"], "google": {}}, None),
        ({}, None),
        (None, None),
        (5, None),
    ],
)
def test_service_tiers_are_kept_by_provider_family(tier: Any, by_family: dict[str, str] | None):
    made = omp({"type": "service_tier_change", "serviceTier": tier})
    assert made.omp is not None
    assert made.omp.service_tier == by_family


def test_mode_and_injected_rules_are_restored():
    made = omp(
        {"type": "mode_change", "mode": "plan", "data": {"file": "x"}},
        {"type": "ttsr_injection", "injectedRules": ["a", "b"]},
        {"type": "ttsr_injection", "injectedRules": ["b", "c", 5]},
    )
    assert made.omp is not None
    assert (made.omp.mode, made.omp.mode_data, made.omp.injected_ttsr_rules) == ("plan", {"file": "x"}, ("a", "b", "c"))
