"""pi (`@earendil-works/pi-coding-agent`): the directories and names of its sessions. Rules of pi 0.30 to 1.5.2."""

from __future__ import annotations

import os
from functools import partial

from sessionbrowse.agents.base import (
    Agent,
    Surroundings,
    absolute,
    configured_path,
    dashed_folder,
    is_dashed_folder,
    places_like_pi,
)
from sessionbrowse.model.session import rules

SESSION_DIR = "PI_CODING_AGENT_SESSION_DIR"
SETTINGS = os.path.join(".pi", "settings.json")

places = partial(places_like_pi, "pi", ".pi", ("PI_CODING_AGENT_DIR",), (SESSION_DIR,), (SETTINGS,))
"""Return pi's session directories: the one in its agent directory, and those named by variables or settings."""


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
