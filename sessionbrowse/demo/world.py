"""The fictional world of the demo: home directory, projects, the agents' directories, and the current time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from sessionbrowse.agents import AGENTS, Surroundings
from sessionbrowse.demo.writer import Story

# The projects of the demo, each with the text of its README.
PROJECTS = {
    "webshop": "A small shop: Python, FastAPI, Postgres, a little TypeScript.",
    "infra": "Terraform, Helm charts and scripts that run the shop.",
    "notes-app": "Notes that work offline, on every device.",
    "ledger": "Double-entry bookkeeping as a service, in Go.",
    "dotfiles": "The shell, the editor and tmux, as I like them.",
}

MOVED_PROJECT = "legacy-crm"
"""The name of a project whose directory was moved; its sessions still have the old path, which does not exist."""

MOVED_TO = "clients/legacy-crm"
"""The moved project's new directory, relative to the home directory; sessions with this path do not exist yet."""

_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class World(Struct, frozen=True):
    """The folder that contains all files of the demo, and the demo's current time (ms since 1970)."""

    target: Path
    now_ms: int

    @property
    def home(self) -> Path:
        """The home directory of the fictional user."""
        return self.target / "home" / "dev"

    def agent_directory(self, agent: str) -> Path:
        """Return an agent's own directory, which contains the agent's `sessions` folder."""
        return self.target / agent / "agent"

    def folder(self, agent: str, project: str) -> str:
        """Return the name of the folder in which an agent keeps a project's sessions."""
        around = Surroundings(home=str(self.home), environ={}, cwd=str(self.target))
        return AGENTS[agent].folder_of(str(self.home / project), around)

    def story(self, agent: str, project: str, ago: str, title: str, **options: Any) -> Story:
        """Return a new, empty session that ends `ago` (`40s`, `5m`, `2h`, `3d`) before the demo's time `now_ms`."""
        ends_ms = self.now_ms - int(float(ago[:-1]) * _UNITS_MS[ago[-1]])
        root = self.agent_directory(agent)
        return Story(agent, root, self.home / project, ends_ms, title, **options)

    def save(self, story: Story) -> Story:
        """Write a session into the folder of its project, and return the session."""
        story.save(self.folder(story.agent, story.cwd.name))
        return story
