"""Save and load the state of the user interface between runs, in one small file; a damaged file is ignored."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.store.own.state_directory import DAMAGED, read_own_file, write_own_file

ViewT = TypeVar("ViewT")

FILE = "view.json"
VERSION = 1
MOST_SCOPES = 20
MOST_SESSIONS = 100
MOST_FOLDS = 500
"""Maximum number of folded rows that are saved for one list or tree."""


class ListView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The saved state of the list screen: project, session, sort orders, folded rows, pane widths, theme.

    `project` is the selected project, None for all projects. `queries` are the latest searches, oldest first. `given`
    are the values of the user's settings when the state was saved: a setting that was changed afterwards takes
    precedence over the saved state.
    """

    project: str | None = None
    session: str | None = None
    sort: str = "newest"
    found_sort: str = "best"
    queries: tuple[str, ...] = ()
    show_path: bool = False
    preview: bool = True
    by_repository: bool = False
    all_open: bool = False
    flipped: tuple[str, ...] = ()
    widths: dict[str, int] = {}
    theme: str | None = None
    given: dict[str, str | bool] = {}

    def holds(self, setting: str, value: str | bool) -> bool:
        """Return True if a setting has the same value as when this state was saved, so that the state applies."""
        return self.given.get(setting, value) == value


class SessionView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The saved state of a session's tree view: the id of the entry under the cursor, ids of folded entries."""

    entry: str | None = None
    folded: tuple[str, ...] = ()


class _Remembered(Struct, frozen=True):
    """The content of the file with the saved states of list screens and tree views; the newest states come last."""

    version: int = VERSION
    scopes: dict[str, ListView] = {}
    sessions: dict[str, SessionView] = {}


def scope_key(roots: Sequence[str], agents: Sequence[str]) -> str:
    """Return the key of a saved list view: the directories and agents with which the browser was started, as text."""
    return "\n".join([*sorted([os.path.realpath(root) for root in roots]), "", *sorted(agents)]).strip("\n")


def recall(state: str, scope: str) -> tuple[ListView | None, dict[str, SessionView]]:
    """Return the saved state of the list screen with the key `scope` (see `scope_key`), and of tree views by path."""
    remembered = _read(state)
    return remembered.scopes.get(scope), dict(remembered.sessions)


def remember(state: str, scope: str, view: ListView, sessions: Mapping[str, SessionView]) -> None:
    """Save the state of the list screen with the key `scope`, and of tree views; other saved states are kept.

    Raises:
        OSError: the file could not be written.
        UnicodeEncodeError: a path in the key `scope` is not valid Unicode.
    """
    before = _read(state)
    view = replace(view, flipped=view.flipped[:MOST_FOLDS])
    kept = {path: replace(one, folded=one.folded[:MOST_FOLDS]) for path, one in sessions.items()}
    after = _Remembered(
        VERSION,
        _last({**_without(before.scopes, [scope]), scope: view}, MOST_SCOPES),
        _last({**_without(before.sessions, kept), **kept}, MOST_SESSIONS),
    )
    if after == before:
        return
    try:
        content = msgspec.json.encode(after)
    except UnicodeEncodeError:
        # JSON cannot contain paths that are not valid Unicode, so the state is saved without paths.
        bare = replace(view, project=None, session=None, queries=(), flipped=())
        content = msgspec.json.encode(_Remembered(VERSION, {**before.scopes, scope: bare}, before.sessions))
    write_own_file(os.path.join(state, FILE), content)


def _without(known: Mapping[str, ViewT], keys: Iterable[str]) -> dict[str, ViewT]:
    gone = set(keys)
    return {key: value for key, value in known.items() if key not in gone}


def _last(known: Mapping[str, ViewT], most: int) -> dict[str, ViewT]:
    return dict(list(known.items())[-most:])


def _read(state: str) -> _Remembered:
    try:
        found = msgspec.json.decode(read_own_file(os.path.join(state, FILE)) or b"{}", type=_Remembered)
    except DAMAGED:
        return _Remembered()
    return found if found.version == VERSION else _Remembered()
