"""Deleting sessions of Claude Code and Codex: all files of a session go and come back, unless another needs them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.errors import InUse, RefusedWrite
from sessionbrowse.services.change.delete import delete, outermost, plan_delete
from sessionbrowse.services.transaction.change import in_bulk
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.undo import undo
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.tui.changes.delete import unit_lines
from tests.support.foreign import CLAUDE_ID, CODEX_ID, Claude, Codex, jsonl

OTHER_ID = "019c0000-0000-7000-8000-00000000000b"
THIRD_ID = "019c0000-0000-7000-8000-00000000000c"
MARKS = (".sync-conflict-20260501-120000-ABCDEFG", " (conflicted copy)", " 2")
FOLDER = ".claude/projects/-home-dev-app"


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, ns=(10**18, 10**18))
    return path


def rollout(home: Path, thread: str, name: str, folder: str = "sessions/2026/05/01", **meta: Any) -> Path:
    file = Codex(thread, **meta)
    file.prompt(f"do {name}")
    return write(home / ".codex" / folder / f"rollout-2026-05-01T10-00-00-{name}.jsonl", jsonl(file.records))


def transcript(home: Path, name: str, session: str = CLAUDE_ID) -> Path:
    file = Claude()
    file.user("look around")
    for record in file.records:
        record["sessionId"] = session
    return write(home / FOLDER / f"{name}.jsonl", jsonl(file.records))


def context_of(home: Path) -> ChangeContext:
    around = Surroundings(home=str(home), environ={}, cwd=str(home))
    return ChangeContext.at(around, str(home / "state"), lambda: 2e12)


def sums(home: Path) -> dict[str, str]:
    files = [path for top in (".claude", ".codex") for path in (home / top).rglob("*") if path.is_file()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def gone_and_back(home: Path, path: Path) -> set[str]:
    """Delete a session and take it back; return the names of the files that were gone."""
    context, before = context_of(home), sums(home)
    deleted = delete(Target(str(path)), into="own", context=context)
    left = sums(home)
    undo(deleted.undo_id, context=context)
    assert sums(home) == before
    assert set(deleted.paths) == before.keys() - left.keys()
    return {os.path.basename(path) for path in before.keys() - left.keys()}


def test_all_files_of_a_thread_go_and_come_back(tmp_path: Path) -> None:
    path = rollout(tmp_path, CODEX_ID, CODEX_ID, history_mode="paginated")
    base = {"thread_id": CODEX_ID, "end_ordinal_exclusive": 4, "end_byte_offset": 900}
    second = rollout(tmp_path, CODEX_ID, OTHER_ID, "sessions/2026/05/02", history_base=base)
    revision = rollout(tmp_path, CODEX_ID, f"{CODEX_ID}_2", history_base=base)
    copy = rollout(tmp_path, CODEX_ID, CODEX_ID, "archived_sessions")
    rollout(tmp_path, THIRD_ID, THIRD_ID)
    names = {one.name for one in (path, second, revision, copy)}
    assert gone_and_back(tmp_path, path) == names
    assert gone_and_back(tmp_path, second) == names


def test_a_thread_whose_history_another_file_names_is_not_deleted(tmp_path: Path) -> None:
    path = rollout(tmp_path, CODEX_ID, CODEX_ID, history_mode="paginated")
    base = {"thread_id": CODEX_ID, "end_ordinal_exclusive": 4, "end_byte_offset": 900}
    child = rollout(tmp_path, OTHER_ID, OTHER_ID, "archived_sessions", history_base=base)
    before = sums(tmp_path)
    with pytest.raises(RefusedWrite, match=f"{path.name} holds the history that {child.name} continues."):
        delete(Target(str(path)), into="own", force=True, context=context_of(tmp_path))
    assert sums(tmp_path) == before
    assert gone_and_back(tmp_path, child) == {child.name}


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]])
def test_threads_that_continue_each_other_are_deleted_together(tmp_path: Path, order: list[int]) -> None:
    def base(thread: str) -> dict[str, Any]:
        return {"thread_id": thread, "end_ordinal_exclusive": 4, "end_byte_offset": 900}

    first = rollout(tmp_path, CODEX_ID, CODEX_ID, history_mode="paginated")
    revision = rollout(tmp_path, CODEX_ID, f"{CODEX_ID}_2", history_base=base(CODEX_ID))
    child = rollout(tmp_path, OTHER_ID, OTHER_ID, history_mode="paginated", history_base=base(CODEX_ID))
    grandchild = rollout(tmp_path, THIRD_ID, THIRD_ID, history_base=base(OTHER_ID))
    files, context, before = [first, revision, child, grandchild], context_of(tmp_path), sums(tmp_path)
    chosen = outermost([Target(str(files[at])) for at in order], lambda target: target.path)
    plans = [plan_delete(target, context, together=chosen) for target in chosen]
    assert {path for plan in plans for path in (plan.path, *plan.companions)} == before.keys()
    bulk = in_bulk(
        chosen, lambda target, each, group: delete(target, into="own", context=each, group=group), context=context
    )
    assert not bulk.failed
    assert sums(tmp_path) == {}
    undo(bulk.undo_id, context=context)
    assert sums(tmp_path) == before


def test_a_paginated_thread_is_kept_while_a_file_that_may_continue_it_cannot_be_read(tmp_path: Path) -> None:
    path = rollout(tmp_path, CODEX_ID, CODEX_ID, history_mode="paginated")
    legacy = rollout(tmp_path, THIRD_ID, THIRD_ID)
    write(path.with_name(f"rollout-2026-05-01T10-00-00-{OTHER_ID}.jsonl.zst"), b"\x28\xb5\x2f\xfdtorn")
    with pytest.raises(RefusedWrite, match="may continue the history"):
        delete(Target(str(path)), into="own", context=context_of(tmp_path))
    assert gone_and_back(tmp_path, legacy) == {legacy.name}


def test_a_reference_in_a_first_line_of_many_megabytes_is_found(tmp_path: Path) -> None:
    path = rollout(tmp_path, CODEX_ID, CODEX_ID)
    base = {"thread_id": CODEX_ID, "end_ordinal_exclusive": 4, "end_byte_offset": 900}
    instructions = {"text": "x" * 9_000_000}
    rollout(tmp_path, OTHER_ID, OTHER_ID, base_instructions=instructions, history_base=base)
    with pytest.raises(RefusedWrite, match="continues"):
        delete(Target(str(path)), into="own", context=context_of(tmp_path))


def test_chosen_rows_that_are_files_of_one_session_are_deleted_once(tmp_path: Path) -> None:
    context = context_of(tmp_path)
    chosen = [
        rollout(tmp_path, CODEX_ID, CODEX_ID),
        rollout(tmp_path, CODEX_ID, OTHER_ID, "sessions/2026/05/02"),
        rollout(tmp_path, THIRD_ID, THIRD_ID),
        transcript(tmp_path, CLAUDE_ID),
        transcript(tmp_path, "agent-0a1b2c3d"),
    ]
    before = sums(tmp_path)
    targets = outermost([Target(str(path)) for path in chosen], lambda target: target.path)
    assert [target.path for target in targets] == [str(chosen[at]) for at in (0, 2, 3)]
    bulk = in_bulk(
        targets,
        lambda target, context, group: delete(target, into="own", context=context, group=group),
        context=context,
    )
    assert not bulk.failed
    assert sums(tmp_path) == {}
    undo(bulk.undo_id, context=context)
    assert sums(tmp_path) == before


def test_the_compressed_copy_of_a_thread_goes_with_it(tmp_path: Path) -> None:
    path = rollout(tmp_path, CODEX_ID, CODEX_ID)
    packed = write(path.with_name(path.name + ".zst"), b"\x28\xb5\x2f\xfdtorn")
    assert gone_and_back(tmp_path, path) == {path.name, packed.name}


def test_a_thread_is_kept_while_another_file_of_it_changes(tmp_path: Path) -> None:
    path = rollout(tmp_path, CODEX_ID, CODEX_ID)
    second = rollout(tmp_path, CODEX_ID, OTHER_ID)
    os.utime(second, (2e9, 2e9))
    with pytest.raises(InUse):
        delete(Target(str(path)), into="own", context=context_of(tmp_path))


def test_subagents_beside_a_session_of_claude_code_go_with_it(tmp_path: Path) -> None:
    path = transcript(tmp_path, CLAUDE_ID)
    own = transcript(tmp_path, "agent-0a1b2c3d")
    transcript(tmp_path, "agent-0a1b2c3e", OTHER_ID)
    assert gone_and_back(tmp_path, path) == {path.name, own.name}
    assert gone_and_back(tmp_path, own) == {own.name}


@pytest.mark.parametrize("elsewhere", [False, True], ids=["own directory", "directory given by the user"])
def test_a_session_that_a_running_claude_code_names_is_not_deleted(tmp_path: Path, elsewhere: bool) -> None:
    path = transcript(tmp_path, CLAUDE_ID)
    running = write(
        tmp_path / f".claude/sessions/{os.getpid()}.json",
        msgspec.json.encode({"pid": os.getpid(), "sessionId": CLAUDE_ID, "cwd": "/elsewhere"}),
    )
    context = context_of(tmp_path)
    if elsewhere:
        context = ChangeContext.at(
            Surroundings(home="/nowhere", environ={}, cwd="/"), str(tmp_path / "state"), lambda: 2e12
        )
    with pytest.raises(InUse, match=rf"claude \(process {os.getpid()}\) has the session open"):
        delete(Target(str(path)), into="own", context=context)
    running.write_bytes(msgspec.json.encode({"pid": 2**22 + 1, "sessionId": CLAUDE_ID}))
    assert gone_and_back(tmp_path, path) == {path.name}


def test_a_file_without_lines_in_the_store_hinders_no_deletion(tmp_path: Path) -> None:
    path = rollout(tmp_path, CODEX_ID, CODEX_ID, history_mode="paginated")
    write(path.with_name(f"rollout-2026-05-01T10-00-00-{OTHER_ID}.jsonl"), b"")
    write(path.with_name(f"rollout-2026-05-01T10-00-00-{THIRD_ID}.jsonl"), b"\n\n")
    assert gone_and_back(tmp_path, path) == {path.name}


def test_a_conflict_copy_of_a_thread_goes_without_the_thread(tmp_path: Path) -> None:
    path = rollout(tmp_path, CODEX_ID, CODEX_ID)
    for mark in MARKS:
        copy = write(path.with_name(f"{path.stem}{mark}.jsonl"), path.read_bytes())
        assert gone_and_back(tmp_path, copy) == {copy.name}


def test_conflict_copies_that_go_with_a_thread_are_named(tmp_path: Path) -> None:
    path, context = rollout(tmp_path, CODEX_ID, CODEX_ID), context_of(tmp_path)
    rollout(tmp_path, CODEX_ID, OTHER_ID, "sessions/2026/05/02")
    copies = [write(path.with_name(f"{path.stem}{mark}.jsonl"), path.read_bytes()) for mark in MARKS]
    told = f"With 3 conflict copies of it: {', '.join(sorted(copy.name for copy in copies))}."
    plan = plan_delete(Target(str(path)), context)
    assert plan.copies_told == (told,)
    assert told in ["".join(part for part, _ in line) for line in unit_lines([plan])]
    assert told in delete(Target(str(path)), into="own", context=context).notes


def test_a_thread_without_conflict_copies_names_none(tmp_path: Path) -> None:
    path = rollout(tmp_path, CODEX_ID, CODEX_ID)
    rollout(tmp_path, CODEX_ID, f"{CODEX_ID}_2")
    assert plan_delete(Target(str(path)), context_of(tmp_path)).copies_told == ()
