"""The options with which the browser starts; this module does not import Textual, so that it loads fast."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import asdict

from sessionbrowse.config import INDEX_FILE, Settings, cache_dir, state_dir
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.monitor_messages import BrowserScope, MonitorDisk

if TYPE_CHECKING:
    from sessionbrowse.services.transaction.change_context import ChangeContext
    from sessionbrowse.tui.data.source import Source


class Caller(Struct, frozen=True):
    """The session that is open in the agent from which the user started `sessionbrowse pick`.

    `leaf` is the id of the agent's current leaf, which the agent keeps in memory, so the file may have another leaf.
    """

    agent: str
    path: str
    leaf: str | None = None

    def has_open(self, path: str) -> bool:
        """Return True if `path` is the session file that the calling agent has open."""
        # Comparing file names first avoids a slow disk access (`realpath`) for most rows of the list.
        if os.path.basename(path) != os.path.basename(self.path):
            return False
        return path == self.path or os.path.realpath(path) == os.path.realpath(self.path)


class Picking(Struct, frozen=True, kw_only=True):
    """Parameters of `sessionbrowse pick`.

    The browser calls `choose` with the chosen session, and with the id of the chosen entry or None; then it ends. If
    `needs_entry`, the user must choose an entry. If `session` is given, its tree is the first screen. The session list
    opens with the filter `query`; with `needs_entry`, `query` is instead searched in the entries of all sessions.
    `here` limits the list to sessions of the current directory.
    """

    choose: Callable[[Summary, str | None], None]
    session: Summary | None = None
    query: str = ""
    here: bool = False
    needs_entry: bool = False
    caller: Caller | None = None


def _now_ms() -> float:
    return time.time() * 1000


def _here() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None


class BrowseOptions(Struct, frozen=True, kw_only=True):
    """The options that a run of the browser starts with.

    `roots` and `agents` come from the command line. `environ`, `home`, `here` (the current directory at the start) and
    `now_ms` are options so that tests can set them. `source` replaces the functions that read sessions from disk.
    `context` replaces the change context (state directory, journal, clock) that the browser makes from
    `environ`. `demo` is the directory of the demo's generated sessions, or None. `pick` is set if `sessionbrowse pick`
    started the browser.
    """

    roots: Sequence[str] = ()
    agents: Sequence[str] = ()
    settings: Settings = field(default_factory=Settings)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    home: str = field(default_factory=lambda: os.path.expanduser("~"))
    here: str | None = field(default_factory=_here)
    now_ms: Callable[[], float] = _now_ms
    source: Source | None = None
    context: ChangeContext | None = None
    demo: str | None = None
    problems: Sequence[str] = ()
    pick: Picking | None = None

    @property
    def cache(self) -> Path:
        """The directory of the index (our SQLite cache)."""
        # The demo's index is in the demo's own directory, so that both are deleted together.
        return cache_dir(self.environ, Path(self.home)) if self.demo is None else Path(self.demo) / "cache"

    @property
    def restores(self) -> bool:
        """True if the screens open as the user left them in the last run; always False in the demo and in `pick`."""
        return self.settings.restore and self.demo is None and self.pick is None

    @property
    def state(self) -> Path:
        """The directory in which sessionbrowse saves pins, how the user left the screens, and other data."""
        return state_dir(self.environ, Path(self.home))

    @property
    def shown_agents(self) -> tuple[str, ...]:
        """The agents whose sessions are listed: those of the command line, else of the settings; empty means all."""
        return tuple(self.agents or self.settings.show_agents)

    @property
    def has_index(self) -> bool:
        """True if the index file exists; the browser can then show sessions without scanning the disk first."""
        return os.path.exists(self.cache / INDEX_FILE)

    def scope(self) -> BrowserScope:
        """Return the directories and agents whose sessions the browser and the programs beside it read."""
        return BrowserScope(
            home=self.home,
            environ=self.environ,
            cache=str(self.cache),
            roots=tuple(self.roots),
            agents=self.shown_agents,
            extra_roots=tuple(self.settings.roots),
        )

    def request(self) -> MonitorDisk:
        """Return the first request to the monitor, the background program that scans the disk for changed sessions."""
        return MonitorDisk(
            **asdict(self.scope()),
            sort=self.settings.sort,
            state=str(self.state) if self.restores else None,
            tools=self.settings.index_tools,
        )
