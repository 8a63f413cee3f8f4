"""omp's lock when the disk refuses, and leftovers of programs that died."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from sessionbrowse.errors import InUse
from sessionbrowse.store.write.writer import lock_path, publish_lock


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "session.jsonl")


def test_a_full_disk_leaves_no_lock(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", lambda *_: 0)
    with pytest.raises(OSError, match="No space left"), publish_lock(path):
        pytest.fail("the lock is held without its content")
    assert not os.path.lexists(lock_path(path))


def test_an_old_empty_lock_is_a_leftover_and_a_new_one_is_waited_for(path: str) -> None:
    lock = Path(lock_path(path))
    lock.touch()
    made = lock.stat().st_mtime
    with pytest.raises(InUse), publish_lock(path, now=lambda: made):
        pytest.fail("the lock was being written")
    assert lock.exists()
    os.utime(lock, (0, 0))
    with publish_lock(path):
        assert lock.read_bytes().startswith(f"{os.getpid()}:".encode())
    assert not lock.exists()


def test_a_lock_that_cannot_be_read_is_never_removed_while_it_is_new(path: str) -> None:
    lock = Path(lock_path(path))
    target = lock.with_name("target")
    target.touch()
    lock.symlink_to(target)
    made = target.stat().st_mtime
    with pytest.raises(InUse), publish_lock(path, now=lambda: made):
        pytest.fail("the lock belongs to another program")
    assert lock.is_symlink()


def test_a_lock_that_another_program_took_over_is_left_to_it(path: str) -> None:
    lock = Path(lock_path(path))
    with publish_lock(path):
        lock.write_bytes(b"1:1\n")
    assert lock.read_bytes() == b"1:1\n"


def test_a_lock_that_cannot_be_removed_is_tried_again(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unlink, refusals = os.unlink, [OSError(errno.EBUSY, "busy"), OSError(errno.EBUSY, "busy")]

    def refuse_twice(name: str) -> None:
        if refusals:
            raise refusals.pop()
        unlink(name)

    with publish_lock(path):
        monkeypatch.setattr(os, "unlink", refuse_twice)
    assert not os.path.lexists(lock_path(path))
