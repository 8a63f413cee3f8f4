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

from msgspec import Struct

MIN_BYTES = 24 * 1024 * 1024
"""Below this number of bytes, one process reads everything: starting another process would take longer."""
CHUNK_BYTES = 4 * 1024 * 1024
MAX_CHUNKS = 8192
MOST_WORKERS = 8
_THREADS_END_S = 0.02
_TICKET = 4
_HEAD = 8
"""Size in bytes of the length prefix of each answer that a forked process sends."""
_PIECE = 256 * 1024
_PIPE_BYTES = 1024 * 1024
"""Size of the pipe for answers, where the system allows it; by default 64 KiB."""
_MOST_UNSENT = 4 * 1024 * 1024
"""A forked process with more bytes of answers waits until the other takes them."""

Answer = Any


class _Child(Struct):
    """A forked process, the pipe for its answers, and the received part of an incomplete answer."""

    process: int
    answers: int
    received: bytearray


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


def fork_map(chunks: Sequence[list[int]], work: Callable[[list[int]], Answer], workers: int) -> Iterator[Answer]:
    """Yield `work(chunk)` for every chunk in any order, computed by `workers` processes (this one included).

    If a forked process dies or raises, this process computes the chunks without an answer again.
    """
    if workers <= 1 or len(chunks) < 2:
        yield from map(work, chunks)
        return
    done: set[int] = set()
    tickets, feeding = os.pipe()
    os.write(feeding, b"".join(number.to_bytes(_TICKET, "little") for number in range(len(chunks))))
    os.close(feeding)
    children: list[_Child] = []
    try:
        for _ in range(workers - 1):
            try:
                children.append(_start(chunks, work, tickets))
            except OSError:
                break
        for number in _drawn(tickets):
            done.add(number)
            yield work(chunks[number])
            for child in children:
                yield from _received(child, done, wait=False)
        for child in children:
            yield from _received(child, done, wait=True)
        for number, chunk in enumerate(chunks):
            if number not in done:
                yield work(chunk)
    finally:
        os.close(tickets)
        for child in children:
            os.close(child.answers)
            with suppress(ProcessLookupError):
                os.kill(child.process, signal.SIGKILL)
            os.waitpid(child.process, 0)


def _start(chunks: Sequence[list[int]], work: Callable[[list[int]], Answer], tickets: int) -> _Child:
    import fcntl

    answers, answering = os.pipe()
    with suppress(AttributeError, OSError):
        fcntl.fcntl(answering, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    parent = os.getpid()
    process = os.fork()
    if process:
        os.close(answering)
        return _Child(process, answers, bytearray())
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.close(answers)
        unsent = bytearray()
        for number in _drawn(tickets):
            packed = pickle.dumps((number, work(chunks[number])), pickle.HIGHEST_PROTOCOL)
            if os.getppid() != parent:
                # The parent was killed: this process must exit, because it would keep the parent's file locks.
                os._exit(status)
            unsent += len(packed).to_bytes(_HEAD, "little") + packed
            # The parent reads answers only between its own chunks; a full pipe must not block this process meanwhile.
            os.set_blocking(answering, len(unsent) > _MOST_UNSENT)
            _send(answering, unsent)
        os.set_blocking(answering, True)
        _send(answering, unsent)
        status = 0
    finally:
        os._exit(status)


def _drawn(tickets: int) -> Iterator[int]:
    while ticket := os.read(tickets, _TICKET):
        yield int.from_bytes(ticket, "little")


def _send(pipe: int, unsent: bytearray) -> None:
    with suppress(BlockingIOError):
        while unsent:
            del unsent[: os.write(pipe, unsent)]


def _received(child: _Child, done: set[int], *, wait: bool) -> Iterator[Answer]:
    """Yield the answers that a process has sent (with `wait`, until it ends); add the chunks' numbers to `done`."""
    os.set_blocking(child.answers, wait)
    with suppress(BlockingIOError):
        while piece := os.read(child.answers, _PIECE):
            held = child.received
            held += piece
            while len(held) >= _HEAD and len(held) >= (end := _HEAD + int.from_bytes(held[:_HEAD], "little")):
                number, answer = pickle.loads(held[_HEAD:end])
                del held[:end]
                done.add(number)
                yield answer


def _is_alone() -> bool:
    """Return True if this is the only thread; wait up to 20 ms for threads of the directory scan to end."""
    deadline = time.monotonic() + _THREADS_END_S
    while threading.active_count() > 1:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.0005)
    return True
