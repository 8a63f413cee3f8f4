"""Sessions of Claude Code and Codex go on in pi and omp; carried again after they grew, they keep their ids."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from sessionbrowse.errors import RefusedWrite, UnsupportedFormat
from sessionbrowse.services.convert.convert import Carried, convert
from sessionbrowse.services.undo import undo
from sessionbrowse.store.read.session_file import open_session
from tests.support.change_helpers import NOW_MS, Store, lines_of
from tests.support.foreign import CLAUDE_ID, CODEX_ID, Claude, Codex, call, jsonl, said

TRANSCRIPTS = Path(__file__).resolve().parents[4] / "shared" / "transcripts"
HOUR_MS = 3_600_000
CWD = "/projects/webshop"


def carry(store: Store, path: Path, to: str) -> Carried:
    return convert(str(path), to, context=store.context, cwd=CWD)


def written(store: Store, content: bytes, name: str, *, age_ms: float = HOUR_MS) -> Path:
    path = store.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, ns=(int(store.now_ms - age_ms) * 1_000_000,) * 2)
    return path


def claude(store: Store) -> Path:
    file = Claude()
    file.user("make it quick")
    file.answer("a", said("I look"), call("x", command="ls"))
    file.result("x", "zebra.py")
    file.answer("b", said("It is quick now"), stop="end_turn")
    return written(store, jsonl(file.records), f".claude/projects/-home-dev-app/{CLAUDE_ID}.jsonl")


def codex(store: Store) -> Path:
    file = Codex()
    file.prompt("write a giraffe")
    file.call("c")
    file.answer("Here it is")
    name = f".codex/sessions/2026/05/01/rollout-2026-05-01T10-00-00-{CODEX_ID}.jsonl"
    return written(store, jsonl(file.records), name)


@pytest.mark.parametrize("to", ["pi", "omp", "atomic"])
@pytest.mark.parametrize("session", [claude, codex])
def test_a_session_of_another_program_becomes_one_that_can_go_on(store: Store, session: object, to: str) -> None:
    path = session(store)  # type: ignore[operator]
    before = path.read_bytes()
    made = carry(store, path, to)
    source, new = open_session(path), open_session(made.path, to)
    assert list(new.ids)[: len(source.ids)] == list(source.ids)
    assert list(new.parents)[: len(source.parents)] == list(source.parents)
    assert lines_of(Path(made.path))[to == "omp"]["sessionbrowse"]["origin"]["agent"] == source.agent
    assert "made_whole" in {loss.kind for loss in made.losses}
    assert carry(store, path, to).entries == 0
    assert path.read_bytes() == before
    undo(context=store.context)
    assert not os.path.lexists(made.path)


@pytest.mark.parametrize(("session", "title"), [(claude, "make it quick"), (codex, "write a giraffe")])
def test_the_first_prompt_is_the_title_in_omp_of_a_session_without_a_name(
    store: Store, session: object, title: str
) -> None:
    path = session(store)  # type: ignore[operator]
    slot = lines_of(Path(carry(store, path, "omp").path))[0]
    assert (slot["title"], slot["source"]) == (title, "auto")


def test_an_answer_that_was_still_written_is_completed_in_the_session_made_before(store: Store) -> None:
    file = Claude()
    file.user("make it quick")
    file.answer("a", said("I look"))
    begun = jsonl(file.records)
    file.answer("a", call("x", command="ls"))
    file.result("x", "zebra.py")
    name = f".claude/projects/-home-dev-app/{CLAUDE_ID}.jsonl"
    first = carry(store, written(store, begun, name), "pi")
    kept = Path(first.path).read_bytes()
    path = written(store, jsonl(file.records), name)
    again = carry(store, path, "pi")
    assert again.added_to == first.path
    _, _, answer, _ = lines_of(Path(first.path))
    assert [block["type"] for block in answer["message"]["content"]] == ["text", "toolCall"]
    assert carry(store, path, "pi").entries == 0
    undo(context=store.context)
    assert Path(first.path).read_bytes() == kept


def test_a_session_whose_only_answer_is_held_back_is_made_and_completed_later(store: Store) -> None:
    file = Claude()
    file.answer("a", call("x", command="ls"))
    name = f".claude/projects/-home-dev-app/{CLAUDE_ID}.jsonl"
    first = carry(store, written(store, jsonl(file.records), name, age_ms=0), "pi")
    assert (first.entries, first.held_back) == (0, 1)
    file.result("x", "zebra.py")
    assert carry(store, written(store, jsonl(file.records), name), "pi").added_to == first.path


def test_an_answer_that_only_got_longer_counts_as_one_entry_that_is_new(store: Store) -> None:
    file = Claude()
    file.user("make it quick")
    file.answer("a", said("I look"))
    name = f".claude/projects/-home-dev-app/{CLAUDE_ID}.jsonl"
    first = carry(store, written(store, jsonl(file.records), name), "pi")
    file.answer("a", said("Done"))
    again = carry(store, written(store, jsonl(file.records), name), "pi")
    assert (again.added_to, again.entries) == (first.path, 1)


def test_what_a_fork_of_codex_copied_from_its_parent_is_said_to_change_what_the_model_sees(store: Store) -> None:
    file = Codex(forked_from_id="01999999-0000-7000-8000-00000000000a")
    file.line(
        "session_meta", {"id": "01999999-0000-7000-8000-00000000000a", "timestamp": "2026-05-01T09:00:00.000Z"}, 1
    )
    file.item("message", role="user", content=[{"type": "input_text", "text": "of the parent"}])
    file.line("event_msg", {"type": "user_message", "message": "mine"}, 5_000)
    file.answer("yes")
    name = f".codex/sessions/2026/05/01/rollout-2026-05-01T10-00-00-{CODEX_ID}.jsonl"
    made = carry(store, written(store, jsonl(file.records), name), "pi")
    beginning = [loss for loss in made.losses if loss.kind == "beginning"]
    assert [loss.context for loss in beginning] == [True]


def test_two_files_of_one_thread_become_two_sessions(store: Store) -> None:
    path = codex(store)
    first = carry(store, path, "pi")
    other = written(store, path.read_bytes(), str(path.relative_to(store.home)).replace(".jsonl", "_1.jsonl"))
    store.now_ms += HOUR_MS
    assert carry(store, other, "pi").path != first.path
    assert carry(store, path, "pi").entries == 0


def test_attachments_and_records_of_subagents_are_counted_by_themselves(store: Store) -> None:
    file = Claude()
    file.user("make it quick")
    file.add("attachment", attachment={"type": "file", "content": "notes"})
    file.user("look", isSidechain=True, parent=None)
    file.answer("a", said("It is quick now"), stop="end_turn")
    made = carry(store, written(store, jsonl(file.records), f".claude/projects/-home-dev-app/{CLAUDE_ID}.jsonl"), "pi")
    told = {loss.kind: (loss.count, loss.context) for loss in made.losses}
    assert (told["attachment"], told["sidechain"]) == ((1, True), (1, False))
    assert "unread" not in told


def test_nothing_is_carried_to_claude_code_or_codex(store: Store) -> None:
    for to in ("claude", "codex"):
        with pytest.raises(RefusedWrite, match=f"not to {to}"):
            carry(store, store.session(), to)


def real_files() -> list[Path]:
    found = [path for name in ("claude", "codex") for path in (TRANSCRIPTS / name).rglob("*.jsonl")]
    if not found:
        pytest.skip("the real transcripts are not beside this checkout (../shared/transcripts)")
    return sorted(found)


@pytest.mark.slow
@pytest.mark.parametrize("to", ["pi", "omp"])
def test_real_sessions_of_other_programs_keep_ids_parents_and_leaf(store: Store, to: str) -> None:
    for path in real_files():
        source = open_session(path)
        if source.ids:
            new = open_session(carry(store, path, to).path, to)
            assert list(new.ids)[: len(source.ids)] == list(source.ids), path
            assert list(new.parents)[: len(source.parents)] == list(source.parents), path
            assert new.problem_count == 0


def cuts(tmp_path: Path, seed: int, count: int) -> None:
    """Carry sessions that were cut at random lines, then the whole ones: what was carried before stays."""
    dice = random.Random(seed)
    # In two files, fixtures of another tool, ids are all the same text, and subagents come before the session's turns.
    files = [path for path in real_files() if "3658-7ca3" not in path.name and "trimmed" not in path.name]
    for number in range(count):
        folder = tmp_path / str(number)
        folder.mkdir()
        store = Store(folder)
        store.now_ms = NOW_MS
        path, to = dice.choice(files), dice.choice(["pi", "omp"])
        lines = path.read_bytes().splitlines(keepends=True)
        cut = dice.randint(1, len(lines))
        begun = written(store, b"".join(lines[:cut]), path.name, age_ms=0)
        try:
            first = carry(store, begun, to)
        except (RefusedWrite, UnsupportedFormat):
            continue  # Nothing of the conversation was there yet.
        whole = written(store, b"".join(lines), path.name)
        store.now_ms += HOUR_MS
        again = convert(str(whole), to, context=store.context, cwd=CWD, force=True)
        assert again.path == first.path, (path.name, cut)
        ids = set(open_session(whole).ids)
        assert [one for one in open_session(first.path, to).ids if one in ids] == list(open_session(whole).ids)


@pytest.mark.slow
def test_sessions_that_are_carried_while_they_grow_keep_what_was_carried(tmp_path: Path) -> None:
    cuts(tmp_path, 1, 30)


@pytest.mark.stress
def test_very_many_sessions_that_grow_keep_what_was_carried(tmp_path: Path) -> None:
    cuts(tmp_path, 2, 1_000)
