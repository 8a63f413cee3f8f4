"""Undo: another change of the same kind, across restarts, from the journal; no file ever gets shorter."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from sessionbrowse.errors import CannotUndo, InUse, NoSuchChange, SessionBrowseError
from sessionbrowse.format.title_slot import SLOT_BYTES
from sessionbrowse.services.change.archive import archive
from sessionbrowse.services.change.checkout import checkout
from sessionbrowse.services.change.delete import delete
from sessionbrowse.services.change.fork import fork
from sessionbrowse.services.change.label import label
from sessionbrowse.services.change.relocate import relocate
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.clean.clean import Where, clean_session, shrink_plan
from sessionbrowse.services.transaction.change import ChangeResult, recover_interrupted
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.undo import undo, undoable
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write import moves
from tests.support.change_helpers import CONVERSATION, LONG_AGO_NS, PROJECT, Store, entry, header, line, target, user

NAMED = [*CONVERSATION, entry("session_info", "00000009", "00000008", name="older")]


@pytest.mark.parametrize("agent", ["pi", "atomic", "indusagi"])
def test_the_older_name_comes_back_by_another_line(store: Store, agent: str) -> None:
    path = store.session(agent, NAMED)
    renamed = rename(target(path), "newer", context=store.context)
    before = path.read_bytes()
    undone = undo(context=store.context)
    assert (undone.done, undone.verb, undone.undo_id, undone.path) == ("undo", "rename", renamed.undo_id, str(path))
    assert path.read_bytes().startswith(before)
    assert open_session(path).name == "older"
    assert path.stat().st_mtime_ns == LONG_AGO_NS


def test_a_first_name_is_cleared_again_where_the_agent_can(store: Store) -> None:
    pi, indusagi = store.session("pi"), store.session("indusagi")
    rename(target(pi), "newer", context=store.context)
    undo(context=store.context)
    assert open_session(pi).name is None
    rename(target(indusagi), "newer", context=store.context)
    with pytest.raises(CannotUndo, match=r"indusagi cannot clear a name. Rename the session"):
        undo(context=store.context)


def test_omps_slot_gets_its_older_bytes_back_exactly(store: Store) -> None:
    path = store.session("omp")
    before = path.read_bytes()
    rename(target(path), "newer", context=store.context)
    undo(context=store.context)
    assert path.read_bytes() == before
    assert path.stat().st_mtime_ns == LONG_AGO_NS + 2_000_000


def test_an_inserted_slot_is_removed_again_and_lines_added_since_stay(store: Store) -> None:
    path = store.session("omp", head=[header(title="from the header", titleSource="auto")], slot=None)
    before = path.read_bytes()
    rename(target(path), "newer", context=store.context)
    rename(target(path), "newest", context=store.context)
    label(target(path), "00000003", "mark", context=store.context)
    undo(context=store.context)
    with_labels = path.read_bytes()[SLOT_BYTES:]
    assert with_labels.startswith(before)
    undo(context=store.context)
    assert path.read_bytes()[SLOT_BYTES:] == with_labels
    undo(context=store.context)
    assert path.read_bytes() == with_labels
    assert open_session(path).name == "from the header"
    (only,) = path.parent.glob(f"*{path.name}*")
    assert only == path
    with pytest.raises(CannotUndo, match="nothing to undo"):
        undo(context=store.context)


def test_an_inserted_slot_that_omp_wrote_since_is_left_alone(store: Store) -> None:
    path = store.session("omp", slot=None)
    rename(target(path), "newer", context=store.context)
    content = path.read_bytes().replace(b"newer", b"other")
    path.write_bytes(content)
    with pytest.raises(CannotUndo, match="renamed again later"):
        undo(context=store.context)
    assert path.read_bytes() == content


def test_a_removal_of_a_slot_that_was_cut_off_is_noticed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.session("omp", slot=None)
    before = path.read_bytes()
    rename(target(path), "newer", context=store.context)

    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for lost in ("rewrite_file", "record_done"):
        with monkeypatch.context() as patch:
            patch.setattr(f"sessionbrowse.services.change.rename.{lost}", crash)
            with pytest.raises(KeyboardInterrupt):
                undo(context=store.context)
    assert path.read_bytes() == before
    with pytest.raises(CannotUndo, match="nothing to undo"):
        undo(context=store.context)


def test_the_older_label_comes_back_or_none(store: Store) -> None:
    path = store.session()
    label(target(path), "00000003", "one", context=store.context)
    label(target(path), "00000003", "two", context=store.context)
    undo(context=store.context)
    assert open_session(path).labels[2].text == "one"
    undo(context=store.context)
    assert open_session(path).labels == {}
    with pytest.raises(CannotUndo, match="nothing to undo"):
        undo(context=store.context)


def test_the_older_leaf_is_checked_out_again(store: Store) -> None:
    path = store.session()
    checkout(target(path), "00000006", context=store.context)
    checkout(target(path), "00000002", context=store.context)
    undo(context=store.context)
    session = open_session(path)
    assert [session.envelopes[index].id for index in session.active_branch()][-3:] == [
        "00000006",
        "a0000000",
        session.leaf_id,
    ]
    undo(context=store.context)
    session = open_session(path)
    assert [session.envelopes[index].id for index in session.active_branch()][-2:] == ["00000008", session.leaf_id]


def test_a_check_out_is_undone_below_labels_and_names_set_since(store: Store) -> None:
    path = store.session()
    checked_out = checkout(target(path), "00000006", context=store.context)
    label(target(path), "00000003", "mark", context=store.context)
    rename(target(path), "named", context=store.context)
    undo(checked_out.undo_id, context=store.context)
    session = open_session(path)
    assert [session.envelopes[index].id for index in session.active_branch()][-2:] == ["00000008", session.leaf_id]
    assert (session.name, session.labels[2].text) == ("named", "mark")


def test_what_somebody_changed_since_is_not_undone_and_the_sentence_says_what_to_do(store: Store) -> None:
    path = store.session("pi", NAMED)
    rename(target(path), "ours", context=store.context)
    path.write_bytes(path.read_bytes() + line(entry("session_info", "0000000f", "a0000000", name="theirs")))
    before = path.read_bytes()
    with pytest.raises(CannotUndo, match=r'its name is "theirs" now. To get the earlier name \("older"\) back'):
        undo(context=store.context)
    label(target(path), "00000003", "ours", context=store.context)
    relabelled = entry("label", "0000000e", "0000000f", targetId="00000003", label="theirs")
    path.write_bytes(path.read_bytes() + line(relabelled))
    with pytest.raises(CannotUndo, match=r'its label is "theirs" now. To get the earlier label \(none\) back'):
        undo(context=store.context)
    checkout(target(path), "00000006", context=store.context)
    path.write_bytes(path.read_bytes() + line(user("0000000d", "00000006", "theirs")))
    with pytest.raises(CannotUndo, match=r"has new messages. To resume at the earlier entry, check out 0000000e"):
        undo(context=store.context)
    assert path.read_bytes().startswith(before)


def test_a_slot_that_omp_wrote_since_is_left_alone(store: Store) -> None:
    path = store.session("omp")
    rename(target(path), "same", context=store.context)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"2027-01-15", b"2027-01-16", 1))
    with pytest.raises(CannotUndo, match="omp changed the title"):
        undo(context=store.context)


def test_a_session_that_is_gone_says_so(store: Store) -> None:
    path = store.session()
    rename(target(path), "new", context=store.context)
    path.unlink()
    with pytest.raises(Exception, match="No such file"):
        undo(context=store.context)
    assert not path.exists()


def test_a_change_can_be_chosen_by_its_id_and_only_once(store: Store) -> None:
    path = store.session()
    first = label(target(path), "00000002", "one", context=store.context)
    label(target(path), "00000003", "two", context=store.context)
    undo(first.undo_id, context=store.context)
    assert [mark.text for mark in open_session(path).labels.values()] == ["two"]
    with pytest.raises(CannotUndo, match="undone already"):
        undo(first.undo_id, context=store.context)
    with pytest.raises(CannotUndo, match=r"no change \.\./\.\."):
        undo("../..", context=store.context)


def test_the_list_shows_what_can_be_undone_newest_first(store: Store) -> None:
    path, other = store.session(entries=NAMED), store.session("omp")
    assert undoable(store.context) == []
    rename(target(path), "newer", context=store.context)
    label(target(path), "00000003", "mark", context=store.context)
    checkout(target(other), "00000006", context=store.context)
    rows = undoable(store.context)
    assert [(row.verb, row.agent, row.summary) for row in rows] == [
        ("checkout", "omp", "00000008 → 00000006"),
        ("label", "pi", '00000003: none → "mark"'),
        ("rename", "pi", '"older" → "newer"'),
    ]
    undo(context=store.context)
    assert [row.verb for row in undoable(store.context)] == ["label", "rename"]


def test_the_list_shows_a_change_of_which_a_kill_left_only_the_beginning(store: Store) -> None:
    path = store.session()
    renamed = rename(target(path), "newer", context=store.context)
    journal = Path(store.context.journal.path)
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
    assert undoable(store.context) == [], "a list repairs nothing"
    recover_interrupted(store.context)
    (row,) = undoable(store.context)
    assert (row.undo_id, row.verb) == (renamed.undo_id, "rename")
    assert undo(context=store.context).undo_id == row.undo_id


def test_a_group_is_undone_as_one_newest_first(store: Store) -> None:
    paths = [store.session(name=f"{number}.jsonl", entries=NAMED) for number in range(3)]
    for path in paths:
        rename(target(path), "bulk", context=store.context, group="b0b0b0b0")
    undone = undo(context=store.context)
    assert undone.undo_id == "b0b0b0b0"
    assert undone.paths == tuple(str(path) for path in reversed(paths))
    assert [open_session(path).name for path in paths] == ["older"] * 3


def test_the_path_of_an_undo_is_where_the_session_is_then(store: Store) -> None:
    paths = [store.session(name=f"{number}.jsonl") for number in range(2)]
    archive(target(paths[0]), context=store.context)
    assert undo(context=store.context).path == str(paths[0])
    for path in paths:
        archive(target(path), context=store.context, group="b0b0b0b0")
    assert undo(context=store.context).path == str(paths[1])


def test_what_of_a_group_cannot_be_undone_is_named_and_the_rest_is_done(store: Store) -> None:
    paths = [store.session(name=f"{number}.jsonl", entries=NAMED) for number in range(3)]
    for path in paths:
        rename(target(path), "bulk", context=store.context, group="b0b0b0b0")
    with paths[1].open("ab") as file:
        file.write(line(entry("session_info", "0000000f", "a0000000", name="theirs")))
    undone = undo(context=store.context)
    assert len(undone.paths) == 2
    assert len(undone.failed) == 1
    assert "theirs" in undone.failed[0]
    assert [open_session(path).name for path in paths] == ["older", "theirs", "older"]


def test_an_undo_asks_like_the_change_itself(store: Store) -> None:
    path = store.session("omp")
    label(target(path), "00000003", "x", context=store.context)
    store.process(4, ["omp"], cwd=PROJECT)
    with pytest.raises(InUse):
        undo(context=store.context)
    undo(force=True, context=store.context)
    assert open_session(path).labels == {}


def test_no_undo_ever_takes_a_line_that_a_program_wrote(store: Store) -> None:
    paths = [store.session(agent) for agent in ("pi", "omp", "atomic")]
    for path in paths:
        rename(target(path), "newer", context=store.context)
        label(target(path), "00000003", "mark", context=store.context)
        checkout(target(path), "00000006", context=store.context)
    sizes = [path.stat().st_size for path in paths]
    for _ in range(9):
        undo(context=store.context)
        grown = [path.stat().st_size for path in paths]
        assert all(now >= before for now, before in zip(grown, sizes, strict=True))
        sizes = grown
    assert [open_session(path).name for path in paths] == [None, "old title", None]
    assert os.path.exists(store.state / "journal.jsonl")


def rename_again_since(path: Path, context: ChangeContext) -> None:
    with path.open("ab") as file:
        file.write(line(entry("session_info", "0000000f", None, name="theirs")))


def go_on_since(path: Path, context: ChangeContext) -> None:
    with path.open("ab") as file:
        file.write(line(user("0000000f", "00000008", "one more")))


def lose(_: Path, context: ChangeContext) -> None:
    (path,) = Path(context.around.home, ".pi").rglob("*.jsonl")
    path.unlink()


def move_project(path: Path, context: ChangeContext) -> ChangeResult:
    new = Path(context.around.home) / "moved"
    new.mkdir()
    return relocate(PROJECT, str(new), Scope(around=context.around), context=context)


REFUSED: list[tuple[str, Callable[[Path, ChangeContext], ChangeResult], Callable[[Path, ChangeContext], None]]] = [
    ("renamed", lambda path, context: rename(target(path), "newer", context=context), rename_again_since),
    ("fork", lambda path, context: fork(str(path), "pi", None, context=context), go_on_since),
    ("session gone", lambda path, context: rename(target(path), "newer", context=context), lose),
    ("archive gone", lambda path, context: archive(target(path), context=context), lose),
    ("relocated gone", move_project, lose),
]


@pytest.mark.parametrize(("change", "since"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_refused_undo_has_the_id_of_the_change_before_it(
    store: Store,
    change: Callable[[Path, ChangeContext], ChangeResult],
    since: Callable[[Path, ChangeContext], None],
) -> None:
    other = store.session("omp", head=[header(cwd="/elsewhere")])
    earlier = label(target(other), "00000003", "mark", context=store.context)
    change(store.session("pi", NAMED), store.context)
    row = undoable(store.context)[0]
    since(Path(row.path), store.context)
    for undo_id in (None, row.undo_id, None):
        with pytest.raises(CannotUndo) as refused:
            undo(undo_id, context=store.context)
        assert refused.value.earlier_id == earlier.undo_id
    undo(earlier.undo_id, context=store.context)
    assert open_session(other).labels == {}
    with pytest.raises(CannotUndo) as refused:
        undo(context=store.context)
    assert refused.value.earlier_id is None


def test_a_refused_group_has_the_id_of_the_change_before_it(store: Store) -> None:
    paths = [store.session(name=f"{number}.jsonl", entries=NAMED) for number in range(2)]
    earlier = label(target(paths[0]), "00000003", "mark", context=store.context)
    for path in paths:
        rename(target(path), "bulk", context=store.context, group="b0b0b0b0")
    for path in paths:
        rename_again_since(path, store.context)
    with pytest.raises(CannotUndo) as refused:
        undo(context=store.context)
    assert refused.value.earlier_id == earlier.undo_id


def test_a_check_out_of_a_session_that_ended_without_an_id_cannot_be_undone(store: Store) -> None:
    nameless = {"type": "custom", "parentId": "00000001", "timestamp": "2026-01-01T00:00:09.000Z", "customType": "x"}
    path = store.session("atomic", [user("00000001", None, "one"), nameless])
    before = open_session(path).leaf_id
    checkout(target(path, "atomic"), "00000001", context=store.context)
    with pytest.raises(CannotUndo, match="an entry without an id"):
        undo(context=store.context)
    assert before is None


def shrunk(path: Path, context: ChangeContext, group: str | None) -> ChangeResult:
    done = clean_session(
        target(path, "pi"), "shrink", shrink_plan(results_over=0), Where(), context=context, group=group
    )
    assert isinstance(done, ChangeResult)
    return done


IN_BULK: dict[str, Callable[[Path, ChangeContext, str | None], ChangeResult]] = {
    "rename": lambda path, context, group: rename(target(path), "bulk", context=context, group=group),
    "archive": lambda path, context, group: archive(target(path), context=context, group=group),
    "delete": lambda path, context, group: delete(target(path), into="own", context=context, group=group),
    "shrink": shrunk,
}


def sessions_of(store: Store) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in store.home.rglob("*.jsonl")}


@pytest.mark.parametrize("failing", [2, 1, 0])
@pytest.mark.parametrize("verb", IN_BULK)
def test_a_group_is_undone_by_its_id_whatever_became_of_its_single_changes(
    store: Store, monkeypatch: pytest.MonkeyPatch, verb: str, failing: int
) -> None:
    paths = [store.session(name=f"{number}.jsonl") for number in range(3)]
    before = sessions_of(store)

    def fails(*_: object, **__: object) -> bool:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    for number, path in enumerate(paths):
        with monkeypatch.context() as patch:
            if number == failing:
                patch.setattr(moves, "exchange", fails)
                patch.setattr(moves, "rename_to_free", fails)
                patch.setattr("sessionbrowse.store.write.writer.append_line", fails)
            with suppress(SessionBrowseError):
                IN_BULK[verb](path, store.context, "b0b0b0b0")
    assert [change.state for change in store.context.journal.changes().values()].count("failed") == 1
    label(target(store.session("omp")), "00000003", "later", context=store.context)
    row = undoable(store.context)[1]
    assert (row.undo_id, row.count) == ("b0b0b0b0", 2)
    stopped = undo(row.undo_id, context=store.context, cancelled=iter([False, True]).__next__)
    assert len(stopped.left) == 1
    with monkeypatch.context() as patch:
        patch.setattr(moves, "exchange", fails)
        patch.setattr(moves, "rename_to_free", fails)
        patch.setattr("sessionbrowse.store.write.writer.append_line", fails)
        with pytest.raises(SessionBrowseError):
            undo(row.undo_id, context=store.context)
    (one,) = (row for row in undoable(store.context) if row.verb == verb)
    assert one.count == 1
    assert undo("b0b0b0b0", context=store.context).paths == stopped.left
    if verb != "rename":
        assert sessions_of(store).items() >= before.items()
    for undo_id in ("b0b0b0b0", one.undo_id):
        with pytest.raises(CannotUndo, match="is undone already"):
            undo(undo_id, context=store.context)


def test_the_beginning_of_an_id_names_a_change_that_can_be_undone(store: Store) -> None:
    paths = [store.session(name=f"{number}.jsonl") for number in range(2)]
    for path in paths:
        rename(target(path), "bulk", context=store.context, group="b0b0b0b0")
    label(target(paths[0]), "00000003", "x", context=store.context, group="b0b0ffff")
    for typed in ("", "b0b", "a000", "b0b0"):
        with pytest.raises(NoSuchChange):
            undo(typed, context=store.context)
    assert len(undo("b0b0b", context=store.context).paths) == 2
    assert undo("b0b0", context=store.context).verb == "label"
    with pytest.raises(NoSuchChange, match="Several changes have an id that begins with b0b0"):
        undo("b0b0", context=store.context)
    with pytest.raises(CannotUndo, match="The rename b0b0b0b0 is undone already"):
        undo("b0b0b", context=store.context)


def test_an_undo_that_is_itself_in_a_group_is_not_taken_for_its_change(store: Store) -> None:
    paths = [store.session(name=f"{number}.jsonl") for number in range(2)]
    for path in paths:
        archive(target(path), context=store.context, group="b0b0b0b0")
    undo(context=store.context, cancelled=iter([False, True]).__next__)
    (taken,) = (change for change in store.context.journal.changes().values() if change.undoes is not None)
    with pytest.raises(CannotUndo, match="is itself an undo"):
        undo(taken.id, context=store.context)
    assert len(undo("b0b0b0b0", context=store.context).paths) == 1
