"""Find the agent that a session file belongs to.

Three programs read `PI_CODING_AGENT_DIR`, so one directory may contain the files of several programs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

OWNER_ORDER = ("pi", "omp", "atomic", "indusagi")


class Marks(Struct, frozen=True):
    """The agent programs whose marks a file contains; a mark is content that only one program writes."""

    agents: frozenset[str] = frozenset()

    def agent(self) -> str | None:
        """Return the first of omp, atomic and indusagi whose marks the file has; None if the file has no marks."""
        return next((name for name in ("omp", "atomic", "indusagi") if name in self.agents), None)


def attribute(place_agents: Sequence[str], folder_name: str, marks: Marks) -> str:
    """Return the agent that owns a session file, judged by its marks, else by its folder's name, else by its directory.

    `marks` are content that only one program writes. `folder_name` is the name of the project's folder, "" for a file
    in a directory without project folders. `place_agents` are the agents that use the directory.
    """
    marked = marks.agent()
    if marked is not None:
        return marked
    if is_omp_folder(folder_name):
        return "omp"
    return next((name for name in OWNER_ORDER if name in place_agents), OWNER_ORDER[0])


def is_omp_folder(name: str) -> bool:
    """Return True for a folder name that only omp uses, such as `-` (home), `-PATH` (below home) or `-tmp-PATH`."""
    return (name.startswith("-") and not name.startswith("--")) or bool(_HASHED_FOLDER.fullmatch(name))


# omp 17.2.5 to 17.2.8 put a hash into the names of project folders. Such names remain, because later versions of omp
# rename a folder only when the user works in the project again.
_HASHED_FOLDER = re.compile(r"(?:home|tmp|abs)-.+-[0-9a-f]{64}")
