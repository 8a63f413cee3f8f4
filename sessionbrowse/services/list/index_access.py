"""Opening the index for a command: without one, and with one that cannot be used, everything works too."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sessionbrowse.store.index.index import Index, open_index
from sessionbrowse.store.index.schema import IndexBusy, IndexUnavailable, locked, remove_files

MAX_UPDATE_BYTES = 64 * 1024 * 1024
"""A list waits for the index no longer than it takes to read so much; `index` reads the rest."""

Note = Callable[[str], None]


def open_if_there(directory: Path, note: Note) -> Index | None:
    """Open the index of a cache directory; None if there is none, or none that can be used, which `note` is told."""
    return _open(directory, note, create=False)


def open_or_create(directory: Path, note: Note) -> Index | None:
    """Open the index of a cache directory, made if there is none; None if there can be none, which `note` is told."""
    return _open(directory, note, create=True)


def throw_away(index: Index, error: Exception, note: Note) -> None:
    """Delete an index that turned out to be damaged; the next `index` makes it anew."""
    note(f"The index {index.directory} is damaged ({error}); it is deleted, and made again by sessionbrowse index.")
    with suppress(IndexUnavailable, OSError), locked(index.directory):
        remove_files(index.directory)


def _open(directory: Path, note: Note, *, create: bool) -> Index | None:
    try:
        return open_index(directory, create=create, report=note)
    except IndexBusy:
        return None
    except IndexUnavailable as error:
        note(error.sentence)
        return None
