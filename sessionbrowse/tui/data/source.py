"""The functions with which the browser reads sessions from disk; tests and the demo replace them by others."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
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
    from sessionbrowse.services.list.gather import Batch
    from sessionbrowse.services.resume.plan import ResumeCommand
    from sessionbrowse.services.usage.question import UsageAnswer, UsageQuestion
    from sessionbrowse.store.find.discover import Skipped
    from sessionbrowse.store.own.mirrors import MirrorState

Cancelled = Callable[[], bool]
Exists = Callable[[Iterable[str]], dict[str, bool | None]]


class Source(Struct, frozen=True, kw_only=True):
    """The functions that access the disk, called only in background threads; only `places` is data, not a function."""

    scan: Callable[[Cancelled, bool], Iterator[Batch]]
    """Reads all sessions, newest first.

    Arguments: a function that returns True to stop the scan; True to include hidden and archived sessions.
    """
    open_session: Callable[[str, str | None], Session]
    """Reads one session. Arguments: the path of its file; the name of its agent, or None if unknown."""
    exists_many: Exists
    """Returns for each given directory True if it exists, False if not, None if the disk did not answer in time."""
    repositories: Callable[[Iterable[str]], dict[str, str]] = lambda _: {}
    """Returns, for each given directory that is inside a repository, the main directory of the repository."""
    resolved: Callable[[Iterable[str]], dict[str, str]] = lambda _: {}
    """Returns each given directory without links, by which two spellings of one directory are recognised."""
    moved: Callable[[Iterable[str], Sequence[str]], dict[str, str]] = lambda _, __: {}
    """Returns the new paths of moved directories, by old path. Arguments: missing directories; existing directories."""
    machines: Callable[[], dict[str, MirrorState]] = dict
    """Reads the states of other machines at the last looks, by name."""
    pins: Callable[[], Pins] = Pins
    """Reads which sessions are pinned to the top of the list."""
    set_pin: Callable[[Summary, bool], None] = lambda _, __: None
    """Pins a session (True) or unpins it (False)."""
    plan_resume: Callable[[Summary, str | None], ResumeCommand]
    """Returns the command with which a session's agent resumes the session; raises an error if that is not possible.

    Arguments: the session; the directory in which to run the command, or None for the session's own directory.
    """
    resume_line: Callable[[Summary], str] = lambda _: ""
    """Returns the shell line that resumes a session, to run here or elsewhere; raises an error if there is none."""
    places: tuple[Place, ...] = ()
    """The directories that are scanned for sessions, each with its agent."""
    skipped: Callable[[], Sequence[Skipped]] = tuple
    """Returns the paths that the last scan could not read, with the reasons."""
    count_usage: Callable[[UsageQuestion], UsageAnswer] | None = None
    """Computes the tokens and cost that a `UsageQuestion` asks for; None if they cannot be computed."""
    make_detector: Callable[[], SecretDetector] | None = None
    """Creates the detector of secrets, such as API keys, in texts; raises an error if a Python package is missing.

    The first call takes seconds.
    """
    open_search: Callable[[], Channel[SearchAnswer] | None] | None = None
    """Starts the search program (a background process), and returns the connection to it; None if it cannot start."""


class DirectoryFacts(Struct, frozen=True):
    """The state of directories (existence, new path, repository, path without links) and of other machines."""

    exists: dict[str, bool | None]
    moved: dict[str, str]
    repositories: dict[str, str]
    links: dict[str, str]
    machines: dict[str, MirrorState] = {}


class SessionUpdates(Struct, frozen=True, kw_only=True):
    """New summaries of sessions that changed on disk, and the paths of sessions that are gone."""

    summaries: tuple[Summary, ...] = ()
    gone: frozenset[str] = frozenset()

    @property
    def paths(self) -> frozenset[str]:
        """The paths of all sessions that changed or are gone."""
        return self.gone | {summary.path for summary in self.summaries}


def directory_facts(source: Source, directories: Sequence[str]) -> DirectoryFacts:
    """Check on disk if directories exist, were moved, or are inside repositories; call it in a background thread."""
    exists = source.exists_many(directories)
    gone = [path for path in directories if exists.get(path) is False]
    there = [path for path in directories if exists.get(path)]
    moved, repositories = source.moved(gone, there), source.repositories(there)
    return DirectoryFacts(exists, moved, repositories, source.resolved(directories), source.machines())


def place_of(summary: Summary, places: Iterable[Place]) -> Place | None:
    """Return the innermost of the `places` that contains a session and belongs to its agent; None if there is none."""
    holding = [
        place
        for place in places
        if place.agent == summary.agent and summary.path.startswith(place.root.rstrip(os.sep) + os.sep)
    ]
    return max(holding, key=lambda place: len(place.root), default=None)


KEPT_SESSIONS = 6


class SessionCache:
    """A thread-safe cache of the sessions opened last; a cached session is used only while its file is unchanged."""

    def __init__(self, open_session: Callable[[str, str | None], Session]) -> None:
        self._open = open_session
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, str | None], tuple[tuple[int, int], Session]] = OrderedDict()

    def open(self, path: str, agent: str | None) -> Session:
        """Return the session at `path`; read the file only if the session is not cached or the file has changed."""
        version = _version(path)
        with self._lock:
            known = self._kept.get((path, agent))
        if known is not None and known[0] == version:
            return known[1]
        session = self._open(path, agent)
        if version is not None:
            with self._lock:
                self._kept[path, agent] = (version, session)
                while len(self._kept) > KEPT_SESSIONS:
                    self._kept.popitem(last=False)
        return session

    def forget(self) -> None:
        """Remove all sessions from the cache; used when an agent may have changed session files."""
        with self._lock:
            self._kept.clear()


def _version(path: str) -> tuple[int, int] | None:
    """Return a file's modification time in ns and size in bytes, to detect changes; None if the file is unreachable."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
