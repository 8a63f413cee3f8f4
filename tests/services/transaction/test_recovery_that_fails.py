"""A rollback that meets an I/O error itself: the record stays pending until every file is where it should be."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.errors import SessionBrowseError, WriteFailed
from sessionbrowse.services.change.archive import archive
from sessionbrowse.services.change.delete import delete
from sessionbrowse.services.change.fork import fork
from sessionbrowse.services.change.relocate import relocate
from sessionbrowse.services.transaction.change import changing
from sessionbrowse.services.undo import undo, undoable
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.write import old_versions
from tests.faults.fault_injection import failing_disk, fails_with
from tests.support.change_helpers import Store, target

FAILS = fails_with(errno.EIO)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_in(tmp_path / "here")


@pytest.fixture(autouse=True)
def no_platter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody wait for the platter: no test cuts the power."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(old_versions, "WAIT_S", 0.01)


def store_in(folder: Path) -> Store:
    folder.mkdir()
    store = Store(folder)
    store.environ["XDG_DATA_HOME"] = str(folder / "data")
    return store


def session(store: Store) -> Path:
    """Make a session of omp with an artifacts folder."""
    path = store.session("omp")
    path.with_suffix("").mkdir()
    (path.with_suffix("") / "1.bash.log").write_text("output")
    return path


def everything(store: Store) -> dict[str, bytes | None]:
    """Return all files of the home with their content, and all folders."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in store.home.rglob("*")}


def moved(store: Store, path: Path) -> object:
    around = Surroundings(home=str(store.home), environ=store.environ, cwd=str(store.folder))
    return relocate("/projects/webshop", "/srv/shop", Scope(around=around), context=store.context)


VERBS: dict[str, Callable[[Store, Path], object]] = {
    "relocate": moved,
    "archive": lambda store, path: archive(target(path), context=store.context),
    "delete": lambda store, path: delete(target(path), into="own", context=store.context),
    "fork": lambda store, path: fork(
        str(path), cwd="/projects/other", context=store.context, random_bytes=lambda count: b"\1" * count
    ),
}


def fails_twice(store: Store, act: Callable[[], object], first: int, second: int) -> None:
    """Let all calls that change the disk fail from the `first` on, and one call of the recovery after that."""
    with failing_disk(first, FAILS, lasting=True), suppress(SessionBrowseError):
        act()
    with failing_disk(second, FAILS), suppress(SessionBrowseError), changing(store.context):
        pass
    with changing(store.context):
        pass
    assert store.context.journal.pending() == []


@pytest.mark.parametrize("second", [1, 3, 6])
@pytest.mark.parametrize("verb", VERBS)
def test_a_change_is_rolled_back_whole_if_its_recovery_fails_once(tmp_path: Path, verb: str, second: int) -> None:
    with failing_disk() as disk:
        counted = store_in(tmp_path / "counted")
        path = session(counted)
        begins = len(disk.calls)
        VERBS[verb](counted, path)
    for first in range(4, len(disk.calls) - begins, 3):
        store = store_in(tmp_path / str(first))
        path = session(store)
        before = everything(store)
        fails_twice(store, partial(VERBS[verb], store, path), first, second)
        if undoable(store.context):
            undo(context=store.context)
        assert everything(store) == before, first


@pytest.mark.parametrize("second", [1, 2, 5, 9, 13])
def test_an_undo_that_was_rolled_back_can_be_made_again(store: Store, second: int) -> None:
    path = session(store)
    before = everything(store)
    moved(store, path)
    with failing_disk() as disk:
        undo(context=store.context)
    calls = len(disk.calls)
    for first in range(calls // 3, calls, 4):
        moved(store, path)
        fails_twice(store, lambda: undo(context=store.context), first, second)
        if everything(store) != before:
            undo(context=store.context)
        assert everything(store) == before, (first, calls)


def test_an_undo_is_refused_while_an_earlier_one_can_neither_be_completed_nor_rolled_back(store: Store) -> None:
    path = session(store)
    before = everything(store)
    made = moved(store, path)
    with failing_disk() as disk:
        undo(context=store.context)
    moved(store, path)
    with failing_disk(len(disk.calls) // 2, FAILS, lasting=True), suppress(SessionBrowseError):
        undo(context=store.context)
    assert len(store.context.journal.pending()) == 1
    with failing_disk(4, FAILS, lasting=True), pytest.raises(WriteFailed, match="neither be completed nor rolled back"):
        undo(context=store.context)
    undo(context=store.context)
    assert everything(store) == before
    assert made is not None
