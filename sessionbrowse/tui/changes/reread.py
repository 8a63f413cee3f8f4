"""Read the files of changed sessions again, by the paths that the lists have for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import PurePath

from msgspec.structs import replace

from sessionbrowse.agents.base import own_folder
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.archive import Archived
from sessionbrowse.services.change.delete import Deleted
from sessionbrowse.services.change.relocate import Relocated
from sessionbrowse.services.change.restore import Restored
from sessionbrowse.services.transaction.change import ChangeResult
from sessionbrowse.store.find.discover import agent_of_path, sessions_below
from sessionbrowse.store.read.archive import is_archived
from sessionbrowse.store.read.summarise import summaries_of, summarise_path
from sessionbrowse.tui.data.source import SessionUpdates
from sessionbrowse.tui.shell.browser import Browser

Known = Callable[[str], Summary | None]
"""A function that returns the browser's summary of the session at a path; None if the browser does not list it."""


def touched(changed: ChangeResult) -> set[str]:
    """Return the paths of all sessions that a change created, moved, changed or removed."""
    match changed:
        case Deleted() | Restored():
            return set(changed.paths)
        case Archived():
            return {changed.path, changed.was}
        case Relocated():
            moved = {path for one in changed.sessions for path in (one.source, one.target)}
            return moved | set(changed.mended)
    return {changed.path}


def below(paths: Iterable[str], others: Iterable[str]) -> set[str]:
    """Return those of the sessions `others` that are in the folders of the sessions `paths`, with which they moved."""
    folders = {own_folder(path) for path in paths} - {None}
    return {other for other in others if not folders.isdisjoint(map(str, PurePath(other).parents))}


def read_again(paths: Iterable[str], known: Known, *, subagents: bool = False) -> SessionUpdates:
    """Read the session files at these paths; `known` gives a listed session's agent and the parent session's path.

    `subagents` adds the sessions in the folders of sessions that were not listed, such as those of a restored session.
    """
    summaries: list[Summary] = []
    gone: set[str] = set()
    for path in paths:
        if not path.endswith((".jsonl", ".ndjson", ".gz")):
            continue
        before = known(path)
        summary = _read(path, before)
        if summary is not None and is_archived(path):
            summary = replace(summary, archived=True)  # Lists hide archived sessions by default.
        if summary is None:
            gone.add(path)
        else:
            summaries.append(summary)
            if subagents and before is None:
                children = sessions_below(path, summary.agent, archived=summary.archived)
                summaries += filter(None, summaries_of(list(children)))
    return SessionUpdates(summaries=tuple(summaries), gone=frozenset(gone))


def _read(path: str, before: Summary | None) -> Summary | None:
    if before is not None:
        agent = before.agent
        summary = summarise_path(path, lambda _: agent)
        if summary is None:
            return None
        hidden = summary.hidden or before.hidden
        return replace(summary, parent_path=before.parent_path, hidden=hidden, archived=before.archived)
    summary = summarise_path(path, lambda marks: agent_of_path(path, marks))
    if summary is None or summary.parent_session is None or not os.path.isfile(summary.parent_session):
        return summary
    return replace(summary, parent_path=summary.parent_session)


class Listed:
    """Maps real paths of session files to the paths that the browser lists. Reads the disk: for background threads."""

    def __init__(self, known: Known, paths: Callable[[], Iterable[str]], roots: Sequence[str]) -> None:
        self._known = known
        self._paths = paths
        self._roots = [root.rstrip(os.sep) for root in roots]

    def at(self, path: str) -> str | None:
        """Return the path under which the browser would list a file; None for a file outside browsed directories."""
        if not self._roots or self._known(path) is not None or any(_is_below(path, root) for root in self._roots):
            return path
        for real, root in self._real_roots.items():
            if _is_below(path, real):
                return root + path[len(real) :]
        folder, name = os.path.split(path)
        listed = self._real_folders.get(folder)
        return os.path.join(listed, name) if listed is not None else None

    @cached_property
    def _real_roots(self) -> dict[str, str]:
        return {os.path.realpath(root): root for root in self._roots}

    @cached_property
    def _real_folders(self) -> dict[str, str]:
        return {os.path.realpath(folder): folder for folder in {os.path.dirname(path) for path in self._paths()}}


def listed_in(browser: Browser) -> Listed:
    """Return the map from real paths to listed paths, for the sessions that a browser lists."""
    library = browser.library
    roots = [place.root for place in browser.source.places]
    return Listed(library.get, lambda: [summary.path for summary in library.all()], roots)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder + os.sep)
