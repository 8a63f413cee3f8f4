"""The identity of one version of a file, and names in session directories that belong to no session."""

from __future__ import annotations

import os
from typing import TypeAlias

from msgspec import Struct

# atomic writes event logs and tool output to files and folders with these names, which are no sessions.
NO_SESSION_FOLDERS = frozenset(
    {"subagent-artifacts", "tool-results"}
    # Programs for synchronising keep old versions and unfinished files in these folders.
    | {".stversions", ".stfolder", ".sync", ".dropbox.cache", ".tmp.drivedownload", ".tmp.driveupload", "@eaDir"}
)
# Claude Code keeps the journal of a workflow among the sessions of its subagents.
NO_SESSION_FILES = frozenset({"run-history.jsonl", "journal.jsonl"})

Version: TypeAlias = tuple[int, int, int, int]
"""Inode, size in bytes, and the times of the last change of a file's content and attributes in ns."""


def is_known_version(status: os.stat_result, versions: set[Version]) -> bool:
    """Return True if this version of a file was found before, by another mount, and remember it.

    No program can set the time of the last change of a file's attributes, so only one file has equal times and inode.
    """
    version = status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    is_known = version in versions
    versions.add(version)
    return is_known


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
        """Return True if both stamps (sizes, times and so on) belong to the same version of the same file."""
        return (
            self.size == other.size
            and self.mtime_ns == other.mtime_ns
            and self.ctime_ns == other.ctime_ns
            and self.inode == other.inode
            and self.device == other.device
            and self.path == other.path
        )


def stamp_of(path: str, status: os.stat_result) -> FileStamp:
    """Return the stamp (the version's identity) of the file at `path` from its `os.stat` result."""
    return FileStamp(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
