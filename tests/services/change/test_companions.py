"""What extensions keep beside a session goes with it and comes back: subagents' sessions, sidecar files, the total."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sessionbrowse.agents import Place
from sessionbrowse.cli import main
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.archive import archive, unarchive
from sessionbrowse.services.change.delete import delete, outermost, plan_delete
from sessionbrowse.services.change.fork import fork
from sessionbrowse.services.change.relocate import relocate
from sessionbrowse.services.change.restore import restore
from sessionbrowse.services.clean.cleanup import find_cleanup
from sessionbrowse.services.list.gather import gather_summaries
from sessionbrowse.services.undo import undo
from sessionbrowse.store.find.discover import discover
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.own.pins import Pins
from tests.support.change_helpers import CONVERSATION, PROJECT, Store, assistant, header, line, target
from tests.support.file_helpers import picture

CHILD, FORK = "run1/run-0/session.jsonl", "forks/2026-08-13T08-05-00-000Z_cc.jsonl"
LOG = "subagent-artifacts/run1_worker_transcript.jsonl"


def delegating(store: Store, agent: str = "pi") -> Path:
    """A session with two subagents' sessions, a log and a sidecar file, beside another session with its folder."""
    path = store.session(agent)
    folder = path.with_suffix("")
    for name, head in ((CHILD, header(id="bb")), (FORK, header(id="cc", parentSession=str(path)))):
        child = folder / name
        child.parent.mkdir(parents=True, exist_ok=True)
        child.write_bytes(b"".join(line(value) for value in [head, *CONVERSATION]))
    (folder / LOG).parent.mkdir()
    (folder / LOG).write_text('{"recordType":"message"}\n')
    (path.parent / f"{path.stem}.meta.json").write_text("{}")
    other = store.session(agent, head=[header(id="dd", cwd="/other")], name=f"{path.stem}-b.jsonl")
    other.with_suffix("").mkdir()
    (other.with_suffix("") / "kept.json").write_text("{}")
    (path.parent / f"{other.stem}.meta.json").write_text("{}")
    return path


def only_the_other_is_left(path: Path) -> bool:
    """Return True if nothing of the session is beside the other one any more."""
    found = {str(one.relative_to(path.parent)) for one in path.parent.rglob("*")}
    other = f"{path.stem}-b"
    return found == {other, f"{other}.jsonl", f"{other}.meta.json", f"{other}/kept.json"}


def listed(store: Store) -> dict[str, Summary]:
    """Return all sessions, hidden and archived ones too, by id."""
    scope = Scope(around=store.context.around, hidden=True, archived=True)
    return {one.id or one.path: one for one in gather_summaries(scope)}


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
def test_a_session_is_deleted_with_its_subagents_and_comes_back_with_them(store: Store, agent: str) -> None:
    path = delegating(store, agent)
    before = picture(store.home)
    plan = plan_delete(target(path), store.context, listed(store).values())
    assert (plan.files, plan.children) == (4, ())
    deleted = delete(target(path), context=store.context)
    assert {os.path.basename(one) for one in deleted.paths} == {path.name, path.stem, f"{path.stem}.meta.json"}
    assert set(listed(store)) == {"dd"}
    assert only_the_other_is_left(path)
    restore(context=store.context)
    assert picture(store.home) == before
    delete(target(path), context=store.context)
    undo(context=store.context)
    assert picture(store.home) == before


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
def test_an_archived_sessions_subagents_stay_its_subagents(store: Store, agent: str) -> None:
    path = delegating(store, agent)
    before = picture(store.home)
    archived = archive(target(path), context=store.context).path
    found = listed(store)
    assert {key: found[key].parent_path for key in ("bb", "cc", "dd")} == {"bb": archived, "cc": archived, "dd": None}
    assert all(found[key].archived and found[key].hidden for key in ("bb", "cc"))
    place = Place(agent, str(path.parents[1]), "projects", "default")
    assert [file.path for file in discover([place])] == [str(path.with_name(f"{path.stem}-b.jsonl"))]
    child = Path(found["bb"].path)
    with pytest.raises(RefusedWrite, match="Unarchive that session"):
        unarchive(target(child), context=store.context)
    unarchive(target(Path(archived)), context=store.context)
    assert picture(store.home) == before
    undo(context=store.context)
    undo(context=store.context)
    assert picture(store.home) == before


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
def test_a_relocated_sessions_subagents_move_with_it_and_get_the_new_paths(store: Store, agent: str) -> None:
    path = delegating(store, agent)
    before = picture(store.home)
    scope = Scope(around=store.context.around)
    planned = relocate(PROJECT, "/srv/shop", scope, dry_run=True, context=store.context)
    assert (len(planned.sessions), planned.files) == (3, 4)
    assert picture(store.home) == before
    moved = relocate(PROJECT, "/srv/shop", scope, context=store.context)
    new = Path(next(one.target for one in moved.sessions if one.source == str(path)))
    assert new.parent != path.parent
    assert only_the_other_is_left(path)
    heads = [json.loads((new.with_suffix("") / name).read_bytes().split(b"\n")[0]) for name in (CHILD, FORK)]
    assert [head["cwd"] for head in heads] == ["/srv/shop", "/srv/shop"]
    assert heads[1]["parentSession"] == str(new)
    assert {listed(store)[key].parent_path for key in ("bb", "cc")} == {str(new)}
    undo(context=store.context)
    assert picture(store.home) == before


