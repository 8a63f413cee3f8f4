"""The interface of an agent program: directories of its sessions, files of a session, the command that resumes one.

Each program has its own file with an `Agent`. Home, environment, current directory and disk are parameters, given as
`Surroundings`. This module does not know the content of sessions.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from sessionbrowse.agents.attribution import Marks as Marks
from sessionbrowse.agents.attribution import attribute as attribute
from sessionbrowse.agents.change_plans import RenamePlan, line_name, name_entry
from sessionbrowse.model.session.rules import Rules

PlaceKind = Literal["projects", "folder", "flat", "registry", "archive"]
"""The layout of a directory in which an agent keeps sessions.

projects: one folder per project; folder: the files of one project; flat: the files of all
projects; registry: marker files, each with a session's path; archive: packed files, one folder per project.
"""

MAX_SETTINGS_BYTES = 4 * 1024 * 1024


class Place(Struct, frozen=True):
    """A directory in which an agent keeps sessions, and the reason why it is scanned.

    `env` holds the variables with which the agent uses this store; it is empty if the agent uses the store by default.
    `agent_dir` holds the agent's settings and login, `blobs` omp's images.
    """

    agent: str
    root: str
    kind: PlaceKind
    source: str
    env: dict[str, str] = {}
    agent_dir: str | None = None
    blobs: str | None = None


class Disk(Struct, frozen=True):
    """The functions that read files and directories while session directories are searched. None of them raises."""

    read: Callable[[str], bytes | None]
    is_directory: Callable[[str], bool]
    names: Callable[[str], list[str]]


def plain_disk() -> Disk:
    """Return the functions that read the real disk."""
    return Disk(read_small_file, os.path.isdir, names_in)


class Surroundings(Struct, frozen=True):
    """The surroundings of a program: home, environment, current directory, disk.

    `projects` are the known directories of projects; settings files in them may name further session directories.
    """

    home: str
    environ: Mapping[str, str]
    cwd: str
    platform: str = "linux"
    tmpdir: str = "/tmp"
    projects: tuple[str, ...] = ()
    disk: Disk = field(default_factory=plain_disk)

    @classmethod
    def real(cls) -> Surroundings:
        """Return the surroundings of this process."""
        home = os.path.expanduser("~")
        environ = dict(os.environ)
        try:
            cwd = os.getcwd()
        except FileNotFoundError:
            cwd = environ.get("PWD") or home
        # This is the order of Node's os.tmpdir(), which omp uses to name folders.
        tmpdir = environ.get("TMPDIR") or environ.get("TMP") or environ.get("TEMP") or "/tmp"
        return cls(home=home, environ=environ, cwd=cwd, platform=sys.platform, tmpdir=tmpdir.rstrip("/") or "/")


class RuntimeDirectories(Struct, frozen=True):
    """Absolute directories in which a running agent program writes files about itself; they need not exist.

    The directories `runs` contain `*/clients/*.json`, one file for each process; `terminals` contain one file for each
    terminal, which names the session last opened there.
    """

    runs: tuple[str, ...] = ()
    terminals: tuple[str, ...] = ()


def no_runtime_directories(_: Surroundings) -> RuntimeDirectories:
    """Return no directories, for programs that write no files about themselves."""
    return RuntimeDirectories()


def rename_by_entry(name: str, _: bool) -> RenamePlan:
    """Return the plan for a new name ("" clears it), for programs that keep the name in an entry."""
    return name_entry(name)


class Agent(Struct, frozen=True):
    """One agent program: its names, and its rules as functions.

    `own_names` are the directory names of its stores (`.pi`, `pi`); `project_settings` the settings files it reads
    below a project's directory; `install` a command that installs it.

    `process_names` and `packages` identify its processes. `clean_name` turns a typed name into one that the program
    writes. `rename` plans a new name ("" clears it) and is told whether the file begins with a title slot.
    It raises `RefusedWrite` for a name that the program cannot store. `bears_appends` means that the program can still
    save after another program appended a line to the file it has open.
    """

    name: str
    glyph: str
    command: tuple[str, ...]
    install: str
    own_names: tuple[str, ...]
    places: Callable[[Surroundings], list[Place]]
    rules: Rules
    folder_of: Callable[[str, Surroundings], str]
    owns_folder_form: Callable[[str], bool]
    companions: Callable[[str | Path], list[Path]]
    project_settings: tuple[str, ...] = ()
    process_names: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    runtime_directories: Callable[[Surroundings], RuntimeDirectories] = no_runtime_directories
    clean_name: Callable[[str], str] = line_name
    rename: Callable[[str, bool], RenamePlan] = rename_by_entry
    bears_appends: bool = True

    def resume_argv(self, path: str, command: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return the command that resumes the session of this file (an absolute path).

        It uses `--session PATH`, which all versions of all four programs accept; omp up to 11.2 has no `--resume PATH`.
        """
        return (*(command or self.command[:1]), "--session", path)


