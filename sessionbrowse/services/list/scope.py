"""Where a command looks for sessions."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct

from sessionbrowse.agents import Surroundings
from sessionbrowse.agents.base import distinct
from sessionbrowse.errors import NotFound
from sessionbrowse.store.find.roots import find_places
from sessionbrowse.store.find.scan_passes import Scan


class Scope(Struct, frozen=True, kw_only=True):
    """Where a command looks: `--root`s instead of the agents' own places, `--agent`s, hidden sessions.

    `extra_roots` (from the settings) are looked at beside the agents' own places; one that is gone is no error.
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


def scan_of(scope: Scope) -> Scan:
    """Return the scan of a scope.

    Raises:
        NotFound: a root is no directory, or there is no such agent.
    """
    places = list(find_places(scope.around, scope.roots, scope.agents))
    if not scope.roots:
        for root in scope.extra_roots:
            with suppress(NotFound):
                places += find_places(scope.around, [root], scope.agents)
    return Scan(
        around=scope.around,
        places=tuple(distinct(places)),
        agents=scope.agents,
        override=scope.override,
        follow_projects=not scope.roots,
        include_hidden=scope.hidden,
        include_archived=scope.archived,
    )
