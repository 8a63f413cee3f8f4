"""The files of a mirror: session files from another machine, written in whole lines, with their original times.

Only this module writes files of a mirror. No agent has them open, and their changes need no undo. They are read-only,
so that an agent that somebody starts on such a copy by hand does not write into it.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import IO

import msgspec
from msgspec import Struct

from sessionbrowse.services.machines.rows import RemoteRow, posix_sum
from sessionbrowse.services.machines.script import HEAD
from sessionbrowse.store.own.mirrors import FILES, mirror_dir
from sessionbrowse.store.own.state_directory import write_own_file
from sessionbrowse.store.system.files import CLOEXEC, NOFOLLOW, pwrite

ROWS_FILE = "rows.json"
PART_FILE = ".part"
"""Temporary name of a file that replaces another one in the mirror; no list reads it."""
KINDS = ("t", "h", "w")
"""The letters for the part of a remote file that is sent: its tail, its head and tail, or the whole file."""
# On Windows a read-only file could neither be replaced nor removed.
_MODE = 0o600 if sys.platform == "win32" else 0o400
_BLOCK = 1024 * 1024
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
_HEAD_FOR_DIRECTORY = 256 * 1024
_DIRECTORY = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')


class Noted(Struct):
    """The rows of the files that are complete here; `seen` is that machine's time at the last complete look."""

    rows: dict[str, RemoteRow] = {}
    seen: int = 0


class MirrorFiles:
    """The files of one machine's mirror; arguments named `path` are paths on that machine."""

    def __init__(self, name: str, top: str | None) -> None:
        self.directory = mirror_dir(name, top)
        self._here = os.path.join(self.directory, FILES)
        self.part = os.path.join(self.directory, PART_FILE)
        os.makedirs(self._here, mode=0o700, exist_ok=True)
        os.chmod(self.directory, 0o700)
        with suppress(OSError):
            os.unlink(self.part)

    @property
    def tells_case(self) -> bool:
        """True if this disk distinguishes names that differ only by case."""
        return not os.path.exists(os.path.join(self.directory, FILES.upper()))

    def path(self, path: str) -> str:
        """Return the path in the mirror of a file on the other machine."""
        return self._here + path

    def size(self, path: str) -> int | None:
        """Return the size of a file in the mirror; None if the mirror lacks it."""
        try:
            return os.lstat(self.path(path)).st_size
        except OSError:
            return None

    def sums(self, path: str, size: int) -> tuple[str, str]:
        """Return the checksums of a file's first `HEAD` bytes, and of the rest up to `size`."""
        with open(self.path(path), "rb") as file:
            return posix_sum(_blocks(file, min(HEAD, size))), posix_sum(_blocks(file, size - HEAD))

    def all(self) -> Iterator[str]:
        """Yield the paths on the other machine of all files in the mirror."""
        for folder, _, names in os.walk(self._here):
            yield from (os.path.join(folder, name)[len(self._here) :].replace(os.sep, "/") for name in names)

    def remove(self, path: str) -> None:
        """Remove a file from the mirror, and the folders that become empty."""
        here = self.path(path)
        os.unlink(here)
        with suppress(OSError):
            while len(here := os.path.dirname(here)) > len(self._here):
                os.rmdir(here)

    def read_noted(self) -> Noted:
        """Read the saved rows; if they are missing or damaged, return none, so that all files are compared."""
        try:
            with open(os.path.join(self.directory, ROWS_FILE), "rb") as file:
                return msgspec.json.decode(file.read(), type=Noted)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return Noted()

    def note(self, noted: Noted) -> None:
        """Save the rows of the files."""
        write_own_file(os.path.join(self.directory, ROWS_FILE), msgspec.json.encode(noted))

    def directory_of(self, path: str) -> str:
        """Return the first working directory in a session file; "" if it has none."""
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError), open(self.path(path), "rb") as file:
            found = _DIRECTORY.search(file.read(_HEAD_FOR_DIRECTORY))
            return msgspec.json.decode(found[1], type=str) if found is not None else ""
        return ""


