"""A cache of parsed session files, shared by the preview, the tree and the search results."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sessionbrowse.model.session.session import Session

KEPT_SESSIONS = 6


class SessionCache:
    """A thread-safe cache of the sessions opened last; a cached session is used only while its file is unchanged."""

    def __init__(self, open_session: Callable[[str, str | None], Session]) -> None:
        self._open = open_session
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, str | None], tuple[tuple[int, int], Session]] = OrderedDict()

    def open(self, path: str, agent: str | None) -> Session:
        """Return the session at `path`; read the file only if the session is not cached or the file has changed."""
        version = _version(path)
        with self._lock:
            known = self._kept.get((path, agent))
        if known is not None and known[0] == version:
            return known[1]
        session = self._open(path, agent)
        if version is not None:
            with self._lock:
                self._kept[path, agent] = (version, session)
                while len(self._kept) > KEPT_SESSIONS:
                    self._kept.popitem(last=False)
        return session

    def forget(self) -> None:
        """Remove all sessions from the cache; used when an agent may have changed session files."""
        with self._lock:
            self._kept.clear()


def _version(path: str) -> tuple[int, int] | None:
    """Return a file's modification time in ns and size in bytes, to detect changes; None if the file is unreachable."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
