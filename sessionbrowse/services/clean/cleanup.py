"""Find sessions to clean up (empty, duplicate, old and so on, but not in use), and move such a session to the trash."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from sessionbrowse.errors import ChangedMeanwhile, SessionBrowseError
from sessionbrowse.format.lines import MAX_LINE_BYTES
from sessionbrowse.model.clean.cleanup import CleanupRow, cleanup_rows, considered, contents_needed
from sessionbrowse.model.clean.session_content import ContentReader, SessionContent
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.delete import Deleted, Into, delete
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.own.pins import Pins
from sessionbrowse.store.read.content import closing, open_content
from sessionbrowse.store.read.line_feeder import feed_lines
from sessionbrowse.store.write.admission import Target, shown_name
from sessionbrowse.store.write.sessions_in_use import sessions_in_use

Progress = Callable[[int, int, str], object]
"""Callback with the number of files read, the number of files to read, and the path of the next file."""


def find_cleanup(
    summaries: Sequence[Summary],
    context: ChangeContext,
    pins: Pins,
    *,
    progress: Progress = lambda done, total, path: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[CleanupRow]:
    """Return the sessions to clean up, by kind, largest first, without pinned sessions and sessions in use.

    Only files that may be copies of another session, or are large enough to contain large images, are read.
    """
    rated = considered(summaries)
    needed = contents_needed(rated)
    contents: dict[str, SessionContent] = {}
    for number, one in enumerate(needed):
        if cancelled():
            return []
        progress(number, len(needed), one.path)
        content = content_of(one.path)
        if content is not None:
            contents[one.path] = content
    used = sessions_in_use(summaries, context.around, context.proc)
    rows = cleanup_rows(rated, contents, context.now_ms())
    return [row for row in rows if row.summary.path not in used and not pins.holds(row.summary)]


def content_of(path: str) -> SessionContent | None:
    """Read a whole session file and return its content for the cleanup rules; None if it cannot be read."""
    reader = ContentReader()
    try:
        with closing(open_content(path)) as descriptor:
            feed_lines(descriptor, reader, max_line=MAX_LINE_BYTES)
            status = os.stat(path)
    except (SessionBrowseError, OSError):
        return None
    return reader.content((status.st_dev, status.st_ino))


def clean_up(
    row: CleanupRow,
    target: Target,
    *,
    into: Into = "trash",
    context: ChangeContext | None = None,
    group: str | None = None,
) -> Deleted:
    """Move a session that `find_cleanup` returned to the trash, unless the reason to remove it may no longer hold.

    Raises:
        ChangedMeanwhile: the session changed after `find_cleanup`, or the session that is kept instead of it
            is gone or rewritten.
        InUse, NoTrash, RefusedWrite, WriteFailed: as for a deletion.
    """
    one = row.summary
    if _version(one.path)[1:] != (one.bytes, one.mtime_ns):
        raise ChangedMeanwhile(f"{shown_name(one.path)} changed since it was listed, so it was not removed.")
    if row.kept is not None:
        file, size, _ = _version(row.kept)
        # A kept session whose file only grew still contains the content of the session to remove.
        if file != row.kept_file or size < row.kept_bytes:
            kept = shown_name(row.kept)
            raise ChangedMeanwhile(f"{shown_name(one.path)} was not removed: its copy {kept} changed or is gone.")
    return delete(target, into=into, context=context, group=group)


def _version(path: str) -> tuple[tuple[int, int] | None, int, int]:
    """Return a file's device and inode (None if it is gone), its size in bytes, and its modification time in ns."""
    try:
        status = os.stat(path)
    except OSError:
        return None, 0, 0
    return (status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns
