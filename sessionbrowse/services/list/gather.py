"""The pipeline that collects sessions, shared by the command line, the browser, searches and the index command.

Its steps:

1. `roots.scan_passes` finds the session files below the searched directories, with their sizes and times.
2. Files that did not change since they were indexed are represented by their index rows.
3. New and changed files are read: into the index, or only into summaries if they have more than `MAX_UPDATE_BYTES`
   or there is no index.
4. `newest` or `select` filters and sorts.
5. `completed` links the chosen sessions with their parents, and reads what the index has only in part.

`scan` yields the sessions in batches while they are read, and `take_snapshot` keeps the index rows for a search.
`summary_cache` repeats steps 2 and 3 for the browser, which keeps its summaries. `SessionManager` only reads files as
in step 3, because it finds files by the rules of each program.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.errors import Unreadable
from sessionbrowse.model.listing.summary import Summary, first_message_of
from sessionbrowse.store.find.discover import FoundFile, Skipped, link_parents, newest_first, placed
from sessionbrowse.store.find.roots import Scope, places_of, scan_passes
from sessionbrowse.store.index.index import Index, Note, UpdateProgress, discard_index, open_index
from sessionbrowse.store.index.rows import FileRow, unread_bytes
from sessionbrowse.store.index.schema import IndexBusy, IndexUnavailable, is_damage, is_locked

MAX_UPDATE_BYTES = 64 * 1024 * 1024
"""Maximum number of bytes of changed files for which a list command updates the index; `update_index` has no limit."""

Summarise: TypeAlias = Callable[[FoundFile], Summary | None]
"""A function that reads a session file into its summary, or returns None to leave the file out of the list."""
Within: TypeAlias = Callable[[Iterable[str]], Container[str]]
"""A function that chooses from many working directories those whose sessions are listed."""


class Gathered(Struct):
    """The files and sessions that reading a scope has found so far, both by path.

    `unchanged` are the index rows of unchanged files. `left_out` are the files beyond the scope's limit of bytes to
    read (`most_unread`).
    """

    files: dict[str, FoundFile] = {}
    sessions: dict[str, Summary] = {}
    unchanged: dict[str, FileRow] = {}
    left_out: list[FoundFile] = []


class Listing(Struct, frozen=True, dict=True):
    """The sessions, files and index rows that were found in a scope (the searched directories and agents).

    `found` includes sessions of agents that the scope leaves out. If the user excludes sessions, it also includes
    hidden and archived ones, because forks of an excluded session are excluded too. `rows` are the index rows of the
    sessions whose files are unchanged. `is_whole` is False if the scope's limit of bytes to read left some files out.

    `found` and `unsorted` are in the order of the scan, in which they lie in memory: with 10,000 sessions, each pass in
    another order takes several times as long.
    """

    scope: Scope
    found: list[Summary]
    files: dict[str, FoundFile]
    rows: Mapping[str, FileRow] = {}
    index: Index | None = None
    is_whole: bool = True

    @cached_property
    def everyone(self) -> list[Summary]:
        """All sessions of `found`, newest files first."""
        return newest_first(self.found)

    @cached_property
    def sessions(self) -> list[Summary]:
        """The sessions to list (see `unsorted`), newest files first."""
        return newest_first(self.unsorted)

    @cached_property
    def unsorted(self) -> list[Summary]:
        """The sessions to list: those of the scope's agents, without sessions that the user excludes."""
        agents, shown = self.scope.agents, self.found
        if self.scope.excluded is not None:
            withheld = self.scope.excluded.withheld(shown, lambda: completed(self, self.everyone))
            shown = [session for session in shown if session.path not in withheld and self._is_in_scope(session)]
        return [session for session in shown if session.agent in agents] if agents else shown

    def _is_in_scope(self, session: Summary) -> bool:
        return (self.scope.hidden or not session.hidden) and (self.scope.archived or not session.archived)


