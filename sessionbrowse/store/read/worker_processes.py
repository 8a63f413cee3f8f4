"""Apply one function to many files in several forked processes, for the command line and the indexer.

A forked process starts in milliseconds. Forking is only safe while the process has a single thread, and never on
macOS; if it is not safe, this process does all the work itself.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

MIN_BYTES = 24 * 1024 * 1024
"""Minimum number of bytes for which forking pays; starting a process takes longer than reading fewer bytes."""
CHUNK_BYTES = 4 * 1024 * 1024
MAX_CHUNKS = 8192
MOST_WORKERS = 8
_THREADS_END_S = 0.02
_TICKET = 4


def one_worker(_total_bytes: int) -> int:
    """Return 1, the number of processes for a caller that must not fork."""
    return 1


def workers_for(total_bytes: int) -> int:
    """Return the number of processes, including this one, for reading `total_bytes` bytes.

    Return 1 if forking does not pay or is not safe.
    """
    if total_bytes < MIN_BYTES or not hasattr(os, "fork") or sys.platform == "darwin" or not _is_alone():
        return 1
    return max(1, min(_cores(), MOST_WORKERS))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def chunked(sizes: Sequence[int]) -> list[list[int]]:
    """Group files, given by their sizes, into chunks of some megabytes; a chunk is a list of positions in `sizes`.

    Files are not divided. Large files come first, each in its own chunk.
    """
    limit = max(CHUNK_BYTES, sum(sizes) // MAX_CHUNKS + 1)
    chunks = [[index] for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]) if sizes[index] >= limit]
    filled = limit
    for index, size in enumerate(sizes):
        if size >= limit:
            continue
        if filled + size > limit:
            chunks.append([])
            filled = 0
        chunks[-1].append(index)
        filled += size
    return chunks


def fork_map(
    chunks: Sequence[list[int]],
    work: Callable[[list[int]], list[Any]],
    workers: int,
    finish: Callable[[], None] = lambda: None,
) -> Iterator[list[Any]]:
    """Yield `work(chunk)` for every chunk in any order, computed by `workers` processes (this one included).

    `finish` is called in every process after its last chunk. If a forked process dies or raises, this process computes
    its chunks again, and calls `finish` again.
    """
    if workers <= 1 or len(chunks) < 2:
        for chunk in chunks:
            yield work(chunk)
        finish()
        return
    tickets, feeding = os.pipe()
    os.write(feeding, b"".join(number.to_bytes(_TICKET, "little") for number in range(len(chunks))))
    os.close(feeding)
    children: list[tuple[int, int]] = []
    done: set[int] = set()
    try:
        for _ in range(workers - 1):
            try:
                children.append(_start(chunks, work, tickets, finish))
            except OSError:
                break
        for number in _drawn(tickets):
            done.add(number)
            yield work(chunks[number])
        # Other processes send their results at the end, so this process calls `finish` before it waits for results.
        finish()
        for _, answers in children:
            for number, answer in _received(answers):
                done.add(number)
                yield answer
        undone = [chunk for number, chunk in enumerate(chunks) if number not in done]
        for chunk in undone:
            yield work(chunk)
        if undone:
            finish()
    finally:
        os.close(tickets)
        for process, answers in children:
            os.close(answers)
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _start(
    chunks: Sequence[list[int]], work: Callable[[list[int]], Any], tickets: int, finish: Callable[[], None]
) -> tuple[int, int]:
    answers, answering = os.pipe()
    parent = os.getpid()
    process = os.fork()
    if process:
        os.close(answering)
        return process, answers
    status = 1
    try:
        # Results are collected and sent at the end, because writing to a full pipe would block this process.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.close(answers)
        found: list[bytes] = []
        for number in _drawn(tickets):
            if os.getppid() != parent:
                # The parent was killed: this process must exit, because it would keep the parent's file locks.
                os._exit(status)
            found.append(pickle.dumps((number, work(chunks[number])), pickle.HIGHEST_PROTOCOL))
        finish()
        with os.fdopen(answering, "wb") as pipe:
            pipe.writelines(found)
        status = 0
    finally:
        os._exit(status)


def _drawn(tickets: int) -> Iterator[int]:
    while ticket := os.read(tickets, _TICKET):
        yield int.from_bytes(ticket, "little")


def _received(answers: int) -> Iterator[tuple[int, Any]]:
    """Yield (chunk number, result) from the pipe of a forked process; stop early if the process died."""
    with os.fdopen(answers, "rb", closefd=False) as pipe, suppress(EOFError, pickle.UnpicklingError):
        while True:
            yield pickle.load(pipe)


def _is_alone() -> bool:
    """Return True if this is the only thread; wait up to 20 ms for threads of the directory scan to end."""
    deadline = time.monotonic() + _THREADS_END_S
    while threading.active_count() > 1:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.0005)
    return True
