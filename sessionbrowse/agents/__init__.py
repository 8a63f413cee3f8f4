"""The six agent programs, one module each.

If several programs use one directory, a file in it belongs to the first of them in `AGENTS`, unless the file's content
or folder shows that it belongs to another program.
"""

from __future__ import annotations

from sessionbrowse.agents.atomic import ATOMIC
from sessionbrowse.agents.base import Agent, Disk, Marks, Place, Surroundings, attribute
from sessionbrowse.agents.claude import CLAUDE
from sessionbrowse.agents.codex import CODEX
from sessionbrowse.agents.indusagi import INDUSAGI
from sessionbrowse.agents.omp import OMP
from sessionbrowse.agents.pi import PI

AGENTS: dict[str, Agent] = {agent.name: agent for agent in (PI, OMP, ATOMIC, INDUSAGI, CLAUDE, CODEX)}

__all__ = [
    "AGENTS",
    "ATOMIC",
    "CLAUDE",
    "CODEX",
    "INDUSAGI",
    "OMP",
    "PI",
    "Agent",
    "Disk",
    "Marks",
    "Place",
    "Surroundings",
    "attribute",
]
