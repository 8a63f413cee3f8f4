"""The list of sessions by the index's overview: every file is asked, but only the sessions that are shown are unpacked.

The answer is that of `indexed.gather`, which is asked where this one cannot tell.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list.first_messages import CutMessages
from sessionbrowse.services.list.index_access import MAX_UPDATE_BYTES, Note, open_if_there
from sessionbrowse.services.list.scope import Scope, scan_of
from sessionbrowse.store.find.discover import TRANSCRIPT_SUFFIX, FoundFile, Skipped
from sessionbrowse.store.find.parent_links import link_parents, placed
from sessionbrowse.store.find.scan_passes import turns
from sessionbrowse.store.index.file_row import TRANSCRIPT, found_marks, unread_bytes
from sessionbrowse.store.index.index import Index
from sessionbrowse.store.index.overview import Brief
from sessionbrowse.store.index.schema import IndexUnavailable

Answer = TypeVar("Answer")


class Overview(Struct, frozen=True):
    """The sessions of a scope in brief, in no order; those of other agents too, turn by turn; and their files.

    Files whose place says nothing about their sessions may be missing.
    """

    briefs: list[Brief]
    everyone: list[list[Brief]]
    files: dict[str, FoundFile]

    def newest_first(self) -> list[Brief]:
        """Return everyone in the order of a scan: turn by turn, the newest files first."""
        newest = attrgetter("mtime_ns", "path")
        return [brief for turn in self.everyone for brief in sorted(turn, key=newest, reverse=True)]


def newest_sessions(
    scope: Scope,
    directory: Path,
    choose: Callable[[Overview], Sequence[Brief]],
    *,
    skipped: Callable[[Skipped], None] = lambda _: None,
    note: Note = lambda _: None,
) -> tuple[list[Summary], CutMessages] | None:
    """Return the summaries of the sessions that `choose` picks, parents linked, and which first messages are cut.

    None if the index cannot tell: all sessions have to be gathered.
    """
    return _asked(
        scope, directory, lambda index, found: _unpacked(index, found, choose(found)), skipped=skipped, note=note
    )


def sessions_in_brief(
    scope: Scope,
    directory: Path,
    *,
    skipped: Callable[[Skipped], None] = lambda _: None,
    note: Note = lambda _: None,
) -> list[Brief] | None:
    """Return every session of the scope in brief, newest file first; None if the index cannot tell."""
    briefs = _asked(scope, directory, lambda _, found: found.newest_first(), skipped=skipped, note=note)
    return _of_agents(scope, briefs) if briefs is not None else None


def _asked(
    scope: Scope,
    directory: Path,
    answer: Callable[[Index, Overview], Answer],
    *,
    skipped: Callable[[Skipped], None],
    note: Note,
) -> Answer | None:
    index = open_if_there(directory, note)
    if index is None:
        return None
    told: list[Skipped] = []
    try:
        found = overview_of(scope, index, told.append)
        if found is None:
            return None
        answered = answer(index, found)
    except (sqlite3.Error, ValueError):
        # Damaged, or written by another process meanwhile: whoever gathers all finds out and says so.
        return None
    finally:
        index.close()
    for each in told:
        skipped(each)
    return answered


def overview_of(scope: Scope, index: Index, skipped: Callable[[Skipped], None]) -> Overview | None:
    """Return every session of the scope, what little changed read into the index; None if it cannot tell."""
    what = scan_of(scope)
    briefs = index.overview()
    everyone: list[list[Brief]] = []
    files_by_path: dict[str, FoundFile] = {}
    told: list[Skipped] = []
    for _, files in turns(what, lambda: chain(*everyone), skipped=told.append):
        if not files:
            continue
        known = _current(index, briefs, files, what.override)
        if known is None:
            return None
        current, briefs = known
        shown = []
        for file, brief in zip(files, current, strict=True):
            if scope.hidden or not (brief.hidden or file.hidden):
                shown.append(brief)
                files_by_path[brief.path] = file
        everyone.append(shown)
    for each in told:
        skipped(each)
    return Overview(_of_agents(scope, list(chain(*everyone))), everyone, files_by_path)


def _of_agents(scope: Scope, briefs: list[Brief]) -> list[Brief]:
    return [brief for brief in briefs if brief.agent in scope.agents] if scope.agents else briefs


def _current(
    index: Index, briefs: list[Brief] | None, files: list[FoundFile], override: str | None
) -> tuple[list[Brief], list[Brief]] | None:
    """Return the files in brief, as they are, and all that the index knows; None if that is too long to wait for."""
    for _ in range(2):
        if briefs is None:
            return None
        known = {brief.path: brief for brief in briefs}
        owners = _Owners(override)
        current: list[Brief] = []
        changed: list[FoundFile] = []
        for file in files:
            brief = known.get(file.path)
            if (
                brief is not None
                and brief.mtime_ns == file.mtime_ns
                and brief.size == file.size
                and brief.ctime_ns == file.ctime_ns
                and brief.inode == file.inode
                and brief.device == file.device
                and (
                    (id(file.places), file.folder, brief.marks, brief.agent) in owners.right or owners.fit(file, brief)
                )
            ):
                current.append(brief)
            else:
                changed.append(file)
        if not changed:
            return current, briefs
        if sum(unread_bytes(known.get(file.path), file) for file in changed) > MAX_UPDATE_BYTES:
            return None
        try:
            index.update(changed, override)
        except IndexUnavailable:
            return None
        briefs = index.overview()
    return None


class _Owners:
    """Whose files are, asked once for each folder and the marks found in its files."""

    def __init__(self, override: str | None) -> None:
        self._override = override
        # Places (by identity: all files of a folder have the same), folder, marks, and the agent that these make.
        self.right: set[tuple[int, str, str, str]] = set()

    def fit(self, file: FoundFile, brief: Brief) -> bool:
        """Tell whether the agent of a file is what it was."""
        if brief.kind == TRANSCRIPT:
            return True
        is_right = brief.agent == file.agent(found_marks(brief.marks), self._override)
        # A transcript's suffix counts too where there are no marks.
        if is_right and not file.path.endswith(TRANSCRIPT_SUFFIX):
            self.right.add((id(file.places), file.folder, brief.marks, brief.agent))
        return is_right


def _unpacked(index: Index, found: Overview, chosen: Sequence[Brief]) -> tuple[list[Summary], CutMessages]:
    held = index.summaries_of(chosen)
    cut = {path: at for path, (_, at) in held.items() if at is not None}
    shown: dict[str, Summary] = {}
    for brief in chosen:
        (summary, _), file = held[brief.path], found.files.get(brief.path)
        shown[brief.path] = placed(summary, file) if file is not None else summary
    if any(summary.parent_session and summary.parent_path is None for summary in shown.values()):
        everyone = [
            shown.get(brief.path) or Summary(agent=brief.agent, path=brief.path, id=brief.id)
            for brief in found.newest_first()
        ]
        shown.update({summary.path: summary for summary in link_parents(everyone)})
    return list(shown.values()), cut
