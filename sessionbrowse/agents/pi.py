"""pi (`@earendil-works/pi-coding-agent`): the directories and names of its sessions. Rules of pi 0.30 to 1.5.2."""

from __future__ import annotations

import os

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
)
from sessionbrowse.model.session import rules

AGENT_DIR = "PI_CODING_AGENT_DIR"
SESSION_DIR = "PI_CODING_AGENT_SESSION_DIR"
SETTINGS = os.path.join(".pi", "settings.json")


def places(around: Surroundings) -> list[Place]:
    """Return pi's session directories: the one in its agent directory, and those named by variables or settings."""
    agent_dir, env = agent_directory(around)
    source = AGENT_DIR if env else "default"
    found = [Place("pi", os.path.join(agent_dir, "sessions"), "projects", source, env, agent_dir)]
    for directory in custom_directories(around.environ.get(SESSION_DIR), around):
        found.append(Place("pi", directory, "flat", SESSION_DIR, {**env, SESSION_DIR: directory}, agent_dir))
    for directory, why in configured_session_directories(
        around, [os.path.join(agent_dir, "settings.json")], [SETTINGS]
    ):
        found.append(Place("pi", directory, "flat", why, env, agent_dir))
    return distinct(found)


def agent_directory(around: Surroundings) -> tuple[str, dict[str, str]]:
    """Return pi's agent directory, and the variable `PI_CODING_AGENT_DIR` if it is set and not empty."""
    value = around.environ.get(AGENT_DIR)
    path = configured_path(value, around.home) if value else None
    if path is None:
        return os.path.join(around.home, ".pi", "agent"), {}
    directory = absolute(path, around.cwd)
    return directory, {AGENT_DIR: directory}


def folder_of(cwd: str, around: Surroundings) -> str:
    """Return the name of pi's session folder for a project, made from the project's absolute path.

    Symlinks are not resolved. Different paths can give the same name.
    """
    return dashed_folder(absolute(configured_path(cwd, around.home) or cwd, around.cwd))


PI = Agent(
    name="pi",
    glyph="π",
    command=("pi",),
    install="npm install -g @earendil-works/pi-coding-agent",
    own_names=(".pi", "pi"),
    places=places,
    rules=rules.PI,
    folder_of=folder_of,
    owns_folder_form=is_dashed_folder,
    tested_versions=("1.6.0", "0.87.1"),
    project_settings=(SETTINGS,),
    process_names=("pi", "pi-rpc"),
    packages=("@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"),
)
