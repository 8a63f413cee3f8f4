"""The companions of a session file: the files and folders beside it that agents and extensions keep for the session.

An agent finds them by the session file's name, and so does this module; no file is opened.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

SESSION_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".jsonl.zst")
"""Suffixes of the names that session files may have."""
_PROJECTS = "sessions"
_NOTHING = "(?!)"
_MADE_BY_AGENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_.+")
# Extensions of pi keep, for example, `STEM.meta.json`, `STEM-task-state.json`, `STEM.memory.md`, `STEM.jsonl.exit` and
# the folder `STEM.jsonl.artifacts`. An export such as `STEM.html` or `STEM.md` was made by the user and stays.
_BY_EXTENSION = re.compile(r"\.jsonl\..+|[._-].+\.(?:json|md)", re.DOTALL)


def stem_of(name: str) -> str:
    """Return the name or path of a session file without the suffix of session files."""
    for suffix in (".jsonl.gz", ".jsonl.zst", ".jsonl", ".ndjson"):
        if name.endswith(suffix):
            return name[: -len(suffix)]
    return name


def own_folder(path: str) -> str | None:
    """Return the path that a session's folder has, whether it exists or not; None if it would be a project's folder.

    In a directory `sessions` every folder is a project's, even one with the name of a session file beside it.
    """
    folder, name = os.path.split(path)
    stem = stem_of(name)
    is_session = stem not in ("", name)
    is_free = os.path.basename(folder) != _PROJECTS or _MADE_BY_AGENT.fullmatch(stem)
    return os.path.join(folder, stem) if is_session and is_free else None


def companion_names(path: str, names: Sequence[str], further: str) -> list[str]:
    """Return the names of a session's companions among `names`, the sorted names in the session file's folder.

    `further` is a regular expression for names that only the session's agent uses. A folder with the stem of the
    session's name, in which agents and extensions keep the sessions of subagents, belongs to the session. Files whose
    names begin with this stem belong to it only if an agent made the name (a time and an id), because files beside a
    name that a user chose may be the user's own.
    """
    name = os.path.basename(path)
    stem = stem_of(name)
    if stem == name or not stem:
        return []
    alike = list(_beginning_with(stem, names))
    sessions = [one for one in alike if one.endswith(SESSION_SUFFIXES)]
    if next((one for one in sessions if stem_of(one) == stem), name) != name:
        return []  # Several session files have this stem; the companions belong to the first of them.
    others = tuple(longer for one in sessions if (longer := stem_of(one)) != stem)
    own = [one for one in alike if one not in sessions and not (others and one.startswith(others))]
    is_made = _MADE_BY_AGENT.fullmatch(stem) is not None
    agents = re.compile(further or _NOTHING)
    return [
        one
        for one in (*_beginning_with(f".{stem}", names), *own)
        if (one == stem and own_folder(path))
        or agents.fullmatch(one)
        or (is_made and one.startswith(stem) and _BY_EXTENSION.fullmatch(one, len(stem)))
    ]


def _beginning_with(start: str, names: Sequence[str]) -> Iterator[str]:
    for number in range(bisect_left(names, start), len(names)):
        if not names[number].startswith(start):
            return
        yield names[number]
