"""Flags for opening files, reads and writes at an offset, and flushing, with substitutes where a system lacks them."""

from __future__ import annotations

import os
from _thread import allocate_lock
from collections.abc import Callable
from contextlib import suppress

CLOEXEC: int = getattr(os, "O_CLOEXEC", getattr(os, "O_NOINHERIT", 0)) | getattr(os, "O_BINARY", 0)
"""Flags for `os.open`: child processes do not inherit the descriptor; on Windows no line ends are translated."""
NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)
DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)

OPENS_DIRECTORIES = os.scandir in os.supports_fd
"""True if `os.scandir` accepts an open directory, which makes `stat` calls for the directory's files faster."""

_ONE_POSITION = allocate_lock()


def seek_and_read(descriptor: int, size: int, offset: int) -> bytes:
    """Return at most `size` bytes from an offset, where the system has no `pread`; threads may share the descriptor."""
    with _ONE_POSITION:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, size)


# This is the function of `os` itself, if there is one: a wrapper function around every read would slow down lists.
pread: Callable[[int, int, int], bytes] = getattr(os, "pread", seek_and_read)


def pwrite(descriptor: int, content: bytes, offset: int) -> int:
    """Write bytes at an offset of an open file; return the number of bytes written."""
    if hasattr(os, "pwrite"):
        return os.pwrite(descriptor, content, offset)
    with _ONE_POSITION:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.write(descriptor, content)


def flush(descriptor: int) -> None:
    """Flush written bytes to the disk, so that a power cut does not lose them.

    On macOS `fsync` would leave the bytes in the drive's cache, so `F_FULLFSYNC` is used.
    """
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined, unused-ignore]
        return
    os.fsync(descriptor)


def take_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file; return False at once if another process holds the lock.

    Closing the descriptor releases the lock. On a disk that does not support locks, True is returned, so that changes
    are possible without a lock. With `shared`, several processes can hold the lock, but not while one holds it without
    `shared`. Windows has no such locks: there `shared` only checks that no other process has locked the file, and the
    lock is released at once.
    """
    try:
        import fcntl
    except ImportError:
        return _take_windows_lock(descriptor, shared=shared)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _take_windows_lock(descriptor: int, *, shared: bool) -> bool:
    import msvcrt

    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        if shared:
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    except OSError:
        return False
    return True
