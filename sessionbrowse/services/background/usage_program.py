"""Count cost in a separate process, which would otherwise delay the browser's keys.

`UsageProgram` starts the process and asks it. The process waits for more questions and keeps the counted requests, so
that another table or a changed session needs no new start.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.services.background.channel import Channel
from sessionbrowse.services.background.programs import start_job
from sessionbrowse.services.usage.question import UsageAnswer, UsageCounter, UsageQuestion, UsageScope, answer

PATIENCE_SECONDS = 600.0
IDLE_SECONDS = 60.0
"""Time without a question after which the process ends; 10,000 sessions take 150 MB."""


class CountingFailed(SessionBrowseError):
    """The process that counts has failed."""


class UsageProgram:
    """Client of the counting process, usable from any thread; it sends one question at a time."""

    def __init__(self, scope: UsageScope) -> None:
        self._scope = scope
        self._asking = threading.Lock()
        self._channel: Channel[UsageAnswer] | None = None

    def ask(self, question: UsageQuestion) -> UsageAnswer:
        """Answer a question; the first one starts the process.

        Raises:
            CountingFailed: the process ended, or gave no answer for `PATIENCE_SECONDS`.
        """
        with self._asking:
            # A process that ended while it was idle is started again.
            for _ in range(2):
                channel = self._channel = self._channel or start_job("usage", self._scope, UsageAnswer)
                if channel is None:
                    # Without processes of its own the browser is slow for a moment.
                    return answer(self._scope, question)
                found = channel.receive(PATIENCE_SECONDS) if channel.send(question) else None
                if found is not None:
                    return found
                self.close()
        raise CountingFailed("The sessions' cost could not be counted.")

    def close(self) -> None:
        """End the process."""
        if self._channel is not None:
            self._channel.kill()
            self._channel = None


def answer_usage_questions(channel: Channel[Any]) -> None:
    """Answer the questions of the browser at the other end of the channel, until the browser exits."""
    scope = channel.receive()
    if not isinstance(scope, UsageScope):
        return
    questions: SimpleQueue[UsageQuestion] = SimpleQueue()
    # Unfinished work is useless once the browser is gone.
    channel.listen(questions.put, lambda: os._exit(0))
    answer_until_idle(UsageCounter(scope), questions, channel.send)


def answer_until_idle(
    counter: UsageCounter,
    questions: SimpleQueue[UsageQuestion],
    send: Callable[[UsageAnswer], object],
    idle_seconds: float = IDLE_SECONDS,
) -> None:
    """Send an answer to each question of a queue until none comes for `idle_seconds`."""
    # Collecting garbage while many thousand values are made would take a third of the time.
    gc.disable()
    with suppress(Empty):
        while True:
            send(counter.answer(questions.get(timeout=idle_seconds)))
            gc.collect()
