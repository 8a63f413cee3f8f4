"""The first rows of the next start: the browser saves them when it ends, and paints them before it starts the monitor.

Reading this one file takes 1 ms. The monitor needs 130 ms of processor time until it sends the first rows. On a single
core the first paint would have to wait for it, and the start would take 1.9 times as long as that of an empty Textual
app, instead of 1.2 times.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from sessionbrowse.config import INDEX_FILE
from sessionbrowse.model.listing.picker import ordered
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.query import AGENTS
from sessionbrowse.services.background.monitor_messages import BrowserScope, DirectoryCount, FirstRows, MonitorDisk
from sessionbrowse.store.own.remembered_views import recall, scope_key
from sessionbrowse.store.own.small_file import DAMAGED, read_own_file, write_own_file

if TYPE_CHECKING:
    from sessionbrowse.store.index.rows import ListRow

FIRST_ROWS = 120
"""Number of sessions that are saved: enough to fill the first screen of any terminal."""
MOST_RELATED = 600
"""Maximum number of sessions that are saved because they belong to the family of one of the first rows."""
FILE = f"{INDEX_FILE}-first-rows"
"""Name of the file of saved first rows; it begins like the index file's name, so both are deleted together."""
_PLACES = ("_DIR", "_PROFILE", "HOME")
"""Endings of the environment variables that choose where agents keep sessions."""


class _Saved(Struct, frozen=True):
    """The content of the file of first rows; the rows are shown again only for the same scope and sort order."""

    scope: BrowserScope
    order: str
    rows: FirstRows


def saved_first_rows(request: MonitorDisk) -> FirstRows | None:
    """Return the saved rows; None if none were saved, or if the saved ones belong to another request."""
    content = read_own_file(os.path.join(request.cache, FILE))
    try:
        saved = msgspec.msgpack.decode(zlib.decompress(content or b""), type=_Saved)
    except (*DAMAGED, zlib.error):
        return None
    is_same = saved.scope == _scope_of(request) and saved.order == first_order(request)
    # The rows may come from a newer sessionbrowse, with agents that this version does not know.
    is_known = all(agent in AGENTS for each in saved.rows.directories for agent in each.agents)
    return saved.rows if is_same and is_known and os.path.exists(os.path.join(request.cache, INDEX_FILE)) else None


def save_first_rows(request: MonitorDisk, first_rows: FirstRows) -> None:
    """Save the first rows beside the index, if there is one; an error must not keep the browser from ending."""
    if not os.path.exists(os.path.join(request.cache, INDEX_FILE)):
        return
    # A path that is not valid Unicode cannot be encoded; then the rows saved before are deleted, because they may show
    # deleted sessions.
    content = b""
    with suppress(UnicodeEncodeError):
        encoded = msgspec.msgpack.encode(_Saved(_scope_of(request), first_order(request), first_rows))
        # Compressed data ends with a checksum, so that a damaged file is noticed.
        content = zlib.compress(encoded, 1)
    with suppress(OSError):
        write_own_file(os.path.join(request.cache, FILE), content)


def make_first_rows(sessions: Iterable[Summary], order: str) -> FirstRows:
    """Return the first rows and the counts of these sessions."""
    # Reading saved rows needs no families: a start imports as little as it can.
    from sessionbrowse.model.listing.families import families

    in_order = ordered(sessions, order)
    first = in_order[:FIRST_ROWS]
    # With a part of a family the list would show it unfolded, or under another head, until the others arrive.
    family_of = families(in_order)
    wanted = {family_of.get(each.path) for each in first} - {None}
    rest = [each for each in in_order[FIRST_ROWS:] if family_of.get(each.path) in wanted] if wanted else []
    return FirstRows((*first, *rest[:MOST_RELATED]), count_directories(in_order), len(in_order))


def first_order(request: MonitorDisk) -> str:
    """Return the sort order last used in the browser, or the settings' if they have changed since."""
    order = request.sort
    if request.state is not None:
        view, _ = recall(request.state, scope_key(request.roots, request.agents))
        order = view.sort if view is not None and view.holds("sort", order) else order
    # Sorting by thread begins with the most recent sessions. Sorting by relevance needs a filter, and none is active at
    # the start.
    return "recent" if order in ("threaded", "relevance") else order


def count_directories(sessions: Iterable[Summary | ListRow]) -> tuple[DirectoryCount, ...]:
    """Return the working directories of these sessions with their counts."""
    by_cwd: dict[str, list[Summary | ListRow]] = {}
    for session in sessions:
        by_cwd.setdefault(session.cwd, []).append(session)
    return tuple(
        [
            DirectoryCount(
                cwd,
                len(own),
                sum([session.name is not None for session in own]),
                max([session.modified or 0 for session in own]),
                tuple(sorted({session.agent for session in own})),
            )
            for cwd, own in by_cwd.items()
        ]
    )


def _scope_of(request: MonitorDisk) -> BrowserScope:
    # Agents resolve relative directories against the directory they are started in.
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
