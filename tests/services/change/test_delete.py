"""Deleting and restoring a session as one unit, by the library and the command line; what a kill leaves is settled."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from sessionbrowse.errors import CannotUndo, InUse, RefusedWrite
from sessionbrowse.services.change.delete import delete, plan_delete, restorable
from sessionbrowse.services.change.restore import restore
from sessionbrowse.services.transaction.trash_directories import own_trash
from sessionbrowse.services.undo import undo, undoable
from sessionbrowse.store.read.summarise import summarise_path
from sessionbrowse.store.write.trash import NoTrash
from sessionbrowse.store.write.write_checks import Target
from tests.support.change_helpers import PROJECT, Store, header, target
from tests.support.file_helpers import own_system_trash, picture


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def omp_session(store: Store) -> Path:
    """A session with a folder of artifacts that holds a subagent's session, a backup, and a blob that others share."""
    path = store.session("omp")
    folder = path.parent / path.stem
    (folder / "Scout").mkdir(parents=True)
    (folder / "1.bash.log").write_text("output")
    (folder / "Scout" / "Deep.jsonl").write_text("{}\n")
    (path.parent / f"{path.name}.0123456789abcdef.bak").write_text("older")
    (path.parent / "other.jsonl").write_bytes(path.read_bytes())
    blobs = path.parents[2] / "blobs"
    blobs.mkdir()
    (blobs / "ab").write_text("image")
    return path


def test_everything_that_belongs_to_a_session_goes_and_comes_back_as_it_was(store: Store) -> None:
    path = omp_session(store)
    before = picture(store.home)
    deleted = delete(target(path), context=store.context)
    left = {os.path.basename(name) for name in picture(store.home)}
    assert left == {"other.jsonl", "ab"}
    assert deleted.paths[0] == str(path)
    assert {os.path.basename(name) for name in deleted.paths[1:]} == {path.stem, f"{path.name}.0123456789abcdef.bak"}
    assert [one.path for one in restorable(store.context)] == [str(path)]
    restored = restore(context=store.context)
    assert picture(store.home) == before
    assert restored.paths[0] == str(path)
    assert restorable(store.context) == []
    with pytest.raises(CannotUndo, match="restored already"):
        restore(deleted.undo_id, context=store.context)


class Killed(BaseException):
    """Ends a change as a kill would: nothing that handles errors runs."""


