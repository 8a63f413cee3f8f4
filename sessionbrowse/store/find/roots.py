"""Which places are looked at: those of the agents under these surroundings, or those that `--root` names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import msgspec

from sessionbrowse.agents import AGENTS, Place, Surroundings
from sessionbrowse.errors import NotFound
from sessionbrowse.store.find.slow_disks import TIMEOUT_S, exists_many, patient_disk, read_many


def real_surroundings() -> Surroundings:
    """Return those of this process, with a disk that is asked no longer than a limit."""
    return msgspec.structs.replace(Surroundings.real(), disk=patient_disk())


def find_places(around: Surroundings, roots: Sequence[str] = (), agents: Sequence[str] = ()) -> list[Place]:
    """Return the places to look at: the given roots instead of the agents' own, if there are any.

    One agent named together with roots owns them; without roots the named agents' places are looked at.

    Raises:
        NotFound: a root is not a directory, or an agent is none of the four.
    """
    for name in agents:
        if name not in AGENTS:
            raise NotFound(f"There is no agent {name!r}: the agents are {', '.join(AGENTS)}.")
    if roots:
        # Whose a root is its files may tell, and they take much to be read.
        from sessionbrowse.store.find.given_roots import root_places

        known = own_places(around, tuple(AGENTS))
        found = [place for root in roots for place in root_places(root, around, known, agents)]
        return list({(place.agent, place.root, place.kind): place for place in found}.values())
    return own_places(around, agents or tuple(AGENTS))


def own_places(around: Surroundings, agents: Iterable[str]) -> list[Place]:
    """Return the places of these agents, in the order of owners."""
    named = set(agents)
    return [place for name, agent in AGENTS.items() if name in named for place in agent.places(around)]


def more_places(
    around: Surroundings,
    directories: Iterable[str],
    known: Sequence[Place],
    agents: Sequence[str] = (),
    timeout_s: float = TIMEOUT_S,
) -> list[Place]:
    """Return the further places that the settings of these projects' directories name.

    The directories are the working directories of sessions found so far; those that are gone, or on a disk
    that does not answer, say nothing.
    """
    answers = exists_many((path for path in directories if os.path.isabs(path)), timeout_s)
    projects = tuple(path for path, exists in answers.items() if exists)
    if not projects:
        return []
    names = {name for agent in AGENTS.values() for name in agent.project_settings}
    contents = read_many([os.path.join(path, name) for path in projects for name in sorted(names)], timeout_s)
    read = around.disk.read
    disk = msgspec.structs.replace(around.disk, read=lambda path: contents[path] if path in contents else read(path))
    wider = msgspec.structs.replace(around, projects=projects, disk=disk)
    seen = {(place.agent, place.root, place.kind) for place in known}
    return [
        place
        for place in own_places(wider, agents or tuple(AGENTS))
        if (place.agent, place.root, place.kind) not in seen
    ]