@contextmanager
def open_listing(
    scope: Scope, directory: Path, *, skipped: Callable[[Skipped], None], note: Note, processes: bool = False
) -> Iterator[Listing]:
    """Gather the sessions in a scope (directories and agents). An index in `directory` is open during the `with` block.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    index = open_index(directory, note)
    with nullcontext() if index is None else closing(index):
        yield gather(scope, index, skipped=skipped, note=note, processes=processes)


def gather(
    scope: Scope,
    index: Index | None = None,
    *,
    skipped: Callable[[Skipped], None] = lambda _: None,
    note: Note = lambda _: None,
    processes: bool = False,
    summarise: Summarise | None = None,
) -> Listing:
    """Return every session in a scope (directories and agents), by steps 1 to 3 of this module's docstring.

    `note` is called with a sentence for the user if a damaged index is deleted, or if the scope limits the reading to
    some of the files. With `processes`, several processes read files; the caller must have no other threads.
    `summarise` replaces the function that reads a file.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    found = Gathered()
    # Forks of excluded sessions are hidden too, so the parents must be read even if they are archived or hidden.
    read = scope if scope.excluded is None else replace(scope, hidden=True, archived=True)
    try:
        reading = gather_into(found, read, index, skipped=skipped, note=note, processes=processes, summarise=summarise)
        for _ in reading:
            pass
    except sqlite3.DatabaseError as error:
        if index is None:
            raise
        if not is_locked(error):
            discard_index(index, error, note)
        return gather(scope, skipped=skipped, note=note, processes=processes, summarise=summarise)
    files, sessions = found.files, found.sessions
    if found.left_out:
        read_count = f"{len(files) - len(found.left_out):,} of {len(files):,}"
        note(f"Only the newest {read_count} sessions were read, because the others are not in an index yet.")
    return Listing(scope, list(sessions.values()), files, found.unchanged, index, is_whole=not found.left_out)


def gather_into(
    gathered: Gathered,
    scope: Scope,
    index: Index | None = None,
    *,
    skipped: Callable[[Skipped], None] = lambda _: None,
    note: Note = lambda _: None,
    processes: bool = False,
    summarise: Summarise | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Summary | None]:
    """Add the files and sessions of a scope (directories and agents) to `gathered`.

    Each summary is yielded as soon as it has been read from a file, and None for a file that is no session.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
        sqlite3.DatabaseError: the index is damaged, or locked by another program.
    """
    rows, room = _rows_by_path(index), scope.most_unread
    files, sessions = gathered.files, gathered.sessions
    for places, found in scan_passes(scope, sessions.values, cancelled=cancelled, skipped=skipped):
        # Files are compared with their index rows in the order of the scan: the rows were loaded in this order, and
        # reading memory in sequence is faster. The changed files are sorted afterwards.
        changed = newest_first(_take_unchanged(rows, found, gathered, scope))
        files.update({file.path: file for file in found})
        gone = _gone(rows, files, [place.root for place in places])
        if index is not None and (changed or gone) and _unread(rows, changed) <= MAX_UPDATE_BYTES:
            try:
                index.update(changed, gone=gone)
            except IndexBusy:
                # Another process is indexing the same files; files that it has not indexed yet are read below.
                pass
            except IndexUnavailable as error:
                note(error.sentence)
            rows = _rows_by_path(index)
            changed = newest_first(_take_unchanged(rows, found, gathered, scope))
        if room is not None:
            changed, late = _split_at(changed, room)
            room -= sum([file.size for file in changed])
            gathered.left_out += late
        for summary in _read(changed, summarise, processes):
            if cancelled():
                return
            if summary is not None and (scope.hidden or not summary.hidden):
                sessions[summary.path] = summary
                yield summary
            else:
                yield None


def gather_summaries(
    scope: Scope, *, skipped: Callable[[Skipped], None] = lambda _: None, processes: bool = False
) -> list[Summary]:
    """Read every session in a scope (directories and agents); return the summaries, linked with their parents."""
    listing = gather(scope, skipped=skipped, processes=processes)
    return completed(listing, listing.sessions)


