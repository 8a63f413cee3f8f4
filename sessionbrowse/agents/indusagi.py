"""indusagi: the directories of its sessions, for three generations of the program.

Generation 1 (up to 0.12.15) writes pi's format, generations 2 and 3 write `indus/transcript@1`. Generations 1 and 2
share `~/.indusagi/agent/sessions`; the Python port of indusagi uses directories below `~/.pindusagi`.
"""

from __future__ import annotations

import os
import re

from sessionbrowse.agents.base import (
    Agent,
    Place,
    Surroundings,
    absolute,
    dashed_folder,
    distinct,
    expand_home,
    is_dashed_folder,
)
from sessionbrowse.agents.change_plans import RenamePlan, name_entry
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.model.session import rules

OWN_DIR = "INDUSAGI_AGENT_DIR"
AGENT_DIR = "INDUSAGI_CODING_AGENT_DIR"
BASE_DIR = "INDUSAGI_DIR"


def places(around: Surroundings) -> list[Place]:
    """Return the session directories of all three generations of indusagi; each has one folder per project."""
    environ, home = around.environ, around.home
    # Generation 1 of indusagi ignores INDUSAGI_CODING_AGENT_DIR if INDUSAGI_AGENT_DIR is defined, even if it is empty.
    variable = OWN_DIR if OWN_DIR in environ else AGENT_DIR
    roots: list[tuple[str, str, dict[str, str]]] = []
    if environ.get(variable):
        roots.append(_named(around, variable))
    else:
        base = environ.get(BASE_DIR)
        for default in (".indusagi", ".pindusagi"):
            directory = os.path.join(_directory(around, base) if base else os.path.join(home, default), "agent")
            roots.append(
                (directory, BASE_DIR if base else "default", {BASE_DIR: _directory(around, base)} if base else {})
            )
    # Generations 2 and 3 of indusagi read only the variable INDUSAGI_CODING_AGENT_DIR.
    if environ.get(AGENT_DIR):
        roots.append(_named(around, AGENT_DIR))
    else:
        roots.append((os.path.join(home, ".indusagi", "agent"), "default", {}))
        roots.append((os.path.join(home, ".pindusagi"), "default", {}))
    return distinct(
        [
            Place("indusagi", os.path.join(directory, "sessions"), "projects", source, env, directory)
            for directory, source, env in roots
        ]
    )


def folder_of(cwd: str, around: Surroundings) -> str:
    """Return the name of a project's session folder in generation 1 of indusagi; a relative path is not resolved."""
    return dashed_folder(cwd)


def slug_of(cwd: str) -> str:
    """Return the name of a project's session folder in generations 2 and 3 of indusagi.

    One `-` replaces each sequence of characters other than a-z, A-Z and 0-9.
    """
    return "--" + re.sub(r"[^A-Za-z0-9]+", "-", cwd).strip("-") + "--"


def rename(name: str, _: bool) -> RenamePlan:
    """Return the plan to rename a session by appending an entry that contains the name.

    Raises:
        RefusedWrite: the name is empty; indusagi 0.12.15 cannot clear a name and would keep showing the older one.
    """
    if not name:
        raise RefusedWrite("indusagi cannot clear a name: it would keep showing the older one. Choose another name.")
    return name_entry(name)


def _named(around: Surroundings, variable: str) -> tuple[str, str, dict[str, str]]:
    directory = _directory(around, around.environ[variable])
    return directory, variable, {variable: directory}


def _directory(around: Surroundings, value: str) -> str:
    return absolute(expand_home(value, around.home), around.cwd)


INDUSAGI = Agent(
    name="indusagi",
    glyph="ι",
    command=("indusagi",),
    install="npm install -g indusagi-coding-agent",
    own_names=(".indusagi", ".pindusagi", "indusagi"),
    places=places,
    rules=rules.INDUSAGI,
    folder_of=folder_of,
    owns_folder_form=is_dashed_folder,
    tested_versions=("0.12.15",),
    process_names=("indusagi", "indus", "pindus", "induscode"),
    packages=("indusagi", "indusagi-coding-agent"),
    rename=rename,
)
