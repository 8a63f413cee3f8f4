"""Mirrors (copies here) of the sessions of other machines: their states, places, and paths here and on the machine.

A mirror is the folder `machines/NAME`: `state.json`, `rows.json` and the session files in `files`, below the paths that
they have on that machine. `services/machines` writes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.agents.base import Place, names_in
from sessionbrowse.config import APP, data_dir
from sessionbrowse.config import MACHINE_NAME as NAME
from sessionbrowse.model.listing.directories import stored
from sessionbrowse.store.own.state_directory import DAMAGED, read_own_file, write_own_file

FILES = "files"
STATE_FILE = "state.json"
_IN_MIRROR = re.compile(rf"[/\\]{APP}[/\\]machines[/\\]({NAME})[/\\]{FILES}(?=[/\\])")


Moment = Annotated[int, msgspec.Meta(ge=0, lt=253_402_300_800_000)]
"""A time in ms since 1970, before the year 10000; a state file with a later time counts as damaged."""


class MirrorState(Struct, frozen=True, kw_only=True):
    """The state of a mirror after the last look at its machine.

    `seen` is the time of the last successful look, in ms since 1970; `clock_offset` is the number of ms by which that
    machine's clock is ahead of ours. `home` and `shell` are the user's home directory and login shell on that machine;
    `identity` is a text that identifies the machine and this home directory. The paths in `places`, in `rooted` (places
    in the directories that the user named), and the working directories in `directories` (True: the directory exists),
    are paths on that machine. `asked` is the time when the places were last requested. `files` and `size` are the
    number of session files in the mirror and their bytes. `error` says why the last look failed.
    """

    name: Annotated[str, msgspec.Meta(pattern=rf"\A{NAME}\Z")]
    host: str
    seen: Moment | None = None
    clock_offset: int = 0
    home: str = ""
    shell: str = ""
    identity: str = ""
    places: tuple[Place, ...] = ()
    rooted: tuple[Place, ...] = ()
    asked: int = 0
    directories: dict[str, bool] = {}
    files: int = 0
    size: int = 0
    error: str | None = None

    def is_recent(self, mtime_ms: float, within_ms: float) -> bool:
        """Return True if a file had changed less than `within_ms` before the last look, by the machine's own clock."""
        return self.seen is not None and self.seen + self.clock_offset - mtime_ms < within_ms


def machines_dir(env: Mapping[str, str] = os.environ, home: Path | None = None) -> str:
    """Return the directory with the mirrors of all machines; it may not exist yet."""
    return str(data_dir(env, home) / "machines")


def mirror_dir(name: str, top: str | None = None) -> str:
    """Return the folder of a machine's mirror; `top` is the directory of all mirrors.

    Raises:
        ValueError: the text cannot be the name of a machine.
    """
    if not re.fullmatch(NAME, name):
        raise ValueError(f"{name!r} cannot be the name of a machine")
    return os.path.join(top or machines_dir(), name)


def machine_of(path: str) -> str | None:
    """Return the machine whose mirror contains a path, judged by the path's text; None for a path of this machine."""
    return _split(path)[0]


def machine_holding(path: str) -> str | None:
    """Return the machine whose mirror contains a path, also if symbolic links lead there; None for this machine."""
    return machine_of(path) or machine_of(os.path.realpath(path))


def remote_path(path: str) -> str:
    """Return the path that a file in a mirror has on its own machine; return any other path unchanged."""
    machine, there = _split(path)
    return there if machine is None else there.replace(os.sep, "/")


def _split(path: str) -> tuple[str | None, str]:
    """Split a path in a mirror into machine and path there; a mirror is recognised by its path or its state file."""
    if (found := _IN_MIRROR.search(path)) is not None:
        return found[1], path[found.end() :]
    part = f"{os.sep}{FILES}{os.sep}"
    at = path.find(part)
    while at >= 0:
        # If the user moved the mirror and left a link, a file's path may be the new one, which the pattern does not
        # match.
        if (name := _kept_in(path[:at])) is not None:
            return name, path[at + len(part) - 1 :]
        at = path.find(part, at + 1)
    return None, path


@cache
def _kept_in(folder: str) -> str | None:
    state = _state_in(folder)
    return state.name if state is not None else None


def path_here(name: str, path: str, top: str | None = None) -> str:
    """Return the path in the mirror for an absolute path on its machine."""
    return os.path.join(mirror_dir(name, top), FILES, *path.split("/"))


def read_state(name: str, top: str | None = None) -> MirrorState | None:
    """Return the state of a machine's mirror; None if there is no mirror, or its state is damaged."""
    state = _state_in(os.path.join(top or machines_dir(), name))
    return state if state is not None and state.name == name else None


def _state_in(folder: str) -> MirrorState | None:
    try:
        return msgspec.json.decode(read_own_file(os.path.join(folder, STATE_FILE)) or b"", type=MirrorState)
    except (ValueError, *DAMAGED):
        return None


def write_state(state: MirrorState, top: str | None = None) -> None:
    """Save the state of a mirror.

    Raises:
        OSError: the file could not be written.
    """
    write_own_file(os.path.join(mirror_dir(state.name, top), STATE_FILE), msgspec.json.encode(state))


def states(top: str | None = None) -> Iterator[MirrorState]:
    """Yield the states of all mirrors, by name."""
    yield from filter(None, (read_state(name, top) for name in names_in(top or machines_dir())))


def same_machine(state: MirrorState, top: str | None = None) -> str | None:
    """Return the name of another mirror of the same machine and home directory; None if there is none."""
    same = (one.name for one in states(top) if one.identity == state.identity != "" and one.name != state.name)
    return next(same, None)


def mirror_places(top: str | None = None) -> list[Place]:
    """Return the places (session directories) in the mirrors of all machines, with the machine in each."""
    # The variables in `env` keep paths of that machine, because only agents started there get these variables.
    return [
        replace(place_at(place, partial(path_here, state.name, top=top)), machine=state.name)
        for state in states(top)
        for place in (*state.places, *state.rooted)
    ]


def place_at(place: Place, path_of: Callable[[str], str]) -> Place:
    """Return a place with its paths converted by `path_of`, between paths in the mirror and paths on the machine."""
    root, agent_dir, blobs = [path and path_of(path) for path in (place.root, place.agent_dir, place.blobs)]
    return replace(place, root=root, agent_dir=agent_dir, blobs=blobs)


def place_document(path: str, directory: str) -> dict[str, str | None]:
    """Return the JSON members of a session's machine (null: this one) and of its working directory there."""
    machine = machine_of(path)
    return {"cwd": stored(directory, machine), "machine": machine}