def update_index(
    scope: Scope,
    index: Index,
    *,
    tools: bool | None = None,
    processes: bool = False,
    skipped: Callable[[Skipped], None] = lambda _: None,
    progress: Callable[[UpdateProgress], None] = lambda _: None,
) -> None:
    """Read each new and changed file of a scope (directories and agents) into the index; remove deleted files from it.

    An index with too much outdated data is rebuilt. `tools` adds the text of tool calls and results to the index.

    Raises:
        IndexBusy: another process is writing the index.
        IndexUnavailable: the index cannot be written.
        sqlite3.Error: the index cannot be read.
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    if index.needs_rebuild():
        index.empty()
    files: dict[str, FoundFile] = {}
    rows: dict[str, FileRow] = {}

    def visible() -> list[Summary]:
        return [row.summary for path, row in rows.items() if path in files and (scope.hidden or not row.summary.hidden)]

    for places, found in scan_passes(scope, visible, skipped=skipped):
        found = newest_first(found)
        files.update({file.path: file for file in found})
        rows = _rows_by_path(index)
        index.update(
            found,
            tools=tools,
            may_fork=processes,
            gone=_gone(rows, files, [place.root for place in places]),
            progress=progress,
        )
        rows = _rows_by_path(index)


def filtered(sessions: Iterable[Summary], *, within: Within | None = None, named: bool = False) -> list[Summary]:
    """Return the sessions for whose directory `within` returns True; if `named` is True, only sessions with a name."""
    among = list(sessions)
    there = within({session.cwd for session in among}) if within is not None else None
    return [
        session
        for session in among
        if (there is None or session.cwd in there) and (not named or (session.name or "").strip())
    ]


def newest(
    sessions: Iterable[Summary], *, within: Within | None = None, named: bool = False, limit: int | None = None
) -> list[Summary]:
    """Return at most `limit` of the given sessions, most recently changed first.

    `within` selects sessions by working directory; `named` selects sessions that have a name.
    """
    wanted = filtered(sessions, within=within, named=named)
    wanted.sort(key=lambda session: (session.modified or 0, session.mtime_ns, session.path), reverse=True)
    return wanted[:limit]


def select(
    summaries: Iterable[Summary],
    *,
    within: Within | None = None,
    named: bool = False,
    sort: str = "newest",
    limit: int | None = None,
) -> list[Summary]:
    """Return at most `limit` of the given summaries, sorted by `sort`.

    `within` selects sessions by working directory; `named` selects sessions that have a name.
    """
    from sessionbrowse.model.listing.picker import ordered

    chosen = newest(summaries, within=within, named=named)
    return ordered(chosen, sort)[:limit]


def completed(listing: Listing, chosen: Sequence[Summary], *, whole: bool = False) -> list[Summary]:
    """Return the chosen sessions, linked with their parent sessions.

    The index stores only the beginning of a long first message; with `whole`, the session file is read for the rest.
    """
    found = {session.path: session for session in chosen}
    for path, summary in found.items() if whole else ():
        row = listing.rows.get(path)
        if row is not None and row.first_at is not None:
            found[path] = _with_whole_first_message(summary, *row.first_at)
    if any(summary.parent_session and summary.parent_path is None for summary in chosen):
        linked = link_parents(found.values(), listing.everyone)
        found.update({summary.path: summary for summary in linked})
    if any(summary.id is None and summary.problem for summary in chosen):
        # `explained` is imported here because it only concerns files without a header, which hardly any list contains.
        from sessionbrowse.services.list.stray_lines import explained

        return explained(list(found.values()), listing.scope.around)
    return list(found.values())


def _with_whole_first_message(summary: Summary, offset: int, size: int) -> Summary:
    from sessionbrowse.store.read.content import read_at

    try:
        line = read_at(summary.path, offset, size)
    except Unreadable:
        # The file was just deleted, so the session is listed with the shortened message from the index.
        return replace(summary, first_message_cut=True)
    text, was_cut = first_message_of(line)
    return replace(summary, first_message=text or summary.first_message, first_message_cut=was_cut)


def _rows_by_path(index: Index | None) -> dict[str, FileRow]:
    return {row.path: row for row in index.rows()} if index is not None else {}


def _take_unchanged(
    rows: dict[str, FileRow],
    files: Iterable[FoundFile],
    gathered: Gathered,
    scope: Scope,
) -> list[FoundFile]:
    """Add the sessions and rows of unchanged files to `gathered`; return the other files."""
    changed: list[FoundFile] = []
    sessions, unchanged = gathered.sessions, gathered.unchanged
    for file in files:
        path = file.path
        row = rows.get(path)
        if row is None or not row.is_current(file):
            changed.append(file)
        elif scope.hidden or not (file.hidden or row.summary.hidden):
            sessions[path] = placed(row.summary, file) if file.is_out_of_place else row.summary
            unchanged[path] = row
    return changed


def _split_at(files: list[FoundFile], most: int) -> tuple[list[FoundFile], list[FoundFile]]:
    """Split files into the first ones, which have at most `most` bytes in total, and the rest."""
    total = 0
    for number, file in enumerate(files):
        total += file.size
        if total > most:
            return files[:number], files[number:]
    return files, []


def _unread(rows: dict[str, FileRow], changed: Iterable[FoundFile]) -> int:
    return sum([unread_bytes(rows.get(file.path), file) for file in changed])


def _gone(rows: dict[str, FileRow], files: dict[str, FoundFile], roots: Sequence[str]) -> list[FileRow]:
    """Return the index rows of deleted files that were in one of the directories `roots`.

    Missing files elsewhere are left out, because their disk may only be unmounted.
    """
    missing = [path for path in rows if path not in files] if roots else []
    prefixes = tuple([root.rstrip("/") + "/" for root in roots])
    return [rows[path] for path in missing if path.startswith(prefixes) and not os.path.lexists(path)]


def _read(
    files: list[FoundFile], summarise: Summarise | None = None, processes: bool = False
) -> Iterator[Summary | None]:
    if not files:
        return iter(())
    # The modules that read sessions are imported only if needed, because most lists find all files unchanged.
    from sessionbrowse.store.read.summarise import summaries_of
    from sessionbrowse.store.read.worker_processes import one_worker, workers_for

    return summaries_of(files, summarise, workers_for=workers_for if processes else one_worker)


# ---- batches while sessions are read -----------------------------------------------------------------------

BATCH_SECONDS = 0.05


class Batch(Struct, frozen=True):
    """Some summaries of sessions, the number of files read so far, and the total number of files.

    A summary replaces an earlier summary with the same path.
    """

    summaries: list[Summary]
    done: int
    total: int


def scan(
    scope: Scope,
    *,
    cancelled: Callable[[], bool] = lambda: False,
    skipped: Callable[[Skipped], None] = lambda _: None,
    summarise: Summarise | None = None,
) -> Iterator[Batch]:
    """Yield the summaries of all sessions in batches, newest files first.

    The last batch repeats forks whose parent session was read after them, now with the parent's path.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    gathered = Gathered()
    files = gathered.files
    pending: list[Summary] = []
    done = 0
    # A batch is yielded at `deadline`. It starts at 0, so the first session is a batch by itself and is shown at once.
    deadline = 0.0
    for summary in gather_into(gathered, scope, cancelled=cancelled, skipped=skipped, summarise=summarise):
        done += 1
        if summary is not None:
            pending.append(summary)
        if pending and time.monotonic() >= deadline:
            yield Batch(pending, done, len(files))
            pending = []
            deadline = time.monotonic() + BATCH_SECONDS
    if cancelled():
        return
    if pending or not done:
        yield Batch(pending, done, len(files))
    linked = link_parents(gathered.sessions.values())
    if linked:
        yield Batch(linked, done, len(files))


