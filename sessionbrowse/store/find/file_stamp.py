"""The stamp by which one version of a file is compared with another."""

from __future__ import annotations

import os

from msgspec import Struct


class FileStamp(Struct, frozen=True, gc=False):
    """The identity of one version of a file: a file with an equal stamp has the same content.

    Times are nanoseconds since 1970, `size` is bytes.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int

    def has_stamp_of(self, other: FileStamp) -> bool:
        """Tell whether both stamps are of the same version of the same file."""
        return (
            self.size == other.size
            and self.mtime_ns == other.mtime_ns
            and self.ctime_ns == other.ctime_ns
            and self.inode == other.inode
            and self.device == other.device
            and self.path == other.path
        )


def stamp_of(path: str, status: os.stat_result) -> FileStamp:
    """Return the stamp of the file at `path` whose `os.stat` result is given."""
    return FileStamp(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
