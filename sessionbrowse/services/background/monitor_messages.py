"""The messages between the browser and the disk monitor.

Paths and texts are not sanitised; a file name that is not UTF-8 contains lone surrogates.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary


class BrowserScope(Struct, frozen=True, kw_only=True):
    """The stores that a browser shows: `cache` is the directory of the index, `extra_roots` come from the settings."""

    home: str
    environ: Mapping[str, str]
    cache: str
    roots: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    extra_roots: tuple[str, ...] = ()


class MonitorDisk(BrowserScope, frozen=True, kw_only=True, tag=True):
    """First request: read all sessions, then report every change.

    `sort` is the sort order in the settings. `state` is the directory that stores the browser's last view; None means
    that the last view is ignored. `tools`: the index also contains tool calls and results.
    """

    sort: str = "recent"
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
    """Session counts of a working directory: all sessions and named ones; `modified` is the newest session's time."""

    cwd: str
    sessions: int
    named: int
    modified: float | None
    agents: tuple[str, ...]


class FirstRows(Struct, frozen=True, tag=True):
    """The rows of the first screen and the counts of all sessions in the index; sent first, or not at all."""

    summaries: tuple[Summary, ...]
    directories: tuple[DirectoryCount, ...]
    sessions: int


class SessionsFound(Struct, frozen=True, tag=True):
    """New and changed sessions. So far `done` of `total` files are read; `total` is 0 outside a scan."""

    summaries: tuple[Summary, ...]
    done: int = 0
    total: int = 0


class IndexRead(Struct, frozen=True, tag=True):
    """All sessions in the index were sent; the changes on disk since then follow."""


class SessionsGone(Struct, frozen=True, tag=True):
    """Files that were deleted or are no longer listed."""

    paths: tuple[str, ...]


class ScanComplete(Struct, frozen=True, tag=True):
    """A scan of the whole disk has ended; `skipped` are unreadable paths with reasons."""

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
