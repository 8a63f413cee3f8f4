"""The search of the interface's tests: the real server, in a thread of the test's own process."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from sessionbrowse.services.background.channel import Channel
from sessionbrowse.services.background.monitor_messages import BrowserScope
from sessionbrowse.services.background.search_messages import SearchAnswer, SearchRequest
from sessionbrowse.services.background.search_server import SearchServer
from sessionbrowse.services.background.usage_program import answer
from sessionbrowse.services.list.gather import update_index
from sessionbrowse.store.find.roots import Scope, real_surroundings
from sessionbrowse.store.index.index import open_index
from sessionbrowse.tui.data.options import BrowseOptions
from sessionbrowse.tui.data.source import Source
from sessionbrowse.tui.data.sources import source_of


class ThreadSearch(Channel[SearchAnswer]):
    """The channel to a search in a thread of this process."""

    def __init__(self, scope: Scope, index_directory: Path) -> None:
        near, far = socket.socketpair()
        super().__init__(near.detach(), SearchAnswer)
        self.far_end: Channel[SearchRequest] = Channel(far.detach(), SearchRequest)
        server = SearchServer(scope, index_directory, self.far_end.send)
        self.far_end.listen(server.take, server.end)
        threading.Thread(target=server.run, daemon=True).start()


def scope_below(root: Path) -> Scope:
    """Everything below a directory."""
    return Scope(around=real_surroundings(), roots=(str(root),), hidden=True, archived=True)


def index_of(root: Path, directory: Path) -> None:
    """Make the index of the sessions below a directory."""
    index = open_index(directory, print, create=True)
    assert index is not None
    update_index(scope_below(root), index)
    index.close()


def searched_source(options: dict[str, Any], root: Path, index_directory: Path) -> Source:
    """Return the source of some options with a search in a thread, and a count of cost in this process."""
    counted = BrowserScope(cache=str(index_directory), home=str(root / "home" / "dev"), environ={}, roots=(str(root),))
    return replace(
        source_of(BrowseOptions(**options)),
        open_search=lambda: ThreadSearch(scope_below(root), index_directory),
        count_usage=lambda question: answer(counted, question),
    )
