"""The journal: a line before and after each change, private, never shortened, finished after a kill."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from sessionbrowse.errors import InUse, RefusedWrite
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.transaction.change import changing
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.undo import undoable
from sessionbrowse.store.own.state_directory import append_record, only_one
from sessionbrowse.store.write.journal import Fingerprint, Journal
from tests.support.change_helpers import Store, target


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_it_is_for_the_users_eyes_only(store: Store) -> None:
    rename(target(store.session()), "x", context=store.context)
    assert stat.S_IMODE(store.state.stat().st_mode) == 0o700
    for file in store.state.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_pipe_in_its_place_is_refused_instead_of_waited_for(store: Store) -> None:
    path = store.session()
    before = path.read_bytes()
    store.state.mkdir(parents=True, exist_ok=True)
    os.mkfifo(store.state / "journal.jsonl")
    with pytest.raises(RefusedWrite, match="journal"):
        rename(target(path), "x", context=store.context)
    assert path.read_bytes() == before


def test_a_change_is_pending_then_done_or_failed(store: Store) -> None:
    journal = store.context.journal
    first = journal.begin("rename", "pi", "/a", before={"name": None}, plan={"kind": "append"})
    second = journal.begin("label", "pi", "/b")
    assert [change.state for change in journal.changes().values()] == ["pending", "pending"]
    left = Fingerprint(1, 2, 3, 4)
    journal.done(first, {"name": "x"}, left)
    journal.failed(second, "the disk is full")
    changes = Journal(str(store.state), lambda: 0).changes()
    assert [(c.verb, c.state, c.reason) for c in changes.values()] == [
        ("rename", "done", None),
        ("label", "failed", "the disk is full"),
    ]
    assert changes[first.id].after == {"name": "x"}
    assert changes[first.id].left == left
    assert changes[first.id].time == "2027-01-15T08:00:00.000Z"


def test_two_journals_of_one_directory_see_each_others_changes(store: Store) -> None:
    ours, theirs = store.context.journal, Journal(str(store.state), lambda: 0.0)
    change = ours.begin("rename", "pi", "/a")
    assert list(theirs.changes()) == [change.id]
    theirs.done(change)
    assert ours.changes()[change.id].state == "done"


@pytest.mark.parametrize(
    "rubbish",
    [b'{"record":"begin","id":"x"', b"\0\0\n", b"[1]\n", b'{"record":"begin","id":[1]}\n', b'{"record":"done"}\n'],
)
def test_rubbish_and_torn_records_are_skipped_and_closed(store: Store, rubbish: bytes) -> None:
    journal = store.context.journal
    change = journal.begin("rename", "pi", "/a")
    with open(journal.path, "ab") as file:
        file.write(rubbish)
    before = Path(journal.path).read_bytes()
    journal.done(change)
    assert Path(journal.path).read_bytes().startswith(before)
    assert Journal(str(store.state), lambda: 0).changes()[change.id].state == "done"


def test_a_change_that_cannot_be_noted_is_not_made(store: Store) -> None:
    path = store.session()
    before = path.read_bytes()
    store.state.parent.mkdir()
    store.state.write_text("a file where the directory belongs")
    with pytest.raises(RefusedWrite, match=r"cannot be noted for undo.*Nothing was changed"):
        rename(target(path), "x", context=store.context)
    assert path.read_bytes() == before


def test_only_one_changes_sessions_at_a_time(tmp_path: Path) -> None:
    directory = str(tmp_path / "state")
    ticks = iter(range(100))
    slept: list[float] = []
    with (
        only_one(directory),
        pytest.raises(InUse, match="Another sessionbrowse"),
        only_one(directory, clock=lambda: next(ticks), sleep=slept.append, wait_s=5),
    ):
        pass
    assert len(slept) == 4
    with only_one(directory):
        pass


def test_threads_wait_for_each_other(store: Store) -> None:
    path = store.session()
    context = store.context
    threads = [
        threading.Thread(target=rename, args=(target(path), f"name {number}"), kwargs={"context": context})
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(undoable(store.context)) == 8
    assert path.read_bytes().count(b"session_info") == 8


def test_what_somebody_else_began_long_ago_is_settled_first(store: Store) -> None:
    path = store.session()
    context = store.context
    never = context.journal.begin(
        "rename", "pi", str(path), plan={"kind": "append", "entry_id": "dead0000", "line": {}}
    )
    gone = context.journal.begin("rename", "pi", "/nowhere/x.jsonl", plan={"kind": "append", "entry_id": "dead0000"})
    foreign = context.journal.begin("dance", "pi", str(path), plan={"kind": "of a newer version"})
    with changing(context):
        states = {change.id: change.state for change in context.journal.changes().values()}
    assert states == {never.id: "failed", gone.id: "failed", foreign.id: "pending"}


def test_a_record_is_one_write_and_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    real = os.write

    def counted(descriptor: int, content: bytes) -> int:
        written.append(content)
        return real(descriptor, content)

    monkeypatch.setattr(os, "write", counted)
    append_record(str(tmp_path / "j"), b"one\n")
    append_record(str(tmp_path / "j"), b"two\n")
    assert written == [b"one\n", b"two\n"]


def test_the_real_bench_lies_in_the_users_state_directory(own_home: Path) -> None:
    assert ChangeContext.real().state == str(own_home / ".local/state/sessionbrowse")
    assert not (own_home / ".local").exists(), "nothing is made before something is changed"
