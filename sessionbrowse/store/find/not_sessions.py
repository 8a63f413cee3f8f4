"""Files and folders in session directories that are no sessions, or were found before by another mount."""

from __future__ import annotations

import os
from typing import TypeAlias

from sessionbrowse.store.find.slow_disks import read_many

# atomic writes event logs and tool output to files and folders with these names, which are no sessions.
NO_SESSION_FOLDERS = frozenset(
    {"subagent-artifacts", "tool-results"}
    # Programs for synchronising keep old versions and unfinished files in these folders.
    | {".stversions", ".stfolder", ".sync", ".dropbox.cache", ".tmp.drivedownload", ".tmp.driveupload", "@eaDir"}
)
NO_SESSION_FILES = frozenset({"run-history.jsonl"})

Version: TypeAlias = tuple[int, int, int, int]
"""Inode, size in bytes, and the times of the last change of a file's content and attributes in ns."""
_APPLE_DOUBLE = b"\x00\x05\x16\x07"


def is_known_version(status: os.stat_result, versions: set[Version]) -> bool:
    """Return True if this version of a file was found before, by another mount, and remember it.

    No program can set the time of the last change of a file's attributes, so only one file has equal times and inode.
    """
    version = status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    is_known = version in versions
    versions.add(version)
    return is_known


def is_apple_double(path: str) -> bool:
    """Return True if a file has only the attributes of another file, which macOS keeps on disks without attributes."""
    return (read_many([path])[path] or b"").startswith(_APPLE_DOUBLE)
