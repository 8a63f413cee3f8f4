"""What a scan looks at, and the files it finds there: first the places, then those that the sessions found lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from msgspec import Struct

from sessionbrowse.agents import Place, Surroundings
from sessionbrowse.store.find.discover import FoundFile, Skipped, discover
from sessionbrowse.store.find.roots import more_places


class InDirectory(Protocol):
    """A session, of which only the working directory is asked."""

    @property
    def cwd(self) -> str:
        """The working directory, "" where it is not known."""
        ...


class Scan(Struct, frozen=True, kw_only=True):
    """What a scan looks at: the places, one agent for all files if the user said so, and what else to show."""

    around: Surroundings
    places: tuple[Place, ...]
    agents: tuple[str, ...] = ()
    override: str | None = None
    follow_projects: bool = True
    include_hidden: bool = False
    include_archived: bool = False


def turns(
    what: Scan,
    sessions: Callable[[], Iterable[InDirectory]],
    *,
    cancelled: Callable[[], bool] = lambda: False,
    skipped: Callable[[Skipped], None] = lambda _: None,
) -> Iterator[tuple[tuple[Place, ...], list[FoundFile]]]:
    """Yield the scan's places with their files, nearly in the order of paths, then further places with new files.

    `sessions` is asked between the two for those of the first: the settings of their directories may name more places.
    """
    places = what.places
    first: list[FoundFile] = []
    for turn in (1, 2):
        if turn == 2:
            if not what.follow_projects:
                return
            projects = sorted({session.cwd for session in sessions() if session.cwd})
            places = tuple(more_places(what.around, projects, what.places, what.agents))
        walk = discover(
            places,
            include_nested=what.include_hidden,
            include_archived=what.include_archived,
            cancelled=cancelled,
            skipped=skipped,
        )
        files = list(walk)
        if turn == 2 and files:
            seen = {(file.device, file.inode) for file in first}
            files = [file for file in files if (file.device, file.inode) not in seen]
        first = files
        yield places, files
