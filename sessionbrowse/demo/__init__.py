"""Fictional sessions of all four agents, with which users can try sessionbrowse without risk."""

from __future__ import annotations

import time
from pathlib import Path

from sessionbrowse.demo import at_home, auth_story, infra, ledger, notes, webshop
from sessionbrowse.demo.files import write
from sessionbrowse.demo.world import MOVED_TO, PROJECTS, World

__all__ = ["make_demo"]


def make_demo(target: Path, now_ms: int | None = None) -> Path:
    """Write the demo's projects and sessions into the new or empty folder `target`, and return the folder's path.

    All times are relative to `now_ms` (default: the current time). For the same `target` and `now_ms` the files are
    identical.
    """
    world = World(target.absolute(), round(time.time() * 1000) if now_ms is None else now_ms)
    for project, purpose in PROJECTS.items():
        readme = world.home / project / "README.md"
        write(readme, [f"# {project}\n\n{purpose}\n".encode()], world.now_ms)
    write(world.home / MOVED_TO / "README.md", [b"# legacy-crm\n\nHere it is.\n"], world.now_ms)
    for stories in (auth_story, webshop, infra, notes, ledger, at_home):
        stories.write_sessions(world)
    return world.target
