"""Run background work in threads that never keep the program from quitting.

Each kind of work has a `Lane`, in which a new request cancels the running job and waits until that job has ended. The
threads are daemon threads, not the threads of a pool: a thread may hang on a dead network mount, and at exit Python
would wait for the threads of a pool.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, ParamSpec

from msgspec import Struct

from sessionbrowse.errors import SessionBrowseError

P = ParamSpec("P")

PATIENCE_SECONDS = 2.0
"""A cancelled job that has run for more than this many seconds is not waited for: the next job starts beside it."""


class Outcome(Struct, frozen=True):
    """A message from a background job: its result, the error that ended it, or an interim value (`last` is False)."""

    lane: str
    stamp: int
    value: Any = None
    error: Exception | None = None
    last: bool = True

    @property
    def sentence(self) -> str:
        """The error that ended the job, as a sentence for the user; for an unexpected exception its `repr`."""
        if isinstance(self.error, SessionBrowseError):
            return self.error.sentence
        return repr(self.error)


class Job:
    """A background job; the work function uses it to check for cancellation and to emit interim values."""

    def __init__(self, lane: Lane, stamp: int) -> None:
        self._lane = lane
        self.stamp = stamp
        self.started = time.monotonic()
        self.stale = threading.Event()
        """Set when the job is cancelled, to wake it if it sleeps in `pause`."""

    def cancelled(self) -> bool:
        """True if a newer request replaced this job, or `Lane.cancel` cancelled all requests."""
        return self._lane.stamp != self.stamp

    def pause(self, seconds: float) -> None:
        """Sleep for some seconds, so that the interface gets processor time; return early if the job is cancelled."""
        self.stale.wait(seconds)

    def emit(self, value: Any) -> None:
        """Send an interim value to the interface while the job is still running."""
        self._lane.deliver(Outcome(self._lane.name, self.stamp, value, last=False))


Work = Callable[[Job], Any]


class Lane:
    """Runs one kind of background work; a new request cancels the running job, and starts when that job has ended."""

    def __init__(self, name: str, receive: Callable[[Outcome], object] | None = None) -> None:
        self.name = name
        self.stamp = 0
        self._receive = receive
        self._kept: list[Outcome] = []
        self._lock = threading.Lock()
        self._running: Job | None = None
        self._next: tuple[Work, Job] | None = None

    def connect(self, receive: Callable[[Outcome], object]) -> None:
        """Set the function that receives the outcomes of jobs; call it now for each outcome that already arrived."""
        with self._lock:
            self._receive = receive
            kept, self._kept = self._kept, []
        for outcome in kept:
            receive(outcome)

    def ask(self, work: Work) -> int:
        """Cancel the previous request for work, and run `work` in a thread; return the new request's number (stamp)."""
        with self._lock:
            self.stamp += 1
            job = Job(self, self.stamp)
            running = self._running
            if running is not None:
                running.stale.set()
            if running is not None and time.monotonic() - running.started < PATIENCE_SECONDS:
                self._next = (work, job)
                return job.stamp
            self._running, self._next = job, None
        threading.Thread(target=self._run, args=(work, job), name=f"sessionbrowse-{self.name}", daemon=True).start()
        return job.stamp

    def follow(self, work: Work) -> None:
        """Run `work` when the running job has ended, without cancelling it; drop an earlier `work` that still waits."""
        with self._lock:
            running = self._running
            if running is not None and not running.cancelled():
                # The waiting job shares the stamp (request number) of the running job. With a new stamp, the running
                # job's result would be dropped if the interface has not received it yet.
                self._next = (work, Job(self, self.stamp))
                return
        self.ask(work)

    def cancel(self) -> None:
        """Cancel the running job and all waiting requests of this kind of background work."""
        with self._lock:
            self.stamp += 1
            self._next = None
            if self._running is not None:
                self._running.stale.set()

    @property
    def busy(self) -> bool:
        """True if a job is running or waiting to start; cancelled jobs do not count."""
        running = self._running
        return (running is not None and not running.cancelled()) or self._next is not None

    def is_current(self, outcome: Outcome) -> bool:
        """True unless the job that sent an outcome was cancelled, or a newer request replaced that job."""
        return outcome.stamp == self.stamp

    def deliver(self, outcome: Outcome) -> None:
        """Pass a job's outcome to the function set with `connect`; drop it if the job's request was cancelled."""
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
            # The event loop is closed because the program is ending, so nothing can receive the outcome.
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
                if self._running is not job:
                    return  # The next job did not wait for this one.
                waiting, self._next = self._next, None
                self._running = waiting[1] if waiting is not None else None
            if waiting is None:
                return
            work, job = waiting


def at_most_every(seconds: float, do: Callable[P, object]) -> Callable[P, None]:
    """Return a function that calls `do`, but does nothing within some seconds after the last call of `do`."""
    called_at = float("-inf")

    def call(*arguments: P.args, **named: P.kwargs) -> None:
        nonlocal called_at
        if time.monotonic() - called_at >= seconds:
            called_at = time.monotonic()
            do(*arguments, **named)

    return call
