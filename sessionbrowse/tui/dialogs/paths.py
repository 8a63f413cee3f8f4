"""Paths that the user types: completion, and a name for a new file."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sessionbrowse.agents.base import expand_home

MOST_NAMES = 5_000
"""Maximum number of names of a directory among which one is completed."""


def complete(typed: str, home: str, folder: str = "", *, only_directories: bool) -> tuple[str, list[str]]:
    """Return a typed path, completed as far as it is unambiguous, and the paths that can follow. Reads the disk.

    A relative path starts at `folder`, or at the home directory.
    """
    above, _, begin = typed.rpartition("/")
    directory = os.path.join(folder or home, expand_home(f"{above}/" if "/" in typed else "", home))
    try:
        with os.scandir(directory) as found:
            names = [
                f"{one.name}/" if one.is_dir() else one.name
                for one, _ in zip(found, range(MOST_NAMES), strict=False)
                if one.name.startswith(begin) and (begin or not one.name.startswith("."))
            ]
    except OSError:
        return typed, []
    names = sorted([name for name in names if name.endswith("/") or not only_directories])
    if not names:
        return typed, []
    # The names are sorted, so a beginning that the first and the last share is common to all.
    first, last = names[0], names[-1]
    same = next((at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
    return typed[: len(typed) - len(begin)] + first[:same], names


def new_file(directory: str, title: str, ending: str) -> str:
    """Return the path of a file that does not exist yet, named after a title. Reads the disk."""
    stem = "-".join(re.findall(r"[^\W_]+", title.lower()))[:40].strip("-") or "session"
    tries = (stem if number == 1 else f"{stem}-{number}" for number in range(1, 1_000))
    return next((str(path) for one in tries if not os.path.lexists(path := Path(directory, one + ending))), directory)
