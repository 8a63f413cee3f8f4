"""Flags for opening files, reads and writes at an offset, and flushing, with substitutes where a system lacks them."""

from __future__ import annotations

import errno
import os
from _thread import allocate_lock
from collections.abc import Callable, Sequence
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


def seek_and_fill(descriptor: int, buffers: Sequence[bytearray | memoryview], offset: int) -> int:
    """Read bytes from an offset into the one buffer in `buffers`, if the system lacks `preadv`; return their number."""
    (buffer,) = buffers
    got = seek_and_read(descriptor, len(buffer), offset)
    buffer[: len(got)] = got
    return len(got)


# These are the functions of `os` itself, if it has them: a wrapper function around every read would slow down lists.
pread: Callable[[int, int, int], bytes] = getattr(os, "pread", seek_and_read)
preadv: Callable[[int, Sequence[bytearray | memoryview], int], int] = getattr(os, "preadv", seek_and_fill)


def pwrite(descriptor: int, content: bytes, offset: int) -> int:
    """Write bytes at an offset of an open file; return the number of bytes written."""
    if hasattr(os, "pwrite"):
        return os.pwrite(descriptor, content, offset)
    with _ONE_POSITION:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.write(descriptor, content)


def end_of_hole(descriptor: int, offset: int) -> int:
    """Return the offset at which a hole of a sparse file ends; `offset` itself if no hole is there, or none is known.

    The position of the descriptor changes.
    """
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA)
    except (AttributeError, OSError) as error:
        # Some systems and disks do not know holes. ENXIO means that no data follows.
        is_last = isinstance(error, OSError) and error.errno == errno.ENXIO
        return max(offset, os.fstat(descriptor).st_size) if is_last else offset


def flush(descriptor: int) -> None:
    """Flush written bytes to the disk, so that a power cut does not lose them.

    On macOS `fsync` would leave the bytes in the drive's cache, so `F_FULLFSYNC` is used.
    """
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined, unused-ignore]
        return
    os.fsync(descriptor)
