"""The search of the interface's tests: the real server, in a thread of the test's own process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from sessionbrowse.services.background.search_link import Receive
from sessionbrowse.services.background.search_server import SearchServer
from sessionbrowse.services.list import index_access, indexed
from sessionbrowse.services.list.scope import Scope
from sessionbrowse.store.find.roots import real_surroundings
from sessionbrowse.tui.shell.options import BrowseOptions
from sessionbrowse.tui.shell.source import Source
from sessionbrowse.tui.shell.sources import source_of


class ThreadLink:
    """A server in a thread, instead of one in a process."""

    def __init__(self, scope: Scope, index_directory: Path, receive: Receive) -> None:
        self.server = SearchServer(scope, index_directory, receive)
        self.ask = self.server.ask
        threading.Thread(target=self.server.run, daemon=True).start()

    def close(self) -> None:
        """End the server."""
        self.server.end()


def scope_below(root: Path) -> Scope:
    """Everything below a directory."""
    return Scope(around=real_surroundings(), roots=(str(root),), hidden=True, archived=True)


def index_of(root: Path, directory: Path) -> None:
    """Make the index of the sessions below a directory."""
    index = index_access.open_or_create(directory, print)
    assert index is not None
    indexed.gather(scope_below(root), index, everything=True)
    index.close()


def searched_source(options: dict[str, Any], root: Path, index_directory: Path) -> Source:
    """Return the source of some options with a search in a thread."""

    def open_search(receive: Callable[[Any], object]) -> ThreadLink:
        return ThreadLink(scope_below(root), index_directory, receive)

    return replace(source_of(BrowseOptions(**options)), open_search=open_search)
