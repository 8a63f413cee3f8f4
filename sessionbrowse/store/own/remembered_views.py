"""What the interface remembers from one run to the next: one small file, replaced whole; a damaged one is ignored."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.store.own.small_file import read_own_file, write_own_file

ViewT = TypeVar("ViewT")

FILE = "view.json"
VERSION = 1
MOST_SCOPES = 20
MOST_SESSIONS = 100
MOST_FOLDS = 500
"""How many folds of a list or a tree are kept."""


class ListView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the first screen was left: project, session, filters, order, folds, widths of panes, colours.

    `folder` None stands for all projects. `given` are the settings that were in force, by name: one that was changed
    since comes before what is remembered.
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
    given: dict[str, str | bool] = {}

    def holds(self, setting: str, value: str | bool) -> bool:
        """Tell whether a setting is as it was, so that what is remembered of it counts."""
        return self.given.get(setting, value) == value


class SessionView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a session's tree was left: the entry under the cursor, the rows chosen, the folded entries, by id."""

    entry: str | None = None
    filter: str = "default"
    folded: tuple[str, ...] = ()
    given: dict[str, str | bool] = {}


class _Remembered(Struct, frozen=True):
    """The file; what was left last stands last."""

    version: int = VERSION
    scopes: dict[str, ListView] = {}
    sessions: dict[str, SessionView] = {}


def scope_key(roots: Sequence[str], agents: Sequence[str]) -> str:
    """Return what the view is remembered under: the places and agents that the browser was started with."""
    return "\n".join([*sorted([os.path.realpath(root) for root in roots]), "", *sorted(agents)]).strip("\n")


def recall(state: str, scope: str) -> tuple[ListView | None, dict[str, SessionView]]:
    """Return how the lists of a scope, and the trees of sessions by path, were left."""
    remembered = _read(state)
    return remembered.scopes.get(scope), dict(remembered.sessions)


def remember(state: str, scope: str, view: ListView, sessions: Mapping[str, SessionView]) -> None:
    """Keep how things are left; what another browser left meanwhile of other scopes and sessions stays.

    Raises:
        OSError: the disk refused.
        UnicodeEncodeError: the scope itself is a name that is no text.
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
        # A name that is no text, as old disks have them, cannot stand in the file.
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
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Remembered()
    return found if found.version == VERSION else _Remembered()
