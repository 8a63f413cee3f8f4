"""Cache summaries of session files in memory: load them from the index, and read changed files again."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.find.discover import FileStamp, FoundFile, placed
from sessionbrowse.store.index.index import Index, Note, discard_index, open_index
from sessionbrowse.store.index.rows import FileRow, has_its_name, unread_bytes
from sessionbrowse.store.index.schema import IndexBusy, IndexUnavailable, is_locked
from sessionbrowse.store.read.summarise import summaries_of

AT_ONCE_FILES = 50
AT_ONCE_BYTES = 16 * 1024 * 1024
"""Maximum number of new bytes in changed files that are indexed before the browser shows the files.

With more new bytes, the files are shown first and indexed afterwards.
"""


class _Cached(Struct, frozen=True, gc=False):
    """A cached summary; `stamp` holds the size and time of the session file from which the summary was read.

    Until the file on disk has been checked, `stamp` is the file's row in the index (a `FileRow`).
    """

    stamp: FileStamp
    summary: Summary


class SummaryCache:
    """A cache of summaries by path, updated together with the index if there is an index."""

    def __init__(self, cache: Path, note: Note) -> None:
        self._note = note
        self._cached: dict[str, _Cached] = {}
        self._index: Index | None = open_index(cache, note, create=True)
        self.unindexed: list[FoundFile] = []
        """Files that were read for the browser, but have not been indexed yet."""

    @property
    def has_index(self) -> bool:
        """True if there is an index to update."""
        return self._index is not None

    def paths(self) -> list[str]:
        """Return the paths of all cached files."""
        return list(self._cached)

    def rows(self, is_listed: Callable[[str], bool]) -> list[FileRow]:
        """Return the index rows of the files whose path `is_listed` accepts."""
        if self._index is None:
            return []
        try:
            return [row for row in self._index.rows() if is_listed(row.path)]
        except sqlite3.DatabaseError as error:
            self._discard_index(error)
            return []

    def load(self, is_listed: Callable[[str], bool]) -> list[Summary]:
        """Load the summaries whose path `is_listed` accepts from the index; return all cached summaries.

        Whether the files changed is not checked.
        """
        self._cached.update({row.path: _Cached(row, row.summary) for row in self.rows(is_listed)})
        return [cached.summary for cached in self._cached.values()]

    def get(self, file: FoundFile) -> Summary | None:
        """Return the cached summary of a file; None if it is not cached or the file has changed."""
        cached = self._cached.get(file.path)
        if cached is None:
            return None
        if isinstance(cached.stamp, FileRow):
            if not cached.stamp.is_current(file):
                return None
            self._cached[file.path] = _Cached(file, cached.summary)
        elif not (cached.stamp.has_stamp_of(file) and has_its_name(cached.summary)):
            return None
        return placed(cached.summary, file)

    def read(self, files: Sequence[FoundFile]) -> Iterator[tuple[FoundFile, Summary | None]]:
        """Read files, and yield each with its summary (None if the file vanished), roughly in the given order."""
        left = list(files)
        if self._index is not None and left:
            if len(left) <= AT_ONCE_FILES and sum(self._unread_bytes(file) for file in left) <= AT_ONCE_BYTES:
                for file in self._through_index(left):
                    yield file, self.get(file)
                left = [file for file in left if self.get(file) is None]
            self.unindexed += left
        for file, summary in zip(left, summaries_of(left), strict=True):
            if summary is not None:
                self._cached[file.path] = _Cached(file, summary)
            yield file, summary

    def forget(self, paths: Iterable[str]) -> None:
        """Drop files from the cache, and from the index if they no longer exist."""
        gone: list[FileRow] = []
        for path in paths:
            self._cached.pop(path, None)
            if self._index is not None and not os.path.lexists(path):
                with suppress(sqlite3.Error):
                    row = self._index.row_of(path)
                    gone += [row] if row is not None else []
        if gone and self._index is not None:
            with suppress(IndexUnavailable):
                self._index.update([], gone=gone)

    def _unread_bytes(self, file: FoundFile) -> int:
        cached = self._cached.get(file.path)
        return unread_bytes(cached.stamp if cached is not None else None, file)

    def _through_index(self, files: Sequence[FoundFile]) -> list[FoundFile]:
        """Index the given files, cache their summaries, and return the files that the index then contains."""
        assert self._index is not None
        try:
            self._index.update(files)
            rows = [row for file in files if (row := self._index.row_of(file.path)) is not None]
        except IndexBusy:
            return []
        except IndexUnavailable as error:
            self._note(error.sentence)
            self._index = None
            return []
        except sqlite3.DatabaseError as error:
            self._discard_index(error)
            return []
        by_path = {file.path: file for file in files}
        current = [row for row in rows if row.is_current(by_path[row.path])]
        self._cached.update({row.path: _Cached(by_path[row.path], row.summary) for row in current})
        return [by_path[row.path] for row in current]

    def _discard_index(self, error: Exception) -> None:
        if self._index is not None and not (isinstance(error, sqlite3.Error) and is_locked(error)):
            discard_index(self._index, error, self._note)
        self._index = None
