"""All sessions of a scope by way of the index: files that did not change are not opened, and the index is kept current.

The answer is that of `catalog.all_summaries`, which needs no index; without one, that is what is asked.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list.catalog import all_summaries
from sessionbrowse.services.list.index_access import MAX_UPDATE_BYTES, Note, open_if_there, throw_away
from sessionbrowse.services.list.scope import Scope, scan_of
from sessionbrowse.services.list.snapshot import Gathered
from sessionbrowse.store.find.discover import FoundFile, Skipped, newest_first
from sessionbrowse.store.find.parent_links import link_parents, placed
from sessionbrowse.store.find.scan_passes import turns
from sessionbrowse.store.index.file_row import Held, unread_bytes
from sessionbrowse.store.index.index import Index, Progress
from sessionbrowse.store.index.schema import IndexBusy, IndexUnavailable, is_locked


def all_sessions(
    scope: Scope,
    directory: Path,
    *,
    skipped: Callable[[Skipped], None] = lambda _: None,
    note: Note = lambda _: None,
    may_fork: bool = False,
) -> Gathered:
    """Return every session of the scope: by the index where there is one, and in any case."""
    index = open_if_there(directory, note)
    try:
        return gathered_by(scope, index, skipped=skipped, note=note, may_fork=may_fork)
    finally:
        if index is not None:
            index.close()


def gathered_by(
    scope: Scope,
    index: Index | None,
    *,
    skipped: Callable[[Skipped], None] = lambda _: None,
    note: Note = lambda _: None,
    may_fork: bool = False,
) -> Gathered:
    """Return every session of the scope by an open index; without one, or if it is damaged, from the files."""
    if index is not None:
        try:
            return gather(scope, index, skipped=skipped, note=note)
        except sqlite3.DatabaseError as error:
            if not is_locked(error):
                throw_away(index, error, note)
    return Gathered(all_summaries(scope, skipped=skipped, parallel=may_fork), {}, {}, {})


def gather(
    scope: Scope,
    index: Index,
    *,
    skipped: Callable[[Skipped], None] = lambda _: None,
    note: Note = lambda _: None,
    tools: bool | None = None,
    everything: bool = False,
    may_fork: bool = False,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
    busy: Callable[[IndexBusy], None] = lambda _: None,
) -> Gathered:
    """Return every session of the scope, reading what changed into the index.

    `everything` reads whatever it takes, and with `tools` what tools were asked and answered too; else a list does
    not wait for more than some megabytes, and reads the summaries of such files only. `busy` is called where another
    process is writing the index: it is read as it stands.
    """
    what = scan_of(scope)
    by_path: dict[str, Summary] = {}
    if everything and index.is_worn():
        try:
            index.empty()
        except IndexBusy as error:
            busy(error)
        except IndexUnavailable as error:
            note(error.sentence)
    held = index.held()
    found = Gathered([], {}, {}, {}, index.generation)
    for places, files in turns(what, by_path.values, cancelled=cancelled, skipped=skipped):
        files = newest_first(files)
        found.files.update({file.path: file for file in files})
        gone = _gone(held, found.files, [place.root for place in places])
        changed = [file for file in files if _is_changed(held.get(file.path), file, what.override, tools)]
        unread = sum(unread_bytes(held.get(file.path), file) for file in changed)
        if (changed or gone) and (everything or unread <= MAX_UPDATE_BYTES):
            try:
                index.update(
                    changed,
                    what.override,
                    tools=tools,
                    may_fork=may_fork,
                    gone=gone,
                    progress=progress,
                    cancelled=cancelled,
                )
            except IndexBusy as error:
                busy(error)
            except IndexUnavailable as error:
                note(error.sentence)
            held = index.held()
        _take(found, by_path, index, files, held, what.override, scope.hidden)
    by_path.update({summary.path: summary for summary in link_parents(by_path.values())})
    found.summaries.extend(
        [summary for summary in by_path.values() if not scope.agents or summary.agent in scope.agents]
    )
    return found


def as_known(scope: Scope, index: Index) -> Gathered:
    """Return the sessions of the scope as the index knows them, without a look at the disk."""
    roots = tuple([place.root.rstrip("/") + "/" for place in scan_of(scope).places])
    try:
        found = Gathered([], {}, {}, {}, index.generation)
        held = {path: row for path, row in index.held().items() if path.startswith(roots)}
        for row, summary, _ in index.summaries(held.values()):
            if (scope.hidden or not summary.hidden) and (not scope.agents or summary.agent in scope.agents):
                found.summaries.append(summary)
                found.rows[summary.path] = row
    except (sqlite3.Error, ValueError):
        # Damaged: whoever gathers next finds out and says so.
        return Gathered([], {}, {}, {})
    return found


def _take(
    found: Gathered,
    by_path: dict[str, Summary],
    index: Index,
    files: Iterable[FoundFile],
    held: dict[str, Held],
    override: str | None,
    hidden: bool,
) -> None:
    rows = [(held.get(file.path), file) for file in files]
    current = [row for row, file in rows if row is not None and row.is_current(file, override)]
    known: dict[str, Summary] = {}
    # Damaged: what cannot be read comes from the files, as does what another process has dropped meanwhile.
    with suppress(sqlite3.Error, ValueError):
        for row, summary, first_at in index.summaries(current):
            known[summary.path] = summary
            found.rows[summary.path] = row
            if first_at is not None:
                found.cut[summary.path] = first_at
    fresh = _read([file for file in files if file.path not in known], override)
    for file in files:
        known_summary = known.get(file.path)
        here = placed(known_summary, file) if known_summary is not None else fresh.get(file.path)
        if here is not None and (hidden or not here.hidden):
            by_path[file.path] = here


def _read(files: Sequence[FoundFile], override: str | None) -> dict[str, Summary]:
    if not files:
        return {}
    from sessionbrowse.store.read.summarise import summaries_of

    return {summary.path: summary for summary in summaries_of(list(files), override) if summary is not None}


def _is_changed(held: Held | None, file: FoundFile, override: str | None, tools: bool | None) -> bool:
    return held is None or not held.is_current(file, override) or (tools is True and not held.has_tools)


def _gone(held: dict[str, Held], files: dict[str, FoundFile], roots: Sequence[str]) -> list[Held]:
    """Return the rows of files that are no longer below the roots. Others may be on a disk that does not answer."""
    missing = [path for path in held if path not in files]
    prefixes = tuple(root.rstrip("/") + "/" for root in roots)
    return [held[path] for path in missing if path.startswith(prefixes) and not os.path.lexists(path)]
