"""Where the browser's data comes from: scanning, opening, resuming, as plain functions of one value.

The screens know only this value, so tests and the demo can put other sessions in its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from sessionbrowse.agents import Place
from sessionbrowse.config import cache_dir, state_dir
from sessionbrowse.model.session import Session
from sessionbrowse.model.session_facts import Summary
from sessionbrowse.services import resume
from sessionbrowse.services.opening import Opener
from sessionbrowse.services.repositories import moved, repositories_of
from sessionbrowse.services.resume import ResumeCommand
from sessionbrowse.services.scope import Scope, scan_of
from sessionbrowse.services.search_link import Receive, SearchLink, SearchProcess
from sessionbrowse.services.search_messages import Start
from sessionbrowse.store import projects
from sessionbrowse.store.directories import exists_many
from sessionbrowse.store.discover import Skipped
from sessionbrowse.store.pins import Pins, read_pins, set_pin
from sessionbrowse.store.roots import real_surroundings
from sessionbrowse.store.scan import Batch, scan
from sessionbrowse.tui.jobs import Lane

Cancelled = Callable[[], bool]
Exists = Callable[[Iterable[str]], dict[str, bool | None]]


class Source(Struct, frozen=True, kw_only=True):
    """The functions that reach the disk. All but `places` are called from background threads only."""

    scan: Callable[[Cancelled, bool], Iterator[Batch]]
    """Reads all sessions, newest first; told whether to stop, and whether to read hidden and archived ones too."""
    open_session: Callable[[str, str | None], Session]
    """Reads one session, by path and agent."""
    exists_many: Exists
    """Tells which directories exist; None where the disk did not answer in time."""
    repositories: Callable[[Iterable[str]], dict[str, str]] = lambda _: {}
    """Tells the repository of directories, for those that lie in one."""
    moved: Callable[[Iterable[str], Sequence[str]], dict[str, str]] = lambda _, __: {}
    """Tells to where directories that are gone were moved, knowing others."""
    pins: Callable[[], Pins] = Pins
    """Reads what is pinned."""
    set_pin: Callable[[Summary, bool], None] = lambda _, __: None
    """Pins a session, or no longer."""
    plan_resume: Callable[[Summary, str | None], ResumeCommand]
    """Returns the command that resumes a session, in another directory than its own if one is given; or raises with
    the sentence why there is none."""
    places: tuple[Place, ...] = ()
    """Where is looked."""
    skipped: Callable[[], Sequence[Skipped]] = tuple
    """Returns what the last scan could not look at, and why."""
    open_search: Callable[[Receive], SearchLink] | None = None
    """Starts somebody who searches all sessions and hands the answers to the receiver, from another thread."""


def disk_source(
    roots: Sequence[str],
    agents: Sequence[str],
    *,
    extra_roots: Sequence[str] = (),
    commands: Mapping[str, Sequence[str]] | None = None,
    home: str | None = None,
    environ: Mapping[str, str] | None = None,
    cache: Path | None = None,
) -> Source:
    """Return the source of the sessions on this machine, or below the given roots; `cache` holds another index.

    Raises:
        NotFound: a root is no directory, or an agent none of the four.
    """
    around = real_surroundings()
    if home is not None or environ is not None:
        around = msgspec.structs.replace(around, home=home or around.home, environ=environ or around.environ)
    what = scan_of(Scope(around=around, roots=tuple(roots), extra_roots=tuple(extra_roots), agents=tuple(agents)))

    cache = cache or cache_dir(around.environ, Path(around.home))
    state = str(state_dir(around.environ, Path(around.home)))
    skipped: list[Skipped] = []

    def scan_all(cancelled: Cancelled, include_hidden: bool) -> Iterator[Batch]:
        skipped.clear()
        wanted_scan = msgspec.structs.replace(what, include_hidden=include_hidden, include_archived=include_hidden)
        for batch in scan(wanted_scan, cancelled=cancelled, skipped=skipped.append):
            wanted = [summary for summary in batch.summaries if not agents or summary.agent in agents]
            yield Batch(wanted, batch.done, batch.total)

    def plan_resume(summary: Summary, directory: str | None = None) -> ResumeCommand:
        return resume.plan(
            summary.path,
            summary.agent,
            around,
            place=place_of(summary, what.places),
            settings_command=(commands or {}).get(summary.agent),
            directory=directory,
        )

    def open_search(receive: Receive) -> SearchLink:
        start = Start(
            index_directory=str(cache),
            home=around.home,
            environ=dict(around.environ),
            roots=tuple(roots),
            extra_roots=tuple(extra_roots),
            agents=tuple(agents),
        )
        return SearchProcess(start, receive)

    def set_pin_of(summary: Summary, pinned: bool) -> None:
        if summary.id is not None:
            set_pin(state, summary.agent, summary.id, pinned)

    return Source(
        open_search=open_search,
        scan=scan_all,
        open_session=Opener(cache).open,
        exists_many=exists_many if roots else noting_projects(exists_many, state),
        repositories=repositories_of,
        moved=lambda missing, known: moved(missing, known, state),
        pins=lambda: read_pins(state, what.places),
        set_pin=set_pin_of,
        plan_resume=plan_resume,
        places=what.places,
        skipped=lambda: tuple(skipped),
    )


def noting_projects(exists_many: Exists, state: str) -> Exists:
    """Note also, aside, what tells the repositories that exist, for the day when one of them is moved."""
    lane = Lane("noting", lambda outcome: None)

    def exists(paths: Iterable[str]) -> dict[str, bool | None]:
        answer = exists_many(paths)
        there = [path for path, is_there in answer.items() if is_there]
        lane.ask(lambda job: projects.note(there, state, job.cancelled))
        return answer

    return exists


def place_of(summary: Summary, places: Iterable[Place]) -> Place | None:
    """Return the place a session was found through: the innermost of its agent's that holds the file."""
    holding = [
        place
        for place in places
        if place.agent == summary.agent and summary.path.startswith(place.root.rstrip(os.sep) + os.sep)
    ]
    return max(holding, key=lambda place: len(place.root), default=None)