class Incoming:
    """A file being received. Only whole lines are written; an unfinished last line is written at the end.

    A new or grown file is written in place. If a file was replaced there, its new version is written under a temporary
    name, then renamed over the old one. `kind` is one of `KINDS`, or `-` for a file that is gone.
    """

    def __init__(self, files: MirrorFiles, path: str, row: RemoteRow, size: int | None) -> None:
        self.kind = ""
        self.is_refused = False
        self.written = 0
        self._files, self._path, self._row, self._size = files, path, row, size
        self._descriptor: int | None = None
        self._has_head = False
        self._head = b""
        self._rest: list[bytes] = []

    def take(self, chunk: bytes) -> None:
        """Write the next bytes of the other machine's answer to the mirrored file.

        The first line of the answer says how much of the file is sent (see `KINDS`).

        Raises:
            OSError: the disk is full or read-only. If only this file cannot be written, it is left out (`is_refused`).
        """
        if not self._has_head:
            self._head += chunk
            self.kind = self._head[:1].decode("ascii", "replace")
            end = 2 + (HEAD if self.kind == "h" else 0)
            if len(self._head) < end:
                return
            self._has_head = True
            self._head, chunk = self._head[2:end], self._head[end:]
        line_end = chunk.rfind(b"\n") + 1
        if line_end:
            self._write(chunk[:line_end])
        if line_end < len(chunk) and not self.is_refused:
            self._rest.append(chunk[line_end:])

    def finish(self, status: str) -> bool:
        """Complete the file and return True; if it could not be read there or written here, return False."""
        is_whole = self._has_head and self.kind in KINDS and status == "0"
        if is_whole:
            self._write(b"", is_last=True)
        return is_whole and not self.is_refused

    def abandon(self) -> None:
        """Stop receiving: keep whole lines written in place, but remove an incomplete new version."""
        self._close()
        if self._is_beside:
            with suppress(OSError):
                os.unlink(self._files.part)

    @property
    def _is_beside(self) -> bool:
        return self.kind == "w" and self._size is not None

    def _write(self, lines: bytes, *, is_last: bool = False) -> None:
        if self.is_refused or self.kind not in KINDS:
            return
        try:
            descriptor = self._opened()
            if self.kind == "h" and not self.written:
                # The head is written only together with a whole line, because the old last line may be unfinished and
                # have grown.
                pwrite(descriptor, self._head, 0)
            content = b"".join((*self._rest, lines))
            self._rest = []
            self.written += len(content)
            while content:
                content = content[os.write(descriptor, content) :]
            if is_last:
                self._close()
                if self._is_beside:
                    os.replace(self._files.part, self._files.path(self._path))
        except OSError as error:
            self.abandon()
            self.is_refused = True
            if error.errno in _NO_ROOM:
                raise

    def _opened(self) -> int:
        if self._descriptor is None:
            path = self._files.part if self._is_beside else self._files.path(self._path)
            flags = os.O_WRONLY | os.O_CREAT | CLOEXEC | NOFOLLOW
            if self._is_beside or self._size is None:
                flags |= os.O_EXCL
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            else:
                os.chmod(path, 0o600)
            self._descriptor = os.open(path, flags, _MODE)
            os.lseek(self._descriptor, 0, os.SEEK_END)
        return self._descriptor

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
            path = self._files.part if self._is_beside else self._files.path(self._path)
            with suppress(OSError):
                os.chmod(path, _MODE)
            with suppress(OSError, OverflowError):
                os.utime(path, ns=(self._row.mtime_ns, self._row.mtime_ns))


def _blocks(file: IO[bytes], size: int) -> Iterator[bytes]:
    while size > 0 and (block := file.read(min(_BLOCK, size))):
        yield block
        size -= len(block)
