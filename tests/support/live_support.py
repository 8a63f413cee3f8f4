"""Helpers of the tests of what is live: a companion in this process, news collected, conditions waited for."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.companion import Companion
from sessionbrowse.services.background.disk_monitor import Live, Request
from sessionbrowse.services.background.events import Found, Gone, Indexing, News, Opening, decode, encode
from sessionbrowse.services.list.summary_cache import AT_ONCE_FILES

PATIENCE_SECONDS = 20.0


def request_of(root: Path, cache: Path, **more: Any) -> dict[str, Any]:
    """What a browser of one root asks for."""
    return {"home": str(root.parent), "environ": {}, "cache": str(cache), "roots": [str(root)], **more}


class Heard:
    """Everything a `Live` told, and the list that a browser would have made of it."""

    def __init__(self) -> None:
        self.news: list[News] = []
        self.rows: dict[str, Summary] = {}

    def __call__(self, news: News) -> None:
        # Across the wire and back, as between processes.
        news = decode(encode(news))
        self.news.append(news)
        match news:
            case Opening(summaries) | Found(summaries):
                self.rows.update({summary.path: summary for summary in summaries})
            case Gone(paths):
                for path in paths:
                    self.rows.pop(path, None)

    def kinds(self) -> list[str]:
        """What was told, in order, repetitions once."""
        names = [type(news).__name__ for news in self.news]
        return [name for at, name in enumerate(names) if at == 0 or name != names[at - 1]]

    def names(self) -> set[str]:
        """The names of the listed files."""
        return {Path(path).name for path in self.rows}


def live(root: Path, cache: Path, **more: Any) -> tuple[Live, Heard]:
    """A `Live` that was opened and has walked once; the browser's paint is not waited for."""
    heard = Heard()
    made = Live(Request(**request_of(root, cache, **more)), heard)
    made.ask("go")
    made.begin()
    step_until(made, lambda: "Complete" in heard.kinds())
    return made, heard


def step_until(made: Live, condition: Callable[[], bool]) -> None:
    """Have it do what there is to do until the condition holds."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        made.step(0.02)


def index(root: Path, cache: Path, **more: Any) -> Heard:
    """Have a browser of before read everything into the index; return what it heard."""
    made, heard = live(root, cache, **more)
    if len(heard.rows) > AT_ONCE_FILES and not isinstance(heard.news[0], Opening):
        step_until(made, lambda: Indexing(len(heard.rows), len(heard.rows)) in heard.news)
    made.end()
    return heard


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds, while the browser goes on."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


class ThreadCompanion(Companion):
    """A companion in a thread of this process."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._told: queue.Queue[News | None] = queue.Queue()
        self._live = Live(Request(**request), lambda news: self._told.put(decode(encode(news))))
        self._over = False
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        self._live.begin()
        while not self._over:
            self._live.step(0.02)
        self._live.end()

    def first(self, seconds: float) -> News | None:
        """Return the first news."""
        try:
            return self._told.get(timeout=seconds)
        except queue.Empty:
            return None

    def ask(self, what: str, value: Any = None) -> None:
        """Ask."""
        self._live.ask(what, value)

    def end(self) -> None:
        """End the thread."""
        self._over = self._ended = True
        self._told.put(None)

    def die(self) -> None:
        """Say nothing more, as if killed."""
        self._over = True
        self._told.put(None)

    def _next(self) -> News | None:
        return self._told.get(timeout=60)
