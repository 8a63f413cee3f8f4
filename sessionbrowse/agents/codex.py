"""Codex: the directories and names of its sessions (rollouts), and its command line. Rules of 0.34 to 0.146.

Its files are only read. It resumes a session by id, and asks which directory to use.
"""

from __future__ import annotations

import os
import re

from sessionbrowse.agents.base import Agent, Place, Surroundings, absolute
from sessionbrowse.model.session import rules

HOME = "CODEX_HOME"
ARCHIVED = "archived_sessions"
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def places(around: Surroundings) -> list[Place]:
    """Return the directory of sessions, with folders by date, and that of archived sessions."""
    value = around.environ.get(HOME)
    home = absolute(value, around.cwd) if value else os.path.join(around.home, ".codex")
    source, env = (HOME, {HOME: home}) if value else ("default", {})
    return [
        Place("codex", os.path.join(home, "sessions"), "dates", source, env, home),
        Place("codex", os.path.join(home, ARCHIVED), "retired", source, env, home),
    ]


def folder_of(_: str, __: Surroundings) -> str:
    """Return "": the folder of a session tells its date, not its directory."""
    return ""


def resume(path: str) -> tuple[str, ...]:
    """Return the arguments that resume a session: its id is in the file's name."""
    found = _ID.search(os.path.basename(path))
    return "resume", found[0] if found is not None else ""


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
