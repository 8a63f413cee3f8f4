"""The messages between the browser and the disk monitor.

Paths and texts are as in the files: not sanitised, and with lone surrogates where a file name is not UTF-8.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary


class BrowserScope(Struct, frozen=True, kw_only=True):
    """The stores of a browser: `cache` is the directory of the index, `extra_roots` come from the settings."""

    home: str
    environ: Mapping[str, str]
    cache: str
    roots: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    extra_roots: tuple[str, ...] = ()


class MonitorDisk(BrowserScope, frozen=True, kw_only=True, tag=True):
    """Read all sessions, then report every change.

    `sort` is the order of the settings. `state` is the directory that remembers how the browser was left, None if that
    is to be ignored. `tools`: the index holds tool calls and results too.
    """

    sort: str = "recent"
    state: str | None = None
    tools: bool = False


# ---- from the browser to the disk monitor ---------------------------------------------------------------------------


class Painted(Struct, frozen=True, tag=True):
    """The browser has painted its first screen and leaves processor time to others."""


class Rescan(Struct, frozen=True, tag=True):
    """Scan the disk again; `hidden`: report hidden and archived sessions too, from now on."""

    hidden: bool = False


MonitorRequest = MonitorDisk | Painted | Rescan

# ---- from the disk monitor to the browser ---------------------------------------------------------------------------


class DirectoryCount(Struct, frozen=True):
    """The number of sessions of a working directory, and of those with a name; `modified` is of the newest."""

    cwd: str
    sessions: int
    named: int
    modified: float | None
    agents: tuple[str, ...]


class FirstRows(Struct, frozen=True, tag=True):
    """The rows of the first screen and the counts of all sessions in the index; comes first, or never."""

    summaries: tuple[Summary, ...]
    directories: tuple[DirectoryCount, ...]
    sessions: int


class SessionsFound(Struct, frozen=True, tag=True):
    """New and changed sessions. `done` of `total` files are read; `total` is 0 outside a scan."""

    summaries: tuple[Summary, ...]
    done: int = 0
    total: int = 0


class IndexRead(Struct, frozen=True, tag=True):
    """All sessions of the index were sent; changes since then follow."""


class SessionsGone(Struct, frozen=True, tag=True):
    """Files that were deleted or are no longer listed."""

    paths: tuple[str, ...]


class ScanComplete(Struct, frozen=True, tag=True):
    """A scan of the whole disk has ended; `skipped` are unreadable paths with reasons."""

    skipped: tuple[tuple[str, str], ...] = ()


class IndexProgress(Struct, frozen=True, tag=True):
    """The number of files read into the index so far; `done` equals `total` at the end."""

    done: int
    total: int


class SessionsInUse(Struct, frozen=True, tag=True):
    """All sessions that running agents have open, replacing those of the last such message."""

    paths: tuple[str, ...]


class Notice(Struct, frozen=True, tag=True):
    """A sentence for the user."""

    sentence: str


class MonitorFailed(Struct, frozen=True, tag=True):
    """The reason why the disk monitor stopped; the last message."""

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
