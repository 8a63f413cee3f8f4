"""Rollouts of Codex as entries: each rule of the format that changes what is read, and all published files."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.model.foreign.codex import NO_SUMMARY
from sessionbrowse.model.foreign.translated import Translated
from tests.model.foreign.shared import branches, check, check_both, codex, outline, path, role, text
from tests.support.foreign import CODEX_ID, Codex, jsonl, real_files

REAL = real_files("codex")
PARENT = "019c0000-0000-7000-8000-0000000000ff"


def read(made: Codex, **options: Any) -> Translated:
    translated = codex(made.lines(), **options)
    check_both(translated, codex(made.lines(), brief=True, **options))
    return translated


def prompts(made: Translated) -> list[str]:
    return [words for kind, words in outline(made) if kind == "user"]


def used(made: Translated) -> dict[str, int]:
    """Return the sums of all tokens, by their kind."""
    found: dict[str, int] = {}
    for entry in made.entries:
        for key, count in (entry.get("usage") or entry.get("message", {}).get("usage") or {}).items():
            found[key] = found.get(key, 0) + count
    return found


# ---- b: lines


def test_files_of_old_versions_have_bare_items_and_their_directory_in_a_text() -> None:
    lines = jsonl(
        [
            {"id": CODEX_ID, "timestamp": "2025-08-01T10:00:00.000Z", "instructions": None, "git": {}},
            {"record_type": "state"},
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "<environment_context>\n<cwd>/home/dev/app</cwd>"}],
            },
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "thinking"}]},
            {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "a"},
            {"type": "function_call_output", "call_id": "a", "output": '{"output":"x","metadata":{"exit_code":1}}'},
        ]
    ).splitlines()
    made = codex(lines)
    check(made)
    assert path(made) == ["codex.context", "user", "assistant", "toolResult"]
    assert made.header["cwd"] == "/home/dev/app"
    assert made.header["id"] == CODEX_ID
    assert made.unread == {"state": 1}
    assert made.entries[-1]["message"]["isError"] is True


def test_the_first_header_names_the_file_and_later_ones_with_its_id_change_nothing() -> None:
    file = Codex()
    file.prompt("go")
    file.line("session_meta", {"id": CODEX_ID, "timestamp": file.time(), "cwd": "/elsewhere"})
    file.answer("yes")
    made = read(file)
    assert path(made) == ["user", "assistant"]
    assert made.header["cwd"] == "/home/dev/app"


@pytest.mark.parametrize(
    ("meta", "hidden", "parent"),
    [
        ({}, False, None),
        ({"thread_source": "user"}, False, None),
        ({"thread_source": "user", "forked_from_id": PARENT}, False, PARENT),
        ({"source": {"subagent": "review"}, "parent_thread_id": PARENT}, True, PARENT),
        ({"source": {"subagent": {"other": "guardian"}}}, True, None),
        ({"source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1}}}}, True, PARENT),
        ({"thread_source": "subagent"}, True, None),
    ],
)
def test_subagents_reviews_and_guardians_are_hidden_and_tied_to_their_parent(
    meta: dict[str, Any], hidden: bool, parent: str | None
) -> None:
    header = read(Codex(**meta)).header
    assert (header.get("internal", False), header.get("parentSession")) == (hidden, parent)


# ---- c: prompts


def test_a_prompt_is_shown_once_and_injected_texts_are_hidden_notes() -> None:
    file = Codex()
    file.user_item("rules", role="developer")
    for words in ("# AGENTS.md instructions for /x", "<environment_context>…", "<skill>", "anything else"):
        file.user_item(words)
    file.prompt("go")
    file.prompt("go")
    file.answer("yes")
    made = read(file)
    assert prompts(made) == ["go", "go"]
    notes = [entry for entry in made.entries if role(entry) == "codex.context"]
    assert len(notes) == 5
    assert not any(note["display"] for note in notes)


def test_an_event_that_no_item_answers_is_a_prompt() -> None:
    file = Codex()
    file.event("user_message", message="review this")
    file.answer("yes")
    assert outline(read(file)) == [("user", "review this"), ("assistant", "yes")]


def test_an_item_that_contains_the_event_after_it_is_the_prompt_with_its_image() -> None:
    file = Codex()
    parts = [{"type": "input_text", "text": text} for text in ("<image name=[Image #1]>", "# Open files", "look")]
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    file.item("message", role="user", content=[parts[0], image, *parts[1:]])
    file.event("user_message", message="look")
    made = read(file)
    assert outline(made) == [("codex.context", "<image name=[Image #1]>\n# Open files"), ("user", "look")]
    assert {"type": "image", "data": "AAAA", "mimeType": "image/png"} in made.entries[1]["message"]["content"]


def test_a_prompt_whose_event_is_not_written_yet_is_a_prompt() -> None:
    file = Codex()
    file.prompt("go")
    file.user_item("and more")
    assert prompts(read(file)) == ["go", "and more"]
    file.event("user_message", message="and more")
    file.user_item("<environment_context>")
    assert prompts(read(file)) == ["go", "and more"]


def test_the_words_after_an_editors_heading_are_the_prompt() -> None:
    file = Codex()
    file.prompt("# Context from my IDE setup:\n## Open tabs\n## My request for Codex:\nfix it\n")
    assert outline(read(file)) == [("codex.context", "# Context from my IDE setup:\n## Open tabs"), ("user", "fix it")]


@pytest.mark.parametrize(
    "start", ["<user_instructions>", "<user_shell_command>", "<turn_aborted>", "Warning: apply_patch was requested"]
)
def test_in_files_without_events_the_injected_forms_are_no_prompts(start: str) -> None:
    file = Codex()
    file.user_item(f"{start} x")
    file.user_item("go")
    assert prompts(read(file)) == ["go"]


def test_paginated_files_have_their_prompts_in_completed_items() -> None:
    file = Codex(history_mode="paginated")
    file.item("message", role="user", content=[{"type": "input_text", "text": "go"}], content_item_kinds=["user.text"])
    file.event("item_completed", item={"type": "UserMessage", "content": [{"type": "text", "text": "go"}]})
    file.answer("yes")
    assert outline(read(file)) == [("user", "go"), ("assistant", "yes")]


def test_a_text_that_only_an_event_has_is_not_lost() -> None:
    file = Codex()
    file.prompt("go")
    file.event("agent_reasoning", text="only shown")
    file.event("agent_message", message="only said")
    made = read(file)
    assert [block["type"] for block in made.entries[1]["message"]["content"]] == ["thinking", "text"]


# ---- d: answers, calls, tokens


def test_an_answer_ends_at_an_output_or_a_prompt() -> None:
    file = Codex()
    file.prompt("go")
    file.item("reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="xyz")
    file.item("message", role="assistant", phase="commentary", content=[{"type": "output_text", "text": "first"}])
    file.item("function_call", name="shell", arguments='{"command":["ls"]}', call_id="a")
    file.item("custom_tool_call", name="apply_patch", input="*** Begin", call_id="b")
    file.item("function_call_output", call_id="a", output="x")
    file.item("custom_tool_call_output", call_id="b", output="y")
    file.answer("ready")
    made = read(file)
    assert path(made) == ["user", "assistant", "toolResult", "toolResult", "assistant"]
    thinking, _, shell, patch = made.entries[1]["message"]["content"]
    assert json.loads(thinking["thinkingSignature"])["encrypted_content"] == "xyz"
    assert shell["arguments"] == {"command": ["ls"]}
    assert patch["arguments"] == {"input": "*** Begin"}
    assert patch["customWireName"] == "apply_patch"


def test_calls_without_an_id_are_numbered_and_encrypted_reasoning_is_an_empty_mark() -> None:
    file = Codex()
    file.prompt("go")
    file.item("reasoning", summary=[], encrypted_content="xyz")
    for query in ("one", "two"):
        file.item("web_search_call", status="completed", action={"query": query})
    content = read(file).entries[1]["message"]["content"]
    assert content[0]["thinking"] == ""
    assert [block["id"] for block in content[1:]] == ["web_search_call_1", "web_search_call_2"]
    assert content[1]["arguments"] == {"query": "one"}


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("plain", "plain"),
        ('{"output":"wrapped","metadata":{"exit_code":0}}', "wrapped"),
        ([{"type": "input_text", "text": "part"}], "part"),
        ({"content": "object", "success": True}, "object"),
        ({"odd": 1}, '{"odd":1}'),
    ],
)
def test_outputs_come_in_four_forms(output: Any, words: str) -> None:
    file = Codex()
    file.prompt("go")
    file.call("a", output)
    assert text(read(file).entries[-1]) == words


def test_tokens_count_only_where_the_total_changes_and_cached_ones_are_no_input() -> None:
    file = Codex()
    file.prompt("go")
    file.event("token_count", info=None)
    file.call("a")
    file.tokens(1000, 800, 50)
    file.tokens(1000, 800, 50, again=True)
    file.answer("yes")
    file.tokens(2000, 1500, 10)
    made = read(file)
    assert used(made) == {
        "input": 700,
        "output": 60,
        "cacheRead": 2300,
        "cacheWrite": 0,
        "totalTokens": 3060,
        "reasoning": 0,
    }
    assert made.entries[1]["message"]["model"] == "gpt-5-codex"


def test_tokens_before_the_first_answer_are_counted_in_an_entry_of_their_own() -> None:
    file = Codex()
    file.tokens(100, 0, 1)
    assert path(read(file)) == ["usage"]
    assert used(read(file))["totalTokens"] == 101


# ---- e: compactions, rollbacks


def test_a_compaction_without_a_text_shows_what_it_kept_and_says_so() -> None:
    file = Codex()
    file.prompt("go")
    file.line(
        "compacted",
        {"message": "", "replacement_history": [{"role": "user", "content": [{"text": "go"}]}, {"type": "compaction"}]},
    )
    file.line("compacted", {"message": "the summary"})
    file.answer("yes")
    made = read(file)
    assert path(made) == ["user", "compaction", "compaction", "assistant"]
    assert made.entries[1]["summary"] == f"{NO_SUMMARY}\n\nuser: go"
    assert made.entries[2]["summary"] == "the summary"
    assert made.entries[2]["firstKeptEntryId"] == made.entries[2]["id"]


def test_a_rollback_is_a_branch_before_the_nth_last_prompt() -> None:
    file = Codex()
    for words in ("one", "two", "three"):
        file.prompt(words)
        file.answer(f"answer {words}")
    file.event("thread_rolled_back", num_turns=2)
    file.prompt("another")
    file.event("thread_rolled_back", num_turns=1)
    file.prompt("again")
    file.event("thread_rolled_back", num_turns=9)
    file.prompt("from the start")
    made = read(file)
    parents = {text(entry): entry["parentId"] for entry in made.entries}
    assert parents["two"] == parents["another"] == parents["again"]
    assert parents["from the start"] is None
    assert len(made.entries) == 9


def test_the_leaf_of_a_file_that_ends_with_a_rollback_is_before_the_dropped_turn() -> None:
    file = Codex()
    for words in ("one", "two"):
        file.prompt(words)
        file.answer(f"answer {words}")
    file.event("thread_rolled_back", num_turns=1)
    file.event("token_count")
    *before, leaf = read(file).entries
    assert (leaf["customType"], leaf["parentId"]) == ("sessionbrowse", before[1]["id"])
    assert text(before[1]) == "answer one"
    file.prompt("another")
    *again, last = read(file).entries
    assert again == before
    assert (text(last), last["parentId"]) == ("another", before[1]["id"])


def test_an_aborted_turn_marks_the_answer_before_it() -> None:
    file = Codex()
    file.prompt("go")
    file.answer("yes, I")
    file.event("turn_aborted", reason="interrupted")
    assert read(file).entries[-1]["message"]["stopReason"] == "aborted"


@pytest.mark.parametrize(("ends", "ended"), [("task_complete", True), (None, False)])
def test_a_turn_has_ended_if_a_line_says_so(ends: str | None, ended: bool) -> None:
    file = Codex()
    file.event("task_started")
    file.prompt("go")
    file.answer("yes")
    file.event("task_complete")
    file.prompt("more")
    file.answer("yes again")
    if ends:
        file.event(ends)
    assert read(file).has_ended is ended


# ---- f: copied history


def fork() -> Codex:
    file = Codex(forked_from_id=PARENT)
    file.ms = 1500
    file.line("session_meta", {"id": PARENT, "timestamp": "2026-05-01T09:00:00.000Z", "cwd": "/x"}, 1)
    burst = Codex()
    burst.prompt("the parent's prompt")
    burst.answer("the parent's answer")
    burst.tokens(5000, 0, 10)
    for record in burst.records[1:]:
        file.line(record["type"], record["payload"], 1)
    file.line("event_msg", {"type": "task_started"}, 900)
    file._total = burst._total
    return file


def test_copied_history_is_left_out_and_never_counted() -> None:
    file = fork()
    file.tokens(0, 0, 0, again=True)
    file.prompt("my prompt")
    file.answer("yes")
    file.tokens(100, 0, 1)
    made = read(file)
    assert prompts(made) == ["my prompt"]
    assert used(made)["totalTokens"] == 101
    assert made.unread["copied from the parent session"] == 7


@pytest.mark.parametrize("other", [{"id": "no uuid"}, {"id": PARENT, "timestamp": "never"}])
def test_a_header_without_id_or_time_opens_no_copy(other: dict[str, Any]) -> None:
    file = Codex()
    file.line("session_meta", {"timestamp": file.time(), **other}, 1)
    file.prompt("mine")
    assert prompts(read(file)) == ["mine"]


def test_lines_older_than_the_session_and_below_its_first_ordinal_are_copied() -> None:
    file = Codex(subagent_history_start_ordinal=10)
    file.prompt("old time")
    file.records[-2]["timestamp"] = file.records[-1]["timestamp"] = "2026-05-01T09:00:00.000Z"
    file.line("event_msg", {"type": "user_message", "message": "low ordinal"}, ordinal=9)
    file.line("event_msg", {"type": "user_message", "message": "mine"}, ordinal=10)
    assert prompts(read(file)) == ["mine"]


# ---- g and i: names, ids


def test_the_index_of_names_wins_over_the_name_in_the_file() -> None:
    file = Codex()
    file.event("thread_name_updated", thread_name="old")
    file.event("thread_name_updated", thread_name="in the file")
    assert read(file).name == "in the file"
    assert read(file, name="in the index").name == "in the index"
    assert read(Codex()).name is None


def test_lines_of_unknown_kinds_are_kept_and_counted() -> None:
    file = Codex()
    file.line("weather", {"sun": True})
    file.item("telepathy", thought=1)
    file.event("fireworks", colour="red")
    made = read(file)
    assert path(made) == ["codex.weather", "codex.telepathy", "codex.event fireworks"]
    assert made.unread == {
        "turn_context": 1,
        "unknown: weather": 1,
        "unknown: telepathy": 1,
        "unknown: event fireworks": 1,
    }


# ---- the published files


@pytest.mark.skipif(not REAL, reason="the published transcripts are not beside this checkout (../shared/transcripts)")
@pytest.mark.parametrize("file", REAL, ids=lambda file: file.stem[-8:])
def test_published_files_lose_no_call_and_count_no_token_twice(file: Path) -> None:
    lines = file.read_bytes().splitlines()
    made = codex(lines, str(file))
    check_both(made, codex(lines, str(file), brief=True))
    assert branches(made) == []
    assert [entry["parentId"] for entry in made.entries].count(None) == 1
    own = lines[1 + made.unread.get("copied from the parent session", 0) :]
    items = [one["payload"] for one in map(json.loads, own) if one["type"] == "response_item"]
    calls = sum(item["type"].endswith("_call") for item in items)
    outputs = sum(item["type"].endswith(("_call_output", "search_output")) for item in items)
    blocks = [block for entry in made.entries if role(entry) == "assistant" for block in entry["message"]["content"]]
    assert sum(block["type"] == "toolCall" for block in blocks) == calls
    assert sum(role(entry) in ("toolResult", "codex.result") for entry in made.entries) == outputs
    if "019d7e30" in file.name:
        assert prompts(made)[0].startswith("Review the latest changes on the rewrite branch")


@pytest.mark.skipif(not REAL, reason="the published transcripts are not beside this checkout (../shared/transcripts)")
def test_a_growing_published_file_keeps_ids_and_parents_of_its_entries() -> None:
    rng = random.Random(7)
    for file in [file for file in REAL if not file.stem.endswith("000000000000")]:
        lines = file.read_bytes().splitlines()
        ids = {entry["id"]: entry["parentId"] for entry in codex(lines, str(file)).entries}
        for _ in range(10):
            made = codex(lines[: rng.randrange(1, len(lines) + 1)], str(file))
            assert all(ids.get(entry["id"], "gone") == entry["parentId"] for entry in made.entries[:-1])


@pytest.mark.parametrize(
    "count", [pytest.param(1_000, marks=pytest.mark.slow), pytest.param(10_000, marks=pytest.mark.stress)]
)
def test_mutated_files_are_read_without_an_error(count: int) -> None:
    file = fork()
    file.prompt("go")
    file.call("a")
    file.tokens(10, 1, 2)
    file.line("compacted", {"message": "", "replacement_history": [{"role": "user", "content": "x"}]})
    file.event("thread_rolled_back", num_turns=1)
    lines, rng = file.lines(), random.Random(11)
    for _ in range(count):
        changed = list(lines)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(changed))
            record = json.loads(lines[at])
            inner = record["payload"] if rng.random() < 0.7 else record
            inner[rng.choice(list(inner))] = rng.choice(
                [None, 3, -1, "", [], {}, [None], {"content": [None, 1]}, 1e300, "{"]
            )
            changed[at] = rng.choice([json.dumps(record).encode(), lines[at][: rng.randrange(len(lines[at]))]])
        rng.shuffle(changed)
        check_both(codex(changed), codex(changed, brief=True))
