"""The state directory of sessionbrowse: private to the user; its lines stay whole after a crash or a power cut.

This module knows directories, lines and locks; other modules know the content of the files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sessionbrowse.errors import InUse, RefusedWrite
from sessionbrowse.store.system.files import CLOEXEC, DIRECTORY, NOFOLLOW, OPENS_DIRECTORIES, flush, pread
from sessionbrowse.store.system.locks import take_lock
from sessionbrowse.text import clean

LOCK_WAIT_S = 10.0
"""Number of seconds that a change waits for another sessionbrowse to finish its own change."""
_POLL_S = 0.01


def make_private(directory: str) -> None:
    """Make the state directory with its parents, readable by the user only.

    Raises:
        RefusedWrite: the directory cannot be made.
    """
    try:
        os.makedirs(os.path.dirname(directory), exist_ok=True)
        try:
            os.mkdir(directory, 0o700)
        except FileExistsError:
            return
        sync_directory(os.path.dirname(directory))
    except OSError as error:
        raise RefusedWrite(f"{_no_journal(directory, error)} Nothing was changed.") from error


def append_record(path: str, record: bytes) -> None:
    """Append one line to a file and wait until it is on the disk; an unfinished last line is ended first.

    Raises:
        OSError: the disk did not store the whole line.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | CLOEXEC | NOFOLLOW, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and pread(descriptor, 1, size - 1) != b"\n"
        line = (b"\n" if torn else b"") + record
        written = os.write(descriptor, line)
        if written < len(line):
            raise OSError(f"only {written} of {len(line)} bytes were taken")
        flush(descriptor)
    finally:
        os.close(descriptor)
    if size == 0:
        sync_directory(os.path.dirname(path))


def sync_directory(directory: str) -> None:
    """Flush a directory, so that new file names in it survive a power cut, if the system can do that."""
    if not OPENS_DIRECTORIES:
        return
    descriptor = os.open(directory, os.O_RDONLY | CLOEXEC | DIRECTORY)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def only_one(
    directory: str,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    wait_s: float = LOCK_WAIT_S,
) -> Iterator[None]:
    """Hold the user's only lock for changing sessions; the kernel releases it when the process ends.

    Raises:
        InUse: another process held it for longer than `wait_s` seconds.
        RefusedWrite: the lock cannot be made.
    """
    make_private(directory)
    path = os.path.join(directory, "lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | CLOEXEC | NOFOLLOW, 0o600)
    except OSError as error:
        raise RefusedWrite(f"{_no_journal(directory, error)} Nothing was changed.") from error
    try:
        deadline = clock() + wait_s
        while not take_lock(descriptor):
            if clock() >= deadline:
                raise InUse("Another sessionbrowse is changing sessions. Try again when it is done.")
            sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)


def is_held(directory: str) -> bool:
    """Tell whether a process holds the lock for changing sessions; nothing is made."""
    try:
        descriptor = os.open(os.path.join(directory, "lock"), os.O_RDONLY | CLOEXEC | NOFOLLOW)
    except OSError:
        return False
    try:
        return not take_lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _no_journal(directory: str, error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"The change cannot be noted for undo in {clean(directory)} ({reason})."
