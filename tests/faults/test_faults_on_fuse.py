"""Verbs on a disk that a program serves (FUSE), beside a writer: each name of a file has a size of its own there.

A stand-in runs everywhere: a disk that renames by links, whose second name of a file shows an old size for a while.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.services.transaction.change import changing
from sessionbrowse.store.write import moves, old_versions
from sessionbrowse.store.write.in_use import RECENT_MS
from tests.faults.fault_injection import failing_disk, replaced
from tests.faults.fault_worlds import FILE_VERBS, World, looks_of
from tests.support.change_helpers import line, user
from tests.support.disks import served_by_fuse
from tests.support.file_helpers import own_system_trash

VERBS = ("relocate", "delete omp, own trash", "archive omp", "delete pi", "undo relocate", "prune pi", "shrink pi")
LATE = line(user("c0000000", "00000009", "written late"))
LONGEST_DELAY_S = 0.02


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no change wait long for a program that has a file open; the writers here are in this process."""
    monkeypatch.setattr(old_versions, "WAIT_S", 0.01)


class Race:
    """A verb beside a program that opens the session by name at one call, and writes to it at that or a later one."""

    def __init__(self, world: World, opens: int, writes: int, store: Path | None = None) -> None:
        self.world, self._opens, self._writes = world, opens, writes
        self._store = world.store.home if store is None else store
        self.wrote = False
        self._path = world.path
        self._descriptor: int | None = None

    def act(self) -> None:
        with failing_disk(before=self._before), suppress(SessionBrowseError):
            self.world.act()
        self._write()

    def _before(self, number: int, _: str) -> None:
        if number == self._opens:
            with suppress(FileNotFoundError):
                self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        if number == self._writes:
            self._write()

    def _write(self) -> None:
        if self._descriptor is not None:
            os.write(self._descriptor, LATE)
            os.close(self._descriptor)
            self._descriptor, self.wrote = None, True

    def is_kept(self) -> bool:
        """Return True if no line was written, or the line is in a file of the store or of a trash."""
        looks = [content for content, _ in (looks_of(self._store) | self.world.trashed()).values()]
        return not self.wrote or any(LATE in content for content in looks)


def recover(world: World) -> None:
    with changing(world.store.context):
        pass


def calls_of(world: World) -> int:
    with failing_disk() as disk:
        world.act()
    return len(disk.calls)


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_a_line_that_the_second_name_does_not_show_yet_is_never_lost(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    own_system_trash()
    for name in ("exchange", "rename_to_free"):
        monkeypatch.setattr(moves, name, lambda first, second: False)
    monkeypatch.setattr(old_versions, "proves_by_lease", lambda descriptor: False)
    carry_over: Callable[..., None] = old_versions._carry_over
    counted = World(tmp_path / "world", FILE_VERBS[verb], own_home / ".local" / "share")
    calls = calls_of(counted)
    for opens in range(1, calls + 1, 4):
        world = World(tmp_path / "world", FILE_VERBS[verb], own_home / ".local" / "share")
        race = Race(world, opens, opens + 1)
        with replaced(old_versions, "_carry_over", lambda *_, **__: None), failing_disk():
            race.act()
            recover(world)
        assert race.is_kept(), opens
        # Ten minutes later the names show what they have, and nobody has the file open: the line is in the session.
        with (
            replaced(old_versions, "_carry_over", carry_over),
            replaced(old_versions, "RECENT_MS", -RECENT_MS),
            failing_disk(),
        ):
            recover(world)
        assert race.is_kept(), opens
        hidden = [path for path in world.looks() if path.endswith((".old", ".gone")) or ".new" in path]
        assert hidden == [], opens


@pytest.mark.stress
@pytest.mark.parametrize("count", [500])
def test_no_line_is_lost_on_a_disk_that_a_program_serves(
    tmp_path: Path, own_home: Path, record_property: Callable[[str, Any], None], count: int
) -> None:
    own_system_trash()
    with served_by_fuse(tmp_path / "shown", tmp_path / "below") as shown:
        lost, wrote = 0, 0
        calls = {verb: calls_of(World(shown / "world", FILE_VERBS[verb], own_home / "share")) for verb in VERBS}
        for number in range(count):
            chooser = Random(number)
            verb = chooser.choice(VERBS)
            world = World(shown / "world", FILE_VERBS[verb], own_home / "share")
            opens = chooser.randint(1, calls[verb])
            # Through the mount, a file that has just grown may be shown with its old size.
            race = Race(world, opens, opens + chooser.randint(0, 6), tmp_path / "below")
            if chooser.random() < 0.5:
                delay = chooser.uniform(0, LONGEST_DELAY_S)
                with replaced(os, "unlink", _late(os.unlink, delay)):
                    race.act()
            else:
                race.act()
            recover(world)
            wrote += race.wrote
            lost += not race.is_kept()
        record_property("races on FUSE", [count, wrote, lost])
        assert wrote > count / 2
        assert lost == 0


def _late(unlink: Callable[..., None], delay_s: float) -> Callable[..., None]:
    """Return an `unlink` that takes its time, as a disk of another computer does."""

    def late(*arguments: Any, **named: Any) -> None:
        time.sleep(delay_s)
        unlink(*arguments, **named)

    return late
