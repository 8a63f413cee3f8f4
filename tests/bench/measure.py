"""Runs commands as whole processes: wall time, CPU time, and the memory of all their processes together.

Time and memory are measured in separate runs, because asking the kernel for memory slows what is asked about.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

POLL_SECONDS = 0.004
TIMEOUT_SECONDS = 900


class Run(Struct, frozen=True):
    """One run of a command. Memory is in bytes; `pss` is 0 where it was not asked for."""

    seconds: float
    cpu: float
    max_rss: int
    pss: int
    status: int
    stdout: bytes
    stderr: bytes

    @property
    def sentence(self) -> str:
        """The last line it wrote on stderr."""
        lines = self.stderr.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


class Failed(Exception):
    """A command that is measured did not do its work; the message says what it said."""


class Spread(Struct, frozen=True):
    """Median, minimum and maximum of several measurements."""

    median: float
    low: float
    high: float

    def shown(self, unit: Callable[[float], str]) -> str:
        """Return it in words, in the given unit."""
        if self.low == self.high:
            return unit(self.median)
        return f"{unit(self.median)} ({unit(self.low)} – {unit(self.high)})"


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of at least one value."""
    return Spread(statistics.median(values), min(values), max(values))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Return ours divided by theirs, pair by pair: a machine that slows down slows both of a pair."""
    return spread([mine / other for mine, other in zip(ours, theirs, strict=True)])


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def run(command: Sequence[str | Path], env: Mapping[str, str], *, cwd: Path | None = None, memory: bool = False) -> Run:
    """Run a command to its end; `memory` polls the PSS of its process and all that it starts.

    Raises:
        Failed: it ran longer than 15 minutes.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as complaints:
        started = time.perf_counter()
        process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=complaints,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
        killer = threading.Timer(TIMEOUT_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        killer.start()
        peak = _poll_pss(process.pid) if memory else 0
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if seconds >= TIMEOUT_SECONDS:
            raise Failed(f"{Path(command[0]).name} did not end within {TIMEOUT_SECONDS} s")
        out.seek(0)
        complaints.seek(0)
        return Run(
            seconds,
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss * 1024,
            peak,
            process.returncode,
            out.read(),
            complaints.read(),
        )


def must(done: Run) -> Run:
    """Return the run.

    Raises:
        Failed: its exit status is not 0.
    """
    if done.status:
        raise Failed(done.sentence or f"exit status {done.status}")
    return done


def pairs(rounds: int, ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[list[float], list[float]]:
    """Measure both by turns, each of them first in every other round."""
    mine: list[float] = []
    other: list[float] = []
    for number in range(rounds):
        for ask, answers in ((ours, mine), (theirs, other))[:: 1 if number % 2 == 0 else -1]:
            answers.append(ask())
    return mine, other


def pss_of_tree(pid: int) -> int:
    """Return the proportional set size, in bytes, of a process and all below it."""
    return sum(_pss(each) for each in tree_of(pid))


def tree_of(pid: int) -> list[int]:
    """Return a process and all that it or its children started and that still run."""
    found = [pid]
    for each in found:
        try:
            threads = os.listdir(f"/proc/{each}/task")
        except OSError:
            continue
        for thread in threads:
            try:
                with open(f"/proc/{each}/task/{thread}/children", "rb") as children:
                    found.extend(map(int, children.read().split()))
            except OSError:
                continue
    return found


def cpu_of_tree(pid: int) -> float:
    """Return the seconds of CPU that a process and all below it used until now, exact to the nanosecond."""
    total = 0
    for each in tree_of(pid):
        try:
            for thread in os.listdir(f"/proc/{each}/task"):
                with open(f"/proc/{each}/task/{thread}/schedstat", "rb") as status:
                    total += int(status.read().split()[0])
        except OSError:
            continue
    return total / 1e9


def _poll_pss(pid: int) -> int:
    peak = 0
    while True:
        # WNOWAIT leaves the ended process to wait4, which tells what it used
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return peak
        started = time.perf_counter()
        peak = max(peak, pss_of_tree(pid))
        # a large process takes long to ask: leave it at least half of the time
        time.sleep(max(POLL_SECONDS, time.perf_counter() - started))


def _pss(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as rollup:
            for line in rollup:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass  # it ended between two looks
    return 0


def bytes_below(folder: Path) -> int:
    """Return the size of all files below a folder."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())


def warm(files: Sequence[Path]) -> None:
    """Read files once, so that they are in the page cache."""
    buffer = bytearray(1 << 20)
    for file in files:
        with file.open("rb", buffering=0) as opened:
            while opened.readinto(buffer):
                pass
