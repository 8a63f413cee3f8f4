"""Real small disks for tests: in memory, mounted where the user may mount."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, size: str = "8m") -> Iterator[Path]:
    """Mount a disk of a size at a folder, which is made, for as long as the block lasts; skip where nobody may."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "sessionbrowse-test", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except OSError as error:
        pytest.skip(f"no disk can be mounted here: {error}")
    if done.returncode:
        # Without the test's own folder, pytest counts all such skips in one line.
        said = done.stderr.replace(str(folder), "the folder").strip().partition("\n")[0]
        pytest.skip(f"no disk can be mounted here (only root may): {said}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=60)


def made_read_only(folder: Path) -> None:
    """Mount a disk again, so that nothing can be written to it."""
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True, timeout=60)


def made_writable(folder: Path) -> None:
    """Take `made_read_only` back."""
    subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True, timeout=60)


def fill(folder: Path, left: int) -> Path:
    """Fill a disk but for some bytes, and return the file that does so."""
    filler = folder / "filler"
    block = b"\0" * 4096
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(block)
        except OSError:
            pass
        # What a disk gives back is counted in its blocks.
        file.truncate(max(0, file.tell() - -(-left // 4096) * 4096))
    os.sync()
    return filler


@contextmanager
def served_by_fuse(folder: Path, below: Path) -> Iterator[Path]:
    """Show a folder again at another path, by a program; skip where there is no `bindfs`, or nobody may mount."""
    for made in (folder, below):
        made.mkdir()
    try:
        command = ["bindfs", str(below), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except OSError:
        pytest.skip("bindfs is not installed (apt install bindfs)")
    if done.returncode or not os.path.ismount(folder):
        pytest.skip("no disk can be mounted here by bindfs: there is no /dev/fuse, or only root may")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=60)
