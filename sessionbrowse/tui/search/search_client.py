"""The search that the screens share: one process, started when somebody first searches, ended with the program."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from sessionbrowse.services.background.search_link import SearchLink
from sessionbrowse.services.background.search_messages import Answer, Known, Request
from sessionbrowse.tui.shell.source import Source

Heard = Callable[[Answer | None], object]
"""Takes an answer, or None when the search ended by itself; called from any thread."""


class Searching:
    """Hands requests to the search and every answer to all who listen."""

    def __init__(self, source: Callable[[], Source]) -> None:
        self._source = source
        self._link: SearchLink | None = None
        self._listeners: list[Heard] = []
        self._stamps = count(1)
        self.known: Known | None = None

    @property
    def is_running(self) -> bool:
        """Whether there is somebody who answers."""
        return self._link is not None

    def listen(self, heard: Heard) -> None:
        """Have every answer handed to `heard`."""
        self._listeners.append(heard)

    def start(self) -> bool:
        """Start the search, unless it runs; False where there is nothing to search."""
        open_search = self._source().open_search
        if self._link is None and open_search is not None:
            self._link = open_search(self._receive)
        return self._link is not None

    def stamp(self) -> int:
        """Return the number of a new request."""
        return next(self._stamps)

    def ask(self, request: Request) -> None:
        """Hand over a request, if there is somebody who takes it."""
        if self._link is not None:
            self._link.ask(request)

    def close(self) -> None:
        """End the search; the next request needs a new `start`."""
        link, self._link, self.known = self._link, None, None
        if link is not None:
            link.close()

    def _receive(self, answer: Answer | None) -> None:
        if answer is None:
            self._link = self.known = None
        elif isinstance(answer, Known):
            self.known = answer
        for heard in self._listeners:
            heard(answer)
