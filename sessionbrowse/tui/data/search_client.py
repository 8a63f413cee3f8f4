"""The client of the search program (a background process), shared by all screens.

The first search starts the process; it is killed when the browser ends.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from sessionbrowse.services.background.channel import Channel
from sessionbrowse.services.background.search_messages import SearchAnswer, SearchRequest, SearchStatus
from sessionbrowse.tui.data.source import Source

Listener = Callable[[SearchAnswer | None], object]
"""A function that receives each answer of the search program, or None if it crashed; called from any thread."""


class SearchClient:
    """Sends requests to the search program and passes every answer to all listeners."""

    def __init__(self, source: Callable[[], Source]) -> None:
        self._source = source
        self._channel: Channel[SearchAnswer] | None = None
        self._listeners: list[Listener] = []
        self._stamps = count(1)
        self.status: SearchStatus | None = None

    @property
    def is_running(self) -> bool:
        """True if the search program is running."""
        return self._channel is not None

    def listen(self, listener: Listener) -> None:
        """Add a function that is called with every later answer of the search program."""
        self._listeners.append(listener)

    def forget(self, listener: Listener) -> None:
        """Call a function that `listen` added no more."""
        self._listeners.remove(listener)

    def start(self) -> bool:
        """Start the search program unless it is running; return False if it cannot be started."""
        open_search = self._source().open_search
        if self._channel is None and open_search is not None:
            channel = open_search()
            if channel is not None:
                self._channel = channel
                channel.listen(self._receive, lambda: self._ended(channel))
        return self._channel is not None

    def stamp(self) -> int:
        """Return an unused number for a request; the answers to the request carry the same number."""
        return next(self._stamps)

    def send(self, request: SearchRequest) -> None:
        """Send a request to the search program, if it is running."""
        if self._channel is not None:
            self._channel.send(request)

    def close(self) -> None:
        """Kill the search program; `start` must be called before the next request."""
        channel, self._channel, self.status = self._channel, None, None
        if channel is not None:
            channel.kill()

    def _receive(self, answer: SearchAnswer) -> None:
        if isinstance(answer, SearchStatus):
            self.status = answer
        self._tell_all(answer)

    def _ended(self, channel: Channel[SearchAnswer]) -> None:
        if not channel.is_killed:
            channel.kill()
            self._channel = self.status = None
            self._tell_all(None)

    def _tell_all(self, answer: SearchAnswer | None) -> None:
        for listener in tuple(self._listeners):
            listener(answer)
