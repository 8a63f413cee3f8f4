"""Claude Code: the directories and names of its sessions, and its command line. Rules of 1.0.24 to 2.1.218.

Its files are only read. It resumes a session by id, in the session's own directory.
"""

from __future__ import annotations

import os
from functools import partial

from sessionbrowse.agents.base import (
    Agent,
    RuntimeDirectories,
    Surroundings,
    absolute,
    is_dashed_folder,
    places_in_home,
    stem_of,
)
from sessionbrowse.model.session import rules

places = partial(places_in_home, "claude", "CLAUDE_CONFIG_DIR", ".claude", {"projects": "projects"})
"""Return the directory that contains one folder of sessions for each project."""


def runtime_directories(around: Surroundings) -> RuntimeDirectories:
    """Return the directory in which each running process writes the id of its session."""
    (place,) = places(around)
    return RuntimeDirectories(processes=(os.path.join(place.agent_dir or "", "sessions"),))


def folder_of(cwd: str, around: Surroundings) -> str:
    """Return the name of the folder with the sessions of a project; different paths can give the same name."""
    # Imported here because lists need no name of a folder.
    from sessionbrowse.model.listing.directories import alphanumeric

    return alphanumeric(absolute(cwd, around.cwd))


def resume(path: str) -> tuple[str, ...]:
    """Return the arguments that resume a session: its id is the file's name."""
    return "--resume", stem_of(os.path.basename(path))


CLAUDE = Agent(
    name="claude",
    glyph="c",
    command=("claude",),
    install="npm install -g @anthropic-ai/claude-code",
    own_names=(".claude", "claude"),
    places=places,
    rules=rules.CLAUDE,
    folder_of=folder_of,
    owns_folder_form=lambda name: name.startswith("-") and not is_dashed_folder(name),
    tested_versions=("2.1.218",),
    process_names=("claude",),
    packages=("@anthropic-ai/claude-code",),
    runtime_directories=runtime_directories,
    bears_appends=False,
    resume=resume,
    # If Claude Code inherits this variable, it acts as a child of another session and saves no session of its own.
    kept_from_it=("CLAUDE_CODE_CHILD_SESSION",),
)
