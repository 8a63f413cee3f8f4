"""Gather all sessions that a command looks at."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from sessionbrowse.agents import Place
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list.find import find_path, header_of
from sessionbrowse.services.list.scope import Scope, scan_of
from sessionbrowse.store.find.discover import FoundFile, Skipped, agent_of_path, discover
from sessionbrowse.store.find.roots import more_places
from sessionbrowse.store.read.scan import scan
from sessionbrowse.store.read.summarise import agent_of_file, summarise_file


def all_summaries(
    scope: Scope,
    *,
    summarise: Callable[[FoundFile, str | None], Summary | None] | None = None,
    skipped: Callable[[Skipped], None] = lambda _: None,
    parallel: bool = False,
) -> list[Summary]:
    """Return the summaries of every session in the scope, parents linked. `parallel` is for a process of one thread."""
    found: dict[str, Summary] = {}
    for batch in scan(scan_of(scope), skipped=skipped, summarise=summarise, parallel=parallel):
        for summary in batch.summaries:
            found[summary.path] = summary
    return [summary for summary in found.values() if _is_wanted(summary, scope.agents)]


def all_summaries_with_texts(
    scope: Scope, matches: Callable[[Summary, str], bool], skipped: Callable[[Skipped], None] = lambda _: None
) -> list[Summary]:
    """Return the summaries whose messages' text matches; one session's text is held at a time."""

    def summarise(file: FoundFile, override: str | None) -> Summary | None:
        texts: list[str] = []
        summary = summarise_file(file, override, texts=texts)
        return summary if summary is not None and matches(summary, " ".join(texts)) else None

    return all_summaries(scope, summarise=summarise, skipped=skipped)


def all_files(scope: Scope) -> Iterator[FoundFile]:
    """Yield every session file of the scope, nested and archived ones included.

    The directories in the headers found on the way may name further places in their settings.
    """
    what = scan_of(scope)
    directories: set[str] = set()
    for file in discover(what.places, include_nested=True, include_archived=True):
        yield file
        if what.follow_projects and not file.hidden:
            directories.add(header_of(file.path).cwd or "")
    if what.follow_projects:
        extra = more_places(what.around, sorted(directories - {""}), what.places, what.agents)
        yield from discover(extra, include_nested=True, include_archived=True)


class Located(Struct, frozen=True):
    """A session that a reference names: its file, whose it is (None: the file decides), the place it was found by."""

    path: str
    agent: str
    place: Place | None = None


def locate(reference: str, scope: Scope) -> Located:
    """Find the session that a path, an id or the beginning of an id names.

    A path need not lie where sessions lie; if it does, the place it was found through says what its agent needs.

    Raises:
        NoSuchSession: nothing fits.
        AmbiguousReference: several sessions fit.
        NotASession: the file cannot be read.
    """
    by_path: dict[str, FoundFile] = {}

    def remembered() -> Iterator[FoundFile]:
        for file in all_files(scope):
            by_path[file.path] = file
            yield file

    path = find_path(reference, remembered())
    override = scope.agents[0] if len(scope.agents) == 1 else None
    if not by_path:
        by_path = {file.path: file for file in _files_around(path, scope)}
    file = by_path.get(path) or by_path.get(os.path.realpath(path))
    if file is None:
        return Located(path, override or agent_of_file(path, lambda marks: agent_of_path(path, marks)))
    agent = agent_of_file(path, lambda marks: file.agent(marks if marks.agents else None, override))
    return Located(path, agent, file.place_of(agent))


def _files_around(path: str, scope: Scope) -> Iterator[FoundFile]:
    """Yield the files of the places that lead to a path the user typed."""
    here = os.path.realpath(path)
    for place in scan_of(scope).places:
        if here.startswith(os.path.realpath(place.root).rstrip("/") + "/"):
            yield from discover([place], include_nested=True, include_archived=True)


def _is_wanted(summary: Summary, agents: Sequence[str]) -> bool:
    return not agents or summary.agent in agents
