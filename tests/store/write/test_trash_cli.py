"""What we delete, trash-cli lists and restores as it was: in the home trash, on other disks, and in our own folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from sessionbrowse.services.change.delete import Deleted, Into, delete, restorable
from sessionbrowse.services.change.restore import restore
from sessionbrowse.services.transaction.trash_directories import own_trash
from tests.support.change_helpers import LONG_AGO_NS, Store, target
from tests.support.disks import mounted
from tests.support.file_helpers import own_system_trash, picture

NAME = "-odd näme %41 [x].jsonl"


def program(name: str) -> str:
    """Return one of trash-cli's programs: that of the tests' environment, else the system's."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip("trash-cli is not installed (apt install trash-cli, or pip install trash-cli)")
    return found


def trash_cli(name: str, *words: str, says: str = "", volumes: Sequence[Path] = ()) -> str:
    environ = {**os.environ, "TRASH_VOLUMES": ":".join(map(str, volumes)), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [program(name), *words],
        input=says,
        capture_output=True,
        text=True,
        check=True,
        env=environ,
        cwd="/",
        timeout=60,
    )
    return done.stdout


def store_in(folder: Path, own_home: Path) -> Store:
    own_system_trash()
    folder.mkdir()
    store = Store(folder)
    store.environ = {"XDG_DATA_HOME": str(own_home / ".local" / "share")}
    return store


def deleted_unit(store: Store, into: Into = "trash") -> Deleted:
    """Delete a session of omp with its folder and its backup."""
    path = store.session("omp", name=NAME)
    folder = path.parent / path.stem
    (folder / "Scout").mkdir(parents=True)
    (folder / "Scout" / "Deep.jsonl").write_text("{}\n")
    backup = path.parent / f"{path.name}.0123456789abcdef.bak"
    backup.write_text("older")
    for written in (folder / "Scout" / "Deep.jsonl", backup):
        os.utime(written, ns=(LONG_AGO_NS, LONG_AGO_NS))
    return delete(target(path), into=into, context=store.context)


def check_listed_and_restored(
    store: Store, deleted: Deleted, before: object, *, disk: Path, listed_in: str = "", restored_from: str = ""
) -> None:
    """`trash-restore` looks only at disks that hold something, so a disk in memory is named to it."""
    where = ["--trash-dir", listed_in] if listed_in else []
    from_where = ["--trash-dir", restored_from] if restored_from else []
    listed = trash_cli("trash-list", *where, volumes=[disk]).splitlines()
    assert sorted(line[20:] for line in listed) == sorted(deleted.paths)
    trash_cli("trash-restore", *from_where, str(Path(deleted.path).parent), says="0-2\n", volumes=[disk])
    assert picture(store.home) == before
    assert trash_cli("trash-list", *where, volumes=[disk]) == ""
    assert restorable(store.context) == [], "what another program restored is not offered any more"


def world(store: Store) -> object:
    """What the store looks like with the session."""
    restore(deleted_unit(store).undo_id, context=store.context)
    before = picture(store.home)
    shutil.rmtree(store.home / ".omp")
    return before


def test_from_the_home_trash(tmp_path: Path, own_home: Path) -> None:
    store = store_in(tmp_path / "store", own_home)
    before = world(store)
    check_listed_and_restored(store, deleted_unit(store), before, disk=tmp_path)
    assert (own_home / ".local/share/Trash/files").is_dir()


@pytest.mark.parametrize("kind", [".Trash-UID", ".Trash/UID"])
def test_from_the_trash_of_another_disk(tmp_path: Path, own_home: Path, kind: str) -> None:
    with mounted(tmp_path / "disk") as disk:
        if kind == ".Trash/UID":
            (disk / ".Trash").mkdir(mode=0o777)
            (disk / ".Trash").chmod(0o1777)
        store = store_in(disk / "store", own_home)
        before = world(store)
        trash = disk / kind.replace("UID", str(os.getuid()))
        deleted = deleted_unit(store)
        check_listed_and_restored(store, deleted, before, disk=disk, restored_from=str(trash))
        assert (trash / "files").is_dir()
        delete(target(Path(deleted.path)), context=store.context)
        assert not Path(deleted.path).exists()
        restore(context=store.context)
        assert picture(store.home) == before


@pytest.mark.parametrize("on_other_disk", [False, True], ids=["same disk", "other disk"])
def test_from_our_own_trash_folder(tmp_path: Path, own_home: Path, on_other_disk: bool) -> None:
    def check(folder: Path) -> None:
        store = store_in(folder, own_home)
        before = world(store)
        deleted = deleted_unit(store, "own")
        own = own_trash(store.context)
        check_listed_and_restored(store, deleted, before, disk=folder, listed_in=own, restored_from=own)

    if on_other_disk:
        with mounted(tmp_path / "disk") as disk:
            check(disk / "store")
    else:
        check(tmp_path / "store")


def test_what_trash_cli_took_away_is_said_to_be_gone(tmp_path: Path, own_home: Path) -> None:
    store = store_in(tmp_path / "store", own_home)
    deleted = deleted_unit(store)
    trash_cli("trash-empty", "-f", volumes=[tmp_path])
    assert restorable(store.context) == []
    with pytest.raises(Exception, match="is no longer in the trash"):
        restore(deleted.undo_id, context=store.context)
