"""Find sessions to clean up (empty, duplicate, old and so on, but not in use), and move such a session to the trash."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache

import msgspec

from sessionbrowse.agents import AGENTS, Place, Surroundings
from sessionbrowse.agents.base import stem_of
from sessionbrowse.errors import ChangedMeanwhile, SameFile, SessionBrowseError
from sessionbrowse.model.clean.cleanup import (
    NOTHING_OWN,
    CleanupRow,
    ContentReader,
    SessionContent,
    Standing,
    cleanup_rows,
    considered,
    contents_needed,
)
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.delete import Deleted, Into, delete, files_in, is_lock
from sessionbrowse.services.change.restore import restore
from sessionbrowse.services.transaction.change_context import Cancelled, ChangeContext, Progress
from sessionbrowse.store.find.discover import ARCHIVE_FOLDER
from sessionbrowse.store.find.roots import own_places
from sessionbrowse.store.own.pins import Pins
from sessionbrowse.store.read.content import closing, feed_lines, open_content
from sessionbrowse.store.write.copies import files_below
from sessionbrowse.store.write.in_use import sessions_in_use
from sessionbrowse.store.write.write_checks import Target, shown_name
from sessionbrowse.text import clean, plural


def find_cleanup(
    summaries: Sequence[Summary],
    context: ChangeContext,
    pins: Pins,
    places: Sequence[Place] = (),
    *,
    across_roots: bool = False,
    progress: Progress = lambda done, total, path: None,
    cancelled: Cancelled = lambda: False,
) -> list[CleanupRow]:
    """Return this machine's sessions to clean up, by kind, largest first, except pinned sessions and those in use.

    Only files that may be copies of another session, or are large enough to contain large images, are read. `places`
    are the searched directories. Sessions of different roots are compared only with `across_roots`.
    """
    summaries = [one for one in summaries if one.machine is None]
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
    standing = standings(rated, places, context.around)
    rows = cleanup_rows(rated, contents, context.now_ms(), standing, across_roots=across_roots)
    rows = [row for row in rows if row.summary.path not in used and not pins.holds(row.summary)]
    return [row for row in map(_with_companions, rows) if row is not None]


def _with_companions(row: CleanupRow) -> CleanupRow | None:
    """Add the number of files that belong to the session to the row's reason; return None if the session must stay.

    An empty session or a duplicate must stay if a file belongs to it of which the session to keep has no copy.
    """
    one = row.summary
    own = [path for path in AGENTS[one.agent].companions(one.path) if not is_lock(path)]
    if not own:
        return row
    if row.kind in NOTHING_OWN and not _has_all(row.kept, one.path, own):
        return None
    return msgspec.structs.replace(row, reason=f"{row.reason}; {plural(files_in(own), 'file')} kept beside it")


def _has_all(kept: str | None, path: str, companions: Sequence[str]) -> bool:
    """Return True if all files in `companions` also exist, with the same names and sizes, beside the session `kept`."""
    for companion in companions:
        for file in files_below(companion, links=True) if os.path.isdir(companion) else (companion,):
            twin = f"{stem_of(kept)}{file.removeprefix(stem_of(path))}" if kept is not None else None
            try:
                if twin is None or os.lstat(twin).st_size != os.lstat(file).st_size:
                    return False
            except OSError:
                return False
    return True


def standings(summaries: Iterable[Summary], places: Sequence[Place], around: Surroundings) -> dict[str, Standing]:
    """Return the position of each session file: its root, and how near it is to the file that its agent would open."""
    real = cache(os.path.realpath)
    own = tuple(os.path.join(real(place.root), "") for place in own_places(around, AGENTS))
    folder_of = cache(lambda agent, cwd: AGENTS[agent].folder_of(cwd, around) if cwd else None)

    def standing(one: Summary) -> Standing:
        folder, name = os.path.split(one.path)
        is_own = os.path.join(real(folder), "").startswith(own)
        roots = [place.root for place in places if one.path.startswith(os.path.join(place.root, ""))]
        root = "" if is_own else max(roots, key=len, default="")
        project = os.path.dirname(folder) if os.path.basename(folder) == ARCHIVE_FOLDER else folder
        in_own_folder = os.path.basename(project) == folder_of(one.agent, one.cwd)
        has_own_name = bool(one.id) and stem_of(name).endswith(one.id or "")
        of_file = (not in_own_folder, not has_own_name, one.problem is not None)
        return Standing(root, (not is_own, one.archived), of_file)

    return {one.path: standing(one) for one in summaries}


def content_of(path: str) -> SessionContent | None:
    """Read a whole session file and return its content for the cleanup rules; None if it cannot be read."""
    reader = ContentReader()
    try:
        with closing(open_content(path).descriptor) as descriptor:
            feed_lines(descriptor, reader)
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
        SameFile: both are one file, which was put back.
        InUse, NoTrash, RefusedWrite, WriteFailed: as for a deletion.
    """
    one = row.summary
    if _version(one.path)[1:] != (one.bytes, one.mtime_ns):
        raise ChangedMeanwhile(f"{shown_name(one.path)} changed since it was listed, so it was not removed.")
    if row.kept is None:
        return delete(target, into=into, context=context, group=group)
    file, size, _ = _version(row.kept)
    # A kept session whose file only grew still contains the content of the session to remove.
    if file != row.kept_file or size < row.kept_bytes:
        kept = shown_name(row.kept)
        raise ChangedMeanwhile(f"{shown_name(one.path)} was not removed: its copy {kept} changed or is gone.")
    deleted = delete(target, into=into, context=context, group=group)
    if not _can_be_read(row.kept, row.kept_bytes):
        # Both paths lead to the same file, because its directory is mounted twice.
        restore(deleted.undo_id, context=context)
        raise SameFile(
            f"{shown_name(one.path)} is the same file as {clean(row.kept)}, seen by another mount. It was put back, "
            "and nothing more was moved."
        )
    return deleted


def _can_be_read(path: str, size: int) -> bool:
    """Return True if a file can be opened and read; its status alone may come from the cache of a network mount."""
    try:
        with closing(open_content(path).descriptor) as descriptor:
            return os.fstat(descriptor).st_size >= size and len(os.read(descriptor, 1)) == min(size, 1)
    except (SessionBrowseError, OSError):
        return False


def _version(path: str) -> tuple[tuple[int, int] | None, int, int]:
    """Return a file's device and inode (None if it is gone), its size in bytes, and its modification time in ns."""
    try:
        status = os.stat(path)
    except OSError:
        return None, 0, 0
    return (status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns
