"""Changes of an omp session that omp has just left: our own changes do not make the next one wait for ten minutes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.errors import InUse
from sessionbrowse.services.change.archive import archive, unarchive
from sessionbrowse.services.change.checkout import checkout
from sessionbrowse.services.change.delete import delete
from sessionbrowse.services.change.fork import fork
from sessionbrowse.services.change.label import label
from sessionbrowse.services.change.relocate import relocate
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.change.restore import restore
from sessionbrowse.services.clean.clean import Where, branches_plan, clean_session
from sessionbrowse.services.undo import undo
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.write.moves import Moves
from tests.support.change_helpers import CONVERSATION, NOW_MS, Store, line, target, user

EXIT = {"type": "custom", "customType": "session_exit", "id": "0000000a", "parentId": "00000008", "data": {}}
OLD, NEW = "/projects/webshop", "/srv/shop"
Verb = Callable[[Store, Path], object]


def _relocated(store: Store, path: Path) -> Path:
    around = Surroundings(home=str(store.home), environ=store.environ, cwd=str(store.folder))
    return Path(relocate(OLD, NEW, Scope(around=around), context=store.context).sessions[0].target)


def _pruned(store: Store, path: Path) -> Path:
    clean_session(target(path, "omp"), "prune", branches_plan(["0000000b"]), Where(), context=store.context)
    return path


VERBS: dict[str, Verb] = {
    "label": lambda store, path: label(target(path), "00000003", "one", context=store.context) and path,
    "rename": lambda store, path: rename(target(path), "one", context=store.context) and path,
    "checkout": lambda store, path: checkout(target(path), "00000006", context=store.context) and path,
    "undo": lambda store, path: undo(context=store.context) and next(store.home.rglob(path.name)),
    "prune": _pruned,
    "relocate": _relocated,
    "archive": lambda store, path: Path(archive(target(path), context=store.context).path),
    "unarchive": lambda store, path: Path(unarchive(target(path), context=store.context).path),
    "delete": lambda store, path: delete(target(path), into="own", context=store.context) and path,
    "restore": lambda store, path: Path(restore(context=store.context).path),
    "fork": lambda store, path: Path(fork(str(path), context=store.context).path),
}
CHAINS: Sequence[Sequence[str]] = (
    ("label", "rename", "checkout", "label"),
    ("label", "undo"),
    ("rename", "undo"),
    ("checkout", "undo", "label"),
    ("prune", "undo", "prune"),
    ("label", "relocate"),
    ("checkout", "archive", "unarchive"),
    ("label", "archive", "undo"),
    ("checkout", "delete", "restore"),
    ("checkout", "fork"),
)


def _left_just_now(store: Store, *, slot: str | None = "old title") -> Path:
    path = store.session("omp", [*CONVERSATION, user("0000000b", "00000002", "dropped"), EXIT], slot=slot)
    _touch(path)
    return path


def _touch(path: Path) -> None:
    os.utime(path, ns=(int(NOW_MS - 5000) * 1_000_000,) * 2)


@pytest.mark.parametrize("across_disks", [False, True])
@pytest.mark.parametrize("slot", ["old title", None])
@pytest.mark.parametrize("chain", CHAINS, ids=" ".join)
def test_after_a_clean_exit_no_change_of_ours_makes_the_next_one_wait(
    store: Store, chain: Sequence[str], slot: str | None, across_disks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _left_just_now(store, slot=slot)
    if across_disks:
        monkeypatch.setattr(Moves, "move", _copying(Moves.move))
    for verb in (*chain, "label"):
        found = VERBS[verb](store, path)
        assert isinstance(found, Path)
        path = found


def _copying(move: Callable[[Moves, str, str], None]) -> Callable[[Moves, str, str], None]:
    """Return a move after which a file is another one, with the same content and time, as on another disk."""

    def moved(moves: Moves, source: str, to: str) -> None:
        move(moves, source, to)
        status, content = os.stat(to), Path(to).read_bytes()
        with open(to, "rb"):
            os.unlink(to)
            Path(to).write_bytes(content)
        os.utime(to, ns=(status.st_atime_ns, status.st_mtime_ns))

    return moved


def test_an_entry_of_another_program_after_the_exit_makes_a_change_wait(store: Store) -> None:
    path = _left_just_now(store)
    label(target(path), "00000003", "one", context=store.context)
    with path.open("ab") as file:
        file.write(line(user("0000000c", "0000000a", "resumed")))
    _touch(path)
    with pytest.raises(InUse):
        label(target(path), "00000003", "two", context=store.context)
    label(target(path), "00000003", "two", force=True, context=store.context)
    with pytest.raises(InUse):
        label(target(path), "00000003", "three", context=store.context)
