"""omp (oh-my-pi, `@oh-my-pi/pi-coding-agent`): the directories of its sessions. Rules of omp 18.2.3.

The directories depend on omp's profile, on XDG variables and on `.env` files. All profiles are scanned, not only the
active one, because users lose sessions most often by changing a variable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from sessionbrowse.agents.base import (
    Agent,
    Place,
    RuntimeDirectories,
    Surroundings,
    absolute,
    dashed_folder,
    dashes,
    distinct,
    is_dashed_folder,
    is_omp_folder,
)
from sessionbrowse.agents.change_plans import InsertSlot, OverwriteSlot, RenamePlan, title_name
from sessionbrowse.model.session import rules

if TYPE_CHECKING:
    from sessionbrowse.format.title_slot import Source


# The patterns are strings, compiled at their first use, because few users have `.env` files for omp.
_LINE = r"""(?mx)^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*
        (?: "(?P<double>[^"]*)" | '(?P<single>[^']*)' | `(?P<tick>[^`]*)` | (?P<bare>[^\r\n]*) )"""
_REFERENCE = r"(\\)?\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))"


def parse_env(content: bytes | None) -> dict[str, str]:
    """Return the variables of a `.env` file as omp reads it: `OMP_X` also sets `PI_X`, even if the file has `PI_X`.

    `content` None, for a missing file, gives no variables.
    """
    values: dict[str, str] = {}
    for line in re.finditer(_LINE, content.decode("utf-8", "replace")) if content else ():
        values[line[1]] = _value(line)
    mirrored = {"PI_" + name[4:]: value for name, value in values.items() if name.startswith("OMP_")}
    return {name: value for name, value in {**values, **mirrored}.items() if "\0" not in value}


def expand_env(values: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Replace `$NAME` and `${NAME}` in the values of a `.env` file, as omp does.

    The replacement is the variable's value in the environment, else in an earlier line of the file, else nothing.
    """
    expanded: dict[str, str] = {}

    def replace(reference: re.Match[str]) -> str:
        if reference[1]:
            return reference[0][1:]
        name = reference[2] or reference[3]
        return environ.get(name, expanded.get(name, ""))

    for name, value in values.items():
        expanded[name] = re.sub(_REFERENCE, replace, value)
    return expanded


def layered(environ: Mapping[str, str], layers: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the environment with the variables of `.env` files added.

    `layers` has the variables of each `.env` file. If a variable has several non-empty values, the value in the
    environment is used; without such a value, the one in the first file.
    """
    merged = dict(environ)
    for layer in layers:
        for name, value in layer.items():
            if not merged.get(name):
                merged[name] = value
    return merged


def _value(line: re.Match[str]) -> str:
    if line["double"] is not None:
        return line["double"].replace("\\n", "\n")
    for quoted in ("single", "tick"):
        if line[quoted] is not None:
            return line[quoted]
    return line["bare"].split("#", 1)[0].strip()


AGENT_DIR = "PI_CODING_AGENT_DIR"
CONFIG_DIR = "PI_CONFIG_DIR"
SESSION_DIR = "PI_CODING_AGENT_SESSION_DIR"
DATA_HOME = "XDG_DATA_HOME"
STATE_HOME = "XDG_STATE_HOME"
PROFILES = ("OMP_PROFILE", "PI_PROFILE")

_PROFILE = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}(?<!\.)")
_DEVICE_NAME = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")


class ProfileDirectories(Struct, frozen=True):
    """The directories that omp uses for one profile in one environment."""

    agent_dir: str
    data: str
    state: str
    env: dict[str, str]
    source: str


def places(around: Surroundings) -> list[Place]:
    """Return the directories of all omp profiles: session directories, archives, and registries.

    A registry is a directory of small files. Each has the path of a session file that is stored outside of omp's own
    session directory.
    """
    around = msgspec.structs.replace(around, environ=effective_environment(around))
    stores = _stores(around)
    found = [_place(store, "projects", os.path.join(store.data, "sessions")) for store in stores]
    flat = around.environ.get(SESSION_DIR)
    for start in dict.fromkeys((around.cwd, *around.projects)) if flat else ():
        directory = absolute(flat or "", start)
        active = stores[0]
        env = {**active.env, SESSION_DIR: directory}
        place = _place(active, "flat", directory)
        found.append(msgspec.structs.replace(place, source=SESSION_DIR, env=env))
    found += [_place(store, "registry", os.path.join(store.state, "custom-session-files")) for store in stores]
    found += [_place(store, "archive", os.path.join(store.data, "archive", "sessions")) for store in stores]
    return distinct(found)


