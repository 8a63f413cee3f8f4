"""Verbs in a container, whose disk (overlayfs) cannot rename a folder that comes from the image."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessionbrowse.services.transaction.change import changing
from sessionbrowse.services.undo import undo
from sessionbrowse.store.write import moves
from tests.faults.fault_injection import failing_disk, fails_with, in_child, killed_before
from tests.faults.fault_table import some_calls
from tests.faults.fault_worlds import FILE_VERBS, World, looks_of
from tests.faults.test_faults_of_files import Case, check_all_or_nothing
from tests.support.disks import mounted
from tests.support.file_helpers import own_system_trash

VERBS = (
    *("archive omp", "delete omp, own trash", "relocate", "unarchive omp", "undo archive", "undo relocate"),
    *("archive pi and companions", "relocate pi and companions", "unpack omp"),
)


@pytest.fixture
def image(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The inodes of the folders that come from the image: a stand-in for overlayfs refuses to rename them."""
    folders: set[int] = set()
    real = moves.rename_to_free

    def refused(source: str, target: str) -> bool:
        if os.path.isdir(source) and os.lstat(source).st_ino in folders:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return real(source, target)

    monkeypatch.setattr(moves, "rename_to_free", refused)
    return folders


class OverlayCase(Case):
    """A case in whose worlds all folders come from the image."""

    def __init__(self, folder: Path, verb: str, data_home: Path, image: set[int]) -> None:
        self._image = image
        super().__init__(folder, verb, "no space", data_home)

    def world(self) -> World:
        self._image.clear()
        world = super().world()
        self._image.update(os.lstat(here).st_ino for here, _, _ in os.walk(world.store.home))
        return world


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "step"), [("kill", 3), ("I/O error", 4)])
@pytest.mark.parametrize("verb", VERBS)
def test_a_folder_of_the_image_is_moved_file_by_file_or_not_at_all(
    tmp_path: Path, own_home: Path, image: set[int], verb: str, fault: str, step: int
) -> None:
    own_system_trash()
    case = OverlayCase(tmp_path, verb, own_home / ".local" / "share", image)
    for at in some_calls(len(case.calls), step, verb):
        world = case.world()

        def run(world: World = world, at: int = at) -> None:
            with failing_disk(at, killed_before if fault == "kill" else fails_with(errno.EIO)):
                world.act()

        assert in_child(run) == signal.SIGKILL or fault != "kill"
        with failing_disk():
            with changing(world.store.context):
                pass
            check_all_or_nothing(case, world, (verb, fault, at, case.calls[at - 1]))


@pytest.fixture
def overlay(tmp_path: Path) -> Iterator[Path]:
    """A folder in which an image and what a container adds to it can be mounted; skip where nobody may."""
    with mounted(tmp_path / "layers", "32m") as layers:
        yield layers


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["archive omp", "delete omp, own trash", "relocate", "relocate pi and companions"])
def test_in_a_real_container_a_change_is_made_and_undone(own_home: Path, overlay: Path, verb: str) -> None:
    own_system_trash()
    shown = overlay / "shown"
    for name in ("image", "added", "work", "shown"):
        (overlay / name).mkdir()
    prepared = World(shown / "world", FILE_VERBS[verb], own_home / ".local" / "share")
    shutil.move(shown / "world", overlay / "image" / "world")
    layers = f"lowerdir={overlay / 'image'},upperdir={overlay / 'added'},workdir={overlay / 'work'}"
    command = ["mount", "-t", "overlay", "overlay", "-o", layers, str(shown)]
    if subprocess.run(command, capture_output=True, check=False, timeout=60).returncode:
        pytest.skip("no overlayfs can be mounted here")
    try:
        before = looks_of(shown)
        with pytest.raises(OSError, match="Invalid cross-device link"):
            os.rename(shown / "world" / "home", shown / "world" / "other")
        prepared.act()
        assert looks_of(shown / "world" / "home") != before
        undo(context=prepared.store.context)
        after = looks_of(shown)
        assert {path: after.get(path) for path in before} == before
    finally:
        subprocess.run(["umount", "-l", str(shown)], check=True, timeout=60)
