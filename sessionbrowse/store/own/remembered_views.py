"""The state of the interface that is kept between runs, in one small file; a damaged file is ignored."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.store.own.small_file import DAMAGED, read_own_file, write_own_file

ViewT = TypeVar("ViewT")

FILE = "view.json"
VERSION = 1
MOST_SCOPES = 20
MOST_SESSIONS = 100
MOST_FOLDS = 500
"""Maximum number of folded rows that are saved of one list or tree."""


class ListView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last state of the first screen: project, session, filters, sort order, folds, pane widths, colours.

    `folder` None stands for all projects. `given` are the settings, by name, when the state was saved: a setting
    that the user changed since wins over the remembered state.
    """

    folder: str | None = None
    session: str | None = None
    filter: str = ""
    folder_filter: str = ""
    sort: str = "recent"
    named: bool = False
    show_path: bool = False
    preview: bool = True
    by_repository: bool = False
    all_open: bool = False
    flipped: tuple[str, ...] = ()
    widths: dict[str, int] = {}
    theme: str | None = None
    newest_hits_first: bool = False
    given: dict[str, str | bool] = {}

    def holds(self, setting: str, value: str | bool) -> bool:
        """Tell whether a setting still has the value that it had when this state was saved; else the setting wins."""
        return self.given.get(setting, value) == value


class SessionView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last state of a session's tree: the entry under the cursor, the filter, the folded entries, by id."""

    entry: str | None = None
    filter: str = "default"
    folded: tuple[str, ...] = ()
    given: dict[str, str | bool] = {}


class _Remembered(Struct, frozen=True):
    """The content of the file of remembered views; the latest states come last."""

    version: int = VERSION
    scopes: dict[str, ListView] = {}
    sessions: dict[str, SessionView] = {}


def scope_key(roots: Sequence[str], agents: Sequence[str]) -> str:
    """Return the key of a remembered view: the directories and agents that the browser was started with."""
    return "\n".join([*sorted([os.path.realpath(root) for root in roots]), "", *sorted(agents)]).strip("\n")


def recall(state: str, scope: str) -> tuple[ListView | None, dict[str, SessionView]]:
    """Return the last state of a scope's lists, and of session trees by path."""
    remembered = _read(state)
    return remembered.scopes.get(scope), dict(remembered.sessions)


def remember(state: str, scope: str, view: ListView, sessions: Mapping[str, SessionView]) -> None:
    """Save the state of views; states that another browser saved meanwhile for other scopes and sessions stay.

    Raises:
        OSError: the disk refused.
        UnicodeEncodeError: the scope's own path is not valid Unicode.
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
        # A path that is not valid Unicode cannot be stored in the file.
        bare = replace(view, folder=None, session=None, filter="", folder_filter="", flipped=())
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