def effective_environment(around: Surroundings) -> dict[str, str]:
    """Return the environment variables as omp sees them: with those from its `.env` files added.

    omp reads `.env` in the project's directory, its agent directory, its configuration directory and the home.
    """
    profile = active_profile(around.environ)
    first = _store(around, profile, around.environ)
    config_root = os.path.dirname(first.agent_dir) if profile else _config_root(around, around.environ)
    read = around.disk.read
    project = parse_env(read(os.path.join(around.cwd, ".env")))
    others = [parse_env(read(os.path.join(folder, ".env"))) for folder in (first.agent_dir, config_root, around.home)]
    merged = layered(around.environ, [expand_env(project, around.environ), *others])
    # omp chooses the profile before it reads `.env` files, so they cannot change the profile.
    unchanged = {name: around.environ[name] for name in PROFILES if name in around.environ}
    return {name: value for name, value in merged.items() if name not in PROFILES} | unchanged


def active_profile(environ: Mapping[str, str]) -> str | None:
    """Return the omp profile in `OMP_PROFILE`, or in `PI_PROFILE` if that is undefined; None is the default profile."""
    return profile_name(environ.get("OMP_PROFILE", environ.get("PI_PROFILE", "")))


def profile_name(name: str) -> str | None:
    """Return the name of an omp profile, trimmed; None for an invalid name, as omp then uses its default profile."""
    name = name.strip()
    if name == "default" or not _PROFILE.fullmatch(name) or _DEVICE_NAME.fullmatch(name):
        return None
    return name


def folder_of(cwd: str, around: Surroundings) -> str:
    """Return the name of omp's session folder for a project.

    The name is made from the project's path with symlinks resolved. It has one of three forms: for projects below the
    home directory, for projects below the directory for temporary files (`tmpdir`), and for all others.
    """
    path = _real(absolute(cwd, around.cwd))
    for start, prefix in ((around.home, "-"), (around.tmpdir, "-tmp")):
        below = os.path.relpath(path, _real(start))
        if below == ".":
            return prefix
        # A path that begins with ".." is outside of the directory `start`. omp tests only these two characters, so a
        # project in a folder named "..x" counts as outside too.
        if not below.startswith(".."):
            return f"{prefix.rstrip('-')}-{dashes(below)}"
    return dashed_folder(path)


def owns_folder_form(name: str) -> bool:
    """Return True for a folder name that omp gives to projects: `--…--`, as in all programs, or a form of its own."""
    return is_dashed_folder(name) or is_omp_folder(name)


def further_companions(name: str) -> str:
    """Return a pattern for the names of a session's lock files, temporary files and backups.

    Blobs are not included, because sessions share them.
    """
    # Backups belong to the session, because omp up to 18.2 would restore a deleted session from its backup.
    name = re.escape(name)
    return rf"\.{name}\.(?:[0-9a-f]{{16}}\.tmp|lock(?:\.os)?)|{name}\.[0-9a-f]{{16}}\.bak"


def runtime_directories(around: Surroundings) -> RuntimeDirectories:
    """Return the directories in which running omp processes record themselves and their terminals (omp 17 … 18)."""
    around = msgspec.structs.replace(around, environ=effective_environment(around))
    root = _config_root(around, around.environ)
    names = _profile_names(around)
    roots = [root, *(os.path.join(root, "profiles", name) for name in names)]
    for name in (None, *names):
        state = _xdg_directory(around, around.environ.get(STATE_HOME), name)
        if state:
            roots.append(state)
    stores = _stores(around)
    states = [state for store in stores for state in (store.state, store.agent_dir)]
    return RuntimeDirectories(
        runs=tuple(os.path.join(path, "run", "daemons") for path in dict.fromkeys(roots)),
        terminals=tuple(os.path.join(path, "terminal-sessions") for path in dict.fromkeys(states)),
    )


def rename(title: str, has_slot: bool) -> RenamePlan:
    """Return the plan to write a new title into the title slot, marked as set by the user; insert a missing slot.

    An empty title is not marked, so that omp may generate a title (omp 18).
    """
    source: Source | None = "user" if title else None
    return OverwriteSlot(title=title, source=source) if has_slot else InsertSlot(title=title, source=source)


def _real(path: str) -> str:
    try:
        return os.path.realpath(path, strict=True)
    except (OSError, ValueError):
        # The directory in a session's header may be impossible on any disk: it may contain NUL or a lone surrogate.
        return path


