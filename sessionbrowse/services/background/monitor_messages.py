"""The messages between the browser and the disk monitor.

Paths and texts are not sanitised; a file name that is not UTF-8 contains lone surrogates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary

if TYPE_CHECKING:
    from sessionbrowse.store.find.roots import Scope


class BrowserScope(Struct, frozen=True, kw_only=True, tag=True):
    """The sessions that a browser shows, as a message to other programs; `cache` is the directory of the index.

    `roots` are the directories given with `--root`; `extra_roots` come from the settings.
    """

    home: str
    environ: Mapping[str, str]
    cache: str
    roots: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    extra_roots: tuple[str, ...] = ()

    def as_scope(self, *, hidden: bool = False, archived: bool = False) -> Scope:
        """Return the directories and agents for a program that reads the sessions."""
        # Imported here because the browser's first screen needs no agents.
        from sessionbrowse.store.find.roots import Scope, real_surroundings

        return Scope(
            around=replace(real_surroundings(), home=self.home, environ=self.environ),
            roots=self.roots,
            extra_roots=self.extra_roots,
            agents=self.agents,
            hidden=hidden,
            archived=archived,
        )


class MonitorDisk(BrowserScope, frozen=True, kw_only=True, tag=True):
    """The browser's first request: send all sessions, then every change.

    `sort` is the sort order in the settings. `state` is the directory that stores the sort order last used in the
    browser; None means that `sort` is used. With `tools`, the index also contains tool calls and results.
    """

    sort: str = "newest"
    state: str | None = None
    tools: bool = False


# ---- from the browser to the disk monitor ---------------------------------------------------------------------------


class Painted(Struct, frozen=True, tag=True):
    """The browser has painted its first screen; from now on the monitor may use the processor."""


class Rescan(Struct, frozen=True, tag=True):
    """Request to scan the disk again; with `hidden`, hidden and archived sessions are also reported from now on."""

    hidden: bool = False


MonitorRequest = MonitorDisk | Painted | Rescan

# ---- from the disk monitor to the browser ---------------------------------------------------------------------------


class DirectoryCount(Struct, frozen=True):
    """The number of sessions in a working directory; `modified` is the newest session's time, 0 if unknown."""

    cwd: str
    sessions: int
    modified: float


class FirstRows(Struct, frozen=True, tag=True):
    """The sessions of the first screen, sent before all others. `sessions` is the number of all sessions."""

    summaries: tuple[Summary, ...]
    directories: tuple[DirectoryCount, ...]
    sessions: int


class SessionsFound(Struct, frozen=True, tag=True):
    """New and changed sessions. `done` of `total` files have been read so far; `total` is 0 outside a scan."""

    summaries: tuple[Summary, ...]
    done: int = 0
    total: int = 0


class IndexRead(Struct, frozen=True, tag=True):
    """All sessions in the index have been sent; the changes on disk since the last index update follow."""


class SessionsGone(Struct, frozen=True, tag=True):
    """The paths of sessions that were deleted, or that no longer belong in the list."""

    paths: tuple[str, ...]


class ScanComplete(Struct, frozen=True, tag=True):
    """A scan of the whole disk has ended; `skipped` has the paths that could not be read, each with the reason."""

    skipped: tuple[tuple[str, str], ...] = ()


class IndexProgress(Struct, frozen=True, tag=True):
    """The number of files that the indexer has read so far; `done` equals `total` at the end."""

    done: int
    total: int


class SessionsInUse(Struct, frozen=True, tag=True):
    """All sessions that running agents have open; the list replaces the previous one."""

    paths: tuple[str, ...]


class Notice(Struct, frozen=True, tag=True):
    """A sentence that the browser shows to the user as a toast."""

    sentence: str


class MonitorFailed(Struct, frozen=True, tag=True):
    """The reason why the disk monitor stopped; it sends no message after this one."""

    sentence: str


MonitorEvent = (
    FirstRows
    | SessionsFound
    | IndexRead
    | SessionsGone
    | ScanComplete
    | IndexProgress
    | SessionsInUse
    | Notice
    | MonitorFailed
)
