"""Every verb on a disk that is really full or read-only, and in folders that may not be written to."""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.services.change.checkout import checkout
from sessionbrowse.services.change.label import label
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.transaction.change import changing
from tests.faults.fault_table import survived
from tests.faults.fault_worlds import FILE_VERBS, Looks, Verb, World
from tests.support.change_helpers import target
from tests.support.disks import fill, made_read_only, made_writable, mounted
from tests.support.file_helpers import own_system_trash

pytestmark = pytest.mark.slow

ROOM = (0, 4096, 8192, 20_480, 65_536)
"""Bytes that are left on a full disk: the journal alone fits, or a part of what the verb writes."""


def on_lines(agent: str, act: Callable[[World], object]) -> Verb:
    return Verb(prepare=lambda world: world.session(agent), act=act, can_be_undone=False)


VERBS: dict[str, Verb] = {
    "rename pi": on_lines("pi", lambda world: rename(target(world.path), "ours", context=world.store.context)),
    "rename omp": on_lines("omp", lambda world: rename(target(world.path), "ours", context=world.store.context)),
    "label pi": on_lines("pi", lambda world: label(target(world.path), "00000003", "x", context=world.store.context)),
    "label omp": on_lines("omp", lambda world: label(target(world.path), "00000003", "x", context=world.store.context)),
    "checkout pi": on_lines("pi", lambda world: checkout(target(world.path), "00000006", context=world.store.context)),
    **FILE_VERBS,
}


class Place:
    """Where a verb meets its disk, and what it makes of the store without a fault."""

    def __init__(self, folder: Path, verb: str) -> None:
        self.folder, self.name = folder, verb
        self.before = self.world().looks()
        world = self.world()
        world.act()
        self.after = world.looks()

    def world(self) -> World:
        return World(self.folder / "world", VERBS[self.name], self.folder / "share")

    def check(self, world: World, where: object) -> None:
        """All is done, or nothing; the next change finds everything in order."""
        with changing(world.store.context):
            pass
        now = world.looks()
        if self.name == "delete omp for good" and now != self.after:
            assert str(world.path.relative_to(world.store.home)) in now, where
            return
        if self.name == "unpack omp" and now != self.before:
            # Where no trash has room for the packed file, it stays beside the unpacked one.
            now.pop(str(world.path.relative_to(world.store.home)), None)
        assert now in (self.before, self.after), (where, difference(now, self.before), difference(now, self.after))
        pending = [one for one in world.store.context.journal.changes().values() if one.state == "pending"]
        assert pending == [], where
        if now == self.before:
            world.act()


@pytest.fixture
def trash(own_home: Path) -> None:
    own_system_trash()


@pytest.mark.usefixtures("trash")
@pytest.mark.parametrize("verb", VERBS)
def test_on_a_full_disk_a_verb_is_done_or_not(tmp_path: Path, verb: str, record_property: object) -> None:
    with mounted(tmp_path / "disk", "2m") as disk:
        place = Place(disk, verb)
        for room in ROOM:
            world = place.world()
            filler = fill(disk, room)
            with suppress(SessionBrowseError):
                world.act()
            filler.unlink()
            place.check(world, (verb, room))
    survived(record_property, verb, "full disk", len(ROOM))


@pytest.mark.usefixtures("trash")
@pytest.mark.parametrize("verb", VERBS)
def test_on_a_read_only_disk_a_verb_says_so(tmp_path: Path, verb: str, record_property: object) -> None:
    with mounted(tmp_path / "disk") as disk:
        place = Place(disk, verb)
        world = place.world()
        made_read_only(disk)
        try:
            with pytest.raises(SessionBrowseError, match="Read-only file system"):
                world.act()
        finally:
            made_writable(disk)
        assert world.looks() == place.before
        place.check(world, verb)
    survived(record_property, verb, "read-only disk", 1)


@pytest.mark.usefixtures("trash")
@pytest.mark.parametrize("what", ["the file", "its folder", "both", "the folder above"])
@pytest.mark.parametrize("verb", VERBS)
def test_where_nobody_may_write_a_verb_is_done_or_says_so(
    tmp_path: Path, verb: str, what: str, record_property: object
) -> None:
    place = Place(tmp_path, verb)
    world = place.world()
    closed = {
        "the file": [world.path],
        "its folder": [world.path.parent],
        "both": [world.path, world.path.parent],
        "the folder above": [world.path.parent.parent],
    }[what]
    modes = {path: path.stat().st_mode for path in closed if path.exists()}
    for path in modes:
        path.chmod(stat.S_IMODE(modes[path]) & ~0o222)
    assert without_rights(world.act) in (DONE, SAID)
    for path, mode in modes.items():
        with suppress(FileNotFoundError):
            path.chmod(stat.S_IMODE(mode))
    place.check(world, (verb, what))
    survived(record_property, verb, "no permission", 1)


DONE, SAID, BROKE = 0, 3, 1


def without_rights(act: Callable[[], object]) -> int:
    """Run something in a child that has no rights but those of the files' owner, and return how it ended."""
    child = os.fork()
    if child == 0:
        try:
            drop_capabilities()
            act()
        except SessionBrowseError:
            os._exit(SAID)
        except BaseException as error:
            print(repr(error))
            os._exit(BROKE)
        os._exit(DONE)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def drop_capabilities() -> None:
    """Let root be refused what its files' modes forbid (capabilities(7))."""
    if os.geteuid() != 0:
        return
    version, none = 0x20080522, (ctypes.c_uint32 * 6)()
    head = (ctypes.c_uint32 * 2)(version, 0)
    if ctypes.CDLL(None, use_errno=True).capset(head, none):
        raise OSError(ctypes.get_errno(), "capset")


def test_without_rights_a_mode_is_obeyed(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o555)
    assert without_rights((tmp_path / "closed" / "x").touch) == BROKE
    assert without_rights((tmp_path / "x").touch) == DONE


def difference(now: Looks, expected: Looks) -> set[str]:
    """Return the files that are not as expected."""
    return {path for path in now.keys() | expected.keys() if now.get(path) != expected.get(path)}
