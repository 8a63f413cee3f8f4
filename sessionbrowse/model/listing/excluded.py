"""The sessions that the user keeps from agents: by directory, by id or path, by label."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct


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

    def hides(self, session: Excludable) -> bool:
        """Return True if a session is excluded."""
        return self.hides_parts(session.path, session.id, session.cwd, session.labels)

    def hides_parts(self, path: str, session_id: str | None, cwd: str, labels: Iterable[str]) -> bool:
        """Return True if the session with this file, id, directory and labels is excluded."""
        if path in self.sessions or (session_id is not None and session_id in self.sessions):
            return True
        if any(cwd == directory or cwd.startswith(directory.rstrip("/") + "/") for directory in self.directories):
            return True
        wanted = {label.strip().casefold() for label in self.labels}
        return any(label.strip().casefold() in wanted for label in labels)
