"""Clean copies of random trees: at each kept entry the context is that of the original less what was chosen away."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.errors import ChangedMeanwhile, InUse, NothingStays, RefusedWrite, WriteFailed
from sessionbrowse.format.entries import BranchSummary, Compaction
from sessionbrowse.model.clean.drop_branches import abandoned, below
from sessionbrowse.model.clean.plan import CleanPlan
from sessionbrowse.model.context.build import build
from sessionbrowse.model.session.session import Session
from sessionbrowse.services.clean.clean import Where, branches_plan, clean_session, shrink_plan
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.undo import undo
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.write_checks import Target
from tests.support.change_helpers import CONVERSATION, LONG_AGO_NS, Store, assistant, entry, line, user
from tests.support.random_trees import RandomTree

TREES = 60


def context_at(folder: Path) -> ChangeContext:
    """Return a change context of a home in this folder."""
    return Store(folder).context


def written(folder: Path, lines: list[Any], agent: str = "pi") -> Path:
    """Write a session where its agent keeps them, last changed long ago."""
    return Store(folder).session(agent, lines)


def texts_at(session: Session, index: int) -> list[Any]:
    """Return the messages of the context at an entry, without the indexes of their entries."""
    found = []
    for one in build(session, index).messages:
        is_summary = isinstance(one.message, Compaction | BranchSummary)
        found.append((one.role, one.entry_id, one.text if is_summary else one.message))
    return found


def labels_of(session: Session) -> dict[str | None, tuple[str, Any]]:
    """Return text and time of each label by the id of its entry."""
    return {session.ids[target]: (mark.text, mark.time) for target, mark in session.labels.items()}


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
@pytest.mark.parametrize("seed", range(TREES))
def test_a_pruned_copy_keeps_contexts_labels_name_and_leaf(tmp_path: Path, agent: str, seed: int):
    tree = RandomTree(seed, agent)
    path = tmp_path / "session.jsonl"
    path.write_bytes(tree.content())
    (tmp_path / "made").mkdir()
    make_plan = branches_plan(tree.some_entries())
    if seed % 5 == 0:
        make_plan = branches_plan((), all_abandoned=True, keep_labelled=seed % 2 == 0)
    try:
        done = clean_session(
            Target(str(path), agent),
            "prune",
            make_plan,
            Where(to=str(tmp_path / "made")),
            context=context_at(tmp_path),
        )
    except NothingStays:
        return
    before, after = open_session(path, agent), open_session(str(done.to), agent)
    kept = [entry_id for entry_id in before.ids if entry_id in after.index_by_id]
    assert kept == list(after.ids[: len(kept)])
    assert len(before.ids) - len(kept) == done.preview.removed.entries
    for entry_id in kept:
        assert entry_id is not None
        old = texts_at(before, before.index_by_id[entry_id])
        assert old == texts_at(after, after.index_by_id[entry_id])
    wanted = {entry_id: mark for entry_id, mark in labels_of(before).items() if entry_id in kept}
    assert labels_of(after) == wanted
    assert after.name == before.name
    leaf = before.leaf
    ancestors = [before.ids[index] for index in before.branch(leaf) if before.ids[index] in kept]
    if ancestors:
        assert done.preview.leaf_id == ancestors[-1]
    assert done.preview.leaf_id in [after.ids[index] for index in after.active_branch()]
    originals = {b"", *path.read_bytes().split(b"\n")}
    changed = [one for one in Path(str(done.to)).read_bytes().split(b"\n") if one not in originals]
    assert len(changed) <= done.preview.changed_lines + done.preview.added_lines
    assert Path(str(done.to)).stat().st_size == path.stat().st_size - done.preview.removed.bytes


@pytest.mark.parametrize("agent", ["pi", "omp"])
@pytest.mark.parametrize("seed", range(20))
def test_an_empty_plan_copies_every_byte(tmp_path: Path, agent: str, seed: int):
    path = tmp_path / "session.jsonl"
    path.write_bytes(RandomTree(seed, agent).content())
    (tmp_path / "made").mkdir()
    done = clean_session(
        Target(str(path), agent),
        "prune",
        lambda session: CleanPlan(),
        Where(to=str(tmp_path / "made")),
        context=context_at(tmp_path),
    )
    assert Path(str(done.to)).read_bytes() == path.read_bytes()
    assert done.preview.changes_nothing


@pytest.mark.parametrize("seed", range(TREES))
def test_a_shrunk_copy_has_the_same_entries_with_less_in_them(tmp_path: Path, seed: int):
    path = tmp_path / "session.jsonl"
    path.write_bytes(RandomTree(seed).content())
    (tmp_path / "made").mkdir()
    done = clean_session(
        Target(str(path), "pi"),
        "shrink",
        shrink_plan(images=True, results_over=500, thinking=True),
        Where(to=str(tmp_path / "made")),
        context=context_at(tmp_path),
    )
    old = [json.loads(one) for one in path.read_bytes().split(b"\n") if one]
    new = [json.loads(one) for one in Path(str(done.to)).read_bytes().split(b"\n") if one]
    assert [one.get("id") for one in new] == [one.get("id") for one in old]
    calls = set()
    for was, now in zip(old, new, strict=True):
        assert b'"type":"image"' not in line(now)
        message = now.get("message", {})
        if message.get("role") == "toolResult":
            texts = [block["text"] for block in message["content"] if block["type"] == "text"]
            assert all(len(text) <= 500 for text in texts)
            assert len(message["content"]) == len(was["message"]["content"])
            assert len(message.get("details", {}).get("long", "")) < 500
            assert message["toolCallId"] in calls
        if message.get("role") == "assistant":
            kinds = [block["type"] for block in message["content"]]
            calls |= {block["id"] for block in message["content"] if block["type"] == "toolCall"}
            if "thinking" not in kinds and "thinking" in [block["type"] for block in was["message"]["content"]]:
                assert "Signature" not in json.dumps(message)
                assert "|fc_" not in json.dumps(message)
        if message.get("role") not in ("user", "toolResult", "assistant", "bashExecution"):
            assert now == was


def test_thinking_since_the_last_question_of_a_leaf_stays(tmp_path: Path):
    thought = [{"type": "thinking", "thinking": "t", "thinkingSignature": "s"}, {"type": "text", "text": "a"}]
    lines = [user("a", None, "1"), assistant("b", "a", ""), user("c", "b", "2"), assistant("d", "c", "")]
    for one in (lines[1], lines[3]):
        one["message"]["content"] = thought
    path = written(tmp_path, lines)
    shrink(path, tmp_path, shrink_plan(thinking=True))
    kinds = {
        one["id"]: [block["type"] for block in one["message"]["content"]]
        for one in map(json.loads, path.read_bytes().splitlines()[1:])
        if one["message"]["role"] == "assistant"
    }
    assert kinds == {"b": ["text"], "d": ["thinking", "text"]}


def shrink(path: Path, home: Path, make_plan: Callable[[Session], CleanPlan], **more: Any) -> Any:
    """Shrink a session in place."""
    return clean_session(Target(str(path), "pi"), "shrink", make_plan, Where(), context=context_at(home), **more)


def prune(path: Path, home: Path, *entries: str, **more: Any) -> Any:
    """Prune a session in place."""
    agent = more.pop("agent", "pi")
    plan = branches_plan(entries)
    return clean_session(Target(str(path), agent), "prune", plan, Where(), context=context_at(home), **more)


@pytest.mark.parametrize("agent", ["pi", "omp"])
@pytest.mark.parametrize("seed", range(20))
def test_pruning_in_place_is_undone_byte_for_byte(tmp_path: Path, agent: str, seed: int):
    tree = RandomTree(seed, agent)
    path = tmp_path / "session.jsonl"
    path.write_bytes(tree.content())
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    was, times = path.read_bytes(), path.stat().st_mtime_ns
    try:
        done = prune(path, tmp_path, *tree.some_entries(), agent=agent, force=True)
    except NothingStays:
        return
    assert path.read_bytes() != was
    assert path.stat().st_mtime_ns == times
    undone = undo(done.undo_id, context=context_at(tmp_path), force=True)
    assert path.read_bytes() == was, undone
    assert path.stat().st_mtime_ns == times
    assert sorted(one.name for one in tmp_path.iterdir() if one.name.startswith(".session")) == []


def test_the_original_lies_in_the_trash_until_the_undo(tmp_path: Path):
    path = written(tmp_path, CONVERSATION)
    was = path.read_bytes()
    context = context_at(tmp_path)
    done = prune(path, tmp_path, "00000006")
    kept = context.journal.changes()[done.undo_id].after["items"][-1]
    assert Path(kept["item"]).read_bytes() == was
    assert f"Path={path}" in Path(kept["info"]).read_text()
    undo(context=context)
    assert not Path(kept["item"]).exists()
    assert not Path(kept["info"]).exists()


def test_an_undo_is_refused_after_the_session_went_on(tmp_path: Path):
    path = written(tmp_path, CONVERSATION)
    done = prune(path, tmp_path, "00000006")
    with path.open("ab") as file:
        file.write(line(user("ffffffff", "00000005", "more")))
    with pytest.raises(RefusedWrite, match="has new content"):
        undo(done.undo_id, context=context_at(tmp_path))
    assert b"ffffffff" in path.read_bytes()


def test_a_file_that_changed_since_the_preview_is_not_replaced(tmp_path: Path):
    path = written(tmp_path, CONVERSATION)
    seen = prune(path, tmp_path, "00000006", dry_run=True).seen
    with path.open("ab") as file:
        file.write(line(user("ffffffff", "00000005", "more")))
    was = path.read_bytes()
    with pytest.raises(ChangedMeanwhile, match="changed since the preview"):
        prune(path, tmp_path, "00000006", expected=seen)
    assert path.read_bytes() == was


def test_omp_is_not_pruned_within_ten_minutes(tmp_path: Path):
    path = written(tmp_path, CONVERSATION, "omp")
    now = int(context_at(tmp_path).now_ms() * 1_000_000) - 60_000_000_000
    os.utime(path, ns=(now, now))
    with pytest.raises(InUse, match="may be in use"):
        prune(path, tmp_path, "00000006", agent="omp")


def test_a_copy_where_an_agent_lists_sessions_needs_its_own_id(tmp_path: Path):
    path = written(tmp_path, CONVERSATION)
    target, context = Target(str(path), "pi"), context_at(tmp_path)
    plan = branches_plan(["00000006"])
    with pytest.raises(RefusedWrite, match="a copy with the same id"):
        clean_session(target, "prune", plan, Where(to=str(path.parent / "copy.jsonl")), context=context)
    done = clean_session(target, "prune", plan, Where(to=str(path.parent), new_id=True), context=context)
    made = open_session(str(done.to), "pi")
    assert made.id != open_session(path, "pi").id
    assert str(made.id) in str(done.to)
    assert made.header is not None
    assert made.header.parent_session == str(path)
    undone = undo(context=context)
    assert undone.path == done.to
    assert "Moved the new session to" in undone.notes[0]
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_copy_never_replaces_a_file_or_a_folder(tmp_path: Path):
    path = written(tmp_path, CONVERSATION, "omp")
    target, context, plan = Target(str(path), "omp"), context_at(tmp_path), branches_plan(["00000006"])
    (tmp_path / "taken.jsonl").write_text("mine")
    with pytest.raises(RefusedWrite, match="never overwritten"):
        clean_session(target, "prune", plan, Where(to=str(tmp_path / "taken.jsonl")), context=context)
    with pytest.raises(RefusedWrite, match="not a valid path"):
        clean_session(target, "prune", plan, Where(to="nul\0byte"), context=context)
    path.with_suffix("").mkdir()
    (tmp_path / "copy").mkdir()
    with pytest.raises(RefusedWrite, match="never overwritten"):
        clean_session(target, "prune", plan, Where(to=str(tmp_path / "copy.jsonl")), context=context)
    assert (tmp_path / "taken.jsonl").read_text() == "mine"
    assert not (tmp_path / "copy.jsonl").exists()


def test_a_copy_without_its_artifacts_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = written(tmp_path, CONVERSATION, "omp")
    path.with_suffix("").mkdir()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copytree", full)
    where = Where(to=str(tmp_path / "copy.jsonl"))
    with pytest.raises(WriteFailed, match="artifacts"):
        clean_session(
            Target(str(path), "omp"), "prune", branches_plan(["00000006"]), where, context=context_at(tmp_path)
        )
    assert not (tmp_path / "copy.jsonl").exists()


def test_no_message_left_is_refused(tmp_path: Path):
    path = written(tmp_path, CONVERSATION)
    was = path.read_bytes()
    with pytest.raises(RefusedWrite, match="No message would stay"):
        prune(path, tmp_path, "00000001")
    assert path.read_bytes() == was


def test_a_file_with_repeated_ids_is_repaired_first(tmp_path: Path):
    path = written(tmp_path, [*CONVERSATION, user("00000002", None, "again")])
    with pytest.raises(RefusedWrite, match="Repair the session first"):
        prune(path, tmp_path, "00000006")


@pytest.mark.parametrize(
    ("labelled", "dropped"), [("a", {"x", "y", "p", "q"}), ("c", {"x", "y", "p", "q"}), ("x", {"p", "q"})]
)
def test_a_label_keeps_its_own_branch_and_no_other(tmp_path: Path, labelled: str, dropped: set[str]):
    lines = [
        user("a", None, "1"),
        *(user("x", "a", "tried"), assistant("y", "x", "went on")),
        *(user("p", "a", "another"), assistant("q", "p", "no")),
        *(user("b", "a", "2"), assistant("c", "b", "3")),
        entry("label", "m", "c", targetId=labelled, label="mark"),
    ]
    session = open_session(str(written(tmp_path, lines)), "pi")
    tops = abandoned(session, keep_labelled=True)
    assert {session.ids[index] for index in below(session, sorted(tops))} == dropped


def test_a_first_kept_label_is_replaced_by_the_next_entry(tmp_path: Path):
    lines = [
        user("a", None, "1"),
        assistant("b", "a", "x"),
        entry("label", "c", "b", targetId="z", label="gone"),
        user("d", "c", "2"),
        entry("compaction", "e", "d", summary="s", firstKeptEntryId="c", tokensBefore=1),
        user("z", "a", "other branch"),
        user("f", "e", "3"),
    ]
    path = written(tmp_path, lines)
    done = prune(path, tmp_path, "z")
    made = {one["id"]: one for one in map(json.loads, path.read_bytes().splitlines()[1:])}
    assert list(made) == ["a", "b", "d", "e", "f"]
    assert (made["d"]["parentId"], made["e"]["firstKeptEntryId"]) == ("b", "d")
    assert done.preview.compactions == ("e",)
    assert [one.id for one in done.preview.reparented] == ["d"]


def test_a_label_that_ends_what_a_summary_covers_is_replaced_by_the_entry_before(tmp_path: Path):
    lines = [
        user("a", None, "covered"),
        entry("label", "b", "a", targetId="z", label="gone"),
        user("c", "b", "kept"),
        entry("compaction", "d", "c", summary="s", firstKeptEntryId="", providerReplayThroughEntryId="b"),
        user("z", "a", "other branch"),
        user("e", "d", "after"),
    ]
    path = written(tmp_path, lines)
    done = prune(path, tmp_path, "z")
    made = {one["id"]: one for one in map(json.loads, path.read_bytes().splitlines()[1:])}
    assert list(made) == ["a", "c", "d", "e"]
    assert made["d"]["providerReplayThroughEntryId"] == "a"
    assert done.preview.compactions == ("d",)


def test_nested_edits_leave_all_other_bytes(tmp_path: Path):
    from sessionbrowse.format.splice import edited

    dice = random.Random(7)
    for _ in range(300):
        value = {"a": [dice.random(), "x,]}", {"b": None}], "c": {"d": "é\\", "e": [1, 2, 3]}, "f": True}
        raw = json.dumps(value, indent=dice.choice([None, 1])).encode()
        gone = dice.sample([0, 1, 2], dice.randint(1, 3))
        edits: dict[Any, bytes | None] = {("c", "e", at): None for at in gone}
        edits["a", 1] = b'"new"'
        if dice.random() < 0.5:
            edits["f",] = None
        made = json.loads(edited(raw, edits))
        value["a"][1] = "new"  # type: ignore[index]
        value["c"]["e"] = [each for at, each in enumerate([1, 2, 3]) if at not in gone]  # type: ignore[index]
        if ("f",) in edits:
            del value["f"]
        assert made == value
        assert list(made) == list(value)
