"""Codex: the directories and names of its sessions (rollouts), and its command line. Rules of 0.34 to 0.146.

Its files are only read. It resumes a session by id, and asks which directory to use.
"""

from __future__ import annotations

import os
import re
from pathlib import PurePath

from sessionbrowse.agents.base import Agent, Place, Surroundings, absolute
from sessionbrowse.model.session import rules

HOME = "CODEX_HOME"
SESSIONS = "sessions"
ARCHIVED = "archived_sessions"
NAMES = "session_index.jsonl"
"""Name of the file with the names that users gave to sessions."""
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def places(around: Surroundings) -> list[Place]:
    """Return two directories: of the sessions, in folders by date, and of the archived sessions."""
    value = around.environ.get(HOME)
    home = absolute(value, around.cwd) if value else os.path.join(around.home, ".codex")
    source, env = (HOME, {HOME: home}) if value else ("default", {})
    return [
        Place("codex", os.path.join(home, SESSIONS), "dates", source, env, home),
        Place("codex", os.path.join(home, ARCHIVED), "retired", source, env, home),
    ]


def folder_of(_: str, __: Surroundings) -> str:
    """Return "", because Codex names its folders by date, not by project."""
    return ""


def resume(path: str) -> tuple[str, ...]:
    """Return the arguments that resume a session: its id is in the file's name."""
    return "resume", id_in_name(path)


def id_in_name(path: str) -> str:
    """Return the id in the name of a session file; "" for a name without one."""
    found = _ID.search(os.path.basename(path))
    return found[0] if found is not None else ""


def home_of(path: str) -> str | None:
    """Return the Codex directory that contains a session file; None if no Codex directory does."""
    stores = [parent for parent in PurePath(path).parents if parent.name in (SESSIONS, ARCHIVED)]
    return str(stores[0].parent) if stores else None


def store_of(path: str) -> tuple[str, ...]:
    """Return the session directories of the Codex directory that contains a file; empty if no Codex directory does."""
    home = home_of(path)
    return (os.path.join(home, SESSIONS), os.path.join(home, ARCHIVED)) if home is not None else ()


CODEX = Agent(
    name="codex",
    glyph="x",
    command=("codex",),
    install="npm install -g @openai/codex",
    own_names=(".codex", "codex"),
    places=places,
    rules=rules.CODEX,
    folder_of=folder_of,
    owns_folder_form=lambda _: False,
    tested_versions=("0.146", "0.145"),
    process_names=("codex",),
    packages=("@openai/codex",),
    bears_appends=False,
    resume=resume,
)