def test_the_last_name_of_a_deleted_session_is_kept_where_no_trash_has_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trash on another disk copies and removes; a kill then, and a new file at the old path, must lose no byte."""
    path = store.session()
    deleted = path.read_bytes()

    def killed_behind_the_removal(item: str) -> None:
        os.unlink(item)
        raise Killed

    with monkeypatch.context() as during:
        during.setattr("send2trash.send2trash", killed_behind_the_removal)
        with pytest.raises(Killed):
            delete(target(path), context=store.context)
    path.write_text("another program's file")
    other = store.session(name="other.jsonl")
    delete(target(other), context=store.context)
    assert path.read_text() == "another program's file"
    path.unlink()
    restore(str(path), context=store.context)
    assert path.read_bytes() == deleted


def test_undo_restores_a_group_and_never_over_an_existing_file(store: Store) -> None:
    paths = [store.session(name=f"{number}.jsonl") for number in range(3)]
    before = picture(store.home)
    for path in paths:
        delete(target(path), context=store.context, group="g")
    assert picture(store.home) == {}
    assert {one.summary for one in undoable(store.context)} == {"to the trash"}
    paths[1].write_text("new")
    undone = undo(context=store.context)
    assert set(undone.paths) == {str(paths[0]), str(paths[2])}
    assert "never overwritten" in undone.failed[0]
    assert paths[1].read_text() == "new"
    paths[1].unlink()
    restore(str(paths[1]), context=store.context)
    assert picture(store.home) == before


def test_the_question_names_size_children_and_what_belongs_to_it(store: Store) -> None:
    path = omp_session(store)
    child = store.session("omp", head=[header(parentSession=str(path))], name="child.jsonl")
    by_id = store.session("omp", head=[header(id="b", parentSession=header()["id"])], name="by-id.jsonl")
    summaries = [summarise_path(str(one), lambda _: "omp") for one in (path, child, by_id)]
    unit = plan_delete(target(path), store.context, [one for one in summaries if one is not None])
    assert unit.children == (str(child), str(by_id))
    both = [target(path), target(child)]
    assert plan_delete(both[0], store.context, filter(None, summaries), both).children == (str(by_id),)
    assert unit.size == path.stat().st_size + len("output") + len("{}\n") + len("older")
    assert len(unit.companions) == 2


def test_a_session_that_may_be_in_use_is_kept_unless_forced(store: Store) -> None:
    path = store.session()
    store.process(77, ["pi"], cwd=PROJECT, name="pi")
    with pytest.raises(InUse, match="Quit pi first"):
        delete(target(path), context=store.context)
    assert path.exists()
    delete(target(path), force=True, context=store.context)
    assert not path.exists()


def test_where_no_trash_works_nothing_is_unlinked_and_ours_is_offered(store: Store) -> None:
    path = omp_session(store)
    before = picture(store.home)
    calls = []

    def full(item: str) -> None:
        calls.append(item)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        own_system_trash()
        import send2trash

        send2trash.send2trash(item)

    with pytest.raises(NoTrash, match="Use the trash"):
        delete(target(path), context=store.context, to_trash=full)
    assert len(calls) == 2
    assert picture(store.home) == before
    deleted = delete(target(path), into="own", context=store.context)
    assert deleted.into == "own"
    assert {os.path.basename(name) for name in picture(store.home)} == {"other.jsonl", "ab"}
    assert len(list(Path(own_trash(store.context), "files").iterdir())) == 3
    restore(context=store.context)
    assert picture(store.home) == before


def test_only_the_asked_for_word_removes_for_good(store: Store) -> None:
    path = store.session()
    deleted = delete(target(path), into="nowhere", context=store.context)
    assert deleted.undo_id is None
    assert picture(store.home) == {}
    with pytest.raises(CannotUndo, match="permanently"):
        undo(context=store.context)


def test_links_that_lead_out_of_a_root_and_other_kinds_of_files_are_never_touched(store: Store, tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text("{}")
    path = store.session()
    link = path.parent / "link.jsonl"
    link.symlink_to(outside)
    os.mkfifo(path.parent / "pipe.jsonl")
    for odd in (link, path.parent / "pipe.jsonl", path.parent):
        with pytest.raises(RefusedWrite):
            delete(Target(str(odd), "pi", (str(path.parent),)), context=store.context)
    assert outside.exists()
    assert link.is_symlink()


# ---- the command line ----------------------------------------------------------------------------------------


@pytest.fixture
def cli(own_home: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Any:
    own_system_trash()

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(list(arguments))
        captured = capsysbinary.readouterr()
        return status, captured.out.decode(), captured.err.decode()

    return run


def test_our_own_trash_is_not_offered_where_it_was_asked_for(store: Store, cli: Any) -> None:
    path = store.session()
    own = Path(own_trash(store.context))
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("no folder")
    status, _, err = cli("delete", str(path), "--yes", "--own-trash")
    assert status == 1
    assert err.endswith("(File exists); nothing was changed.\n")
    assert path.exists()


def test_delete_and_restore_on_the_command_line(cli: Any, store: Store, own_home: Path) -> None:
    path = store.session()
    before = picture(store.home)
    status, out, err = cli("delete", str(path))
    assert (status, out) == (1, "")
    assert "--yes" in err
    assert path.exists()
    status, out, _ = cli("delete", str(path), "--yes", "--json")
    (document,) = json.loads(out)
    assert (status, document["done"], document["path"], document["into"]) == (0, "delete", str(path), "trash")
    assert not path.exists()
    status, out, _ = cli("restore", "--list", "--json")
    assert [one["path"] for one in json.loads(out)] == [str(path)]
    status, out, _ = cli("restore", document["undo_id"], "--json")
    assert (status, json.loads(out)["done"]) == (0, "restore")
    assert picture(store.home) == before
    status, _, err = cli("restore")
    assert status == 1
    assert err.startswith("sessionbrowse: The trash has no session")


@pytest.mark.skipif(sys.platform == "darwin", reason="the trash of macOS does not depend on XDG_DATA_HOME")
@pytest.mark.parametrize("data_home", ["", "share"])
def test_an_empty_or_relative_data_home_puts_no_trash_into_the_current_directory(
    data_home: str, cli: Any, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, here = store.session(), tmp_path / "here"
    before = picture(store.home)
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("XDG_DATA_HOME", data_home)
    own_system_trash()
    assert cli("delete", str(path), "--yes")[0] == 0
    assert list(here.iterdir()) == []
    assert cli("restore")[0] == 0
    assert picture(store.home) == before


def test_restore_takes_the_beginning_of_an_id_that_one_deleted_session_has(store: Store) -> None:
    ids = ["01a20000-0000-7000-8000-000000000001", "01a20000-0000-7000-8000-000000000002"]
    paths = [store.session(head=[header(id=one)], name=f"{one}.jsonl") for one in ids]
    for path in paths:
        delete(target(path), context=store.context)
    with pytest.raises(CannotUndo, match="Several deleted sessions have an id that begins with 01a2"):
        restore("01a2", context=store.context)
    with pytest.raises(CannotUndo, match="There is no deleted session 01b7"):
        restore("01b7", context=store.context)
    restored = restore(ids[0][:-1] + "1", context=store.context)
    assert restored.path == str(paths[0])
    assert restore("01a2", context=store.context).path == str(paths[1])


def test_who_answers_no_is_not_sent_for_a_terminal(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.session()
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    said = Terminal()
    monkeypatch.setattr("sys.stderr", said)
    assert main(["delete", str(path)]) == 1
    assert said.getvalue().endswith("To the trash? [y/N] sessionbrowse: Nothing was deleted.\n")
    assert path.exists()


def test_several_sessions_are_one_undo(cli: Any, store: Store) -> None:
    paths = [store.session(name=f"{number}.jsonl") for number in range(2)]
    before = picture(store.home)
    status, out, _ = cli("delete", *map(str, paths), "--yes", "--json")
    assert (status, len(json.loads(out))) == (0, 2)
    status, _, _ = cli("undo")
    assert status == 0
    assert picture(store.home) == before


def test_an_id_of_the_list_of_changes_restores_all_that_one_command_deleted(cli: Any, store: Store) -> None:
    paths = [store.session(name=f"{number}.jsonl") for number in range(3)]
    before = picture(store.home)
    cli("delete", *map(str, paths), "--yes")
    (row,) = json.loads(cli("undo", "--list", "--json")[1])
    cli("restore", str(paths[2]))
    assert cli("restore", row["undo_id"])[0] == 0
    assert picture(store.home) == before
