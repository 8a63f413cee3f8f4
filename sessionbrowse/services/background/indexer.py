"""Reading many files into the index beside other work: by processes of its own, or a thread where there is no fork."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from sessionbrowse.services.list.index_access import open_or_create
from sessionbrowse.store.find.discover import FoundFile
from sessionbrowse.store.index.index import Progress
from sessionbrowse.store.index.schema import IndexUnavailable

_RECORD = struct.Struct("<qq")
NICENESS = 5
"""The browser and the programs that write sessions come first."""


def start_indexing(
    cache: Path,
    files: Sequence[FoundFile],
    override: str | None,
    *,
    tools: bool | None,
    progress: Callable[[int, int], None],
) -> None:
    """Begin to read the files into the index; `progress` is told from a thread of files done and all, equal at the end.

    Where another process is writing the index, nothing happens: it does the same.
    """
    if hasattr(os, "fork"):
        _fork(cache, files, override, tools, progress)
    else:
        work = threading.Thread(
            target=_index, args=(cache, files, override, tools, progress), name="sessionbrowse-indexer", daemon=True
        )
        work.start()


def _fork(
    cache: Path,
    files: Sequence[FoundFile],
    override: str | None,
    tools: bool | None,
    progress: Callable[[int, int], None],
) -> None:
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(reading)
            os.nice(NICENESS)
            _index(
                cache,
                files,
                override,
                tools,
                lambda done, total: void(os.write(writing, _RECORD.pack(done, total))),
                may_fork=True,
            )
        finally:
            os._exit(0)
    os.close(writing)

    def listen() -> None:
        with os.fdopen(reading, "rb") as records:
            while len(record := records.read(_RECORD.size)) == _RECORD.size:
                progress(*_RECORD.unpack(record))
        os.waitpid(process, 0)
        progress(len(files), len(files))

    threading.Thread(target=listen, name="sessionbrowse-indexer", daemon=True).start()


def void(_: object) -> None:
    """Take a value that nobody wants."""


def _index(
    cache: Path,
    files: Sequence[FoundFile],
    override: str | None,
    tools: bool | None,
    progress: Callable[[int, int], None],
    *,
    may_fork: bool = False,
) -> None:
    def report(step: Progress) -> None:
        progress(step.files_done, step.files)

    index = open_or_create(cache, void)
    if index is not None:
        with suppress(IndexUnavailable):
            index.update(files, override, tools=tools, may_fork=may_fork, progress=report)
    progress(len(files), len(files))
