"""The saved first rows of the session list: the browser writes them when it ends, and paints them at its next start.

Reading the file of saved rows takes 1 ms. The disk monitor needs 130 ms of processor time until it sends the first
rows. On a single core the first paint would have to wait for the monitor, and the start would take 1.9 times as long as
that of an empty Textual app, instead of 1.2 times.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType

import msgspec
from msgspec import Struct

from sessionbrowse.config import INDEX_FILE
from sessionbrowse.model.listing.picker import ordered
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.query import AGENTS
from sessionbrowse.services.background.monitor_messages import BrowserScope, DirectoryCount, FirstRows, MonitorDisk
from sessionbrowse.store.own.remembered_views import recall, scope_key
from sessionbrowse.store.own.state_directory import DAMAGED, read_own_file, write_own_file

FIRST_ROWS = 120
"""Number of sessions that are saved: enough to fill the first screen of any terminal."""
MOST_RELATED = 600
"""Maximum number of further sessions that are saved: forks, subagents and other relatives of the first sessions."""
FILE = f"{INDEX_FILE}-first-rows"
"""Name of the file of saved first rows. It begins with the index file's name, so both files are deleted together."""
_AS_STORED: Mapping[str, str] = MappingProxyType({})
_PLACES = ("_DIR", "_PROFILE", "HOME")
"""Suffixes of the environment variables that determine in which directories agents store sessions."""


class _Saved(Struct, frozen=True):
    """The content of the file of first rows: `rows`, and the directories, agents and sort order that they are for."""

    scope: BrowserScope
    order: str
    rows: FirstRows


def saved_first_rows(request: MonitorDisk) -> FirstRows | None:
    """Return the saved first rows; None if missing, damaged, or saved for other directories, agents or sort order."""
    content = read_own_file(os.path.join(request.cache, FILE))
    try:
        saved = msgspec.msgpack.decode(zlib.decompress(content or b""), type=_Saved)
    except (*DAMAGED, zlib.error):
        return None
    is_same = saved.scope == _scope_of(request) and saved.order == first_order(request)
    # The rows may come from a newer sessionbrowse, with agents that this version does not know.
    is_known = all(each.agent in AGENTS for each in saved.rows.summaries)
    return saved.rows if is_same and is_known and os.path.exists(os.path.join(request.cache, INDEX_FILE)) else None


def save_first_rows(request: MonitorDisk, first_rows: FirstRows) -> None:
    """Save the first rows next to the index, if there is an index; ignore errors, because the browser is exiting."""
    if not os.path.exists(os.path.join(request.cache, INDEX_FILE)):
        return
    # A path that is not valid Unicode cannot be encoded. Then an empty file replaces the rows saved before, because
    # those may include deleted sessions.
    content = b""
    with suppress(UnicodeEncodeError):
        encoded = msgspec.msgpack.encode(_Saved(_scope_of(request), first_order(request), first_rows))
        # zlib appends a checksum, by which a damaged file is detected.
        content = zlib.compress(encoded, 1)
    with suppress(OSError):
        write_own_file(os.path.join(request.cache, FILE), content)


def make_first_rows(sessions: Iterable[Summary], order: str, spelled: Mapping[str, str] = _AS_STORED) -> FirstRows:
    """Return the list's first sessions, their families (forks, subagents, …), and session counts of each directory.

    `spelled` maps a stored directory to the one spelling that is used for all paths to this directory.
    """
    # Imported here because only saving rows needs this module, and the start should import little.
    from sessionbrowse.model.listing.families import families

    in_order = ordered(sessions, order)
    first = in_order[:FIRST_ROWS]
    # The list folds a session's forks and subagents (its family) under one row. If some of them were missing, this row
    # would look different until the monitor sends the rest.
    family_of = families(in_order)
    wanted = {family_of.get(each.path) for each in first} - {None}
    rest = [each for each in in_order[FIRST_ROWS:] if family_of.get(each.path) in wanted] if wanted else []
    return FirstRows((*first, *rest[:MOST_RELATED]), count_directories(in_order, spelled), len(in_order))


def first_order(request: MonitorDisk) -> str:
    """Return the sort order last used in the browser, or the one in the settings if that setting has changed since."""
    order = request.sort
    if request.state is not None:
        view, _ = recall(request.state, scope_key(request.roots, request.agents))
        order = view.sort if view is not None and view.holds("sort", order) else order
    # Two other sort orders begin like "newest": "threaded" (a session followed by its forks) begins with the newest
    # session's family, and "relevance" has no effect until the user filters.
    return "newest" if order in ("threaded", "relevance") else order


def count_directories(
    sessions: Iterable[Summary], spelled: Mapping[str, str] = _AS_STORED
) -> tuple[DirectoryCount, ...]:
    """Return the session counts of each working directory; see `make_first_rows` for `spelled`."""
    by_cwd: dict[str, list[Summary]] = {}
    for session in sessions:
        by_cwd.setdefault(spelled.get(session.cwd, session.cwd), []).append(session)
    return tuple(
        [DirectoryCount(cwd, len(own), max([session.modified or 0 for session in own])) for cwd, own in by_cwd.items()]
    )


def _scope_of(request: MonitorDisk) -> BrowserScope:
    # An environment variable may contain a relative directory. It is made absolute, because the next start may have
    # another working directory.
    here = request.environ.get("PWD", "")
    places = {name: value for name, value in sorted(request.environ.items()) if name.endswith(_PLACES)}
    return BrowserScope(
        home=request.home,
        environ={name: os.path.join(here, place) if name.endswith("_DIR") else place for name, place in places.items()},
        cache=request.cache,
        roots=tuple([os.path.realpath(root) for root in request.roots]),
        agents=request.agents,
        extra_roots=request.extra_roots,
    )
