"""The scope of a command, and the first step of every list: from the scope's places to the session files there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Protocol

from msgspec import Struct

from sessionbrowse.agents import Place, Surroundings
from sessionbrowse.agents.base import distinct
from sessionbrowse.errors import NotFound
from sessionbrowse.store.find.discover import FoundFile, Skipped, discover
from sessionbrowse.store.find.roots import find_places, more_places


class Scope(Struct, frozen=True, kw_only=True):
    """The sessions that a command is about: `roots` instead of the agents' own places, some `agents`, hidden ones.

    `extra_roots` (from the settings) are scanned beside the agents' own places; a missing one is no error.
    """

    around: Surroundings
    roots: tuple[str, ...] = ()
    extra_roots: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    hidden: bool = False
    archived: bool = False

    @property
    def override(self) -> str | None:
        """The agent that the user says all given roots belong to."""
        return self.agents[0] if self.roots and len(self.agents) == 1 else None


class InDirectory(Protocol):
    """A session with a working directory."""

    @property
    def cwd(self) -> str | None:
        """The working directory, if it is known."""
        ...


def places_of(scope: Scope) -> tuple[Place, ...]:
    """Return the places of a scope.

    Raises:
        NotFound: a root is no directory, or there is no such agent.
    """
    places = list(find_places(scope.around, scope.roots, scope.agents))
    if not scope.roots:
        for root in scope.extra_roots:
            with suppress(NotFound):
                places += find_places(scope.around, [root], scope.agents)
    return tuple(distinct(places))


def scan_passes(
    scope: Scope,
    sessions: Callable[[], Iterable[InDirectory]],
    *,
    cancelled: Callable[[], bool] = lambda: False,
    skipped: Callable[[Skipped], None] = lambda _: None,
) -> Iterator[tuple[tuple[Place, ...], list[FoundFile]]]:
    """Yield the scope's places with their files; then the places named by project settings, with the files only there.

    `sessions` is called between the two passes: it returns the sessions of the first, whose working directories are
    the projects. Without roots of its own a scope has both passes, else only the first.

    Raises:
        NotFound: a root is no directory, or there is no such agent.
    """

    def files_of(places: Iterable[Place]) -> list[FoundFile]:
        found = discover(
            places,
            include_nested=scope.hidden,
            include_archived=scope.archived,
            cancelled=cancelled,
            skipped=skipped,
        )
        return list(found)

    places = places_of(scope)
    files = files_of(places)
    yield places, files
    if not scope.roots:
        projects = sorted({session.cwd for session in sessions() if session.cwd})
        further = tuple(more_places(scope.around, projects, places, scope.agents))
        seen = {(file.device, file.inode) for file in files} if further else set()
        yield further, [file for file in files_of(further) if (file.device, file.inode) not in seen]
