"""Index many files in a separate process with low priority."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from sessionbrowse.services.background.channel import Channel
from sessionbrowse.services.background.monitor_messages import IndexProgress
from sessionbrowse.services.background.programs import start_job
from sessionbrowse.store.find.discover import FoundFile
from sessionbrowse.store.index.index import UpdateProgress, open_index
from sessionbrowse.store.index.schema import IndexUnavailable

NICENESS = 10
"""Process priority of the indexer: lower than that of the browser and of running agents."""


class IndexFiles(Struct, frozen=True, kw_only=True):
    """Request to read files into the index in the directory `cache`.

    With `tools`, tool calls and results are indexed too; without `tools` the index keeps its present setting.
    """

    cache: str
    files: Sequence[FoundFile]
    tools: bool


def start_indexing(request: IndexFiles, progress: Callable[[IndexProgress], object]) -> bool:
    """Start a process that indexes the files. A thread calls `progress` again and again with the number of files done.

    The last call of `progress` reports all files as done, even if the process has failed. If another process is
    already writing the index, the new process does nothing, because the other process reads the same files. Returns
    False if the process cannot be started.
    """
    # In the group of the disk monitor, so that the browser kills both at once.
    channel = start_job("index", request, IndexProgress, leads_group=False)
    if channel is None:
        return False

    def ended() -> None:
        channel.kill()
        progress(IndexProgress(len(request.files), len(request.files)))

    channel.listen(progress, ended)
    return True


def run_indexer(channel: Channel[IndexFiles]) -> None:
    """Index the files in the browser's request and report progress; exit early if the browser closes the channel.

    This function starts no threads, because it forks processes that share the reading.
    """
    request = channel.receive()
    if request is None:
        return
    os.nice(NICENESS)

    def report(step: UpdateProgress) -> None:
        if not channel.send(IndexProgress(step.files_done, step.files)):
            os._exit(0)

    index = open_index(Path(request.cache), create=True)
    if index is not None:
        with suppress(IndexUnavailable):
            tools = True if request.tools else None
            index.update(request.files, tools=tools, may_fork=True, progress=report)
