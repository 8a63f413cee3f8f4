"""Start the background programs: `python -m sessionbrowse.services.background DESCRIPTOR JOB`.

Each job runs in a process of its own, so that neither an unresponsive disk nor long indexing delays a search. The jobs:
`monitor` reads the sessions and reports changes, `search` answers searches, `index` reads many files into the index,
`pattern` searches texts for a regular expression, `usage` adds up the cost of sessions.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from sessionbrowse.services.background.channel import Channel, start_program
from sessionbrowse.services.background.monitor_messages import MonitorDisk, MonitorEvent, MonitorFailed

PROGRAM = "sessionbrowse.services.background"
MONITOR_ENDED = "The program that reads the sessions has ended: changes are no longer seen."


def start_monitor(request: MonitorDisk) -> Channel[MonitorEvent] | None:
    """Start the disk monitor and return its channel; None if it cannot be started."""
    return start_job("monitor", request, MonitorEvent)


def start_job(job: str, request: object, receives: Any, *, leads_group: bool = True) -> Channel[Any] | None:
    """Start the process for a job, send it `request`, and return its channel; None if it cannot be started.

    `start_program` explains `leads_group`.
    """
    if os.name != "posix":
        # Windows cannot pass a socket to a child process, so there are no background programs on Windows.
        return None
    try:
        channel = start_program(PROGRAM, job, receives=receives, leads_group=leads_group)
    except OSError:
        return None
    channel.send(request)
    return channel


def listen_to_monitor(channel: Channel[MonitorEvent], take: Callable[[MonitorEvent], object]) -> None:
    """Call `take` in a thread with every event from the disk monitor.

    The last event is `MonitorFailed` unless the browser killed the monitor.
    """
    last: list[MonitorEvent] = []

    def keep_last(event: MonitorEvent) -> None:
        last[:] = [event]
        take(event)

    def ended() -> None:
        has_failed = last and isinstance(last[0], MonitorFailed)
        if not channel.is_killed and not has_failed:
            take(MonitorFailed(MONITOR_ENDED))

    channel.listen(keep_last, ended)
