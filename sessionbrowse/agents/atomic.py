"""atomic (`@bastani/atomic`): the directories and names of its sessions. Rules of atomic 0.9.15.

atomic is a fork of pi. It reads pi's variables and settings after its own, so pi's session directories can contain
sessions of atomic.
"""

from __future__ import annotations

import os
import re
from functools import partial

from sessionbrowse.agents.base import (
    Agent,
    Surroundings,
    absolute,
    configured_path,
    dashed_folder,
    home_by,
    is_dashed_folder,
    places_like_pi,
    stem_of,
)
from sessionbrowse.model.session import rules

HOMES = ("HOME", "USERPROFILE")
PROJECT_SETTINGS = (os.path.join(".pi", "settings.json"), os.path.join(".atomic", "settings.json"))

places = partial(
    places_like_pi,
    "atomic",
    ".atomic",
    ("ATOMIC_CODING_AGENT_DIR", "PI_CODING_AGENT_DIR"),
    ("ATOMIC_CODING_AGENT_SESSION_DIR", "PI_CODING_AGENT_SESSION_DIR"),
    PROJECT_SETTINGS,
    home_variables=HOMES,
    further_settings=(os.path.join(".pi", "agent", "settings.json"),),
)
"""Return atomic's session directories: the one in its agent directory, and those named by variables or settings."""


def folder_of(cwd: str, around: Surroundings) -> str:
    """Return the name of a project's session folder: the project's absolute path, in pi's form `--…--`."""
    return dashed_folder(absolute(configured_path(cwd, home_by(HOMES, around)) or cwd, around.cwd))


def further_companions(name: str) -> str:
    """Return a pattern for the names of a session's backups and of the reports of its compactions."""
    name, stem = re.escape(name), re.escape(stem_of(name))
    return (
        rf"{name}\.\d{{4}}-[0-9TZ-]+\.[A-Za-z0-9_-]+\.bak"
        rf"|{stem}-compaction-(?:diagnostic|recovery|success)-\d+-[0-9a-f-]+\.json"
    )


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
