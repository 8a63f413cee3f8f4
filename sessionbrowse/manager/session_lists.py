"""The part of `SessionManager` that lists and finds sessions; it only reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import msgspec

from sessionbrowse.manager import agent_lists
from sessionbrowse.manager.agent_lists import Progress, SessionInfo
from sessionbrowse.manager.environment import Environment, agent_named, default_session_dir, resolved, sessions_root

Sessions = list[SessionInfo]
OnProgress = Callable[[Progress], None]
Cancelled = Callable[[], bool]


class SessionLists:
    """The methods of `SessionManager` that list and find sessions by the programs' own rules."""

    @classmethod
    def list(
        cls,
        cwd: str | os.PathLike[str],
        session_dir: str | os.PathLike[str] | None = None,
        on_progress: OnProgress | None = None,
        cancelled: Cancelled = lambda: False,
        *,
        agent: str = "pi",
        include_internal: bool = False,
        environment: Environment | None = None,
    ) -> Sessions:
        """Return the sessions of a working directory, newest first, as the program's own list does.

        `on_progress` is called after each file that was read. `cancelled` is called before each file; True stops
        reading, and the sessions read so far are returned.
        """
        environment = environment or Environment.real()
        found = cls.iterate(cwd, session_dir, agent=agent, include_internal=include_internal, environment=environment)
        return _collected(found, on_progress, cancelled, agent, environment)

    @classmethod
    def list_all(
        cls,
        session_dir: str | os.PathLike[str] | OnProgress | None = None,
        on_progress: OnProgress | None = None,
        cancelled: Cancelled = lambda: False,
        *,
        agent: str = "pi",
        include_internal: bool = False,
        environment: Environment | None = None,
    ) -> Sessions:
        """Return the sessions of all working directories, or of the folder `session_dir`, newest first.

        As in pi, `on_progress` may also be the first argument. `on_progress` is called with one `Progress` instead of
        pi's two numbers.
        """
        if callable(session_dir):
            session_dir, on_progress = None, session_dir
        environment = environment or Environment.real()
        found = cls.iterate_all(session_dir, agent=agent, include_internal=include_internal, environment=environment)
        return _collected(found, on_progress, cancelled, agent, environment)

    @classmethod
    def iterate(
        cls,
        cwd: str | os.PathLike[str],
        session_dir: str | os.PathLike[str] | None = None,
        *,
        agent: str = "pi",
        include_internal: bool = False,
        environment: Environment | None = None,
    ) -> Iterator[Progress]:
        """Read the same files as `list`, and yield the progress after each; `session` is None for omitted files."""
        environment = environment or Environment.real()
        agent_named(agent)
        place = resolved(cwd, environment.around)
        directory, is_shared = agent_lists.directory_of(place, session_dir, agent, environment.around)
        for progress in agent_lists.iterate(agent_lists.files_in(directory), agent):
            session = progress.session
            if session is not None and is_shared and not agent_lists.is_of(session.cwd, place, environment.around):
                session = None
            yield _without_internal(progress, session, include_internal)

    @classmethod
    def iterate_all(
        cls,
        session_dir: str | os.PathLike[str] | None = None,
        *,
        agent: str = "pi",
        include_internal: bool = False,
        environment: Environment | None = None,
    ) -> Iterator[Progress]:
        """Read the same files as `list_all`, newest first, and yield the progress after each."""
        environment = environment or Environment.real()
        agent_named(agent)
        if session_dir is not None:
            paths = agent_lists.files_in(resolved(session_dir, environment.around))
        else:
            paths = agent_lists.files_below(agent, environment.around)
        for progress in agent_lists.iterate(paths, agent):
            yield _without_internal(progress, progress.session, include_internal)

    @classmethod
    def find_by_id(
        cls,
        cwd: str | os.PathLike[str],
        id: str,
        session_dir: str | os.PathLike[str] | None = None,
        *,
        agent: str = "pi",
        environment: Environment | None = None,
    ) -> str | None:
        """Return the path of the session with exactly this id, None if there is none. Only headers are read."""
        environment = environment or Environment.real()
        place = resolved(cwd, environment.around)
        directory, is_shared = agent_lists.directory_of(place, session_dir, agent, environment.around)
        for path in agent_lists.files_in(directory):
            header = agent_lists.header_of(path)
            if header is None or header.id != id:
                continue
            if not is_shared or agent_lists.is_of(header.cwd or "", place, environment.around):
                return path
        return None

    @staticmethod
    def get_default_session_dir(
        cwd: str | os.PathLike[str], *, agent: str = "pi", environment: Environment | None = None
    ) -> str:
        """Return the folder in which a program keeps the sessions of a working directory; the folder may not exist."""
        environment = environment or Environment.real()
        agent_named(agent)
        return default_session_dir(resolved(cwd, environment.around), agent, environment.around)


def _collected(
    found: Iterator[Progress],
    on_progress: OnProgress | None,
    cancelled: Cancelled,
    agent: str,
    environment: Environment,
) -> Sessions:
    sessions: Sessions = []
    while not cancelled() and (progress := next(found, None)) is not None:
        if progress.session is not None:
            sessions.append(progress.session)
        if on_progress is not None:
            on_progress(progress)
    ordered = agent_lists.in_order(sessions)
    if agent != "omp":
        return ordered
    return agent_lists.pinned_first(ordered, os.path.dirname(sessions_root(agent, environment.around)))


def _without_internal(progress: Progress, session: SessionInfo | None, include_internal: bool) -> Progress:
    if session is not None and session.internal and not include_internal:
        session = None
    return msgspec.structs.replace(progress, session=session)
