"""A mirror of another machine, as a look at it leaves it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sessionbrowse.agents import Place
from sessionbrowse.store.own.mirrors import MirrorState, path_here, write_state

SEEN = 1_786_608_600_000
STORE = "/home/me/.pi/agent/sessions"


def mirror(name: str = "mini", **more: Any) -> MirrorState:
    """Make a machine's mirror without sessions: one place of pi, seen at `SEEN`; `more` are its other fields."""
    place = Place("pi", STORE, "projects", "default", agent_dir="/home/me/.pi/agent")
    facts: dict[str, Any] = {
        "host": f"{name}.local",
        "seen": SEEN,
        "home": "/home/me",
        "shell": "/bin/sh",
        "places": (place,),
    }
    state = MirrorState(name=name, **(facts | more))
    write_state(state)
    return state


def mirrored(name: str, path: str, *lines: bytes) -> Path:
    """Write a session into a machine's mirror, as the file that has this path over there."""
    here = Path(path_here(name, path))
    here.parent.mkdir(parents=True, exist_ok=True)
    here.unlink(missing_ok=True)
    here.write_bytes(b"".join(lines))
    here.chmod(0o400)
    os.utime(here, (SEEN / 1000 - 3600, SEEN / 1000 - 3600))
    return here