def _stores(around: Surroundings) -> list[ProfileDirectories]:
    environ = around.environ
    profile = active_profile(environ)
    without = {name: value for name, value in environ.items() if name not in (AGENT_DIR, DATA_HOME, STATE_HOME)}
    stores = [_store(around, profile, environ), _store(around, None, environ)]
    # Include the directories that omp used before the user set XDG variables or the agent directory.
    stores += [_store(around, None, {**without, **_xdg(environ)}), _store(around, None, without)]
    for name in _profile_names(around):
        stores.append(_store(around, name, environ))
        stores.append(_store(around, name, without))
    by_directory: dict[str, ProfileDirectories] = {}
    for store in stores:
        by_directory.setdefault(store.data, store)
    return list(by_directory.values())


def _store(around: Surroundings, profile: str | None, environ: Mapping[str, str]) -> ProfileDirectories:
    root = _config_root(around, environ)
    default = os.path.join(root, "profiles", profile, "agent") if profile else os.path.join(root, "agent")
    override = environ.get(AGENT_DIR, "")
    inherited = profile_name(environ.get("PI_PROFILE", ""))
    if profile or (inherited and override == os.path.join(root, "profiles", inherited, "agent")):
        override = ""
    # Unlike pi, omp does not expand "~" in PI_CODING_AGENT_DIR.
    agent_dir = absolute(override, around.cwd) if override else default
    xdg = _xdg(environ) if agent_dir == default and around.platform in ("linux", "darwin") else {}
    data = _xdg_directory(around, xdg.get(DATA_HOME), profile)
    state = _xdg_directory(around, xdg.get(STATE_HOME), profile)
    return ProfileDirectories(
        agent_dir=agent_dir,
        data=data or agent_dir,
        state=state or agent_dir,
        env=_env(around, profile, override and agent_dir, xdg.get(DATA_HOME) if data else None, environ),
        source=f"profile {profile}" if profile else AGENT_DIR if override else DATA_HOME if data else "default",
    )


def _env(
    around: Surroundings, profile: str | None, agent_dir: str, data_home: str | None, environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment variables that must be set for omp to use the directories of a profile."""
    env: dict[str, str] = {}
    real = around.environ
    if profile:
        env["OMP_PROFILE"] = profile
    elif active_profile(real):
        env["OMP_PROFILE"] = ""
    if agent_dir:
        env[AGENT_DIR] = agent_dir
    elif not profile and real.get(AGENT_DIR):
        env[AGENT_DIR] = os.path.join(_config_root(around, environ), "agent")
    if data_home:
        env[DATA_HOME] = absolute(data_home, around.cwd)
    elif not agent_dir and _xdg_directory(around, real.get(DATA_HOME), profile):
        env[DATA_HOME] = ""
    if not agent_dir and real.get(CONFIG_DIR):
        env[CONFIG_DIR] = real[CONFIG_DIR]
    return env


def _config_root(around: Surroundings, environ: Mapping[str, str]) -> str:
    # omp joins the paths with Node's `path.join`, so even an absolute PI_CONFIG_DIR is below the home directory.
    return os.path.normpath(os.path.join(around.home, (environ.get(CONFIG_DIR) or ".omp").lstrip("/")))


def _xdg(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in (DATA_HOME, STATE_HOME) if environ.get(name)}


def _xdg_directory(around: Surroundings, base: str | None, profile: str | None) -> str | None:
    """Return omp's directory below an XDG base directory; None if it does not exist, as omp then does not use it."""
    if not base:
        return None
    directory = os.path.join(absolute(base, around.cwd), "omp", *(("profiles", profile) if profile else ()))
    return directory if around.disk.is_directory(directory) else None


def _profile_names(around: Surroundings) -> list[str]:
    bases = [_config_root(around, around.environ)]
    data = _xdg_directory(around, around.environ.get(DATA_HOME), None)
    if data:
        bases.append(data)
    names = [name for base in bases for name in around.disk.names(os.path.join(base, "profiles"))]
    return [name for name in dict.fromkeys(names) if profile_name(name) == name]


def _place(store: ProfileDirectories, kind: str, root: str) -> Place:
    blobs = os.path.join(store.data, "blobs")
    return Place("omp", root, kind, store.source, store.env, store.agent_dir, blobs)  # type: ignore[arg-type]


OMP = Agent(
    name="omp",
    glyph="ω",
    command=("omp",),
    install="bun install -g @oh-my-pi/pi-coding-agent",
    own_names=(".omp", "omp"),
    places=places,
    rules=rules.OMP,
    folder_of=folder_of,
    owns_folder_form=owns_folder_form,
    tested_versions=("18.3.4", "18.2.3"),
    further_companions=further_companions,
    process_names=("omp",),
    packages=("@oh-my-pi/pi-coding-agent",),
    worker_prefix="__omp_worker_",
    runtime_directories=runtime_directories,
    clean_name=title_name,
    rename=rename,
    bears_appends=False,
)
