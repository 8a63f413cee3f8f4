"""The sessions that the user keeps from agents: by directory, by id or path, by label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Protocol

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary


class Excludable(Protocol):
    """A session of a list."""

    @property
    def path(self) -> str:
        """The path of its file."""

    @property
    def id(self) -> str | None:
        """The id in its header."""

    @property
    def cwd(self) -> str:
        """Its working directory."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The texts of its labels."""


class Excluded(Struct, frozen=True, kw_only=True):
    """Absolute `directories` with all below them, `sessions` by id or absolute path, and `labels` in any case."""

    directories: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def withheld(self, sessions: Iterable[Excludable], summaries: Callable[[], Iterable[Summary]]) -> set[str]:
        """Return the paths of excluded sessions, and of the forks and subagents' runs that were made from them.

        `summaries` returns the summaries of the same sessions, linked with their parents; it is called only if needed.
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
        """Return True if a parent, which a header names by path or id, is excluded by id or path; it may be deleted."""
        return any(parent == session or parent.endswith(f"_{session}.jsonl") for session in self.sessions)

    def hides(self, session: Excludable) -> bool:
        """Return True if a session is excluded."""
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
