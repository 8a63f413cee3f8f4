"""omp's lock file, which a program must create before it appends to or rewrites a session (omp 18.2.1 and newer)."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sessionbrowse.errors import InUse
from sessionbrowse.store.read.content import closing
from sessionbrowse.store.system.files import CLOEXEC, NOFOLLOW, NONBLOCK
from sessionbrowse.store.system.processes import is_alive

WAIT_S = 0.5
"""Seconds that omp waits for the lock before its own write fails; no program may hold the lock longer."""
_POLL_S = 0.002
# Number of attempts to remove the lock: a lock file left behind would keep omp from saving while this process lives.
_REMOVALS = 3
_LONGEST_NAME = 255
_RECORD = re.compile(rb"(\d+):(\d+)\s*")


def lock_path(path: str) -> str:
    """Return the path of omp's lock file for a session file."""
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.lock")


@contextmanager
def publish_lock(
    path: str,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.time,
) -> Iterator[None]:
    """Hold omp's lock on a session file; the caller must release it after a few milliseconds.

    Raises:
        InUse: another program held the lock for half a second.
        OSError: the lock file cannot be made.
    """
    lock = lock_path(path)
    if len(os.fsencode(os.path.basename(lock))) > _LONGEST_NAME:
        yield  # omp cannot make this file either, so it cannot hold the lock.
        return
    record = f"{os.getpid()}:{int(now() * 1000)}\n".encode()
    deadline = clock() + WAIT_S
    while not (_create(lock, record) or (_remove_stale(lock, now) and _create(lock, record))):
        if clock() >= deadline:
            raise InUse(f"{os.path.basename(path)} is being written by omp just now; nothing was changed. Try again.")
        sleep(_POLL_S)
    try:
        yield
    finally:
        for _ in range(_REMOVALS):
            # Another program may have treated our lock as stale, and may hold its own lock now.
            if _content(lock) != record:
                break
            with suppress(OSError):
                os.unlink(lock)


def _create(lock: str, record: bytes) -> bool:
    try:
        descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | CLOEXEC, 0o600)
    except FileExistsError:
        return False
    with closing(descriptor):
        try:
            if os.write(descriptor, record) < len(record):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), lock)
        except OSError:
            with suppress(OSError):
                os.unlink(lock)
            raise
    # While the lock file was still empty, another program may have removed it as a leftover. Then the lock is not held.
    return _content(lock) == record


def _remove_stale(lock: str, now: Callable[[], float]) -> bool:
    """Remove a lock file whose process has ended; return True if there is no lock file now."""
    content = _content(lock)
    if content is None:
        return True
    found = _RECORD.fullmatch(content)
    if found is not None:
        # This process makes one change at a time, so a lock file with its process id is left from an earlier change.
        if int(found[1]) != os.getpid() and is_alive(int(found[1])):
            return False
    elif not _is_orphan(lock, now):
        return False
    if _content(lock) != content:
        return False
    with suppress(FileNotFoundError):
        os.unlink(lock)
    return True


def _is_orphan(lock: str, now: Callable[[], float]) -> bool:
    """Return True if a lock file without a process id is so old that no program can still be writing it."""
    try:
        return now() - os.stat(lock).st_mtime > WAIT_S
    except OSError:
        return True


def _content(lock: str) -> bytes | None:
    try:
        descriptor = os.open(lock, os.O_RDONLY | NOFOLLOW | CLOEXEC | NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError:
        return b""
    with closing(descriptor):
        try:
            return os.read(descriptor, 256)
        except OSError:
            return b""
