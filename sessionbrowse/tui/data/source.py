"""The functions through which the browser reads sessions: one value that tests and the demo replace."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from sessionbrowse.store.own.pins import Pins

if TYPE_CHECKING:
    from sessionbrowse.agents import Place
    from sessionbrowse.model.listing.summary import Summary
    from sessionbrowse.model.session.session import Session
    from sessionbrowse.services.background.channel import Channel
    from sessionbrowse.services.background.search_messages import SearchAnswer
    from sessionbrowse.services.clean.secret_detector import SecretDetector
    from sessionbrowse.services.list.scan import Batch
    from sessionbrowse.services.resume.plan import ResumeCommand
    from sessionbrowse.services.usage.question import UsageAnswer, UsageQuestion
    from sessionbrowse.store.find.discover import Skipped

Cancelled = Callable[[], bool]
Exists = Callable[[Iterable[str]], dict[str, bool | None]]


class Source(Struct, frozen=True, kw_only=True):
    """The functions that access the disk. All but `places` are called from background threads only."""

    scan: Callable[[Cancelled, bool], Iterator[Batch]]
    """Reads all sessions, newest first. Arguments: a function that stops it; True to include hidden and archived."""
    open_session: Callable[[str, str | None], Session]
    """Reads one session, by path and agent."""
    exists_many: Exists
    """Returns whether each directory exists; None if the disk did not answer in time."""
    repositories: Callable[[Iterable[str]], dict[str, str]] = lambda _: {}
    """Returns the repository of each directory that lies in one."""
    moved: Callable[[Iterable[str], Sequence[str]], dict[str, str]] = lambda _, __: {}
    """Returns the new paths of moved directories. Arguments: the missing directories; the existing directories."""
    pins: Callable[[], Pins] = Pins
    """Reads the pins of sessions."""
    set_pin: Callable[[Summary, bool], None] = lambda _, __: None
    """Pins a session (True) or unpins it (False)."""
    plan_resume: Callable[[Summary, str | None], ResumeCommand]
    """Returns the command that resumes a session, in its own directory or in the given one. Raises an error with
    the reason if the session cannot be resumed."""
    places: tuple[Place, ...] = ()
    """The directories that are scanned for sessions, each with its agent."""
    skipped: Callable[[], Sequence[Skipped]] = tuple
    """Returns the paths that the last scan could not read, with the reasons."""
    count_usage: Callable[[UsageQuestion], UsageAnswer] | None = None
    """Counts what sessions cost; None if that is not possible."""
    make_detector: Callable[[], SecretDetector] | None = None
    """Makes what finds secrets, which takes seconds the first time; raises an error if a package is missing."""
    open_search: Callable[[], Channel[SearchAnswer] | None] | None = None
    """Starts the search program; None if that is not possible."""


class DirectoryFacts(Struct, frozen=True):
    """Facts about directories, read from the disk: whether they exist, where moved ones are, their repositories."""

    exists: dict[str, bool | None]
    moved: dict[str, str]
    repositories: dict[str, str]


class SessionUpdates(Struct, frozen=True, kw_only=True):
    """New summaries of sessions that changed on disk, and the paths of sessions that are gone."""

    summaries: tuple[Summary, ...] = ()
    gone: frozenset[str] = frozenset()

    @property
    def paths(self) -> frozenset[str]:
        """The paths of all sessions that changed or are gone."""
        return self.gone | {summary.path for summary in self.summaries}


def directory_facts(source: Source, directories: Sequence[str]) -> DirectoryFacts:
    """Check on disk whether directories exist, were moved, or lie in repositories. For background threads."""
    exists = source.exists_many(directories)
    gone = [path for path in directories if exists.get(path) is False]
    there = [path for path in directories if exists.get(path)]
    return DirectoryFacts(exists, source.moved(gone, there), source.repositories(there))


def place_of(summary: Summary, places: Iterable[Place]) -> Place | None:
    """Return the innermost session directory of a session's agent that contains its file; None if there is none."""
    holding = [
        place
        for place in places
        if place.agent == summary.agent and summary.path.startswith(place.root.rstrip(os.sep) + os.sep)
    ]
    return max(holding, key=lambda place: len(place.root), default=None)
