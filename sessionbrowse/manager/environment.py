"""The environment of a session manager (directories, clock, random bytes) as one value, which tests can replace."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from sessionbrowse.agents import AGENTS, Agent, Surroundings
from sessionbrowse.agents.base import absolute, expand_home
from sessionbrowse.config import state_dir
from sessionbrowse.errors import NotFound
from sessionbrowse.services.change.fork import new_session_id
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.find.roots import real_surroundings
from sessionbrowse.store.write.in_use import PROC


class Environment(Struct, frozen=True, kw_only=True):
    """The system as a session manager uses it: home directory, environment variables, clock (ms), random bytes."""

    around: Surroundings
    now_ms: Callable[[], float]
    random_bytes: Callable[[int], bytes]
    proc: str = PROC

    @classmethod
    def real(cls) -> Environment:
        """Return the real environment of this process."""
        return cls(around=real_surroundings(), now_ms=lambda: time.time() * 1000, random_bytes=os.urandom)

    @property
    def context(self) -> ChangeContext:
        """The means to fork, move or back up a session: clock, random ids, and the journal in the state directory."""
        directory = str(state_dir(self.around.environ, Path(self.around.home)))
        return ChangeContext.at(self.around, directory, self.now_ms, lambda: self.random_bytes(4).hex(), self.proc)

    def session_id(self, agent: str) -> str:
        """Return an id for a new session, in the program's format."""
        return new_session_id(agent, int(self.now_ms()), self.random_bytes)


def agent_named(name: str) -> Agent:
    """Return an agent by its name.

    Raises:
        NotFound: no agent has this name.
    """
    if name not in AGENTS:
        raise NotFound(f"There is no agent {name!r}: the agents are {', '.join(AGENTS)}.")
    return AGENTS[name]


def resolved(path: str | os.PathLike[str], around: Surroundings) -> str:
    """Return a path as absolute, by the programs' rules: a leading `~` is expanded, symlinks are kept."""
    return absolute(expand_home(os.fspath(path), around.home), around.cwd)


def default_session_dir(cwd: str, agent: str, around: Surroundings) -> str:
    """Return the folder in which a program keeps the sessions of a working directory; the folder may not exist.

    Unlike the programs' own `getDefaultSessionDir`, this function creates and moves no folders.
    """
    return os.path.join(sessions_root(agent, around), AGENTS[agent].folder_of(cwd, around))


def sessions_root(agent: str, around: Surroundings) -> str:
    """Return the folder that contains a program's project folders."""
    places = AGENTS[agent].places(around)
    return next(place.root for place in places if place.kind == "projects")
