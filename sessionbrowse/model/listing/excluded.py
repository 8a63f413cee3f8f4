"""Sessions that the user hides from agents, chosen by directory, by id or path, or by label."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

from msgspec import Struct

from sessionbrowse.model.listing.directories import machine_in, part_below
from sessionbrowse.model.listing.summary import Summary


class Excludable(Protocol):
    """The properties of a session that decide if it is hidden from agents, by the setting `not_for_agents`."""

    @property
    def path(self) -> str:
        """The path of the session's file."""

    @property
    def id(self) -> str | None:
        """The id in the session's header."""

    @property
    def cwd(self) -> str:
        """The session's working directory."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The texts of the session's labels."""


class Excluded(Struct, frozen=True, kw_only=True):
    """The user's rules for excluding sessions from what agents see.

    `directories` are absolute paths, as typed and with links resolved; all directories below them count too. `sessions`
    are ids or absolute paths. `labels` are texts, compared without case. `resolve` maps paths to the paths with links
    resolved, None for a path whose disk did not answer.
    """

    directories: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    resolve: Callable[[Iterable[str]], Mapping[str, str | None]] = lambda paths: {path: path for path in paths}

    def withheld(self, sessions: Iterable[Excludable], summaries: Callable[[], Iterable[Summary]]) -> set[str]:
        """Return the paths of excluded sessions, and of all forks and subagent sessions made from excluded sessions.

        `summaries` returns the summaries of all `sessions`. It is not called if no session is excluded and the user's
        rules contain no id or path.
        """
        among = list(sessions)
        links = self._links(among)
        withheld = {session.path for session in among if self._hides(session, links)}
        if not withheld and not self.sessions:
            return withheld
        children: defaultdict[str, list[str]] = defaultdict(list)
        for summary in summaries():
            if summary.parent_path is not None:
                children[summary.parent_path].append(summary.path)
            if summary.parent_session and self._names(summary.parent_session):
                withheld.add(summary.path)
        waiting = list(withheld)
        while waiting:
            new = [child for child in children[waiting.pop()] if child not in withheld]
            withheld.update(new)
            waiting += new
        return withheld

    def _names(self, parent: str) -> bool:
        """Return True if a parent session, given as the path or id in a fork's header, is excluded by id or path.

        The parent's file need not exist any more.
        """
        return any(parent == session or parent.endswith(f"_{session}.jsonl") for session in self.sessions)

    def _links(self, sessions: Collection[Excludable]) -> Mapping[str, str | None]:
        """Return the directories of sessions, and the folders of their files, without links, if the rules need them."""
        directories = {session.cwd for session in sessions} if self.directories else set()
        if any("/" in each for each in self.sessions):
            directories |= {posixpath.dirname(session.path) for session in sessions}
        return self.resolve(directories)

    def _hides(self, session: Excludable, links: Mapping[str, str | None]) -> bool:
        folder, name = posixpath.split(session.path)
        if not {session.path, posixpath.join(links.get(folder) or folder, name), session.id}.isdisjoint(self.sessions):
            return True
        if self.directories and session.cwd:
            link = links.get(session.cwd, session.cwd)
            # The rules also apply to the same path on another machine. If a directory's disk does not answer, it may be
            # a link into an excluded directory, so its sessions are hidden too.
            there = machine_in(session.cwd)
            spellings = (session.cwd, link or "", there[1] if there is not None else "")
            if link is None or part_below(spellings, self.directories) is not None:
                return True
        if not self.labels:
            return False
        wanted = {label.strip().casefold() for label in self.labels}
        return any(label.strip().casefold() in wanted for label in session.labels)
