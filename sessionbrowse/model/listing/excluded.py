"""Sessions that the user hides from agents, chosen by directory, by id or path, or by label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Protocol

from msgspec import Struct

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

    `directories` are absolute paths and include all directories below. `sessions` are ids or absolute paths. `labels`
    are texts, compared without case.
    """

    directories: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def withheld(self, sessions: Iterable[Excludable], summaries: Callable[[], Iterable[Summary]]) -> set[str]:
        """Return the paths of excluded sessions, and of all forks and subagent sessions made from excluded sessions.

        `summaries` returns the summaries of all `sessions`. It is not called if no session is excluded and the user's
        rules contain no id or path.
        """
        withheld = {session.path for session in sessions if self.hides(session)}
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

    def hides(self, session: Excludable) -> bool:
        """Return True if a session is excluded by its path, id, directory or labels."""
        return self.hides_parts(session.path, session.id, session.cwd, session.labels)

    def hides_parts(self, path: str, session_id: str | None, cwd: str, labels: Iterable[str]) -> bool:
        """Return True if the session with this file, id, directory and labels is excluded."""
        if path in self.sessions or (session_id is not None and session_id in self.sessions):
            return True
        if any(cwd == directory or cwd.startswith(directory.rstrip("/") + "/") for directory in self.directories):
            return True
        if not self.labels:
            return False
        wanted = {label.strip().casefold() for label in self.labels}
        return any(label.strip().casefold() in wanted for label in labels)
