"""sessionbrowse's private state directory: created, its files replaced as a whole or appended to, changes locked.

After a crash, a replaced file has its old or its new content as a whole; appended lines are durable. The content of the
files, such as the journal, is defined in other modules.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import msgspec

from sessionbrowse.errors import InUse, RefusedWrite
from sessionbrowse.store.system.files import CLOEXEC, DIRECTORY, NOFOLLOW, OPENS_DIRECTORIES, flush, pread, take_lock
from sessionbrowse.text import clean

LOCK_WAIT_S = 10.0
"""Maximum number of seconds that a change of a session waits while another sessionbrowse makes a change."""
_POLL_S = 0.01


def make_private(directory: str) -> None:
    """Create the state directory, readable by the user only, and its parent directories.

    Raises:
        RefusedWrite: the directory cannot be created.
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
    """Append one line to a file, and wait until the line is on the disk.

    If the file's last line has no newline, as after a crash, a newline is added first.

    Raises:
        OSError: the line could not be written completely.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | CLOEXEC | NOFOLLOW, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and pread(descriptor, 1, size - 1) != b"\n"
        line = (b"\n" if torn else b"") + record
        written = os.write(descriptor, line)
        if written < len(line):
            raise OSError(f"only {written} of {len(line)} bytes were written")
        flush(descriptor)
    finally:
        os.close(descriptor)
    if size == 0:
        sync_directory(os.path.dirname(path))


def sync_directory(directory: str) -> None:
    """Flush a directory to the disk, so that new files in it survive a power cut; do nothing if unsupported."""
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
    """Hold the lock for changing sessions inside the `with` block; only one process of the user can hold this lock.

    The kernel releases the lock if the process ends.

    Raises:
        InUse: another process held the lock for longer than `wait_s` seconds.
        RefusedWrite: the lock file cannot be opened.
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
    """Return True if a process holds the lock for changing sessions; the lock file is not created by this check."""
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


MOST_BYTES = 16 * 1024 * 1024
DAMAGED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""The exceptions that decoding a damaged state file can raise."""


def read_own_file(path: str) -> bytes | None:
    """Return the content of a small file; None if the file is missing or cannot be read."""
    try:
        # Opening a FIFO without O_NONBLOCK would block until another process writes to it.
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            return file.read(MOST_BYTES)
    except (OSError, ValueError):
        return None


def is_temporary_name(name: str, of: str) -> bool:
    """Return True if a file's name has the form that `write_own_file` uses for a new version of the file named `of`."""
    return re.fullmatch(rf"\.{re.escape(of)}\.[0-9a-f]{{8}}", name) is not None


def write_own_file(path: str, content: bytes) -> None:
    """Replace a small file by a new version atomically; if several processes write, the last version stays.

    Raises:
        OSError: the file could not be written; the old file is unchanged.
    """
    import secrets  # Imported here because only writing needs `secrets`.

    folder, name = os.path.split(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            flush(file.fileno())
        if os.path.isdir(path) and not os.path.islink(path):
            # A file cannot replace a directory, so a directory with this name is renamed and keeps its content.
            os.rename(path, os.path.join(folder, f"odd-{secrets.token_hex(4)}-{name}"))
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
