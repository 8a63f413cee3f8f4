"""One piece of work for many files, spread over processes made with fork: started in milliseconds, sharing nothing.

Fork is safe before a thread exists; without fork, or with other threads, everything happens in this process, unless who
asks knows that no thread holds anything that the work needs.
"""

from __future__ import annotations

import marshal
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

MIN_BYTES = 24 * 1024 * 1024
"""Less than this is done before another process has begun."""
CHUNK_BYTES = 4 * 1024 * 1024
MAX_CHUNKS = 8192
MOST_WORKERS = 8
_THREADS_END_S = 0.02
_TICKET = 4
_SIZE = 8


def one_worker(_total_bytes: int) -> int:
    """Return that this process does it all, whatever there is to be done."""
    return 1


def workers_for(total_bytes: int) -> int:
    """Return how many processes, this one included, are worth it for so many bytes where no other thread runs."""
    workers = _worth_it(total_bytes, _cores())
    return workers if workers == 1 or _is_alone() else 1


def workers_beside_browser(total_bytes: int) -> int:
    """Return the same beside a browser, which keeps a core to itself: with both of two busy, keys take twice as long.

    Only where other threads do not matter: they hold nothing, and import nothing, that the work needs.
    """
    return _worth_it(total_bytes, _cores() - 1)


def _worth_it(total_bytes: int, cores: int) -> int:
    if total_bytes < MIN_BYTES or not hasattr(os, "fork") or sys.platform == "darwin":
        return 1
    return max(1, min(cores, MOST_WORKERS))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def chunked(sizes: Sequence[int]) -> list[list[int]]:
    """Return the indexes of files in chunks of some megabytes; the largest files come first, in chunks of their own."""
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
    *,
    pack: Callable[[list[Any]], Any] = lambda answer: answer,
    unpack: Callable[[Any], list[Any]] = lambda packed: packed,
) -> Iterator[list[Any]]:
    """Yield `work(chunk)` for every chunk, in the order in which they are done, from this and other processes.

    What comes from another process is packed there into plain types (`marshal`), and unpacked here. `finish` is called
    in every process behind its last chunk. Chunks of a process that died are done again here, as are those whose
    `work` or `finish` raised there; `finish` then follows once more.
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
                children.append(_start(chunks, lambda chunk: pack(work(chunk)), tickets, finish))
            except OSError:
                break
        for number in _drawn(tickets):
            done.add(number)
            yield work(chunks[number])
        # Before the others' answers, which come when they have finished: nobody waits for anybody.
        finish()
        for _, answers in children:
            for number, answer in _received(answers):
                done.add(number)
                yield unpack(answer)
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
        # The answers wait, packed, until all is done: a full pipe would stop the work.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.close(answers)
        found: list[bytes] = []
        for number in _drawn(tickets):
            if os.getppid() != parent:
                # Killed: nobody waits for the answers, and what the parent had locked is locked as long as we live.
                os._exit(status)
            found.append(marshal.dumps((number, work(chunks[number]))))
        finish()
        with os.fdopen(answering, "wb") as pipe:
            for answer in found:
                pipe.write(len(answer).to_bytes(_SIZE, "little"))
                pipe.write(answer)
        status = 0
    finally:
        os._exit(status)


def _drawn(tickets: int) -> Iterator[int]:
    while ticket := os.read(tickets, _TICKET):
        yield int.from_bytes(ticket, "little")


def _received(answers: int) -> Iterator[tuple[int, Any]]:
    """Yield the numbers of chunks and what became of them; nothing more where the process died."""
    with os.fdopen(answers, "rb", closefd=False) as pipe:
        while len(size := pipe.read(_SIZE)) == _SIZE:
            answer = pipe.read(int.from_bytes(size, "little"))
            if len(answer) == int.from_bytes(size, "little"):
                yield marshal.loads(answer)


def _is_alone() -> bool:
    """Tell whether this is the only thread; those that asked the disk end within moments."""
    deadline = time.monotonic() + _THREADS_END_S
    while threading.active_count() > 1:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.0005)
    return True
