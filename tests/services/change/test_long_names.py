"""Sessions whose file names are as long as a disk allows: every verb makes hidden names that are no longer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.services.change.archive import archive, unarchive
from sessionbrowse.services.change.checkout import checkout
from sessionbrowse.services.change.delete import delete
from sessionbrowse.services.change.fork import fork
from sessionbrowse.services.change.label import label
from sessionbrowse.services.change.relocate import relocate
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.clean.clean import Where, branches_plan, clean_session, shrink_plan
from sessionbrowse.services.clean.doctor import repair
from sessionbrowse.services.undo import undo
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.write import moves
from tests.support.change_helpers import CONVERSATION, Store, target, user
from tests.support.file_helpers import own_system_trash

ENTRIES = [*CONVERSATION, user("00000009", "00000002", "dropped")]


def _relocate(store: Store, path: Path) -> object:
    around = Surroundings(home=str(store.home), environ=store.environ, cwd=str(store.folder))
    return relocate("/projects/webshop", "/srv/shop", Scope(around=around), context=store.context)


def _prune(store: Store, path: Path) -> object:
    return clean_session(target(path), "prune", branches_plan(["00000009"]), Where(), context=store.context)


def _shrink(store: Store, path: Path) -> object:
    return clean_session(target(path), "shrink", shrink_plan(results_over=0), Where(), context=store.context)


def _repair(store: Store, path: Path) -> object:
    path.write_bytes(path.read_bytes() + b'{"type":"mess')
    return repair(target(path), Where(), context=store.context, force=True)


def _archive(store: Store, path: Path) -> object:
    moved = archive(target(path), context=store.context)
    return unarchive(target(Path(moved.path)), context=store.context)


VERBS: dict[str, Callable[[Store, Path], object]] = {
    "label": lambda store, path: label(target(path), "00000003", "x", context=store.context),
    "checkout": lambda store, path: checkout(target(path), "00000006", context=store.context),
    "rename": lambda store, path: rename(target(path), "x", context=store.context),
    "prune": _prune,
    "shrink": _shrink,
    "repair": _repair,
    "archive": _archive,
    "delete": lambda store, path: delete(target(path), context=store.context),
    "delete, own trash": lambda store, path: delete(target(path), into="own", context=store.context),
    "relocate": _relocate,
    "fork": lambda store, path: fork(str(path), context=store.context),
}


@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.parametrize("length", [233, 234, 246, 255])
@pytest.mark.parametrize("agent", ["pi", "omp"])
@pytest.mark.parametrize("verb", VERBS)
def test_every_change_of_a_session_with_a_long_name_can_be_made_and_undone(
    tmp_path: Path,
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    agent: str,
    length: int,
    can_exchange: bool,
) -> None:
    own_system_trash()
    if not can_exchange:
        monkeypatch.setattr(moves, "exchange", lambda first, second: False)
        monkeypatch.setattr(moves, "rename_to_free", lambda first, second: False)
    store = Store(tmp_path)
    store.environ = {"XDG_DATA_HOME": str(own_home / ".local" / "share")}
    name = "ü" + "n" * (length - 8) + ".jsonl"
    path = store.session(agent, ENTRIES, name=name, slot=None)
    VERBS[verb](store, path)
    undo(context=store.context, force=True)
    if verb == "archive":
        undo(context=store.context, force=True)
    assert [one.name for one in store.home.rglob("*") if one.is_file()] == [name]
    assert path.exists()
