"""The places (directories) to scan for sessions: the agents' own places, or places in roots that the user named."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import Struct

from sessionbrowse.agents import AGENTS, Marks, Place, Surroundings
from sessionbrowse.agents.base import (
    OWNER_ORDER,
    absolute,
    distinct,
    expand_home,
    is_dashed_folder,
    is_omp_folder,
    marks_of_program,
)
from sessionbrowse.errors import NotFound
from sessionbrowse.store.find.discover import FoundFile, Skipped, discover, owner_by_name, telling_path
from sessionbrowse.store.find.slow_disks import exists_many, in_one_thread, patient_disk, read_many
from sessionbrowse.store.own.mirrors import machines_dir, mirror_places
from sessionbrowse.store.system.files import pread

if TYPE_CHECKING:
    from sessionbrowse.model.listing.excluded import Excluded

ROOT_SOURCE = "--root"
"""The `source` of each `Place` found in a directory that the user gave as a root."""
_SAMPLED_FILES = 16
_YEAR = re.compile(r"\d{4}")


class Scope(Struct, frozen=True, kw_only=True):
    """The sessions that a command covers: those in `roots` (default: agents' own places), of `agents` (default: all).

    `extra_roots` (from the settings) are scanned in addition to the agents' own places; a missing root is skipped.
    With `agents_by_default` (the setting), a session of another agent can still be named by id or path.
    `mirrors` adds the sessions of other machines, as they were at the last look; changes leave them out.
    `hidden` and `archived` add sessions of subagents and archived sessions. Sessions that are `excluded` are
    left out of every list, and cannot be named by id, name or path. Of the files that are not in the index, at most
    `most_unread` bytes are read, the newest files first; None reads all.
    """

    around: Surroundings
    roots: tuple[str, ...] = ()
    extra_roots: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    agents_by_default: bool = False
    hidden: bool = False
    archived: bool = False
    mirrors: bool = True
    excluded: Excluded | None = None
    most_unread: int | None = None


class MissingRoot(NotFound):
    """Error: a root (a directory named by the user) cannot be searched; `skipped` has its path and the reason."""

    def __init__(self, root: str, reason: str) -> None:
        super().__init__(f"--root {root} {reason}.")
        self.skipped = Skipped(root, f"it {reason}")


class InDirectory(Protocol):
    """A session with a working directory."""

    @property
    def cwd(self) -> str | None:
        """The working directory, if it is known."""
        ...


def real_surroundings() -> Surroundings:
    """Return the environment, home and disk of this process; its disk reads have a time limit."""
    return msgspec.structs.replace(Surroundings.real(), disk=patient_disk())


def find_places(
    around: Surroundings,
    roots: Sequence[str] = (),
    agents: Sequence[str] = (),
    skipped: Callable[[Skipped], None] = lambda _: None,
) -> list[Place]:
    """Return the places in the given roots, or without roots the places of the given agents (default: of all agents).

    The agent of files in a root is determined by their path or the agents' own places; if neither helps, `agents` is
    used. If some roots are directories and others are not, `skipped` is called for the others.

    Raises:
        NotFound: no root is a directory, or an agent's name is unknown.
    """
    for name in agents:
        if name not in AGENTS:
            raise NotFound(f"There is no agent {name!r}: the agents are {', '.join(AGENTS)}.")
    if roots:
        known = own_places(around, tuple(AGENTS))
        found: list[Place] = []
        missing: list[MissingRoot] = []
        for root in dict.fromkeys(roots):
            try:
                found += root_places(root, around, known, agents)
            except MissingRoot as error:
                missing.append(error)
        if missing and not found:
            raise NotFound(" ".join([each.sentence for each in missing]))
        for each in missing:
            skipped(each.skipped)
        return list({(place.agent, place.root, place.kind): place for place in found}.values())
    return own_places(around, agents or tuple(AGENTS))


def places_of(scope: Scope, skipped: Callable[[Skipped], None] = lambda _: None) -> tuple[Place, ...]:
    """Return the places (session directories) of a scope; `skipped` is called for a root that is not a directory.

    Raises:
        NotFound: there are roots, but none is a directory; or an agent's name is unknown.
    """
    places = list(find_places(scope.around, scope.roots, scope.agents, skipped))
    if not scope.roots and scope.extra_roots:
        known = own_places(scope.around, tuple(AGENTS))
        for root in scope.extra_roots:
            try:
                places += root_places(root, scope.around, known, scope.agents)
            except MissingRoot as error:
                skipped(error.skipped)
    if scope.mirrors and not scope.roots:
        found = mirror_places(machines_dir(scope.around.environ, Path(scope.around.home)))
        places += [place for place in found if not scope.agents or place.agent in scope.agents]
    return tuple(distinct(places))


def scan_passes(
    scope: Scope,
    sessions: Callable[[], Iterable[InDirectory]],
    *,
    cancelled: Callable[[], bool] = lambda: False,
    skipped: Callable[[Skipped], None] = lambda _: None,
) -> Iterator[tuple[tuple[Place, ...], list[FoundFile]]]:
    """Yield the scope's places with their files, then the places that project settings add, with files not yet found.

    `sessions` is called between the two passes: it must return the sessions found in the first pass; their working
    directories are the projects. A scope with roots has only the first pass.

    Raises:
        NotFound: there are roots, but none is a directory; or an agent's name is unknown.
    """

    def files_of(places: Iterable[Place]) -> list[FoundFile]:
        found = discover(
            places, include_nested=scope.hidden, include_archived=scope.archived, cancelled=cancelled, skipped=skipped
        )
        return list(found)

    places = places_of(scope, skipped)
    files = files_of(places)
    yield places, files
    if not scope.roots:
        projects = sorted({session.cwd for session in sessions() if session.cwd})
        further = tuple(more_places(scope.around, projects, places, scope.agents))
        seen = {(file.device, file.inode) for file in files} if further else set()
        yield further, [file for file in files_of(further) if (file.device, file.inode) not in seen]


def own_places(around: Surroundings, agents: Iterable[str]) -> list[Place]:
    """Return the places (session directories) of the given agents, in the order pi, omp, atomic, indusagi."""
    named = set(agents)

    def places() -> list[Place]:
        return [place for name, agent in AGENTS.items() if name in named for place in agent.places(around)]

    return in_one_thread(places) if around.disk is patient_disk() else places()


def more_places(
    around: Surroundings, directories: Iterable[str], known: Sequence[Place], agents: Sequence[str] = ()
) -> list[Place]:
    """Return the session directories from the agents' settings files in the given project directories.

    The project directories are the working directories of sessions found so far. Directories that are gone, or on a
    disk that does not answer, are skipped.
    """
    answers = exists_many(path for path in directories if os.path.isabs(path))
    projects = tuple(path for path, exists in answers.items() if exists)
    if not projects:
        return []
    names = {name for agent in AGENTS.values() for name in agent.project_settings}
    contents = read_many([os.path.join(path, name) for path in projects for name in sorted(names)])
    read = around.disk.read
    disk = msgspec.structs.replace(around.disk, read=lambda path: contents[path] if path in contents else read(path))
    wider = msgspec.structs.replace(around, projects=projects, disk=disk)
    seen = {(place.agent, place.root, place.kind) for place in known}
    return [
        place
        for place in own_places(wider, agents or tuple(AGENTS))
        if (place.agent, place.root, place.kind) not in seen
    ]


def root_places(
    root: str, around: Surroundings, known: Sequence[Place] = (), agents: Sequence[str] = ()
) -> list[Place]:
    """Return the places in a directory that the user named.

    The directory is an agent's directory, a sessions folder, one project's folder, a flat directory, or the parent of
    several agents' directories (a home, the demo store). If the directory is one of the agents' own places (`known`),
    the places returned have the same agents and environment variables as that place.

    Raises:
        MissingRoot: the directory does not exist, is a file, cannot be read, or is on a disk that does not answer.
    """
    top = absolute(expand_home(root, around.home), around.cwd)
    exists = exists_many([top], fresh=True)[top]
    if exists is None:
        raise MissingRoot(root, "is on a disk that did not answer in time")
    if not exists:
        raise MissingRoot(root, "is not a directory" if os.path.exists(top) else "does not exist")
    # With links resolved, a file's path shows whether it is in a mirror, and of which machine.
    top = telling_path(top)
    found: list[Place] = []
    try:
        for directory in _sessions_directories(top) or _stores_below(top) or [top]:
            for kind in _kinds(directory):
                found += _owned(directory, kind, known, agents)
    except OSError as error:
        raise MissingRoot(root, f"cannot be read ({error.strerror})") from error
    return found


def _sessions_directories(directory: str) -> list[str]:
    """Return the sessions folders of an agent's directory (`~/.omp/agent`) or its parent (`~/.omp`)."""
    profiles = os.path.join(directory, "profiles")
    agent_dirs = [directory, os.path.join(directory, "agent")]
    for name in sorted(os.listdir(profiles)) if os.path.isdir(profiles) else ():
        agent_dirs += [os.path.join(profiles, name), os.path.join(profiles, name, "agent")]
    candidates = [os.path.join(agent_dir, "sessions") for agent_dir in agent_dirs]
    candidates += [os.path.join(directory, "archived_sessions")]
    projects = os.path.join(directory, "projects")
    if os.path.isdir(projects) and any(name.startswith("-") for name in os.listdir(projects)):
        candidates.append(projects)
    return [path for path in candidates if os.path.isdir(path)]


def _stores_below(directory: str) -> list[str]:
    names = [name for agent in AGENTS.values() for name in agent.own_names]
    return [path for name in names for path in _sessions_directories(os.path.join(directory, name))]


def holders_of(path: str, around: Surroundings) -> frozenset[str]:
    """Return the agents that keep sessions in a file's folder, judged by folder names and the agents' own places."""
    real = os.path.realpath(path)
    found = {place.agent for place in own_places(around, AGENTS) if real.startswith(os.path.realpath(place.root) + "/")}
    named = owner_by_name(real)
    has_omp_folder = is_omp_folder(os.path.basename(os.path.dirname(real)))
    return frozenset(found | ({named} if named else set()) | ({"omp"} if has_omp_folder else set()))


def _kinds(directory: str) -> list[str]:
    """Return the layouts (`PlaceKind`) of the session files in a directory, judged by its name and its content."""
    name = os.path.basename(directory)
    if name == "archived_sessions":
        return ["retired"]
    if name == "sessions":
        return ["dates" if any(map(_YEAR.fullmatch, os.listdir(directory))) else "projects"]
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
    """Return one place for each agent to which the sessions in a directory may belong."""
    same = [place for place in known if _is_same(directory, place, kind)]
    named = owner_by_name(directory)
    told = {place.agent for place in same} or ({named} if named else set())
    # A directory's known agent is used even if `agents` lacks it; the caller later drops files of unwanted agents.
    owners = (told & set(agents)) or told or set(agents) or _agents_of_files(directory, kind)
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
                is_store=bool(told),
            )
        )
    return places


