"""atomic (`@bastani/atomic`): the directories and names of its sessions. Rules of atomic 0.9.15.

atomic is a fork of pi. It reads pi's variables and settings after its own, so pi's session directories can contain
sessions of atomic.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

import msgspec

from sessionbrowse.agents.base import (
    Agent,
    Place,
    Surroundings,
    absolute,
    configured_path,
    configured_session_directories,
    custom_directories,
    dashed_folder,
    distinct,
    is_dashed_folder,
    stem_of,
)
from sessionbrowse.model.session import rules

AGENT_DIRS = ("ATOMIC_CODING_AGENT_DIR", "PI_CODING_AGENT_DIR")
SESSION_DIRS = ("ATOMIC_CODING_AGENT_SESSION_DIR", "PI_CODING_AGENT_SESSION_DIR")
PROJECT_SETTINGS = (os.path.join(".pi", "settings.json"), os.path.join(".atomic", "settings.json"))


def places(around: Surroundings) -> list[Place]:
    """Return atomic's session directories: the one in its agent directory, and those named by variables or settings."""
    around = msgspec.structs.replace(around, home=_home(around))
    agent_dir, env, defined = _agent_directory(around)
    source = next(iter(env), "default")
    found = [Place("atomic", os.path.join(agent_dir, "sessions"), "projects", source, env, agent_dir)]
    variable, value = first_defined(around.environ, SESSION_DIRS)
    for directory in custom_directories(value, around):
        found.append(Place("atomic", directory, "flat", variable, {**env, variable: directory}, agent_dir))
    global_settings = [os.path.join(agent_dir, "settings.json")]
    if not defined:
        # atomic also reads pi's settings, at the lowest priority, unless a variable names the agent directory.
        global_settings.insert(0, os.path.join(around.home, ".pi", "agent", "settings.json"))
    for directory, why in configured_session_directories(around, global_settings, PROJECT_SETTINGS):
        found.append(Place("atomic", directory, "flat", why, env, agent_dir))
    return distinct(found)


def first_defined(environ: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, str | None]:
    """Return the name and value of the first environment variable in `names` that is defined, even if it is empty.

    If none is defined, return the first name and None.
    """
    for name in names:
        if name in environ:
            return name, environ[name]
    return names[0], None


def folder_of(cwd: str, around: Surroundings) -> str:
    """Return the name of a project's session folder: the project's absolute path, in pi's form `--…--`."""
    return dashed_folder(absolute(configured_path(cwd, _home(around)) or cwd, around.cwd))


def further_companions(name: str) -> str:
    """Return a pattern for the names of a session's backups and of the reports of its compactions."""
    name, stem = re.escape(name), re.escape(stem_of(name))
    return (
        rf"{name}\.\d{{4}}-[0-9TZ-]+\.[A-Za-z0-9_-]+\.bak"
        rf"|{stem}-compaction-(?:diagnostic|recovery|success)-\d+-[0-9a-f-]+\.json"
    )


def _agent_directory(around: Surroundings) -> tuple[str, dict[str, str], bool]:
    name, value = first_defined(around.environ, AGENT_DIRS)
    path = configured_path(value, around.home) if value else None
    if path is None:
        return os.path.join(around.home, ".atomic", "agent"), {}, value is not None
    directory = absolute(path, around.cwd)
    return directory, {name: directory}, True


def _home(around: Surroundings) -> str:
    return around.environ.get("HOME") or around.environ.get("USERPROFILE") or around.home


ATOMIC = Agent(
    name="atomic",
    glyph="α",
    command=("atomic",),
    install="npm install -g @bastani/atomic",
    own_names=(".atomic", "atomic"),
    places=places,
    rules=rules.ATOMIC,
    folder_of=folder_of,
    owns_folder_form=is_dashed_folder,
    tested_versions=("0.9.15",),
    further_companions=further_companions,
    project_settings=PROJECT_SETTINGS,
    process_names=("atomic",),
    packages=("@bastani/atomic",),
)
