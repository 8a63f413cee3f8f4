"""Explain files without a header: after a session was moved, a running agent may append lines at its old path."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from sessionbrowse.agents import Surroundings
from sessionbrowse.config import state_dir
from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.format.json_value import json_object
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.system.files import NONBLOCK
from sessionbrowse.text import clean

_FIRST_BYTES = 1024 * 1024


def explained(summaries: Sequence[Summary], around: Surroundings) -> list[Summary]:
    """Return the summaries; for a file without header, `problem` also names the session to which its lines belong."""
    return [_explained(one, around) if one.id is None and one.problem and one.bytes else one for one in summaries]


def _explained(summary: Summary, around: Surroundings) -> Summary:
    # Imported here because only files without a header need these modules, and hardly any list contains such a file.
    from sessionbrowse.store.read.session_file import open_session
    from sessionbrowse.store.write.journal import Journal, left_for

    journal = Journal(str(state_dir(around.environ, Path(around.home))), lambda: time.time() * 1000)
    try:
        target = left_for(journal, summary.path)
        parent_id = _first_parent(summary.path) if target is not None else None
        if target is None or parent_id is None or parent_id not in open_session(target, summary.agent).index_by_id:
            return summary
    except (OSError, SessionBrowseError):
        return summary
    whose = f"the file's lines belong to the session that was moved to {clean(target)}"
    return replace(summary, problem=f"{summary.problem}; {whose}")


def _first_parent(path: str) -> str | None:
    """Return the parent id of the first entry in a file, None if there is none."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | NONBLOCK)) as file:
        first = file.read(_FIRST_BYTES).partition(b"\n")[0]
    parent_id = (json_object(first) or {}).get("parentId")
    return parent_id if isinstance(parent_id, str) else None
