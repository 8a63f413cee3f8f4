"""Search texts for regular expressions in a separate process that can be killed: `(a+)+x` may never finish.

In the browser's process `re` would block all other threads, because it holds the interpreter lock. `PatternWorker`
starts the process and sends it requests.
"""

from __future__ import annotations

import faulthandler
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.search.patterns import MatchSpan, all_spans, first_spans
from sessionbrowse.services.background.channel import Channel, start_program
from sessionbrowse.services.background.programs import PROGRAM

LIMIT_SECONDS = 10.0
"""Limit of the elapsed time for one search request, in seconds; `CPU_SECONDS` limits the processor time."""
CPU_SECONDS, CHARACTERS_PER_SECOND = 1.2, 500_000
"""CPU time that a pattern may use: 1.2 s, plus 1 s per 500,000 characters; usual patterns need 5 % of this time."""
POLL_SECONDS = 0.02
"""Interval at which a waiting thread checks whether its request was cancelled."""


class PatternStopped(SessionBrowseError):
    """The pattern search returned no result: it took too long, was cancelled, or its process could not be started."""


class PatternQuestion(Struct, frozen=True):
    """Request to search texts for a valid pattern; `every` requests all matches in each text instead of the first."""

    pattern: str
    texts: list[str]
    every: bool


class PatternAnswer(Struct, frozen=True):
    """The matches in each text of a request, in the order of the texts."""

    of_texts: list[list[MatchSpan]]


class PatternWorker:
    """Client of the pattern process, usable from any thread; it sends one request at a time."""

    def __init__(self, limit_seconds: float = LIMIT_SECONDS) -> None:
        self._limit_seconds = limit_seconds
        self._asking = threading.Lock()
        self._channel: Channel[PatternAnswer] | None = None
        self._is_closed = False

    def first_spans(
        self, pattern: str, texts: Sequence[str], cancelled: Callable[[], bool] = lambda: False
    ) -> list[MatchSpan | None]:
        """Return the first match of a valid pattern in each text, None for a text without a match.

        Raises:
            PatternStopped: the search took too long or was cancelled, or its process could not be started.
        """
        return [spans[0] if spans else None for spans in self.spans(pattern, texts, cancelled)]

    def spans(
        self, pattern: str, texts: Sequence[str], cancelled: Callable[[], bool] = lambda: False, *, every: bool = False
    ) -> list[list[MatchSpan]]:
        """Return the first match of a valid pattern in each text; with `every`, return all non-empty matches.

        Raises:
            PatternStopped: the search took too long or was cancelled, or its process could not be started.
        """
        while not self._asking.acquire(timeout=POLL_SECONDS):
            if cancelled():
                raise PatternStopped("The pattern search was stopped.")
        try:
            return self._answer(PatternQuestion(pattern, list(texts), every), cancelled)
        finally:
            self._asking.release()

    def close(self) -> None:
        """Kill the pattern process, even if it is busy; later searches raise `PatternStopped`."""
        self._is_closed = True
        channel = self._channel
        if channel is not None:
            channel.kill()

    def _answer(self, question: PatternQuestion, cancelled: Callable[[], bool]) -> list[list[MatchSpan]]:
        channel = self._channel
        if channel is None or not channel.send(question):
            # No pattern process was started yet, or the last one died while it was idle.
            channel = self._channel = self._started()
            channel.send(question)
        end = time.monotonic() + self._limit_seconds
        while not cancelled() and time.monotonic() < end and not self._is_closed:
            answer = channel.receive(POLL_SECONDS)
            if answer is not None:
                return answer.of_texts
            if channel.is_over:
                break
        is_late, is_dead = time.monotonic() >= end, channel.is_over
        channel.kill()
        self._channel = None
        if is_late or (is_dead and not self._is_closed):
            raise PatternStopped("The pattern took too long and was stopped: make it simpler.")
        raise PatternStopped("The pattern search was stopped.")

    def _started(self) -> Channel[Any]:
        try:
            # During a search the process cannot notice that its parent has died, so it also has a time limit of its
            # own.
            return start_program(
                PROGRAM, "pattern", str(self._limit_seconds + 1), receives=PatternAnswer, leads_group=False
            )
        except OSError as error:
            raise PatternStopped(f"The process that searches for patterns cannot be started: {error}") from None


def answer_questions(channel: Channel[PatternQuestion], limit_seconds: float) -> None:
    """Answer search requests until the channel is closed; a request or pattern that takes too long ends the process."""
    pattern, left = "", 0.0
    while (question := channel.receive()) is not None:
        # `faulthandler` limits the elapsed time, `setitimer` the processor time. Both work even while `re` holds the
        # interpreter lock.
        faulthandler.dump_traceback_later(limit_seconds, exit=True)
        if question.pattern != pattern:
            pattern, left = question.pattern, CPU_SECONDS
        left += sum(map(len, question.texts)) / CHARACTERS_PER_SECOND
        # When the time is over, the signal SIGVTALRM ends the process at once, because it has no handler. A Python
        # handler would run only after `re` returns.
        signal.setitimer(signal.ITIMER_VIRTUAL, max(left, 0.001))
        if question.every:
            found = all_spans(question.pattern, question.texts)
        else:
            found = [[span] if span is not None else [] for span in first_spans(question.pattern, question.texts)]
        left = signal.setitimer(signal.ITIMER_VIRTUAL, 0)[0]
        faulthandler.cancel_dump_traceback_later()
        channel.send(PatternAnswer(found))