# ---- disk --------------------------------------------------------------------------------------------------


def read_small_file(path: str) -> bytes | None:
    """Return a settings file's bytes, or None if it is missing or cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(MAX_SETTINGS_BYTES)
    except (OSError, ValueError):
        return None


def names_in(directory: str) -> list[str]:
    """Return the sorted names in a directory; none if it cannot be read."""
    try:
        return sorted(os.listdir(directory))
    except (OSError, ValueError):
        return []


# ---- paths as the programs read them -----------------------------------------------------------------------


def absolute(path: str, cwd: str) -> str:
    """Make a path absolute as Node's `path.resolve` does: without resolving symlinks."""
    resolved = os.path.normpath(os.path.join(cwd, path))
    return resolved[1:] if resolved.startswith("//") else resolved


def expand_home(path: str, home: str) -> str:
    """Expand a leading `~` or `~/`, nothing else (no `~user`), as pi, atomic and indusagi do."""
    if path == "~":
        return home
    return os.path.join(home, path[2:]) if path.startswith("~/") else path


def configured_path(value: str, home: str) -> str | None:
    """Read a directory from a setting or variable of pi or atomic: a path with or without `~`, or a `file://` URL.

    Returns None for a URL that names no local path. A relative path stays relative to the process's own directory.
    """
    path = expand_home(value, home)
    if not path.startswith("file://"):
        return path
    from urllib.parse import unquote, urlsplit  # imported here: it takes 3 ms, and few settings need it

    url = urlsplit(path)
    if url.netloc not in ("", "localhost") or re.search(r"%2f", url.path, re.IGNORECASE):
        return None
    return unquote(url.path)


def dashed_folder(path: str) -> str:
    """Return a project's folder name as in pi: drop a leading slash, turn `/ \\ :` into `-`, add `--` on both sides."""
    return "--" + dashes(re.sub(r"^[/\\]", "", path)) + "--"


def dashes(path: str) -> str:
    """Replace the characters that a folder name may not contain."""
    return re.sub(r"[/\\:]", "-", path)


def is_dashed_folder(name: str) -> bool:
    """Tell whether a folder's name has pi's form, which all four programs use."""
    return len(name) >= 4 and name.startswith("--") and name.endswith("--")


# ---- settings ----------------------------------------------------------------------------------------------


def read_settings(path: str, disk: Disk) -> dict[str, Any]:
    """Return a JSON settings file's object; an absent or broken file has no settings, as in pi."""
    content = disk.read(path)
    if content is None:
        return {}
    try:
        settings = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def custom_directories(value: str | None, around: Surroundings) -> Iterator[str]:
    """Yield the absolute directories that the value of a session directory setting can mean.

    pi and atomic resolve a relative path against the directory in which they are started, so each directory in which
    the user may start them gives one result. An empty value gives none.
    """
    path = configured_path(value, around.home) if value else None
    if path is None:
        return
    if os.path.isabs(path):
        yield absolute(path, "/")
        return
    for start in dict.fromkeys((around.cwd, *around.projects)):
        yield absolute(path, start)


def configured_session_directories(
    around: Surroundings, global_settings: Sequence[str], project_settings: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield (session directory, source) from the `sessionDir` setting, for each directory a program may be started in.

    The settings files are given in ascending priority: the last file that has the key decides. `null` and "" mean the
    default directory.
    """
    base = [read_settings(path, around.disk) for path in global_settings]
    for start in dict.fromkeys((around.cwd, *around.projects)):
        own = [read_settings(os.path.join(start, name), around.disk) for name in project_settings]
        found = [layer["sessionDir"] for layer in (*base, *own) if "sessionDir" in layer]
        if not found or not isinstance(found[-1], str) or not found[-1]:
            continue
        is_own = any("sessionDir" in layer for layer in own)
        here = msgspec.structs.replace(around, cwd=start, projects=())
        for directory in custom_directories(found[-1], here):
            relative = not os.path.isabs(configured_path(found[-1], around.home) or "/")
            yield (
                directory,
                f"settings sessionDir of {start}" if is_own or relative else "settings sessionDir",
            )


def distinct(places: Sequence[Place]) -> list[Place]:
    """Drop every `Place` that has the same directory, agent and kind as an earlier one."""
    seen: dict[tuple[str, str, str], Place] = {}
    for place in places:
        seen.setdefault((place.agent, place.root, place.kind), place)
    return list(seen.values())


def no_companions(path: str | Path) -> list[Path]:
    """Return no companion files, for programs that keep a session in one file."""
    return []


def beside(path: str | Path, belongs: Callable[[str], bool]) -> list[Path]:
    """Return the files in a session's folder that belong to the session, sorted."""
    folder = Path(path).parent
    return [folder / name for name in names_in(str(folder)) if belongs(name)]