def test_the_total_of_a_family_is_the_same_wherever_the_session_is(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = delegating(store)
    paid = assistant("0000000a", "00000008", "paid", usage={"input": 5, "output": 1, "cost": {"total": 0.25}})
    child = path.with_suffix("") / CHILD
    child.write_bytes(child.read_bytes() + line(paid))
    monkeypatch.setenv("HOME", str(store.home))

    def families() -> list[tuple[object, ...]]:
        assert main(["stats", "--by", "family", "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        return [(row["name"], row["sessions"], row["cost"]) for row in rows]

    before = families()
    assert "0.25" in str(before)
    archive(target(path), context=store.context)
    assert families() == before
    undo(context=store.context)
    relocate(PROJECT, "/srv/shop", Scope(around=store.context.around), context=store.context)
    assert families() == before


def test_a_fork_gets_none_of_it_as_in_pi_and_its_undo_leaves_it(store: Store) -> None:
    path = delegating(store)
    before = picture(store.home)
    forked = fork(str(path), context=store.context)
    assert set(picture(store.home)) == {*before, forked.path}
    undo(context=store.context)
    assert picture(store.home) == before


def test_a_linked_folder_is_moved_as_a_link_and_never_emptied(store: Store) -> None:
    path = store.session()
    elsewhere = store.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "result.json").write_text("{}")
    link = path.with_suffix("")
    link.symlink_to(elsewhere)
    assert plan_delete(target(path), store.context).files == 1
    delete(target(path), context=store.context)
    assert not os.path.lexists(link)
    undo(context=store.context)
    assert link.is_symlink()
    delete(target(path), into="nowhere", context=store.context)
    assert not os.path.lexists(link)
    assert (elsewhere / "result.json").exists()


def test_a_chosen_subagent_goes_with_its_chosen_parent_once(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = delegating(store)
    child = path.with_suffix("") / CHILD
    other = str(path.with_name(f"{path.stem}-b.jsonl"))
    assert outermost([str(child), str(path), other], str) == [str(path), other]
    monkeypatch.setenv("HOME", str(store.home))
    before = picture(store.home)
    assert main(["delete", str(path), str(child), "--yes", "--own-trash"]) == 0
    assert not path.with_suffix("").exists()
    assert main(["undo"]) == 0
    assert {name: content for name, content in picture(store.home).items() if name in before} == before
    assert main(["archive", str(child), str(path)]) == 0
    assert (path.parent / "archive" / path.stem / CHILD).exists()
    capsys.readouterr()


def test_the_command_line_says_how_many_files_go_along(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    delegating(store)
    monkeypatch.setenv("HOME", str(store.home))
    assert main(["relocate", PROJECT, "/srv/shop", "--dry-run"]) == 0
    assert "3 sessions would be moved, with 4 files kept beside them" in capsys.readouterr().err


def test_the_cleanup_keeps_a_copy_with_subagents_that_the_kept_session_does_not_have(store: Store) -> None:
    context = store.context

    def rows() -> dict[str, tuple[str, str]]:
        scope = Scope(around=context.around, archived=True)
        found = find_cleanup(gather_summaries(scope), context, Pins())
        return {os.path.basename(row.summary.path): (row.kind, row.reason) for row in found}

    names = ["2026-08-13T08-00-00-000Z_aa.jsonl", "2026-08-13T08-00-00-000Z_bb.jsonl"]
    first, second = [store.session(name=name) for name in names]
    ((name, (kind, _)),) = rows().items()
    assert kind == "duplicate"
    gone, kept = (first, second) if name == first.name else (second, first)
    for path, text in ((gone, "result"), (kept, "other result")):
        path.with_suffix("").mkdir()
        (path.with_suffix("") / "1.json").write_text(text)
    assert rows() == {}
    (kept.with_suffix("") / "1.json").write_text("result")
    kind, reason = rows()[name]
    assert kind == "duplicate"
    assert reason.endswith("; 1 file kept beside it")
    stub = store.session(entries=CONVERSATION[:2], name="2026-08-13T08-00-00-000Z_cc.jsonl", head=[header(id="cc")])
    assert rows()[stub.name][0] == "empty"
    stub.with_suffix("").mkdir()
    (stub.with_suffix("") / "1.json").write_text("result")
    assert stub.name not in rows()
