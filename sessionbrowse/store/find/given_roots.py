"""Whose sessions lie in a directory that `--root` names, and how: by its name, by what it holds, by marks in files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice

from sessionbrowse.agents import AGENTS, Marks, Place, Surroundings
from sessionbrowse.agents.attribution import OWNER_ORDER, is_omp_folder
from sessionbrowse.agents.base import absolute, expand_home, is_dashed_folder
from sessionbrowse.agents.file_marks import HEAD_BYTES, marks_of_head
from sessionbrowse.errors import NotFound
from sessionbrowse.store.find.discover import discover, owner_by_name
from sessionbrowse.store.find.slow_disks import exists_many

ROOT_SOURCE = "--root"
_SAMPLED_FILES = 16


def root_places(
    root: str, around: Surroundings, known: Sequence[Place] = (), agents: Sequence[str] = ()
) -> list[Place]:
    """Return the places that a directory given with `--root` stands for.

    An agent's directory, a sessions folder, one project's folder, a flat directory, or a directory that holds
    several agents' directories (a home, the demo store). A place that the agents use anyway keeps its owners
    and environment.

    Raises:
        NotFound: it does not exist, is no directory, or does not answer.
    """
    top = absolute(expand_home(root, around.home), around.cwd)
    exists = exists_many([top], fresh=True)[top]
    if exists is None:
        raise NotFound(f"--root {root}: the disk did not answer in time.")
    if not exists:
        reason = "is not a directory" if os.path.exists(top) else "does not exist"
        raise NotFound(f"--root {root} {reason}.")
    found: list[Place] = []
    try:
        for directory in _sessions_directories(top) or _stores_below(top) or [top]:
            for kind in _kinds(directory):
                found += _owned(directory, kind, known, agents)
    except OSError as error:
        raise NotFound(f"--root {root}: {error.strerror}.") from error
    return found


def _sessions_directories(directory: str) -> list[str]:
    """Return the sessions folders of an agent's directory (`~/.omp/agent`) or its parent (`~/.omp`)."""
    profiles = os.path.join(directory, "profiles")
    agent_dirs = [directory, os.path.join(directory, "agent")]
    for name in sorted(os.listdir(profiles)) if os.path.isdir(profiles) else ():
        agent_dirs += [os.path.join(profiles, name), os.path.join(profiles, name, "agent")]
    candidates = [os.path.join(agent_dir, "sessions") for agent_dir in agent_dirs]
    return [path for path in candidates if os.path.isdir(path)]


def _stores_below(directory: str) -> list[str]:
    names = [name for agent in AGENTS.values() for name in agent.own_names]
    return [path for name in names for path in _sessions_directories(os.path.join(directory, name))]


def _kinds(directory: str) -> list[str]:
    """Tell how files lie in a directory, by its name and by what it holds."""
    name = os.path.basename(directory)
    if name == "sessions":
        return ["projects"]
    if os.path.basename(os.path.dirname(directory)) == "sessions" or is_dashed_folder(name):
        return ["folder"]
    with os.scandir(directory) as entries:
        listed = [(entry.name, entry.is_dir()) for entry in entries]
    has_files = any(name.endswith((".jsonl", ".ndjson")) for name, is_folder in listed if not is_folder)
    has_projects = any(is_dashed_folder(name) or is_omp_folder(name) for name, is_folder in listed if is_folder)
    if has_files:
        return ["flat", "projects"] if has_projects else ["flat"]
    return ["projects"] if any(is_folder for _, is_folder in listed) else ["flat"]


def _owned(directory: str, kind: str, known: Sequence[Place], agents: Sequence[str]) -> list[Place]:
    """Return one place for each agent that may own the directory."""
    same = [place for place in known if _is_same(directory, place, kind)]
    owners = list(agents) or list(dict.fromkeys(place.agent for place in same))
    if not owners:
        owners = [owner_by_name(directory) or _owner_by_files(directory, kind)]
    places = []
    for owner in sorted(owners, key=OWNER_ORDER.index):
        own = next((place for place in same if place.agent == owner), None)
        agent_dir = None if kind == "flat" else _agent_directory(directory, kind)
        blobs = os.path.join(agent_dir, "blobs") if agent_dir and owner == "omp" else None
        places.append(
            Place(
                agent=owner,
                root=directory,
                kind=kind,  # type: ignore[arg-type]
                source=ROOT_SOURCE,
                env=own.env if own else {},
                agent_dir=own.agent_dir if own else agent_dir,
                blobs=own.blobs if own else blobs,
            )
        )
    return places


def _is_same(directory: str, place: Place, kind: str) -> bool:
    wanted = os.path.dirname(directory) if kind == "folder" else directory
    if place.kind not in ("projects", "flat") or (kind != "folder" and place.kind != kind):
        return False
    return os.path.realpath(wanted) == os.path.realpath(place.root)


def _agent_directory(directory: str, kind: str) -> str:
    sessions = os.path.dirname(directory) if kind == "folder" else directory
    return os.path.dirname(sessions)


def _owner_by_files(directory: str, kind: str) -> str:
    """Return the agent that marked more than half of the first files, else pi, whose files bear no marks."""
    probe = Place("pi", directory, kind, ROOT_SOURCE)  # type: ignore[arg-type]
    files = list(islice(discover([probe]), _SAMPLED_FILES))
    owners = [file.agent(_marks(file.path)) for file in files]
    return next((name for name in OWNER_ORDER if 2 * owners.count(name) > len(owners)), OWNER_ORDER[0])


def _marks(path: str) -> Marks | None:
    try:
        with open(path, "rb") as file:
            marks = marks_of_head(file.read(HEAD_BYTES))
    except OSError:
        return None
    return marks if marks.agents else None
