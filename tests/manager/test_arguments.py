"""What the programs would choke on is refused by the argument's name, in memory as with a file."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse import SessionManager
from sessionbrowse.errors import RefusedWrite
from tests.support.change_helpers import CONVERSATION, LONG_AGO_NS, entry, header, line

Json = Any
USAGE = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": {"total": 0}}


def answer(**more: Json) -> Json:
    """Return an assistant message."""
    return {"role": "assistant", "content": [{"type": "text", "text": "yes"}], "usage": USAGE, "timestamp": 1, **more}


def manager(agent: str, folder: Path | None) -> SessionManager:
    """Return a session that has a conversation, in memory or with a file."""
    made = SessionManager.in_memory("/p", agent=agent)
    if folder is not None:
        made = SessionManager.create("/p", folder, agent=agent)
    made.append_message({"role": "user", "content": "hi", "timestamp": 1})
    made.append_message(answer())
    return made


looped: list[Json] = []
looped.append(looped)
deep: Json = "x"
for _ in range(300):
    deep = [deep]

MESSAGES: list[tuple[str, Json, type[Exception]]] = [
    ("nothing", None, TypeError),
    ("a text", "hello", TypeError),
    ("a list", [answer()], TypeError),
    ("a number as content", answer(content=5), TypeError),
    ("an object as content", answer(content={}), TypeError),
    ("null as content", {"role": "user", "content": None}, TypeError),
    ("no content", {"role": "user"}, TypeError),
    ("a block that is null", answer(content=[None]), TypeError),
    ("NaN", answer(timestamp=math.nan), ValueError),
    ("infinity", {"role": "weird", "x": [{"y": math.inf}]}, ValueError),
    ("a number that JavaScript reads as infinity", answer(timestamp=10**400), ValueError),
    ("a set", {"role": "weird", "x": {1}}, TypeError),
    ("bytes", {"role": "user", "content": b"hi"}, TypeError),
    ("an object of Python", {"role": "weird", "x": object()}, TypeError),
    ("a key that is a number", {"role": "weird", 5: "x"}, TypeError),
    ("a value that contains itself", {"role": "weird", "x": looped}, ValueError),
    ("a value that is very deep", {"role": "weird", "x": deep}, ValueError),
]


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
@pytest.mark.parametrize(("message", "error"), [row[1:] for row in MESSAGES], ids=[row[0] for row in MESSAGES])
def test_a_message_that_programs_fail_on_is_refused_by_name_and_nothing_is_added(
    tmp_path: Path, agent: str, on_disk: bool, message: Json, error: type[Exception]
) -> None:
    made = manager(agent, tmp_path if on_disk else None)
    entries, files = made.get_entries(), {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(error, match="message"):
        made.append_message(message)
    assert made.get_entries() == entries
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_what_the_programs_bear_stays_allowed(tmp_path: Path) -> None:
    for agent in ("pi", "omp", "atomic", "indusagi"):
        made = manager(agent, tmp_path)
        for message in (
            {"foo": 1},
            {"role": "weird", "content": 5},
            {"role": 5},
            {"role": "user", "content": "NUL \0 and half a pair \ud800"},
            answer(content=[5, "x", {}]),
            answer(timestamp=1.5),
        ):
            made.append_message(message)
        again = SessionManager.open(made.get_session_file() or "", agent=agent)
        assert again.get_entries() == made.get_entries()


Call = Callable[[SessionManager], object]
CALLS: list[tuple[str, str, Call]] = [
    ("pi", "provider", lambda made: made.append_model_change(None, "m")),  # type: ignore[arg-type]
    ("pi", "model_id", lambda made: made.append_model_change("p/m")),
    ("pi", "model_id", lambda made: made.append_model_change("p", 5)),  # type: ignore[arg-type]
    ("pi", "level", lambda made: made.append_thinking_level_change(None)),
    ("omp", "level", lambda made: made.append_thinking_level_change(5)),  # type: ignore[arg-type]
    ("pi", "name", lambda made: made.append_session_info(None)),  # type: ignore[arg-type]
    ("pi", "target_id", lambda made: made.append_label_change(["x"], "l")),  # type: ignore[arg-type]
    ("pi", "label", lambda made: made.append_label_change("x", 5)),  # type: ignore[arg-type]
    ("pi", "summary", lambda made: made.append_compaction(5, None, 1)),  # type: ignore[arg-type]
    ("pi", "first_kept_entry_id", lambda made: made.append_compaction("s", 1, "id")),  # type: ignore[arg-type]
    ("omp", "tokens_before", lambda made: made.append_compaction("s", "short", "id", 1)),  # type: ignore[arg-type]
    ("pi", "details", lambda made: made.append_compaction("s", None, 1, {"x": {1}})),
    ("pi", "from_hook", lambda made: made.append_compaction("s", None, 1, None, "yes")),  # type: ignore[arg-type]
    ("pi", "tokens_before", lambda made: made.append_compaction("s", None, True)),
    ("pi", "data", lambda made: made.append_custom_entry("x", math.nan)),
    ("pi", "custom_type", lambda made: made.append_custom_entry({}, "x")),  # type: ignore[arg-type]
    ("pi", "content", lambda made: made.append_custom_message_entry("x", None, True)),  # type: ignore[arg-type]
    ("pi", "display", lambda made: made.append_custom_message_entry("x", "y", "z")),  # type: ignore[arg-type]
    ("omp", "timestamp_ms", lambda made: made.append_custom_message_entry("x", "y", True, timestamp_ms=math.nan)),
    ("pi", "usage", lambda made: made.append_usage("k", "p", "m", math.inf)),
    ("atomic", "summarized_through_id", lambda made: made.append_session_summary("s", 5)),  # type: ignore[arg-type]
    ("omp", "usage", lambda made: made.append_model_usage({"usage": {}}, None)),
    ("omp", "usage", lambda made: made.append_model_usage(5, None)),  # type: ignore[arg-type]
    ("omp", "message", lambda made: made.append_message(answer(usage={"input": 1}))),
    ("omp", "message", lambda made: made.append_message_to_branch("x", None)),
    ("omp", "rule_names", lambda made: made.append_ttsr_injection([5])),  # type: ignore[list-item]
    ("omp", "rule_names", lambda made: made.append_ttsr_injection("rule")),
    ("omp", "init", lambda made: made.append_session_init(None)),  # type: ignore[arg-type]
    ("omp", "mode", lambda made: made.append_mode_change(None)),  # type: ignore[arg-type]
    ("omp", "source", lambda made: made.set_session_name("n", "robot")),  # type: ignore[arg-type]
    ("omp", "entry", lambda made: made.ingest_replicated_entry({"id": "new"})),
    ("omp", "message", lambda made: made.ingest_replicated_entry({"type": "message", "id": "new"})),
    ("pi", "entry_id", lambda made: made.branch(5)),  # type: ignore[arg-type]
    ("pi", "summary", lambda made: made.branch_with_summary(None, None)),  # type: ignore[arg-type]
    ("pi", "parent_session", lambda made: made.new_session(parent_session=Path("x"))),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize(("agent", "name", "call"), CALLS)
def test_arguments_of_the_wrong_type_are_refused_by_name(
    tmp_path: Path, agent: str, name: str, call: Call, on_disk: bool
) -> None:
    made = manager(agent, tmp_path if on_disk else None)
    entries = made.get_entries()
    with pytest.raises((TypeError, ValueError), match=name):
        call(made)
    assert made.get_entries() == entries


def test_omps_own_order_of_a_model_change_is_taken_rightly() -> None:
    made = SessionManager.in_memory("/p", agent="omp")
    for call in (("openai/gpt-4o", "default"), ("openai/gpt-4o",), ("openai", "gpt-4o")):
        made.append_model_change(*call)
    assert [(entry["model"], entry.get("role")) for entry in made.get_entries()] == [
        ("openai/gpt-4o", "default"),
        ("openai/gpt-4o", None),
        ("openai/gpt-4o", None),
    ]


def test_a_label_is_cleared_without_the_argument_and_a_list_takes_the_function_first(tmp_path: Path) -> None:
    made = manager("pi", tmp_path)
    leaf = made.get_leaf_id() or ""
    made.append_label_change(leaf, "mark")
    made.append_label_change(leaf)
    assert made.get_label(leaf) is None
    seen: list[int] = []
    SessionManager.list_all(lambda progress: seen.append(progress.loaded))
    SessionManager.list_all(tmp_path, lambda progress: seen.append(progress.loaded))
    assert seen == [1]


def test_a_title_in_a_file_that_pi_may_read_is_refused_before_anything_is_added(tmp_path: Path) -> None:
    path = tmp_path / "backup.jsonl"
    path.write_bytes(b"".join(line(value) for value in (header(), *CONVERSATION)))
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    before = path.read_bytes()
    made = SessionManager.open(path, agent="omp")
    with pytest.raises(RefusedWrite, match="Nothing was changed"):
        made.set_session_name("title")
    assert path.read_bytes() == before
    assert [entry["type"] for entry in made.get_entries()] == [value["type"] for value in CONVERSATION]


def test_a_file_outside_its_place_is_opened_as_its_marks_say(tmp_path: Path) -> None:
    marks = {
        "atomic": entry("session_summary", "00000009", "00000008", summary="s", summarizedThroughId="00000008"),
        "omp": entry("mode_change", "00000009", "00000008", mode="plan"),
    }
    for agent, mark in marks.items():
        path = tmp_path / f"{agent}.jsonl"
        path.write_bytes(b"".join(line(value) for value in (header(), *CONVERSATION, mark)))
        assert SessionManager.open(path).agent == agent
