"""Read the disk with a time limit, because a dead network mount blocks a thread for ever; recognise network disks.

Daemon threads do the reading. A stuck thread delays neither the other reads nor the end of the process."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import monotonic
from typing import Generic, TypeVar

from sessionbrowse.agents.base import Disk, names_in, read_small_file
from sessionbrowse.model.listing.directories import is_absolute, machine_in
from sessionbrowse.store.own.mirrors import read_state

T = TypeVar("T")

TIMEOUT_S = 1.0
"""Time limit in seconds for reading a list of paths; a path that is not read by then has the result None."""

HUNG_S = 0.5
TAKEOVER_S = 0.02
MAX_THREADS = 64
_FIRST_THREADS = 2

MOUNTS = "/proc/self/mounts"
_REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "vboxsf"})
_REMOTE_FUSE = ("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.gvfsd", "prl_fs", "drvfs", "fuse.vmhgfs")


class TimedReads(Generic[T]):
    """Calls one function, the question, for many paths in threads, and caches the results until the process ends.

    The function must not raise and must not return None."""

    def __init__(self, question: Callable[[str], T]) -> None:
        self._question = question
        self._answers: dict[str, T] = {}
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Reset lock, queue and threads: a forked process has copies of its parent's locks, but not its threads."""
        self._changed = threading.Condition()
        self._asked: set[str] = set()
        self._begun: dict[str, float] = {}
        self._queue: deque[str] = deque()
        self._threads = 0

    def read(self, paths: Iterable[str], timeout_s: float = TIMEOUT_S, *, fresh: bool = False) -> dict[str, T | None]:
        """Call the function for each path; return its result, or None if it takes too long; `fresh` skips the cache."""
        wanted = list(dict.fromkeys(paths))
        if getattr(_thread, "is_timed", False):
            return {path: self._question(path) for path in wanted}
        with self._changed:
            if fresh:
                for path in wanted:
                    self._answers.pop(path, None)
            # An earlier call of `read` asked for these paths, and the disk still hangs, so this call does not wait.
            hung = {path for path, begun in self._begun.items() if monotonic() - begun > HUNG_S}
            new = [path for path in wanted if path not in self._answers and path not in self._asked]
            self._queue.extend(_spread(new))
            self._asked.update(new)
            awaited = [path for path in wanted if path not in hung]
            self._start_threads(min(_FIRST_THREADS, len(self._queue)))
            self._wait(awaited, timeout_s)
            return {path: self._answers.get(path) for path in wanted}

    def _wait(self, awaited: list[str], timeout_s: float) -> None:
        answered, waited = -1, 0.0
        while waited < timeout_s and any(path not in self._answers for path in awaited):
            if len(self._answers) == answered and self._queue:
                # No call returned since the last check, so all threads may be stuck, and one more thread is started.
                self._start_threads(1)
            answered, begun = len(self._answers), monotonic()
            self._changed.wait(TAKEOVER_S)
            # A wait that took longer says that the machine is busy, or was asleep, not that the disk does not answer.
            waited += min(monotonic() - begun, TAKEOVER_S)

    def _start_threads(self, count: int) -> None:
        for _ in range(min(count, MAX_THREADS - self._threads)):
            self._threads += 1
            try:
                threading.Thread(target=self._work, name="sessionbrowse-ask", daemon=True).start()
            except RuntimeError:
                # The system allows no more threads. If no thread is running, the calling thread does the work, without
                # a time limit.
                if self._threads > 1:
                    self._threads -= 1
                    return
                self._work()

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._queue:
                    self._threads -= 1
                    return
                path = self._queue.popleft()
                self._begun[path] = monotonic()
            answer = self._question(path)
            with self._changed:
                self._asked.discard(path)
                del self._begun[path]
                self._answers[path] = answer
                if not self._queue:
                    # Waking the waiting thread for each result would be slower; it checks every `TAKEOVER_S` anyway.
                    self._changed.notify_all()


def in_one_thread(compute: Callable[[], T], timeout_s: float = HUNG_S) -> T:
    """Return the result of a function that reads several files, one after the other, through this module.

    The function runs in one thread, instead of a thread for each read: handing over 15 reads takes 5 ms, on a busy
    machine 25 ms. If it takes too long, it runs again, with a time limit for each read. As long as a thread of an
    earlier call hangs, only that is done.
    """
    _hung[:] = [thread for thread in _hung if thread.is_alive()]
    if _hung:
        return compute()
    answers: list[T] = []
    errors: list[Exception] = []

    def work() -> None:
        _thread.is_timed = True
        try:
            answers.append(compute())
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=work, name="sessionbrowse-ask", daemon=True)
    with suppress(RuntimeError):
        # The system may allow no more threads.
        thread.start()
        thread.join(timeout_s)
    if thread.is_alive():
        _hung.append(thread)
    for error in errors:
        raise error
    return answers[0] if answers else compute()


