"""Open files: flags, reads at an offset, and waiting for the disk, on each system by the nearest that it has."""

from __future__ import annotations

import os
from _thread import allocate_lock
from collections.abc import Callable, Sequence
from contextlib import suppress

CLOEXEC: int = getattr(os, "O_CLOEXEC", getattr(os, "O_NOINHERIT", 0)) | getattr(os, "O_BINARY", 0)
"""A descriptor that programs started later do not get; on Windows also one whose bytes are not translated."""
NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)
DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)

OPENS_DIRECTORIES = os.scandir in os.supports_fd
"""True if a directory can be opened; its files are then found faster by their names in it than by their paths."""

_ONE_POSITION = allocate_lock()


def seek_and_read(descriptor: int, size: int, offset: int) -> bytes:
    """Return at most `size` bytes from an offset, where the system has no `pread`; threads may share the descriptor."""
    with _ONE_POSITION:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, size)


def seek_and_fill(descriptor: int, buffers: Sequence[bytearray | memoryview], offset: int) -> int:
    """Fill the only buffer with the bytes from an offset, where the system has no `preadv`; return their number."""
    (buffer,) = buffers
    got = seek_and_read(descriptor, len(buffer), offset)
    buffer[: len(got)] = got
    return len(got)


# Names and no functions: every read of a list would pay for the call.
pread: Callable[[int, int, int], bytes] = getattr(os, "pread", seek_and_read)
preadv: Callable[[int, Sequence[bytearray | memoryview], int], int] = getattr(os, "preadv", seek_and_fill)


def pwrite(descriptor: int, content: bytes, offset: int) -> int:
    """Write bytes at an offset; return the number written."""
    if hasattr(os, "pwrite"):
        return os.pwrite(descriptor, content, offset)
    with _ONE_POSITION:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.write(descriptor, content)


def flush(descriptor: int) -> None:
    """Wait until a power cut would not lose the bytes written; macOS's `fsync` leaves them in the drive's cache."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined, unused-ignore]
        return
    os.fsync(descriptor)
