"""Many at once: each is changed or says why not, a stop leaves the rest alone, and one undo takes all back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.errors import CannotUndo
from sessionbrowse.services.change.archive import archive
from sessionbrowse.services.change.delete import delete
from sessionbrowse.services.change.label import label
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.transaction.change import in_bulk
from sessionbrowse.services.transaction.trash_directories import items_of
from sessionbrowse.services.undo import undo, undoable
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.write_checks import Target
from tests.support.change_helpers import PROJECT, Store, target
from tests.support.file_helpers import own_system_trash, picture


@pytest.fixture
def store(own_home: Path, tmp_path: Path) -> Store:
    own_system_trash()
    store = Store(tmp_path)
    store.home = own_home
    return store


def sessions(store: Store, count: int) -> list[Target]:
    return [target(store.session(name=f"{number}.jsonl")) for number in range(count)]


def test_thirty_deletes_are_one_undo(store: Store) -> None:
    targets = sessions(store, 30)
    before = picture(store.home / ".pi")
    told: list[tuple[int, int]] = []
    bulk = in_bulk(
        targets,
        lambda one, context, group: delete(one, context=context, group=group),
        context=store.context,
        progress=lambda finished, total, _: told.append((finished, total)),
    )
    assert told == [(finished, 30) for finished in range(31)]
    assert len(bulk.done) == 30
    assert picture(store.home / ".pi") == {}
    (row,) = undoable(store.context)
    assert (row.undo_id, row.count, row.verb) == (bulk.undo_id, 30, "delete")
    assert len(undo(context=store.context).paths) == 30
    assert picture(store.home / ".pi") == before
    assert undoable(store.context) == []


def test_a_stop_leaves_the_rest_and_what_was_done_can_be_undone(store: Store) -> None:
    targets = sessions(store, 5)
    finished = 0

    def count(done: int, total: int, name: str) -> None:
        nonlocal finished
        finished = done

    bulk = in_bulk(
        targets,
        lambda one, context, group: rename(one, "all alike", context=context, group=group),
        context=store.context,
        progress=count,
        cancelled=lambda: finished == 2,
    )
    assert (len(bulk.done), bulk.left) == (2, tuple(targets[2:]))
    assert [open_session(one.path).name for one in targets] == ["all alike", "all alike", None, None, None]
    undo(bulk.undo_id, context=store.context)
    assert [open_session(one.path).name for one in targets] == [None] * 5


def test_what_fails_says_why_and_stops_nobody(store: Store) -> None:
    targets = sessions(store, 3)
    Path(targets[1].path).unlink()
    bulk = in_bulk(
        targets, lambda one, context, group: archive(one, context=context, group=group), context=store.context
    )
    assert [one.was for one in bulk.done] == [targets[0].path, targets[2].path]
    assert [(one.item, "No such file" in one.error.sentence) for one in bulk.failed] == [(targets[1], True)]
    assert len(undo(context=store.context).paths) == 2


def test_a_group_of_one_is_a_change_like_any_other(store: Store) -> None:
    (one,) = sessions(store, 1)
    bulk = in_bulk(
        [one], lambda one, context, group: rename(one, "x", context=context, group=group), context=store.context
    )
    (row,) = undoable(store.context)
    assert (row.group, row.count, row.undo_id) == (None, 1, bulk.undo_id)
    unchanged = in_bulk(
        [one], lambda one, context, group: rename(one, "x", context=context, group=group), context=store.context
    )
    assert unchanged.undo_id is None
    assert unchanged.notes == ("The session has this name already.",)


def test_many_entries_of_one_session_are_labelled_and_cleared_by_one_undo(store: Store) -> None:
    (one,) = sessions(store, 1)
    entries = ["00000002", "00000006", "00000008"]
    in_bulk(
        entries,
        lambda entry, context, group: label(one, entry, "mark", context=context, group=group),
        context=store.context,
    )
    assert len(open_session(one.path).labels) == 3
    undo(context=store.context)
    assert open_session(one.path).labels == {}


def test_an_undo_of_many_can_be_stopped_and_goes_on_where_it_stopped(store: Store) -> None:
    targets = sessions(store, 4)
    in_bulk(targets, lambda one, context, group: rename(one, "x", context=context, group=group), context=store.context)
    answers = iter([False, True])
    undone = undo(context=store.context, cancelled=lambda: next(answers))
    assert (undone.paths, undone.left) == ((targets[3].path,), tuple(one.path for one in targets[2::-1]))
    assert undoable(store.context)[0].count == 3
    assert len(undo(context=store.context).paths) == 3
    assert [open_session(one.path).name for one in targets] == [None] * 4


def test_an_undo_of_many_of_which_none_can_be_undone_says_why(store: Store) -> None:
    targets = sessions(store, 2)
    in_bulk(targets, lambda one, context, group: archive(one, context=context, group=group), context=store.context)
    for one in targets:
        Path(one.path).write_text("another")
    with pytest.raises(CannotUndo, match="exists already"):
        undo(context=store.context)


def empty_trash(store: Store, but: str = "") -> None:
    """Do away with what deletions put into the trash, all or but one."""
    for change in store.context.journal.changes().values():
        for item in items_of(change) if change.id != but else ():
            Path(str(item.item)).unlink()


def test_what_the_emptied_trash_held_is_said_once_and_undo_goes_on_with_the_change_before(store: Store) -> None:
    first, *targets = sessions(store, 4)
    rename(first, "renamed", context=store.context)
    bulk = in_bulk(
        targets, lambda one, context, group: delete(one, context=context, group=group), context=store.context
    )
    empty_trash(store)
    with pytest.raises(CannotUndo) as refused:
        undo(context=store.context)
    assert refused.value.sentence == (
        "3 sessions: the trash no longer has the session files; another program restored or deleted them. "
        "The next undo will undo an earlier change instead."
    )
    assert [row.verb for row in undoable(store.context)] == ["rename"]
    assert undo(context=store.context).verb == "rename"
    with pytest.raises(CannotUndo, match="nothing to undo"):
        undo(context=store.context)
    with pytest.raises(CannotUndo, match="3 sessions: the trash no longer has the session files"):
        undo(bulk.undo_id, context=store.context)


def test_what_is_still_in_the_trash_of_many_comes_back_beside_one_sentence_on_the_rest(store: Store) -> None:
    targets = sessions(store, 4)
    in_bulk(targets, lambda one, context, group: delete(one, context=context, group=group), context=store.context)
    kept = next(reversed(store.context.journal.changes().values()))
    empty_trash(store, but=kept.id)
    undone = undo(context=store.context)
    assert undone.paths == (kept.path,)
    assert Path(kept.path).exists()
    assert len(undone.failed) == 1
    assert undone.failed[0].startswith("3 sessions: the trash no longer has the session files")
    assert undoable(store.context) == []


def test_one_that_was_deleted_for_good_does_not_keep_undo_from_the_change_before(store: Store) -> None:
    first, second = sessions(store, 2)
    rename(first, "renamed", context=store.context)
    delete(second, into="nowhere", context=store.context)
    with pytest.raises(CannotUndo, match="deleted permanently"):
        undo(context=store.context)
    assert undo(context=store.context).verb == "rename"


def test_on_the_command_line_many_are_archived_deleted_and_undone_at_once(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    paths = [one.path for one in sessions(store, 3)]
    before = picture(store.home / ".pi")
    assert main(["archive", *paths]) == 0
    assert "archived: " in capfd.readouterr().err
    assert main(["undo", "--list"]) == 0
    assert "3 at once, the last: from " in capfd.readouterr().out
    assert main(["undo"]) == 0
    assert picture(store.home / ".pi") == before
    capfd.readouterr()
    assert main(["delete", "--yes", "--json", *paths]) == 0
    assert [one["path"] for one in json.loads(capfd.readouterr().out)] == paths
    assert main(["undo"]) == 0
    assert picture(store.home / ".pi") == before


def test_one_of_many_that_may_be_in_use_stays_until_it_is_forced(store: Store) -> None:
    targets = [target(store.session(name="0.jsonl")), target(store.session("omp", name="1.jsonl"))]
    store.process(4, ["omp"], cwd=PROJECT)
    bulk = in_bulk(
        targets, lambda one, context, group: delete(one, context=context, group=group), context=store.context
    )
    assert [one.item for one in bulk.failed] == [targets[1]]
    again = in_bulk(
        [one.item for one in bulk.failed],
        lambda one, context, group: delete(one, context=context, group=group, force=True),
        context=store.context,
    )
    assert len(again.done) == 1
