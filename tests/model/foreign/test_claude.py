"""Transcripts of Claude Code as entries: each rule of the format that changes what is read, and all published files."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.model.foreign.translated import Translated
from tests.model.foreign.shared import branches, check, check_both, claude, outline, path, role, text
from tests.support.foreign import CLAUDE_ID, Claude, call, real_files, said

REAL = [file for file in real_files("claude") if "trimmed" not in file.name]


def read(made: Claude, at: str = f"/x/projects/-home-dev-app/{CLAUDE_ID}.jsonl") -> Translated:
    translated = claude(made.lines(), at)
    check_both(translated, claude(made.lines(), at, brief=True))
    return translated


# ---- c and i: parents, answers, results


def test_an_answer_is_one_entry_and_its_results_follow_it_in_file_order() -> None:
    file = Claude()
    file.user("go")
    file.answer("msg", {"type": "thinking", "thinking": "", "signature": "sig"})
    first = file.answer("msg", call("a"))
    file.result("a", parent=first)
    second = file.answer("msg", call("b"), parent=first)
    file.add("attachment", parent=second, attachment={"type": "hook_success"})
    file.result("b", parent=second)
    file.answer("next", said("ready"))
    made = read(file)
    assert path(made) == ["user", "assistant", "toolResult", "toolResult", "assistant"]
    content = made.entries[1]["message"]["content"]
    assert [block["type"] for block in content] == ["thinking", "toolCall", "toolCall"]
    assert content[0]["thinkingSignature"] == "sig", "empty thinking with a signature is kept"
    assert branches(made) == []
    assert made.unread == {"attachment": 1}


def test_a_result_before_its_calls_line_follows_the_call() -> None:
    file = Claude()
    file.user("go")
    file.result("a", parent="00000000-0000-4000-8000-000000000003")
    file.answer("msg", call("a"), parent="00000000-0000-4000-8000-000000000001")
    file.answer("next", said("ready"), parent="00000000-0000-4000-8000-000000000002")
    assert path(read(file)) == ["user", "assistant", "toolResult", "assistant"]


def test_progress_stands_in_the_chain_and_is_no_entry() -> None:
    file = Claude()
    file.user("go")
    file.answer("msg", call("a"))
    side = file.add("progress", data={"type": "agent_progress", "message": {"content": "copied"}})
    file.result("a", parent=file.records[1]["uuid"])
    file.answer("next", said("ready"), parent=side)
    made = read(file)
    assert path(made) == ["user", "assistant", "toolResult", "assistant"]
    assert made.unread == {"progress": 1}


def test_two_prompts_below_one_answer_are_a_branch_and_two_first_prompts_are_two_roots() -> None:
    file = Claude()
    file.user("edited", parent=None)
    file.user("first", parent=None)
    answer = file.answer("a", said("yes"))
    file.user("withdrawn")
    file.user("second", parent=answer)
    file.answer("b", said("ready"))
    made = read(file)
    assert branches(made) == [["user", "user"]]
    assert [entry["parentId"] for entry in made.entries].count(None) == 2


@pytest.mark.parametrize("broken", ["nowhere", "loop", "none given"])
def test_a_record_whose_parent_cannot_be_found_hangs_on_the_record_before(broken: str) -> None:
    file = Claude()
    file.user("go")
    file.answer("a", said("yes"))
    if broken == "nowhere":
        file.user("more", parent="ffffffff-0000-4000-8000-000000000000")
    elif broken == "loop":
        file.add("progress", parent="00000000-0000-4000-8000-000000000004")
        file.add("progress", parent="00000000-0000-4000-8000-000000000003")
        file.user("more")
    else:
        file.user("more")
        del file.records[-1]["parentUuid"]
    made = read(file)
    assert path(made) == ["user", "assistant", "user"]
    assert made.unread.get("missing parent", 0) == (broken != "none given")


def test_a_uuid_that_comes_twice_with_other_content_is_a_record_of_its_own() -> None:
    file = Claude()
    first = file.user("one")
    file.answer("a", said("yes"))
    file.user("two", uuid=first, parent=None)
    file.records.append(file.records[0])
    made = read(file)
    assert [words for _, words in outline(made)] == ["one", "yes", "two"]
    assert made.unread == {"doubled": 1}


# ---- d: prompts and notes


@pytest.mark.parametrize(
    ("content", "fields", "kind"),
    [
        ("fix it", {}, "user"),
        (
            [said("fix"), {"type": "image", "source": {"type": "base64", "data": "AA==", "media_type": "image/png"}}],
            {},
            "user",
        ),
        ("caveat", {"isMeta": True}, "claude.meta"),
        ("<command-name>/clear</command-name>", {}, "claude.command"),
        ("<local-command-stdout>ok</local-command-stdout>", {}, "claude.output"),
        ("<bash-input>ls</bash-input>", {}, "claude.command"),
        ("<bash-stdout>x</bash-stdout>", {}, "claude.output"),
        ("Caveat: The messages below were generated", {}, "claude.caveat"),
        ([said("[Request interrupted by user]")], {}, "claude.interrupt"),
        ("<task-notification>x</task-notification>", {}, "claude.notification"),
        ("<teammate-message>x</teammate-message>", {}, "claude.notification"),
        ("words", {"origin": {"kind": "task-notification"}}, "claude.notification"),
        ("words", {"origin": {"kind": "human"}}, "user"),
    ],
)
def test_the_kind_of_a_user_record_is_decided_in_order(content: Any, fields: dict[str, Any], kind: str) -> None:
    file = Claude()
    file.user(content, **fields)
    file.answer("a", said("yes"))
    assert path(read(file)) == [kind, "assistant"]


def test_documents_and_images_elsewhere_are_named_and_an_image_of_a_note_stays() -> None:
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "A" * 999}
    file = Claude()
    file.user([{"type": "document", "title": "plan", "source": pdf}, said("read it")])
    file.user([{"type": "image", "source": {"type": "url", "url": "https://x.org/a.png"}}])
    file.user([{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "whole"}}])
    file.user([{"type": "document", "source": {"type": "content", "content": [said("inner")]}}])
    image = {"type": "image", "source": {"type": "base64", "data": "AA==", "media_type": "image/png"}}
    file.user([image], isMeta=True)
    file.answer("a", call("x", type="document"))
    file.result("x", [{"type": "document", "source": pdf}])
    made = read(file)
    plan, url, *whole, note, _, result = made.entries
    assert text(plan) == "[document: plan, application/pdf]\nread it"
    assert text(url) == "[image: https://x.org/a.png]"
    assert [text(one) for one in whole] == ["whole", "inner"]
    assert note["content"] == [{"type": "image", "data": "AA==", "mimeType": "image/png"}]
    assert text(result) == "[document: application/pdf]"
    assert made.unread == {"document": 3}, "the plan, the image and the result"


def test_a_custom_command_is_a_prompt_in_the_words_that_were_typed() -> None:
    file = Claude()
    file.user(
        "<command-message>fix</command-message>\n<command-name>/fix</command-name><command-args>it now</command-args>"
    )
    file.user("expanded", isMeta=True)
    assert outline(read(file)) == [("user", "/fix it now"), ("claude.meta", "expanded")]


def test_notes_without_talk_below_go_in_line() -> None:
    file = Claude()
    caveat = file.user("Caveat: The messages below", isMeta=True)
    file.user("<command-name>/a</command-name>", parent=caveat)
    file.user("<command-name>/b</command-name>", parent=caveat)
    file.user("go", parent=caveat)
    answer = file.answer("a", call("x"))
    file.add("system", subtype="local_command", content="<command-name>/c</command-name>", parent=answer)
    file.result("x", parent=answer)
    file.answer("b", said("ready"))
    made = read(file)
    assert branches(made) == []
    assert len(path(made)) == len(made.entries) == 8


OPENED = "<ide_opened_file>The user opened /app/a.py in the IDE.</ide_opened_file>"
SELECTED = "<ide_selection>The user selected the lines 1 to 2:\na\nb</ide_selection>"
REMINDER = "<system-reminder>\nToday's date is 2026-05-01.\n</system-reminder>"
HOOK = "<user-prompt-submit-hook>lint passed</user-prompt-submit-hook>"
IMAGE = {"type": "image", "source": {"type": "base64", "data": "AA==", "media_type": "image/png"}}


@pytest.mark.parametrize(
    ("content", "injected", "words"),
    [
        ([said(OPENED), said("fix it")], OPENED, "fix it"),
        ([said(SELECTED), said(OPENED), said("fix it")], f"{SELECTED}\n{OPENED}", "fix it"),
        (f"{OPENED}\nfix it", OPENED, "fix it"),
        (f"fix it\n\n{REMINDER}", REMINDER, "fix it"),
        (f"{HOOK}fix <b>it</b>{REMINDER}", f"{HOOK}\n{REMINDER}", "fix <b>it</b>"),
        ([said(REMINDER), said("fix it"), IMAGE], REMINDER, "fix it"),
        ([said(OPENED), IMAGE], OPENED, ""),
        (f"{OPENED}<command-message>go</command-message><command-name>/go</command-name>", OPENED, "/go"),
    ],
)
def test_blocks_that_editors_and_the_program_put_around_a_prompt_are_a_hidden_note_above_it(
    content: Any, injected: str, words: str
) -> None:
    file = Claude()
    file.user(content)
    file.answer("a", said("yes"))
    made = read(file)
    assert outline(made)[:2] == [("claude.context", injected), ("user", words)]
    assert path(made) == ["claude.context", "user", "assistant"]
    assert made.entries[0]["display"] is False


@pytest.mark.parametrize(
    "content", ["fix <system-reminder> tags", "<div>fix</div>", "<ide_opened_file> is shown as title"]
)
def test_words_that_only_look_like_such_a_block_stay_in_the_prompt(content: str) -> None:
    file = Claude()
    file.user(content)
    assert outline(read(file)) == [("user", content)]


def test_a_record_of_such_blocks_alone_is_a_note() -> None:
    file = Claude()
    file.user(OPENED)
    file.user("fix it")
    assert outline(read(file)) == [("claude.context", OPENED), ("user", "fix it")]


@pytest.mark.parametrize("blocks", [True, False])
def test_a_queued_prompt_that_stands_only_in_an_attachment_is_a_prompt(blocks: bool) -> None:
    file = Claude()
    file.user("go")
    answer = file.answer("a", call("x"))
    file.state("queue-operation", operation="enqueue", content="and the tests")
    prompt = [said("and the tests")] if blocks else "and the tests"
    file.state("queue-operation", operation="remove")
    file.add(
        "attachment", parent=answer, attachment={"type": "queued_command", "commandMode": "prompt", "prompt": prompt}
    )
    file.result("x", parent=answer)
    file.answer("b", said("ready"))
    made = read(file)
    assert [words for kind, words in outline(made) if kind == "user"] == ["go", "and the tests"]
    assert branches(made) == []
    assert len(path(made)) == len(made.entries)


def test_a_queued_prompt_that_stands_only_in_the_queue_is_placed_where_it_was_taken_out() -> None:
    file = Claude()
    file.user("go")
    file.answer("a", call("x"))
    file.state("queue-operation", operation="enqueue", content="does it fail?")
    file.result("x")
    file.state("queue-operation", operation="remove")
    file.answer("b", said("no"))
    made = read(file)
    assert path(made) == ["user", "assistant", "toolResult", "user", "assistant"]
    assert text(made.entries[3]) == "does it fail?"


def test_a_queued_prompt_with_a_record_of_its_own_is_one_prompt() -> None:
    file = Claude()
    file.user("go")
    file.answer("a", said("yes"))
    for operation, words in (("enqueue", "one"), ("enqueue", "two"), ("enqueue", "three"), ("enqueue", "four")):
        file.state("queue-operation", operation=operation, content=words)
    file.state("queue-operation", operation="dequeue")
    file.user("one")
    file.state("queue-operation", operation="remove", content="three")
    file.user("three")
    file.state("queue-operation", operation="popAll", content="two\nfour")
    file.answer("b", said("ready"))
    assert [words for kind, words in outline(read(file)) if kind == "user"] == ["go", "one", "three"]


# ---- e: compactions, roots, leaf


def test_a_compaction_hangs_on_its_logical_parent_and_keeps_nothing() -> None:
    file = Claude()
    file.user("go")
    last = file.answer("a", said("yes"))
    boundary = {"subtype": "compact_boundary", "compactMetadata": {"trigger": "auto", "preTokens": 155000}}
    file.add("system", parent=None, logicalParentUuid=last, content="Conversation compacted", **boundary)
    file.user("the summary", isCompactSummary=True)
    file.user("further")
    made = read(file)
    assert path(made) == ["user", "assistant", "compaction", "user"]
    compaction = made.entries[2]
    assert compaction["summary"] == "the summary"
    assert compaction["tokensBefore"] == 155000
    assert compaction["firstKeptEntryId"] == compaction["id"]


def test_messages_that_a_compaction_preserved_are_kept_and_the_session_goes_on_below_it() -> None:
    file = Claude()
    file.user("go")
    file.answer("a", said("old"))
    head = file.user("kept")
    tail = file.answer("b", said("kept answer"))
    segment = {"headUuid": head, "anchorUuid": "x", "tailUuid": tail}
    file.add(
        "system",
        parent=None,
        logicalParentUuid=tail,
        subtype="compact_boundary",
        compactMetadata={"preservedSegment": segment},
    )
    file.user("the summary", isCompactSummary=True)
    file.user("further", parent=tail)
    made = read(file)
    assert path(made) == ["user", "assistant", "user", "assistant", "compaction", "user"]
    assert made.entries[4]["firstKeptEntryId"] == made.entries[2]["id"]


def test_a_second_compaction_that_names_a_parent_before_the_first_follows_the_first() -> None:
    file = Claude()
    first = file.user("go")
    for words in ("one", "two"):
        file.add("system", parent=None, logicalParentUuid=first, subtype="compact_boundary")
        file.user(words, isCompactSummary=True)
    assert path(read(file)) == ["user", "compaction", "compaction"]


def test_a_plan_with_cleared_context_is_a_second_root() -> None:
    file = Claude()
    file.user("plan it")
    file.answer("a", said("the plan"))
    file.add("progress", parent=None, data={"type": "hook_progress"})
    file.user("Implement the following plan")
    made = read(file)
    assert path(made) == ["user"]
    assert [entry["parentId"] for entry in made.entries].count(None) == 2


def test_sidechains_inside_a_file_are_left_out_and_a_file_of_them_is_a_hidden_session() -> None:
    file = Claude()
    file.user("go")
    file.answer("a", call("x", "Task"))
    file.user("do this", isSidechain=True, parent=None)
    file.answer("s", said("done"), isSidechain=True)
    file.result("x", parent="00000000-0000-4000-8000-000000000002")
    made = read(file)
    assert path(made) == ["user", "assistant", "toolResult"]
    assert made.unread == {"sidechain": 2}
    alone = Claude()
    alone.user("do this", isSidechain=True, parent=None, agentId="a1")
    alone.answer("s", said("done"), isSidechain=True)
    child = read(alone, "/x/projects/-home-dev-app/agent-1a2b3c4d.jsonl")
    assert path(child) == ["user", "assistant"]
    assert child.header["internal"] is True
    assert child.header["parentSession"] == f"/x/projects/-home-dev-app/{CLAUDE_ID}.jsonl"


# ---- f: tokens


def test_the_tokens_of_an_answer_are_those_of_its_last_line() -> None:
    file = Claude()
    file.user("go")
    file.answer("a", said("y"), output=1)
    file.answer("a", call("x"), output=50)
    file.user("between")
    file.answer("a", said("es"), output=90)
    file.answer("limit", said("You've hit your limit"), model="<synthetic>")
    file.answer("silent", said("No response requested."), model="<synthetic>")
    made = read(file)
    answers = [entry["message"] for entry in made.entries if role(entry) == "assistant"]
    assert len(answers) == 1
    assert answers[0]["usage"] == {"input": 3, "output": 90, "cacheRead": 100, "cacheWrite": 20, "totalTokens": 213}
    assert [words for kind, words in outline(made) if kind == "claude.notice"] == ["You've hit your limit"]


# ---- g and i: names, directories, ids


def test_a_title_is_the_own_name_then_the_made_one_then_a_summary_of_this_file() -> None:
    file = Claude()
    last = file.user("go")
    file.state("summary", summary="Another session", leafUuid="elsewhere")
    assert read(file).name is None
    file.state("summary", summary="This session", leafUuid=last)
    assert read(file).name == "This session"
    file.state("ai-title", aiTitle="Made title")
    assert read(file).name == "Made title"
    for name in ("Old", "My name"):
        file.state("custom-title", customTitle=name)
    file.state("ai-title", aiTitle="Made again")
    assert read(file).name == "My name"


def test_the_directory_is_the_first_that_maps_to_the_folder_and_the_file_names_the_session() -> None:
    file = Claude(cwd="/somewhere/else")
    file.user("go")
    file.answer("a", said("yes"), cwd="/home/dev.app")
    made = read(file, "/x/projects/-home-dev-app/99999999-0000-4000-8000-000000000000.jsonl")
    assert made.header["cwd"] == "/home/dev.app"
    assert made.header["id"] == "99999999-0000-4000-8000-000000000000"
    assert read(file, "/x/projects/-renamed/a.jsonl").header["cwd"] == "/somewhere/else"


def test_a_record_of_an_unknown_kind_is_kept_and_counted() -> None:
    file = Claude()
    file.user("go")
    file.add("thought-bubble", bubble="text")
    file.state("weather", sun=True)
    file.answer("a", said("yes"), parent=file.records[0]["uuid"])
    made = read(file)
    assert path(made) == ["user", "claude.thought-bubble", "claude.weather", "assistant"]
    assert made.unread == {"unknown: thought-bubble": 1, "unknown: weather": 1}
    assert made.entries[1]["data"]["bubble"] == "text"


# ---- h: damage


@pytest.mark.parametrize(
    ("damage", "bad"),
    [
        (lambda a, b: a + b, 0),
        (lambda a, b: b"\0" * 300 + a + b"\0\n" + b, 0),
        (lambda a, b: a + b"\n\0\0\0\n" + b, 1),
        (lambda a, b: a[: len(a) // 2] + a + b"\n" + b, 1),
        (lambda a, b: a + b"\n" + b[: len(b) // 2] + b + b[len(b) // 2 :], 1),
        (lambda a, b: a + b"\n" + b + b"\n" + b[:40], 1),
    ],
    ids=["two on a line", "NULs", "a line of NULs", "torn before", "spliced into another", "torn at the end"],
)
def test_what_is_readable_in_a_damaged_line_is_read_and_the_rest_counted(damage: Any, bad: int) -> None:
    file = Claude()
    file.user("go")
    file.answer("a", said("yes"))
    content = damage(*file.lines())
    made = claude(content.split(b"\n"))
    check(made)
    assert [words for _, words in outline(made)] == ["go", "yes"]
    assert len(made.bad_lines) + bool(made.torn) == bad


# ---- the published files


@pytest.mark.skipif(not REAL, reason="the published transcripts are not beside this checkout (../shared/transcripts)")
@pytest.mark.parametrize("file", REAL, ids=lambda file: file.stem[:8])
def test_published_files_lose_nothing_and_fork_only_where_a_user_went_back(file: Path) -> None:
    lines = file.read_bytes().splitlines()
    records = [json.loads(line) for line in lines]
    made = claude(lines, str(file))
    check_both(made, claude(lines, str(file), brief=True))
    is_sidechain = bool(made.header.get("internal"))
    kept = [one for one in records if is_sidechain or one.get("isSidechain") is not True]
    answers = [
        one["message"] for one in kept if one["type"] == "assistant" and one["message"].get("model") != "<synthetic>"
    ]
    blocks = [block for one in answers if isinstance(one["content"], list) for block in one["content"]]
    found = [block for entry in made.entries if role(entry) == "assistant" for block in entry["message"]["content"]]
    names = {"text": "text", "thinking": "thinking", "tool_use": "toolCall"}
    wanted = Counter(names[block["type"]] for block in blocks if block["type"] in names)
    assert {kind: Counter(block["type"] for block in found)[kind] for kind in wanted} == dict(wanted)
    results = [
        block["tool_use_id"]
        for one in kept
        if one["type"] == "user" and isinstance(one["message"]["content"], list)
        for block in one["message"]["content"]
        if block["type"] == "tool_result"
    ]
    carried = [entry["message"]["toolCallId"] for entry in made.entries if role(entry) == "toolResult"]
    notes = sum(role(entry) == "claude.result-without-call" for entry in made.entries)
    assert len(carried) + notes == len(results)
    forks = branches(made)
    assert forks == ([["user", "user"]] if file.stem.startswith("03eb5929") else [])
    highest = {one["id"]: one["usage"]["output_tokens"] for one in answers if one.get("usage")}
    counted = [
        entry["message"].get("usage", {}).get("output", 0) for entry in made.entries if role(entry) == "assistant"
    ]
    assert sum(counted) == sum(highest.values())


@pytest.mark.skipif(not REAL, reason="the published transcripts are not beside this checkout (../shared/transcripts)")
def test_a_growing_published_file_keeps_the_ids_of_its_entries() -> None:
    rng = random.Random(7)
    moved = kept = 0
    for file in REAL:
        lines = file.read_bytes().splitlines()
        ids = {entry["id"]: entry["parentId"] for entry in claude(lines, str(file)).entries}
        for _ in range(6):
            made = claude(lines[: rng.randrange(1, len(lines) + 1)], str(file))
            check(made)
            assert all(entry["id"] in ids for entry in made.entries)
            parents = [ids[entry["id"]] == entry["parentId"] for entry in made.entries[:-1]]
            kept, moved = kept + sum(parents), moved + len(parents) - sum(parents)
    assert moved <= kept // 500


@pytest.mark.parametrize(
    "count", [pytest.param(1_000, marks=pytest.mark.slow), pytest.param(10_000, marks=pytest.mark.stress)]
)
def test_mutated_files_are_read_without_an_error(count: int) -> None:
    file = Claude()
    file.user("go")
    file.answer("a", said("yes"), call("x"))
    file.result("x")
    file.add("system", parent=None, logicalParentUuid=file.last, subtype="compact_boundary", compactMetadata={})
    file.user("sum", isCompactSummary=True)
    file.state("queue-operation", operation="enqueue", content="more")
    file.state("queue-operation", operation="remove")
    lines, rng = file.lines(), random.Random(11)
    for _ in range(count):
        changed = list(lines)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(changed))
            record = json.loads(lines[at])
            key = rng.choice(list(record))
            record[key] = rng.choice(
                [None, 3, "", [], {}, [None], {"content": [None, 1]}, lines[0].decode(), file.last]
            )
            changed[at] = rng.choice([json.dumps(record).encode(), lines[at][: rng.randrange(len(lines[at]))]])
        rng.shuffle(changed)
        check_both(claude(changed), claude(changed, brief=True))


def test_two_records_on_one_line_and_an_empty_line_are_read_like_two_lines() -> None:
    made = Claude()
    made.user("go")
    made.user("on")
    made.user("more")
    first, second, third = made.lines()
    both = first.removesuffix(b"\n") + second.removesuffix(b"\n")
    assert claude([both, b"", third]).entries == claude([first, second, third]).entries
