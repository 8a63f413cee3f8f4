"""Helpers of the tests of the disk monitor: one in this process, its events collected, conditions waited for."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.channel import Channel
from sessionbrowse.services.background.disk_monitor import DiskMonitor
from sessionbrowse.services.background.monitor_messages import (
    FirstRows,
    IndexProgress,
    MonitorDisk,
    MonitorEvent,
    MonitorRequest,
    Painted,
    SessionsFound,
    SessionsGone,
)
from sessionbrowse.services.list.summary_cache import AT_ONCE_FILES

PATIENCE_SECONDS = 20.0


def request_of(root: Path, cache: Path, **more: Any) -> MonitorDisk:
    """The request of a browser of one root."""
    return MonitorDisk(home=str(root.parent), environ={}, cache=str(cache), **{"roots": (str(root),), **more})


class Events:
    """All events of a monitor, and the list that a browser would make of them."""

    def __init__(self) -> None:
        self.all: list[MonitorEvent] = []
        self.rows: dict[str, Summary] = {}

    def __call__(self, event: MonitorEvent) -> None:
        self.all.append(event)
        match event:
            case FirstRows(summaries) | SessionsFound(summaries):
                self.rows.update({summary.path: summary for summary in summaries})
            case SessionsGone(paths):
                for path in paths:
                    self.rows.pop(path, None)

    def kinds(self) -> list[str]:
        """The kinds of events in order, repetitions once."""
        names = [type(event).__name__ for event in self.all]
        return [name for at, name in enumerate(names) if at == 0 or name != names[at - 1]]

    def names(self) -> set[str]:
        """The names of the listed files."""
        return {Path(path).name for path in self.rows}


def live(root: Path, cache: Path, **more: Any) -> tuple[DiskMonitor, Events]:
    """A monitor that has begun and scanned once, and its events."""
    events = Events()
    made = DiskMonitor(request_of(root, cache, **more), events)
    made.take(Painted())
    made.begin()
    step_until(made, lambda: "ScanComplete" in events.kinds())
    return made, events


def step_until(made: DiskMonitor, condition: Callable[[], bool]) -> None:
    """Have it do what there is to do until the condition holds."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        made.step(0.02)


def index(root: Path, cache: Path, **more: Any) -> Events:
    """Have the monitor of an earlier browser index everything; return its events."""
    made, events = live(root, cache, **more)
    if len(events.rows) > AT_ONCE_FILES and not isinstance(events.all[0], FirstRows):
        step_until(made, lambda: IndexProgress(len(events.rows), len(events.rows)) in events.all)
    made.end()
    return events


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds, while the browser goes on."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


class ThreadMonitor(Channel[MonitorEvent]):
    """The channel to a disk monitor in a thread of this process."""

    def __init__(self, request: MonitorDisk) -> None:
        near, far = socket.socketpair()
        super().__init__(near.detach(), MonitorEvent)
        self.far_end: Channel[MonitorRequest] = Channel(far.detach(), MonitorRequest)
        self._monitor = DiskMonitor(request, self.far_end.send)
        self.far_end.listen(self._monitor.take, lambda: None)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        self._monitor.begin()
        while not self.far_end.is_over:
            self._monitor.step(0.02)
        self._monitor.end()


def wait_for_end(process: int) -> None:
    """Wait until a process of somebody else has ended."""
    end = time.monotonic() + PATIENCE_SECONDS
    while _is_running(process):
        assert time.monotonic() < end, "it did not end in time"
        time.sleep(0.01)


def _is_running(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        return not os.path.isdir("/proc/self")
    # A zombie that nobody has waited for is no longer running.
    return status.rpartition(")")[2].split()[0] != "Z"
