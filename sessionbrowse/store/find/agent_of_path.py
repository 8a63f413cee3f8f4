"""Determine the agent of a session file from its path, for a file that no scan of session directories found."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sessionbrowse.agents import Marks, attribute
from sessionbrowse.store.find.discover import TRANSCRIPT_SUFFIX, owner_by_name


def agent_of_path(path: str, marks: Marks | None = None, declared: Sequence[str] = ()) -> str:
    """Return the agent of a session file, judged by its path and by `marks` (content that only one agent writes).

    If neither path nor marks determine the agent, the first of pi, omp, atomic, indusagi that is in `declared` (agents
    that the user named) is returned, or pi if `declared` is empty.
    """
    if path.endswith(TRANSCRIPT_SUFFIX) and not (marks and marks.agents):
        return "indusagi"
    owner = owner_by_name(path)
    folder = os.path.basename(os.path.dirname(path))
    in_store = os.path.basename(os.path.dirname(os.path.dirname(path))) == "sessions"
    agents, marks = [owner] if owner else declared, marks or Marks()
    return attribute(agents, folder if in_store else "", marks, is_store=owner is not None)
