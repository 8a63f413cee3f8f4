"""Installing and removing our folders in an agent's directory, cut off at every call that changes the disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.services.integrate import OwnFolder, install, own_folders, remove
from tests.faults.fault_injection import Action, failing_disk, in_child, killed_after, killed_before


def cut_off(act: Callable[[], object], at: int, action: Action) -> None:
    def run() -> None:
        with failing_disk(at, action):
            act()

    in_child(run)


@pytest.mark.slow
@pytest.mark.parametrize("action", [killed_before, killed_after])
def test_whatever_a_kill_left_is_installed_again_and_removed(tmp_path: Path, action: Action) -> None:
    directory = tmp_path / ".pi" / "agent"
    (directory / "extensions" / "theirs").mkdir(parents=True)
    around = Surroundings(home=str(tmp_path), environ={}, cwd=str(tmp_path))
    folders = own_folders("pi", around, ["sessionbrowse"], "package")
    installing, removing = partial(install, "pi", around, folders), partial(remove, folders)
    with failing_disk() as disk:
        installing()
        calls = len(disk.calls)
        removing()
    assert len(disk.calls) > calls > 6
    for at in range(1, calls + 1):
        cut_off(installing, at, action)
        removing()
        assert not any(folder.exists for folder in folders), at
        cut_off(installing, at, action)
        installing()
        assert is_whole(folders), at
    for at in range(1, len(disk.calls) - calls + 1):
        installing()
        cut_off(removing, at, action)
        removing()
        assert not any(folder.exists for folder in folders), at
        installing()
        cut_off(removing, at, action)
        installing()
        assert is_whole(folders), at
    assert os.listdir(directory / "extensions" / "theirs") == []


def is_whole(folders: list[OwnFolder]) -> bool:
    """Return True if each folder has its one file, with its content."""
    return all(
        os.listdir(folder.path) == [folder.name] and Path(folder.file).read_bytes() == folder.content
        for folder in folders
    )


@pytest.mark.parametrize(
    "name", [".index.js.0123456", ".index.js.0123456z", ".other.js.01234567", "x.index.js.01234567"]
)
def test_a_file_of_another_form_beside_ours_is_the_users(tmp_path: Path, name: str) -> None:
    (tmp_path / ".pi" / "agent").mkdir(parents=True)
    around = Surroundings(home=str(tmp_path), environ={}, cwd=str(tmp_path))
    folders = own_folders("pi", around, ["sessionbrowse"], "package")
    install("pi", around, folders)
    theirs = Path(folders[0].path) / name
    theirs.write_text("theirs")
    for act in (partial(install, "pi", around, folders), partial(remove, folders)):
        with pytest.raises(RefusedWrite, match="contains other files"):
            act()
    assert theirs.read_text() == "theirs"
