"""Open a session from the data in the index, which is faster than reading a large session file."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sessionbrowse.config import INDEX_FILE
from sessionbrowse.model.session.session import Session
from sessionbrowse.store.index.index import Index, open_index
from sessionbrowse.store.index.indexed_session import session_from_index
from sessionbrowse.store.read.session_file import open_session

WORTH_BYTES = 1024 * 1024
"""Minimum size in bytes of a file that is opened from the index; for smaller files the index is not faster."""


class Opener:
    """Opens sessions from the index or from their files; may be used by any thread, and keeps the index open."""

    def __init__(
        self,
        directory: Path,
        read: Callable[[str, str | None], Session] = open_session,
        worth_bytes: int = WORTH_BYTES,
    ) -> None:
        self._directory = directory
        self._read = read
        self._worth_bytes = worth_bytes
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._inode = 0

    def open(self, path: str, agent: str | None) -> Session:
        """Return the session at a path: from the index if the file is unchanged since indexing, else from the file.

        Raises:
            NotASession: the file cannot be read.
        """
        session = self._from_index(path, agent) if _size(path) >= self._worth_bytes else None
        return session if session is not None else self._read(path, agent)

    def close(self) -> None:
        """Close the index if it is open."""
        with self._lock:
            if self._index is not None:
                self._index.close()
                self._index = None

    def _from_index(self, path: str, agent: str | None) -> Session | None:
        with self._lock:
            inode = _inode(self._directory / INDEX_FILE)
            if self._index is not None and inode != self._inode:
                # Another process has replaced the index file by a new one, so it must be opened again.
                self._index.close()
                self._index = None
            if self._index is None and inode:
                self._index, self._inode = open_index(self._directory), inode
            return session_from_index(self._index, path, agent) if self._index is not None else None


def _size(path: str) -> int:
    with suppress(OSError):
        return os.stat(path).st_size
    return 0


def _inode(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_ino
    return 0
