"""The rules of the two formats that name a number or say how to count, each with its test, and tests of its own.

`RULES` is the table: the format and its part, the rule, and the test that holds it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from sessionbrowse.format.codec import STATE_LINES, other_program
from sessionbrowse.model.foreign.translated import Translated
from tests.model.foreign.shared import branches, check_both, claude, codex, outline, path, role
from tests.support.foreign import CLAUDE_ID, Claude, Codex, call, jsonl, said

FOLDER = "/x/projects/-home-dev-app"
PARENT = "019c0000-0000-7000-8000-0000000000ff"


def read(made: Claude | Codex, at: str = f"{FOLDER}/{CLAUDE_ID}.jsonl") -> Translated:
    lines = made.lines()
    if isinstance(made, Claude):
        translated, brief = claude(lines, at), claude(lines, at, brief=True)
    else:
        translated, brief = codex(lines), codex(lines, brief=True)
    check_both(translated, brief)
    return translated


def messages(made: Translated, of: str) -> list[dict[str, Any]]:
    """Return the messages of a role."""
    return [entry["message"] for entry in made.entries if role(entry) == of]


# ---- Claude Code, b: records


def test_a_file_is_recognised_behind_fifty_lines_of_state() -> None:
    file = Claude()
    for _ in range(STATE_LINES - 1):
        file.state("permission-mode", permissionMode="default")
    assert other_program(jsonl(file.records)) is None
    file.user("go")
    assert other_program(jsonl(file.records)) == "claude"


def test_progress_that_copies_a_subagents_answer_counts_no_tokens() -> None:
    file = Claude()
    file.user("go")
    file.answer("a", call("x", "Task"))
    file.add("progress", data={"type": "agent_progress", "message": {"message": file.records[-1]["message"]}})
    file.result("x")
    assert [message["usage"]["output"] for message in messages(read(file), "assistant")] == [10]


def test_blocks_of_kinds_that_were_not_seen_yet_are_kept() -> None:
    file = Claude()
    file.user("go")
    odd: list[dict[str, Any]] = [
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "server_tool_use", "id": "s", "name": "web_search"},
        {"type": "fallback", "reason": "busy"},
    ]
    file.answer("a", *odd)
    content = messages(read(file), "assistant")[0]["content"]
    assert content[0]["thinkingSignature"] == "xyz"
    assert content[0]["redacted"] is True
    assert ["server_tool_use" in content[1]["text"], "fallback" in content[2]["text"]] == [True, True]


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("plain", [said("plain")]),
        ([said("listed")], [said("listed")]),
        ([{"type": "tool_reference", "tool_name": "Grep"}], [said("[tool reference: Grep]")]),
        (
            [{"type": "image", "source": {"type": "base64", "data": "AA==", "media_type": "image/png"}}],
            [{"type": "image", "data": "AA==", "mimeType": "image/png"}],
        ),
        (None, []),
    ],
    ids=["text", "list", "tool reference", "image", "missing"],
)
def test_the_content_of_a_result_is_a_text_a_list_or_missing(content: Any, shown: list[Any]) -> None:
    file = Claude()
    file.user("go")
    file.answer("a", call("x"))
    file.result("x", content)
    assert messages(read(file), "toolResult")[0]["content"] == shown


def test_an_answer_without_a_stop_reason_is_not_aborted() -> None:
    file = Claude()
    file.user("go")
    file.answer("a", call("x"))
    file.result("x")
    file.answer("b", said("ready"))
    assert [message["stopReason"] for message in messages(read(file), "assistant")] == ["toolUse", "stop"]


# ---- Claude Code, c: parents


def test_times_that_fall_change_no_order() -> None:
    file = Claude()
    file.user("one")
    file.answer("a", said("two"))
    file.user("three")
    file.records[1]["timestamp"] = "2026-05-01T09:00:00.000Z"
    assert [words for _, words in outline(read(file))] == ["one", "two", "three"]


def test_a_queued_prompt_may_stand_before_the_line_of_its_parent() -> None:
    file = Claude()
    file.user("go")
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": "and this"}
    file.add("attachment", parent="00000000-0000-4000-8000-000000000003", attachment=queued)
    file.answer("a", said("yes"), parent="00000000-0000-4000-8000-000000000001")
    made = read(file)
    assert sorted(words for _, words in outline(made)) == ["and this", "go", "yes"]
    assert branches(made) == []


@pytest.mark.parametrize("beside", ["progress", "attachment", "next block", "second result", "command", "bridge"])
def test_what_the_program_writes_beside_a_result_is_no_branch(beside: str) -> None:
    file = Claude()
    file.user("go")
    answer = file.answer("a", call("x"), call("y"))
    match beside:
        case "progress":
            file.add("progress", parent=answer, data={"type": "hook_progress"})
        case "attachment":
            file.add("attachment", parent=answer, attachment={"type": "hook_success"})
        case "next block":
            file.answer("a", said("more"), parent=answer)
        case "second result":
            file.result("y", parent=answer)
        case "command":
            file.add("system", parent=answer, subtype="local_command", content="<command-name>/cost</command-name>")
        case "bridge":
            file.add("system", parent=answer, subtype="bridge_status", content="connected")
    file.result("x", parent=answer)
    file.answer("b", said("ready"))
    made = read(file)
    assert branches(made) == []
    assert len(path(made)) == len(made.entries)


def test_the_silent_answer_beside_the_note_of_an_exit_is_no_branch() -> None:
    file = Claude()
    file.user("go")
    last = file.answer("a", said("yes"))
    note = file.user("<command-name>/exit</command-name>")
    file.answer("s", said("No response requested."), parent=note, model="<synthetic>")
    file.user("Continue from where you left off.", parent=last, isMeta=True)
    file.user("more")
    made = read(file)
    assert branches(made) == []
    assert path(made)[-1] == "user"


def test_answers_on_both_sides_of_a_withdrawn_prompt_are_kept() -> None:
    file = Claude()
    file.user("go")
    answer = file.answer("a", said("yes"))
    file.user("one way")
    file.answer("b", said("there"))
    file.user("another way", parent=answer)
    file.answer("c", said("here"))
    made = read(file)
    assert branches(made) == [["user", "user"]]
    assert len(messages(made, "assistant")) == 3


# ---- Claude Code, d: the queue


def test_a_queued_prompt_that_was_never_taken_out_was_never_sent() -> None:
    file = Claude()
    file.user("go")
    file.state("queue-operation", operation="enqueue", content="later")
    file.answer("a", said("yes"))
    assert outline(read(file)) == [("user", "go"), ("assistant", "yes")]


@pytest.mark.parametrize("operation", ["remove", "dequeue"])
def test_a_notification_in_the_queue_is_no_prompt(operation: str) -> None:
    words = "<task-notification>done</task-notification>"
    file = Claude()
    file.user("go")
    file.state("queue-operation", operation="enqueue", content=words)
    file.answer("a", said("yes"))
    file.state("queue-operation", operation=operation)
    if operation == "dequeue":
        file.user(words)
    file.answer("b", said("seen"))
    made = read(file)
    assert [words for kind, words in outline(made) if kind == "user"] == ["go"]
    assert [kind for kind, _ in outline(made)].count("claude.notification") == 1


def test_a_queued_command_is_the_record_that_follows() -> None:
    file = Claude()
    file.user("go")
    file.state("queue-operation", operation="enqueue", content="/fix it")
    file.answer("a", said("yes"))
    file.state("queue-operation", operation="dequeue")
    tags = "<command-message>fix</command-message><command-name>/fix</command-name><command-args>it</command-args>"
    file.user(tags)
    file.answer("b", said("fixed"))
    assert [words for kind, words in outline(read(file)) if kind == "user"] == ["go", "/fix it"]


# ---- Claude Code, e: compactions, leaf


def test_a_compaction_whose_logical_parent_is_nowhere_follows_the_record_before() -> None:
    file = Claude()
    file.user("go")
    file.answer("a", said("yes"))
    file.add("system", parent=None, logicalParentUuid="nowhere", subtype="compact_boundary")
    file.user("the summary", isCompactSummary=True)
    assert path(read(file)) == ["user", "assistant", "compaction"]


def test_a_boundary_of_left_out_outputs_is_no_compaction() -> None:
    file = Claude()
    file.user("go")
    file.add("system", subtype="microcompact_boundary", compactedToolIds=["x"])
    file.answer("a", said("yes"))
    assert path(read(file)) == ["user", "assistant"]


def test_the_subagent_that_writes_a_summary_is_hidden() -> None:
    file = Claude()
    file.user("summarise", parent="nowhere", isSidechain=True, agentId="acompact-1")
    file.answer("a", said("the summary"), isSidechain=True)
    made = read(file, f"{FOLDER}/{CLAUDE_ID}/subagents/agent-acompact-1.jsonl")
    assert made.header["internal"] is True
    assert [entry["parentId"] for entry in made.entries].count(None) == 1


def test_the_leaf_is_the_last_record_that_is_an_entry() -> None:
    file = Claude()
    first = file.user("go")
    file.answer("a", said("yes"))
    file.add("progress", data={"type": "hook_progress"})
    file.state("last-prompt", lastPrompt="go", leafUuid=first)
    assert role(read(file).entries[-1]) == "assistant"


# ---- Claude Code, g: several ids, forks


def test_of_several_session_ids_the_file_name_decides_else_the_most_frequent() -> None:
    file = Claude()
    file.user("go", sessionId="other")
    file.answer("a", said("yes"))
    file.user("more")
    assert read(file, f"{FOLDER}/other.jsonl").header["id"] == "other"
    assert read(file, "").header["id"] == CLAUDE_ID


def test_a_fork_names_the_session_from_which_its_records_were_copied() -> None:
    file = Claude()
    file.user("go", forkedFrom={"sessionId": "origin", "messageUuid": "x"})
    file.answer("a", said("yes"))
    assert read(file).header["parentSession"] == f"{FOLDER}/origin.jsonl"


def test_a_version_or_branch_that_changes_makes_no_new_session() -> None:
    file = Claude()
    file.user("go", version="2.1.100", gitBranch="main")
    file.answer("a", said("yes"), version="2.1.101", gitBranch="topic", cwd="/home/dev/app/src")
    made = read(file)
    assert path(made) == ["user", "assistant"]
    assert made.header["cwd"] == "/home/dev/app"


# ---- Codex, b: lines


@pytest.mark.parametrize("kind", ["world_state", "inter_agent_communication", "token_usage_record", "fork_reference"])
def test_lines_that_are_no_conversation_are_counted(kind: str) -> None:
    file = Codex()
    file.prompt("go")
    file.line(kind, {"x": 1})
    made = read(file)
    assert path(made) == ["user"]
    assert made.unread[kind] == 1


def test_the_model_is_that_of_the_last_turn_context() -> None:
    file = Codex()
    file.prompt("go")
    file.answer("one")
    file.line("turn_context", {"model": "gpt-6"})
    file.prompt("more")
    file.answer("two")
    assert [message["model"] for message in messages(read(file), "assistant")] == ["gpt-5-codex", "gpt-6"]


# ---- Codex, c: prompts


@pytest.mark.parametrize(
    "start",
    [
        "<environment_context>",
        "# AGENTS.md instructions",
        "<subagent_notification>",
        "<skill>",
        "<user_action>",
        "<recommended_plugins>",
    ],
)
def test_further_injected_forms_are_no_prompts_in_files_without_events(start: str) -> None:
    file = Codex()
    file.user_item(f"{start} x")
    file.user_item("go")
    assert [words for kind, words in outline(read(file)) if kind == "user"] == ["go"]


def test_events_that_repeat_an_answer_or_its_reasoning_are_not_shown() -> None:
    file = Codex()
    file.prompt("go")
    file.event("agent_reasoning", text="thinking")
    file.item("reasoning", summary=[{"type": "summary_text", "text": "thinking"}])
    file.answer("yes")
    content = messages(read(file), "assistant")[0]["content"]
    assert [block["type"] for block in content] == ["thinking", "text"]


# ---- Codex, d: calls and tokens


def test_a_call_without_an_output_is_kept_and_an_id_that_comes_twice_is_numbered() -> None:
    file = Codex()
    file.prompt("go")
    for _ in range(2):
        file.item("function_call", name="shell", arguments="{}", call_id="same")
    content = messages(read(file), "assistant")[0]["content"]
    assert [block["id"] for block in content] == ["same", "same_1"]


def test_a_total_that_falls_is_counted_by_its_last_request() -> None:
    file = Codex()
    file.prompt("go")
    file.answer("yes")
    file.tokens(5000, 0, 10)
    file._total = 0
    file.tokens(300, 0, 10)
    (answer,) = messages(read(file), "assistant")
    assert (answer["usage"]["input"], answer["usage"]["output"]) == (5300, 20)


def test_reasoning_is_a_part_of_the_output() -> None:
    file = Codex()
    file.prompt("go")
    file.answer("yes")
    last = {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 30, "reasoning_output_tokens": 20}
    file.event("token_count", info={"total_token_usage": {**last, "total_tokens": 130}, "last_token_usage": last})
    (answer,) = messages(read(file), "assistant")
    assert answer["usage"]["totalTokens"] == 130
    assert answer["usage"]["reasoning"] == 20


# ---- Codex, e and f


def test_the_event_of_a_compaction_is_no_second_one() -> None:
    file = Codex()
    file.prompt("go")
    file.line("compacted", {"message": "the summary"})
    file.event("context_compacted")
    assert path(read(file)) == ["user", "compaction"]


@pytest.mark.parametrize(("pause_ms", "own"), [(300, False), (301, True)])
def test_a_copied_history_ends_at_a_pause_of_more_than_300_ms(pause_ms: int, own: bool) -> None:
    file = Codex(forked_from_id=PARENT)
    file.line("session_meta", {"id": PARENT, "timestamp": "2026-05-01T09:00:00.000Z"}, 1)
    file.line("event_msg", {"type": "user_message", "message": "theirs"}, pause_ms)
    file.line("event_msg", {"type": "user_message", "message": "mine"}, 1)
    assert ("user", "mine") in outline(read(file)) if own else outline(read(file)) == []


def test_a_fork_whose_totals_begin_anew_counts_its_own_requests() -> None:
    file = Codex(forked_from_id=PARENT)
    file.line("session_meta", {"id": PARENT, "timestamp": "2026-05-01T09:00:00.000Z"}, 1)
    file.line("event_msg", {"type": "token_count", "info": {"total_token_usage": {"total_tokens": 900}}}, 900)
    file.prompt("mine")
    file.answer("yes")
    file.tokens(100, 0, 1)
    assert [message["usage"]["totalTokens"] for message in messages(read(file), "assistant")] == [101]


def test_the_rows_of_the_table_name_tests() -> None:
    for _, _, name in RULES:
        module, _, function = name.rpartition(".")
        assert hasattr(import_module(f"tests.{module}") if module else import_module(__name__), function), name


_C, _X = "model.foreign.test_claude.", "model.foreign.test_codex."
_S = "stories.test_other_programs."
_D = "services.change.test_delete_other_programs."
RULES = (
    (
        "Claude b",
        "up to 50 lines of state before the first record",
        "test_a_file_is_recognised_behind_fifty_lines_of_state",
    ),
    (
        "Claude b",
        "a file of state lines only is no session",
        f"{_S}test_a_file_with_only_the_state_of_the_program_is_no_session",
    ),
    (
        "Claude b",
        "one answer is several lines",
        f"{_C}test_an_answer_is_one_entry_and_its_results_follow_it_in_file_order",
    ),
    (
        "Claude b",
        "progress lines are in the chain and not counted",
        f"{_C}test_progress_stands_in_the_chain_and_is_no_entry",
    ),
    (
        "Claude b",
        "copies of a subagent's message are not counted",
        "test_progress_that_copies_a_subagents_answer_counts_no_tokens",
    ),
    (
        "Claude b",
        "a summary is another session's title in 62 of 77",
        f"{_C}test_a_title_is_the_own_name_then_the_made_one_then_a_summary_of_this_file",
    ),
    (
        "Claude b",
        "of state lines the last one wins",
        f"{_C}test_a_title_is_the_own_name_then_the_made_one_then_a_summary_of_this_file",
    ),
    (
        "Claude b",
        "text of the program is no answer, without tokens",
        f"{_C}test_the_tokens_of_an_answer_are_those_of_its_last_line",
    ),
    ("Claude b", "blocks not seen yet", "test_blocks_of_kinds_that_were_not_seen_yet_are_kept"),
    ("Claude b", "content of a result", "test_the_content_of_a_result_is_a_text_a_list_or_missing"),
    ("Claude b", "no stop reason is no abort", "test_an_answer_without_a_stop_reason_is_not_aborted"),
    ("Claude b", "an unknown kind is kept and counted", f"{_C}test_a_record_of_an_unknown_kind_is_kept_and_counted"),
    ("Claude c", "119 parents stand later: results", f"{_C}test_a_result_before_its_calls_line_follows_the_call"),
    (
        "Claude c",
        "119 parents stand later: attachments",
        "test_a_queued_prompt_may_stand_before_the_line_of_its_parent",
    ),
    ("Claude c", "times fall in 145 files", "test_times_that_fall_change_no_order"),
    (
        "Claude c",
        "a parent that is nowhere, a loop",
        f"{_C}test_a_record_whose_parent_cannot_be_found_hangs_on_the_record_before",
    ),
    ("Claude c", "one uuid twice", f"{_C}test_a_uuid_that_comes_twice_with_other_content_is_a_record_of_its_own"),
    ("Claude c", "children that are no branch", "test_what_the_program_writes_beside_a_result_is_no_branch"),
    ("Claude c", "one caveat, several commands", f"{_C}test_notes_without_talk_below_go_in_line"),
    ("Claude c", "no response requested", "test_the_silent_answer_beside_the_note_of_an_exit_is_no_branch"),
    (
        "Claude c",
        "two prompts on one parent, two first prompts",
        f"{_C}test_two_prompts_below_one_answer_are_a_branch_and_two_first_prompts_are_two_roots",
    ),
    ("Claude c", "answers on both sides", "test_answers_on_both_sides_of_a_withdrawn_prompt_are_kept"),
    ("Claude d", "the kinds, in order", f"{_C}test_the_kind_of_a_user_record_is_decided_in_order"),
    (
        "Claude d",
        "44 custom commands are prompts",
        f"{_C}test_a_custom_command_is_a_prompt_in_the_words_that_were_typed",
    ),
    ("Claude d", "dequeue: a record of its own", f"{_C}test_a_queued_prompt_with_a_record_of_its_own_is_one_prompt"),
    ("Claude d", "dequeue of a command", "test_a_queued_command_is_the_record_that_follows"),
    (
        "Claude d",
        "remove: only an attachment",
        f"{_C}test_a_queued_prompt_that_stands_only_in_an_attachment_is_a_prompt",
    ),
    (
        "Claude d",
        "remove: only the line of the queue",
        f"{_C}test_a_queued_prompt_that_stands_only_in_the_queue_is_placed_where_it_was_taken_out",
    ),
    ("Claude d", "popAll: not sent", f"{_C}test_a_queued_prompt_with_a_record_of_its_own_is_one_prompt"),
    ("Claude d", "nothing until the end: never sent", "test_a_queued_prompt_that_was_never_taken_out_was_never_sent"),
    ("Claude d", "158 notifications by the queue", "test_a_notification_in_the_queue_is_no_prompt"),
    (
        "Claude e",
        "parent and summary of a compaction",
        f"{_C}test_a_compaction_hangs_on_its_logical_parent_and_keeps_nothing",
    ),
    (
        "Claude e",
        "1 of 13 points nowhere",
        "test_a_compaction_whose_logical_parent_is_nowhere_follows_the_record_before",
    ),
    (
        "Claude e",
        "preserved messages",
        f"{_C}test_messages_that_a_compaction_preserved_are_kept_and_the_session_goes_on_below_it",
    ),
    (
        "Claude e",
        "a second compaction",
        f"{_C}test_a_second_compaction_that_names_a_parent_before_the_first_follows_the_first",
    ),
    ("Claude e", "left out outputs", "test_a_boundary_of_left_out_outputs_is_no_compaction"),
    ("Claude e", "the subagent of a compaction", "test_the_subagent_that_writes_a_summary_is_hidden"),
    ("Claude e", "a plan is a second root", f"{_C}test_a_plan_with_cleared_context_is_a_second_root"),
    ("Claude e", "leaf", "test_the_leaf_is_the_last_record_that_is_an_entry"),
    (
        "Claude f",
        "the last line of an id, over the whole file",
        f"{_C}test_the_tokens_of_an_answer_are_those_of_its_last_line",
    ),
    (
        "Claude f",
        "over several files once",
        "stories.test_other_programs.test_an_answer_that_a_fork_copied_is_counted_once",
    ),
    ("Claude g", "resume in the same file", "test_a_version_or_branch_that_changes_makes_no_new_session"),
    ("Claude g", "several ids in 7 files", "test_of_several_session_ids_the_file_name_decides_else_the_most_frequent"),
    ("Claude g", "forks", "test_a_fork_names_the_session_from_which_its_records_were_copied"),
    (
        "Claude g",
        "the directory that maps to the folder",
        f"{_C}test_the_directory_is_the_first_that_maps_to_the_folder_and_the_file_names_the_session",
    ),
    ("Claude h", "what is deleted", f"{_D}test_subagents_beside_a_session_of_claude_code_go_with_it"),
    ("Claude h", "refused while it runs", f"{_D}test_a_session_that_a_running_claude_code_names_is_not_deleted"),
    ("Claude h", "damage", f"{_C}test_what_is_readable_in_a_damaged_line_is_read_and_the_rest_counted"),
    (
        "Claude i",
        "false branches 0, nothing lost",
        f"{_C}test_published_files_lose_nothing_and_fork_only_where_a_user_went_back",
    ),
    ("Claude i", "ids of growing files", f"{_C}test_a_growing_published_file_keeps_the_ids_of_its_entries"),
    (
        "Claude i",
        "files of sidechain records",
        f"{_C}test_sidechains_inside_a_file_are_left_out_and_a_file_of_them_is_a_hidden_session",
    ),
    (
        "Codex b",
        "bare items of old versions",
        f"{_X}test_files_of_old_versions_have_bare_items_and_their_directory_in_a_text",
    ),
    (
        "Codex b",
        "the first header names the file",
        f"{_X}test_the_first_header_names_the_file_and_later_ones_with_its_id_change_nothing",
    ),
    ("Codex b", "no conversation", "test_lines_that_are_no_conversation_are_counted"),
    ("Codex b", "unknown kinds", f"{_X}test_lines_of_unknown_kinds_are_kept_and_counted"),
    ("Codex c", "one of item and event", f"{_X}test_a_prompt_is_shown_once_and_injected_texts_are_hidden_notes"),
    ("Codex c", "an event without an item", f"{_X}test_an_event_that_no_item_answers_is_a_prompt"),
    (
        "Codex c",
        "an item with more parts than the event",
        f"{_X}test_an_item_that_contains_the_event_after_it_is_the_prompt_with_its_image",
    ),
    ("Codex c", "injected forms", f"{_X}test_in_files_without_events_the_injected_forms_are_no_prompts"),
    ("Codex c", "injected forms", "test_further_injected_forms_are_no_prompts_in_files_without_events"),
    ("Codex c", "paginated", f"{_X}test_paginated_files_have_their_prompts_in_completed_items"),
    ("Codex c", "the heading of editors", f"{_X}test_the_words_after_an_editors_heading_are_the_prompt"),
    ("Codex c", "events that repeat", "test_events_that_repeat_an_answer_or_its_reasoning_are_not_shown"),
    ("Codex d", "one answer; phase is no border", f"{_X}test_an_answer_ends_at_an_output_or_a_prompt"),
    (
        "Codex d",
        "43 calls without output, one id twice",
        "test_a_call_without_an_output_is_kept_and_an_id_that_comes_twice_is_numbered",
    ),
    (
        "Codex d",
        "searches without id, empty reasoning",
        f"{_X}test_calls_without_an_id_are_numbered_and_encrypted_reasoning_is_an_empty_mark",
    ),
    ("Codex d", "four forms of outputs", f"{_X}test_outputs_come_in_four_forms"),
    (
        "Codex d",
        "4,268 totals again; cached is no input",
        f"{_X}test_tokens_count_only_where_the_total_changes_and_cached_ones_are_no_input",
    ),
    ("Codex d", "the sum of the lasts", "test_a_total_that_falls_is_counted_by_its_last_request"),
    ("Codex d", "reasoning is output", "test_reasoning_is_a_part_of_the_output"),
    ("Codex d", "the model", "test_the_model_is_that_of_the_last_turn_context"),
    (
        "Codex e",
        "15 of 22 compactions have no text",
        f"{_X}test_a_compaction_without_a_text_shows_what_it_kept_and_says_so",
    ),
    ("Codex e", "an event beside it", "test_the_event_of_a_compaction_is_no_second_one"),
    ("Codex e", "rollback", f"{_X}test_a_rollback_is_a_branch_before_the_nth_last_prompt"),
    (
        "Codex e",
        "rollback at the end",
        f"{_X}test_the_leaf_of_a_file_that_ends_with_a_rollback_is_before_the_dropped_turn",
    ),
    ("Codex f", "copied lines are never counted", f"{_X}test_copied_history_is_left_out_and_never_counted"),
    ("Codex f", "0.3 s", "test_a_copied_history_ends_at_a_pause_of_more_than_300_ms"),
    ("Codex f", "totals that begin anew", "test_a_fork_whose_totals_begin_anew_counts_its_own_requests"),
    (
        "Codex f",
        "older lines, lower ordinals",
        f"{_X}test_lines_older_than_the_session_and_below_its_first_ordinal_are_copied",
    ),
    ("Codex f", "a later header without id or time", f"{_X}test_a_header_without_id_or_time_opens_no_copy"),
    (
        "Codex f",
        "subagents are hidden",
        f"{_X}test_subagents_reviews_and_guardians_are_hidden_and_tied_to_their_parent",
    ),
    ("Codex g", "names", f"{_X}test_the_index_of_names_wins_over_the_name_in_the_file"),
    ("Codex g", "archived threads", f"{_S}test_subagents_of_claude_code_and_archived_threads_are_not_resumed"),
    ("Codex h", "all files of a thread", f"{_D}test_all_files_of_a_thread_go_and_come_back"),
    (
        "Codex h",
        "refused while another file names it",
        f"{_D}test_a_thread_whose_history_another_file_names_is_not_deleted",
    ),
    ("Codex i", "calls and results lost 0", f"{_X}test_published_files_lose_no_call_and_count_no_token_twice"),
    ("Codex i", "ids of growing files", f"{_X}test_a_growing_published_file_keeps_ids_and_parents_of_its_entries"),
)
"""Format and part of its page, the rule, and the test; a name without a module is that of a test above."""
