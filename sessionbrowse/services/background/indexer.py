"""Indexing many files beside other work: a program of its own that runs at low priority."""

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
"""The browser, and agents that write sessions, come first."""


class IndexFiles(Struct, frozen=True, kw_only=True):
    """Read files into the index in the directory `cache`; `override` is the agent of all of them, if given.

    `tools` adds tool calls and results; without it the index stays as it was made.
    """

    cache: str
    files: Sequence[FoundFile]
    override: str | None
    tools: bool


def start_indexing(request: IndexFiles, progress: Callable[[IndexProgress], object]) -> bool:
    """Start to index the files; `progress` is called from a thread, at the end with all files done.

    If another process is writing the index nothing happens: that process reads the same files. Return False if no
    process can be started.
    """
    channel = start_job("index", request, IndexProgress)
    if channel is None:
        return False

    def ended() -> None:
        channel.kill()
        progress(IndexProgress(len(request.files), len(request.files)))

    channel.listen(progress, ended)
    return True


def run_indexer(channel: Channel[IndexFiles]) -> None:
    """Index the files that the other end names, reporting progress, until it is gone.

    It starts no thread, so that reading may be spread over forked processes.
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
            index.update(request.files, request.override, tools=tools, may_fork=True, progress=report)
