"""A look ahead at the usual stores: another process asks about every file while this one still imports what it needs.

Only the command line may use it, before a thread exists. What comes back is a folder's listing as `discover` makes it,
for folders in which only session files and folders lie; all others are listed by who needs them. Any listing is used
once: a second look is a look at the disk.
"""

from __future__ import annotations

import gc
import marshal
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import NoReturn, TypeAlias

STORES = (".pi/agent/sessions", ".omp/agent/sessions", ".atomic/agent/sessions", ".indusagi/agent/sessions")
"""Below the home directory: where sessions lie unless somebody says otherwise."""
SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz")
"""Names of files that may be sessions end so."""
STALLED_S = 1.0
"""So long from its start the other process is waited for: it may hang at its disk."""

File: TypeAlias = tuple[str, int, int, int, int, int]
"""Name, size, `mtime_ns`, `ctime_ns`, inode, device."""
Listing: TypeAlias = tuple[list[File], list[str]]
"""The files that may be sessions, and the folders, both sorted by name."""

_SIZE = 8
_PART = 1 << 20
_WITHOUT_REFERENCES = 2
"""The version of marshal's format in which equal values are equal bytes, whatever else refers to them."""


def file_of(name: str, status: os.stat_result) -> File:
    """Return what a listing says about a file."""
    return name, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev


class Ahead:
    """The listings that another process makes; they are fetched when the first one is asked for.

    `roots` are the stores it was told to list, `is_all` whether it had listed every directory that was asked for;
    `left` are those that nobody asked for.
    """

    def __init__(self) -> None:
        self.process = -1
        self.roots: frozenset[str] = frozenset()
        self.is_all = True
        self._answer = -1
        self._until = 0.0
        self._content = b""
        self.left: dict[str, Listing | None] = {}

    def start(self, roots: Sequence[str]) -> None:
        """Let another process list these stores and the folders in them."""
        if not hasattr(os, "fork") or sys.platform == "darwin":
            return
        with suppress(OSError):
            answer, answering = os.pipe()
            process = os.fork()
            if not process:
                _work(roots, answering)
            os.close(answering)
            self.process, self._answer, self.roots = process, answer, frozenset(roots)
            self._until = monotonic() + STALLED_S

    def content(self) -> bytes:
        """Return all listings as bytes, which are the same as long as the listings are; none if there are none now."""
        if self._answer >= 0:
            self._content = self._fetched()
        return self._content

    def take(self, directory: str) -> Listing | None:
        """Return the listing of a directory, once; None if there is none."""
        if content := self.content():
            self._content, self.left = b"", marshal.loads(content)
        listing = self.left.pop(directory, None)
        self.is_all &= listing is not None
        return listing

    def forget(self) -> None:
        """Look at the disk itself from now on."""
        self._content, self.left = b"", {}

    def _fetched(self) -> bytes:
        from select import select

        content = b""
        with os.fdopen(self._answer, "rb", buffering=0) as pipe:
            self._answer = -1
            # The size first; all the rest then comes at one go.
            if (
                select([pipe], [], [], max(0.0, self._until - monotonic()))[0]
                and len(size := pipe.read(_SIZE)) == _SIZE
            ):
                content = b"".join(iter(lambda: pipe.read(_PART), b""))
                if len(content) != int.from_bytes(size, "little"):
                    content = b""
        if not content:
            with suppress(OSError):
                os.kill(self.process, signal.SIGKILL)
        with suppress(OSError):
            os.waitpid(self.process, os.WNOHANG)
        return content


AHEAD = Ahead()
"""The one of this process; nothing is known ahead unless the command line started it."""


def _work(roots: Sequence[str], answering: int) -> NoReturn:
    """List, answer, and end: this is the other process."""
    try:
        gc.disable()
        # Whoever reads what the command prints must not wait for this process too.
        for descriptor in {0, 1, 2} - {answering}:
            with suppress(OSError):
                os.close(descriptor)
        # None is said too: what is there but cannot be listed is something else than what is not there.
        listings: dict[str, Listing | None] = {}
        for root in filter(os.path.lexists, roots):
            listing = listings[root] = _listed(root)
            for name in listing[1] if listing is not None else ():
                path = f"{root}/{name}"
                listings[path] = _listed(path)
        content = marshal.dumps(listings, _WITHOUT_REFERENCES)
        _widen(answering)
        with os.fdopen(answering, "wb") as pipe:
            pipe.write(len(content).to_bytes(_SIZE, "little") + content)
    finally:
        os._exit(0)


def _widen(pipe: int) -> None:
    """Let a pipe hold so much that the process which reads need not wait for each of many small parts."""
    import fcntl

    # Linux only; the least privileged user may have this much.
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PART)


def _listed(directory: str) -> Listing | None:
    """Return the listing of a directory; None where there is anything that takes a closer look."""
    files: list[File] = []
    folders: list[str] = []
    try:
        # From here each file is one name away: asking by whole paths takes a quarter longer.
        os.chdir(directory)
        with os.scandir(".") as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif not entry.is_file(follow_symlinks=False):
                    return None
                elif entry.name.endswith(SUFFIXES):
                    files.append(file_of(entry.name, entry.stat(follow_symlinks=False)))
    except OSError:
        return None
    return sorted(files), sorted(folders)
