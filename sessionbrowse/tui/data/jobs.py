"""Run background work in threads that never keep the program from quitting.

A lane does one kind of work and only its newest request counts. Threads are daemons on purpose: a thread that hangs
on a dead network mount must not hold up the end of the program, as a thread of a pool would.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from sessionbrowse.errors import SessionBrowseError, shortage_sentence

PATIENCE_SECONDS = 2.0
"""Seconds that a new job waits for a cancelled one to end before it starts anyway."""


class Outcome(Struct, frozen=True):
    """Something that a job produced: an early value (`last` False), its result, or the error that ended it."""

    lane: str
    stamp: int
    value: Any = None
    error: Exception | None = None
    last: bool = True

    @property
    def sentence(self) -> str:
        """The reason why the job failed, in words for the user; an unexpected exception is shown as it is."""
        if isinstance(self.error, SessionBrowseError):
            return self.error.sentence
        return (self.error and shortage_sentence(self.error)) or repr(self.error)


class Job:
    """A running piece of work; it can ask whether it is cancelled, and emit values before its end."""

    def __init__(self, lane: Lane, stamp: int) -> None:
        self._lane = lane
        self.stamp = stamp
        self.started = time.monotonic()
        self._stale = threading.Event()

    def cancelled(self) -> bool:
        """True if a newer request replaced this job, or its lane was cancelled."""
        return self._lane.stamp != self.stamp

    def pause(self, seconds: float) -> None:
        """Sleep, so that the interface can work; wake early if the job is cancelled."""
        self._stale.wait(seconds)

    def cancel(self) -> None:
        """Wake the job if it is in `pause`; called after the job was cancelled."""
        self._stale.set()

    def emit(self, value: Any) -> None:
        """Deliver a value to the receiver before the job ends."""
        self._lane.deliver(Outcome(self._lane.name, self.stamp, value, last=False))


Work = Callable[[Job], Any]


class Lane:
    """Runs one kind of background work; a new request cancels the earlier one."""

    def __init__(self, name: str, receive: Callable[[Outcome], object] | None = None) -> None:
        self.name = name
        self.stamp = 0
        self._receive = receive
        self._kept: list[Outcome] = []
        self._lock = threading.Lock()
        self._running: Job | None = None
        self._next: tuple[Work, Job] | None = None
        self._after: Work | None = None

    def connect(self, receive: Callable[[Outcome], object]) -> None:
        """Make `receive` the receiver of outcomes. Outcomes that waited for a receiver are delivered at once."""
        with self._lock:
            self._receive = receive
            kept, self._kept = self._kept, []
        for outcome in kept:
            receive(outcome)

    def ask(self, work: Work) -> int:
        """Cancel the earlier request and run `work` in a thread; return the number (stamp) of the new request."""
        with self._lock:
            self.stamp += 1
            self._after = None
            job = Job(self, self.stamp)
            running = self._running
            if running is not None:
                running.cancel()
            if running is not None and time.monotonic() - running.started < PATIENCE_SECONDS:
                self._next = (work, job)
                return job.stamp
            self._running, self._next = job, None
        threading.Thread(target=self._run, args=(work, job), name=f"sessionbrowse-{self.name}", daemon=True).start()
        return job.stamp

    def follow(self, work: Work) -> None:
        """Run `work` after the running job, which is not cancelled; of several calls only the last one counts."""
        with self._lock:
            running = self._running
            if running is not None and not running.cancelled():
                self._after = work
                return
        self.ask(work)

    def cancel(self) -> None:
        """Cancel the running and the waiting requests of this kind of background work."""
        with self._lock:
            self.stamp += 1
            self._next = self._after = None
            if self._running is not None:
                self._running.cancel()

    @property
    def busy(self) -> bool:
        """True if a request that is not cancelled runs or waits."""
        running = self._running
        return (running is not None and not running.cancelled()) or self._next is not None or self._after is not None

    def is_current(self, outcome: Outcome) -> bool:
        """True if a job's outcome belongs to the newest request."""
        return outcome.stamp == self.stamp

    def deliver(self, outcome: Outcome) -> None:
        """Pass a job's outcome to the receiver, unless the request was cancelled."""
        with self._lock:
            if outcome.stamp != self.stamp:
                return
            receive = self._receive
            if receive is None:
                self._kept.append(outcome)
                return
        try:
            receive(outcome)
        except RuntimeError:
            # The event loop is closed: the program is ending.
            self.cancel()

    def _run(self, work: Work, job: Job) -> None:
        while True:
            if not job.cancelled():
                job.started = time.monotonic()
                try:
                    outcome = Outcome(self.name, job.stamp, work(job))
                except Exception as error:
                    outcome = Outcome(self.name, job.stamp, error=error)
                self.deliver(outcome)
            with self._lock:
                overtaken = self._running is not job
                waiting = None if overtaken else self._next
                if not overtaken and waiting is None and self._after is not None:
                    # The same stamp (request number) keeps the result of the last job current until the next
                    # result arrives.
                    waiting, self._after = (self._after, Job(self, self.stamp)), None
                if not overtaken:
                    self._next = None
                    self._running = waiting[1] if waiting is not None else None
            if waiting is None:
                return
            work, job = waiting
