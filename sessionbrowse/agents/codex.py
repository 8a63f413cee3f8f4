"""Codex: the directories and names of its sessions (rollouts), and its command line. Rules of 0.34 to 0.146.

Its files are only read. It resumes a session by id, and asks which directory to use.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from functools import lru_cache, partial
from pathlib import Path

from sessionbrowse.agents.base import Agent, Surroundings, places_in_home
from sessionbrowse.format.json_value import json_object, trim
from sessionbrowse.model.session import rules

SESSIONS = "sessions"
ARCHIVED = "archived_sessions"
_INDEX = "session_index.jsonl"
"""Name of the file with the names that users gave to sessions."""
_DATABASE = re.compile(r"state_(\d+)\.sqlite")
_DATABASE_HOME = "CODEX_SQLITE_HOME"
"""Name of the variable with the directory of the database, if it is not the Codex directory."""
_TITLE_CHARACTERS = 150
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

places = partial(places_in_home, "codex", "CODEX_HOME", ".codex", {SESSIONS: "dates", ARCHIVED: "retired"})
"""Return the directory of the sessions, which has folders by date, and the directory of the archived sessions."""


def folder_of(_: str, __: Surroundings) -> str:
    """Return "", because Codex names its folders by date, not by project."""
    return ""


def resume(path: str) -> tuple[str, ...]:
    """Return the arguments that resume a session: its id is in the file's name."""
    return "resume", id_in_name(path)


def id_in_name(path: str) -> str:
    """Return the id in the name of a session file; "" for a name without one."""
    found = _ID.search(os.path.basename(path))
    return found[0] if found is not None else ""


def home_of(path: str) -> str | None:
    """Return the Codex directory that contains a session file; None if no Codex directory does."""
    # `PurePath.parents` would take a thirtieth of the time of a list.
    home, name = os.path.split(os.path.dirname(path))
    while name and name not in (SESSIONS, ARCHIVED):
        home, name = os.path.split(home)
    return home if name else None


def store_of(path: str) -> tuple[str, ...]:
    """Return the session directories of the Codex directory that contains a file; empty if no Codex directory does."""
    home = home_of(path)
    return (os.path.join(home, SESSIONS), os.path.join(home, ARCHIVED)) if home is not None else ()


# ---- names and titles of sessions, in files beside them ----------------------------------------------------

_texts: dict[str, tuple[tuple[int, ...], dict[str, str]]] = {}
"""The names or titles in a file, by session id, and the status of the file when it was read."""
_lock = threading.Lock()


def codex_name(path: str) -> str | None:
    """Return a session's name from Codex's index of names; if several lines have its id, the last one counts."""
    home = home_of(path)
    return _cached(os.path.join(home, _INDEX), _read_names).get(id_in_name(path)) if home is not None else None


def codex_title(path: str) -> str | None:
    """Return a session's title from Codex's database, unless it is the beginning of the first prompt.

    Opening the database makes no files. It is not read while Codex has changes beside it that are not in it yet.
    """
    home = home_of(path)
    folders = (os.environ.get(_DATABASE_HOME), home) if home is not None else ()
    return next(filter(None, [_titles_in(each).get(id_in_name(path)) for each in folders if each]), None)


def _titles_in(folder: str) -> dict[str, str]:
    with suppress(OSError):
        database = _newest_database(folder, os.stat(folder).st_mtime_ns)
        if database is not None and not (os.path.exists(f"{database}-wal") and os.path.getsize(f"{database}-wal")):
            return _cached(database, _read_titles)
    return {}


def _cached(path: str, read: Callable[[str], dict[str, str]]) -> dict[str, str]:
    """Return the names or titles in a file, by session id; `read` is called only if the file has changed."""
    try:
        status = os.stat(path)
        stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        with _lock:
            known = _texts.get(path)
        if known is None or known[0] != stamp:
            known = stamp, read(path)
            with _lock:
                _texts[path] = known
    except OSError:
        return {}
    return known[1]


def _read_names(path: str) -> dict[str, str]:
    with open(path, "rb") as file:
        values = [json_object(line) or {} for line in file]
    named = [(str(one.get("id")), trim(str(one.get("thread_name") or ""))) for one in values]
    return {key: name for key, name in named if name}


def _read_titles(path: str) -> dict[str, str]:
    # Imported here because most lists read no session of Codex.
    import sqlite3

    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"{Path(path).as_uri()}?mode=ro&immutable=1", uri=True)) as database,
    ):
        rows = database.execute("SELECT id, title, first_user_message FROM threads").fetchall()
        titles = [(str(key), trim(str(title or "")), str(first or "").lstrip()) for key, title, first in rows]
        return {key: title[:_TITLE_CHARACTERS] for key, title, first in titles if title and not first.startswith(title)}
    return {}


@lru_cache(8)
def _newest_database(home: str, _: int) -> str | None:
    """Return the database with the highest number in a Codex directory, which changed last at the given time."""
    found = [(int(match[1]), name) for name in os.listdir(home) if (match := _DATABASE.fullmatch(name))]
    return os.path.join(home, max(found)[1]) if found else None


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