_thread = threading.local()
_hung: list[threading.Thread] = []


def exists_many(paths: Iterable[str], timeout_s: float = TIMEOUT_S, *, fresh: bool = False) -> dict[str, bool | None]:
    """Return for each directory True if it exists; None if the disk did not answer in time.

    For a directory on another machine, the answer is the one that the last look at that machine found.
    """
    wanted = list(paths)
    there = {path: found for path in wanted if (found := machine_in(path)) is not None}
    states = {name: read_state(name) for name in {name for name, _ in there.values()}}
    answers = _EXISTS.read([path for path in wanted if path not in there], timeout_s, fresh=fresh)
    for path, (name, directory) in there.items():
        state = states[name]
        answers[path] = state.directories.get(directory) if state is not None else None
    return answers


def stat_many(paths: Iterable[str], timeout_s: float = TIMEOUT_S) -> dict[str, os.stat_result | OSError | None]:
    """Return the status of each path (symlinks followed), or the error; None if the disk did not answer in time."""
    return _STAT.read(paths, timeout_s, fresh=True)


def read_many(paths: Iterable[str], timeout_s: float = TIMEOUT_S) -> dict[str, bytes | None]:
    """Return the content of small files; None for a file that is missing or empty, or was not read in time."""
    return {path: content or None for path, content in _READ.read(paths, timeout_s, fresh=True).items()}


def real_many(paths: Iterable[str], timeout_s: float = TIMEOUT_S) -> dict[str, str | None]:
    """Return each path with its links resolved; None if the disk did not answer in time.

    The result is "" for a path that is not absolute here, since it would be joined to the current directory.
    """
    return _REAL.read(paths, timeout_s)


def patient_disk() -> Disk:
    """Return a `Disk` (functions that read files and directories) whose functions have a time limit."""
    return _PATIENT


def is_remote(path: str, mounts: str = MOUNTS) -> bool:
    """Return True if a path is on a network disk, according to the system's mount table (`/proc/self/mounts`)."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.split(" ") for line in file]
    except OSError:
        return False
    here = os.path.realpath(path)
    best = ("", "")
    for parts in lines:
        if len(parts) < 3:
            continue
        point = parts[1].replace("\\040", " ")
        if here == point or here.startswith(point.rstrip("/") + "/"):
            best = max(best, (point, parts[2]), key=lambda each: len(each[0]))
    return best[1] in _REMOTE or best[1].startswith(_REMOTE_FUSE)


def _spread(paths: list[str]) -> list[str]:
    """Sort paths so that paths of one directory are far apart, because each path on a dead disk blocks a thread."""
    seen: dict[str, int] = {}
    ranks = []
    for path in paths:
        parent = os.path.dirname(path)
        seen[parent] = seen.get(parent, -1) + 1
        ranks.append(seen[parent])
    return [path for _, path in sorted(zip(ranks, paths, strict=True), key=lambda ranked: ranked[0])]


def _stat(path: str) -> os.stat_result | OSError:
    try:
        return os.stat(path)
    except OSError as error:
        return error
    except ValueError as error:
        return OSError(str(error))


def _real(path: str) -> str:
    try:
        return os.path.realpath(path) if is_absolute(path) else ""
    except (OSError, ValueError):
        return ""


def _is_directory(path: str) -> bool:
    # A directory that is not absolute here, such as one of Windows, would be looked up below the current directory.
    return is_absolute(path) and os.path.isdir(path)


_EXISTS: TimedReads[bool] = TimedReads(_is_directory)
_REAL: TimedReads[str] = TimedReads(_real)
_STAT: TimedReads[os.stat_result | OSError] = TimedReads(_stat)
_READ: TimedReads[bytes] = TimedReads(lambda path: read_small_file(path) or b"")
_NAMES: TimedReads[list[str]] = TimedReads(names_in)
_PATIENT = Disk(
    read=lambda path: read_many([path])[path],
    is_directory=lambda path: bool(exists_many([path], fresh=True)[path]),
    names=lambda path: _NAMES.read([path], fresh=True)[path] or [],
)
