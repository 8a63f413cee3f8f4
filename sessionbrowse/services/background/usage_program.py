"""Add up the cost of sessions in a separate process, because the work would delay the browser's response to keys.

`UsageProgram` starts the process and sends it questions about cost. The process keeps the model requests that it has
counted, so that it answers the next question quickly.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.services.background.channel import Channel
from sessionbrowse.services.background.monitor_messages import BrowserScope
from sessionbrowse.services.background.programs import start_job
from sessionbrowse.services.usage.question import UsageAnswer, UsageCounter, UsageQuestion

PATIENCE_SECONDS = 600.0
IDLE_SECONDS = 60.0
"""Seconds without a question after which the process ends, because it takes 150 MB for 10,000 sessions."""


class CountingFailed(SessionBrowseError):
    """The process that adds up the cost of sessions has failed."""


class UsageProgram:
    """Client of the process that adds up cost, usable from any thread; it sends one question at a time."""

    def __init__(self, scope: BrowserScope) -> None:
        self._scope = scope
        self._asking = threading.Lock()
        self._channel: Channel[UsageAnswer] | None = None

    def ask(self, question: UsageQuestion) -> UsageAnswer:
        """Return the answer to a question about the cost of sessions; the first question starts the process.

        Raises:
            CountingFailed: the process ended, or gave no answer for `PATIENCE_SECONDS`.
        """
        with self._asking:
            # The process may have ended because it was idle. Then the first attempt fails, and the second starts a new
            # process.
            for _ in range(2):
                channel = self._channel = self._channel or start_job("usage", self._scope, UsageAnswer)
                if channel is None:
                    # Without a background process, the browser answers the question itself, and reacts slowly for a
                    # moment.
                    return answer(self._scope, question)
                found = channel.receive(PATIENCE_SECONDS) if channel.send(question) else None
                if found is not None:
                    return found
                self.close()
        raise CountingFailed("The sessions' cost could not be counted.")

    def close(self) -> None:
        """Kill the process that adds up cost, if it is running."""
        if self._channel is not None:
            self._channel.kill()
            self._channel = None


def answer(scope: BrowserScope, question: UsageQuestion) -> UsageAnswer:
    """Return the answer to one question about cost, computed in the calling thread.

    Raises:
        NotFound: a `--root` is not a directory, or a `--agent` is unknown.
    """
    with closing(_counter(scope)) as counter:
        return counter.answer(question)


def answer_usage_questions(channel: Channel[Any]) -> None:
    """Answer the browser's questions about cost until the browser exits, or asks nothing for a while."""
    scope = channel.receive()
    if not isinstance(scope, BrowserScope):
        return
    questions: SimpleQueue[UsageQuestion] = SimpleQueue()
    # When the browser has exited, nobody needs unfinished work, so the process exits too.
    channel.listen(questions.put, lambda: os._exit(0))
    answer_until_idle(_counter(scope), questions, channel.send)


def answer_until_idle(
    counter: UsageCounter,
    questions: SimpleQueue[UsageQuestion],
    send: Callable[[UsageAnswer], object],
    idle_seconds: float = IDLE_SECONDS,
) -> None:
    """Send an answer to each question in the queue until no question arrives for `idle_seconds`."""
    # Automatic garbage collection would take a third of the time, so garbage is collected only after each answer.
    gc.disable()
    with suppress(Empty):
        while True:
            send(counter.answer(questions.get(timeout=idle_seconds)))
            gc.collect()


def _counter(scope: BrowserScope) -> UsageCounter:
    return UsageCounter(scope.as_scope(), Path(scope.cache))