# ---- the sessions that a search covers ---------------------------------------------------------------------


class Snapshot(Struct, frozen=True):
    """The sessions of a scope (directories and agents) at one moment, with their index rows by path.

    Files without a row are searched line by line. `generation` is the index's rebuild counter at that moment; the rows
    are outdated once the counter has changed.
    """

    summaries: Sequence[Summary]
    rows: Mapping[str, FileRow] = {}
    generation: int = 0


def take_snapshot(
    scope: Scope,
    index: Index | None,
    *,
    skipped: Callable[[Skipped], None] = lambda _: None,
    note: Note = lambda _: None,
) -> Snapshot:
    """Return a snapshot of the sessions of a scope (directories and agents) for a search.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    try:
        # The index's rebuild counter is read before the rows, so that a rebuild by another process is noticed.
        generation = index.generation if index is not None else 0
    except sqlite3.DatabaseError as error:
        if index is not None and is_damage(error):
            discard_index(index, error, note)
        return take_snapshot(scope, None, skipped=skipped)
    listing = gather(scope, index, skipped=skipped, note=note)
    return Snapshot(listing.unsorted, listing.rows, generation)


def indexed_snapshot(scope: Scope, index: Index) -> Snapshot:
    """Return the sessions in the index that belong to a scope (directories and agents); empty if the index is damaged.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    roots = tuple([place.root.rstrip("/") + "/" for place in places_of(scope)])
    try:
        generation = index.generation
        rows = {row.path: row for row in index.rows() if row.path.startswith(roots)}
    except sqlite3.Error:
        # The next call of `gather` finds the damage too, and reports it to the user.
        return Snapshot([])
    found = [row.summary for row in rows.values() if scope.hidden or not row.summary.hidden]
    return Snapshot(Listing(scope, found, {}, rows, index).unsorted, rows, generation)