def _is_same(directory: str, place: Place, kind: str) -> bool:
    wanted = os.path.dirname(directory) if kind == "folder" else directory
    if place.kind not in ("projects", "flat", "dates", "retired") or (kind != "folder" and place.kind != kind):
        return False
    return os.path.realpath(wanted) == os.path.realpath(place.root)


def _agent_directory(directory: str, kind: str) -> str:
    sessions = os.path.dirname(directory) if kind == "folder" else directory
    return os.path.dirname(sessions)


def _agents_of_files(directory: str, kind: str) -> set[str]:
    """Return the agents of a directory's first files, and always pi, the agent of files that no agent has marked."""
    probe = Place("pi", directory, kind, ROOT_SOURCE, is_store=False)  # type: ignore[arg-type]
    return {"pi", *(file.agent(_marks(file.path)) for file in islice(discover([probe]), _SAMPLED_FILES))}


def _marks(path: str) -> Marks | None:
    from sessionbrowse.agents.base import HEAD_BYTES, marks_of_head
    from sessionbrowse.format.codec import program_of_file

    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
            program = program_of_file(lambda size: head[:size] if size <= HEAD_BYTES else pread(file.fileno(), size, 0))
            marks = marks_of_program(program) if program is not None else marks_of_head(head)
    except OSError:
        return None
    return marks if marks.agents else None
