"""What is known of every session file: remembered by the index, or read anew because the file is another now."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list.index_access import open_or_create, throw_away
from sessionbrowse.store.find.discover import FoundFile
from sessionbrowse.store.find.parent_links import placed
from sessionbrowse.store.index.file_row import Held
from sessionbrowse.store.index.index import Index
from sessionbrowse.store.index.overview import Brief
from sessionbrowse.store.index.schema import IndexBusy, IndexUnavailable
from sessionbrowse.store.read.summarise import summaries_of

AT_ONCE_FILES = 50
AT_ONCE_BYTES = 16 * 1024 * 1024
"""Files and bytes that are read into the index before they are handed over; more are handed over first."""


class _Known(Struct, frozen=True, gc=False):
    """A reading of a file; `held` is its row as long as nobody compared it with the file."""

    stamp: tuple[int, ...]
    summary: Summary
    held: Held | None = None


class Readings:
    """The summaries of files by path, kept current with the index where there can be one."""

    def __init__(self, cache: Path, override: str | None, note: Callable[[str], None]) -> None:
        self._override = override
        self._note = note
        self._known: dict[str, _Known] = {}
        self._index: Index | None = open_or_create(cache, note)
        self.unindexed: list[FoundFile] = []
        """Files that were handed over and are still to be read into the index."""

    @property
    def has_index(self) -> bool:
        """Whether there is an index to be kept current."""
        return self._index is not None

    def paths(self) -> list[str]:
        """Return the paths of all files that something is known of."""
        return list(self._known)

    def briefs(self, is_listed: Callable[[str], bool]) -> list[Brief]:
        """Return the little that the index can tell of all its files at once, by their paths."""
        if self._index is None:
            return []
        try:
            return [brief for brief in self._index.overview() or () if is_listed(brief.path)]
        except (sqlite3.DatabaseError, ValueError, IndexUnavailable):
            return []

    def recall(self, briefs: Sequence[Brief]) -> list[Summary]:
        """Return all that the index holds of some files."""
        if self._index is None:
            return []
        try:
            return [summary for summary, _ in self._index.summaries_of(briefs).values()]
        except (sqlite3.DatabaseError, ValueError):
            return []

    def remember(self, is_listed: Callable[[str], bool]) -> list[Summary]:
        """Take what the index holds of files, by their paths, and return it; nothing is compared with the files yet."""
        if self._index is None:
            return []
        try:
            wanted = [row for path, row in self._index.held().items() if is_listed(path)]
            for row, summary, _ in self._index.summaries(wanted):
                self._known[summary.path] = _Known((), summary, row)
        except (sqlite3.DatabaseError, ValueError) as error:
            self._damaged(error)
        return [known.summary for known in self._known.values()]

    def get(self, file: FoundFile) -> Summary | None:
        """Return what is known of a file as it is now, None if it must be read."""
        known = self._known.get(file.path)
        if known is None:
            return None
        stamp = _stamp(file)
        if known.held is not None:
            if not known.held.is_current(file, self._override):
                return None
            self._known[file.path] = _Known(stamp, known.summary)
        elif known.stamp != stamp:
            return None
        return placed(known.summary, file)

    def read(self, files: Sequence[FoundFile]) -> Iterator[tuple[FoundFile, Summary | None]]:
        """Yield the files with what is read of them anew, roughly in their order; None for one that vanished."""
        left = list(files)
        if self._index is not None and left:
            if len(left) <= AT_ONCE_FILES and sum(self._unread(file) for file in left) <= AT_ONCE_BYTES:
                for file in self._through_index(left):
                    yield file, self.get(file)
                left = [file for file in left if self.get(file) is None]
            self.unindexed += left
        vanished = {file.path: file for file in left}
        for summary in summaries_of(left, self._override):
            if summary is not None:
                file = vanished.pop(summary.path)
                self._known[file.path] = _Known(_stamp(file), summary)
                yield file, summary
        for file in vanished.values():
            yield file, None

    def forget(self, paths: Iterable[str]) -> None:
        """Forget files, and have the index forget those that are gone."""
        rows: list[Held] = []
        for path in paths:
            self._known.pop(path, None)
            if self._index is not None and not os.path.lexists(path):
                with suppress(sqlite3.Error):
                    row = self._index.row_of(path)
                    rows += [row] if row is not None else []
        if rows and self._index is not None:
            with suppress(IndexUnavailable):
                self._index.update([], gone=rows)

    def _unread(self, file: FoundFile) -> int:
        known = self._known.get(file.path)
        before = known.summary.bytes if known is not None else 0
        return file.size - before if 0 < before < file.size else file.size

    def _through_index(self, files: Sequence[FoundFile]) -> list[FoundFile]:
        """Read files into the index and return those that it holds now."""
        assert self._index is not None
        try:
            self._index.update(files, self._override)
            rows = [row for file in files if (row := self._index.row_of(file.path)) is not None]
            by_path = {file.path: file for file in files}
            taken: list[FoundFile] = []
            for row, summary, _ in self._index.summaries(rows):
                file = by_path[summary.path]
                if row.is_current(file, self._override):
                    self._known[summary.path] = _Known(_stamp(file), summary)
                    taken.append(file)
            return taken
        except IndexBusy:
            pass
        except IndexUnavailable as error:
            self._note(error.sentence)
            self._index = None
        except (sqlite3.DatabaseError, ValueError) as error:
            self._damaged(error)
        return []

    def _damaged(self, error: Exception) -> None:
        if self._index is not None:
            throw_away(self._index, error, self._note)
        self._index = None


def _stamp(file: FoundFile) -> tuple[int, ...]:
    return (file.size, file.mtime_ns, file.ctime_ns, file.inode, file.device)
