"""One session file on disk: streamed in blocks, read at offsets. Reading never writes, repairs or creates."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from sessionbrowse.agents.base import Marks, marks_of_head
from sessionbrowse.errors import NotASession
from sessionbrowse.format.big_line import BigLine
from sessionbrowse.format.lines import line_blocks
from sessionbrowse.model.rules import RULES
from sessionbrowse.model.session import Session, build_session
from sessionbrowse.store.discover import agent_of_path

BLOCK_BYTES = 512 * 1024
MAX_SHOWN_BYTES = 64 * 1024 * 1024
"""An entry larger than this is shown with its long strings cut."""
HEAD_BYTES = 64 * 1024


def file_blocks(descriptor: int, offset: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield the bytes of an open file from `offset` to `end` (the end of the file as it is reached, if None)."""
    while end is None or offset < end:
        wanted = BLOCK_BYTES if end is None else min(BLOCK_BYTES, end - offset)
        piece = os.pread(descriptor, wanted, offset)
        if not piece:
            return
        offset += len(piece)
        yield piece


def read_at(path: str | os.PathLike[str], offset: int, size: int) -> bytes:
    """Return the line of `size` bytes at `offset`; one over 64 MiB comes with its long strings cut."""
    descriptor = open_regular(path)
    try:
        if size <= MAX_SHOWN_BYTES:
            return b"".join(file_blocks(descriptor, offset, offset + size))
        big = BigLine()
        for piece in file_blocks(descriptor, offset, offset + size):
            big.feed(piece)
        return big.reduced()
    finally:
        os.close(descriptor)


def open_regular(path: str | os.PathLike[str]) -> int:
    """Open a file for reading and return its descriptor.

    Raises:
        NotASession: it is gone, unreadable, or no regular file (a pipe would block, a device never end).
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise NotASession(f"{os.fspath(path)} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotASession(f"{os.fspath(path)} is not a regular file")
    return descriptor


def open_session(path: str | os.PathLike[str], agent: str | None = None) -> Session:
    """Read a session file as its program does.

    The agent is the given one; else decided by marks in the file, the folder's form and the path. Damage never
    raises: see `Session.problems`, `Session.refusal`.

    Raises:
        NotASession: the file is gone, unreadable, no regular file, or of a kind that holds no session.
    """
    place = os.path.abspath(path)
    descriptor = open_regular(place)
    try:
        head = os.pread(descriptor, HEAD_BYTES, 0)
        refuse_foreign(place, head)
        name = agent or agent_of_path(place, marks_of_head(head))
        session = _read(descriptor, place, name)
        if agent is None and session.marks and session.rules.agent not in session.marks:
            # A mark deep in the file decides too: read it again as that program does.
            session = _read(descriptor, place, agent_of_path(place, Marks(frozenset(session.marks))))
        return session
    finally:
        os.close(descriptor)


def refuse_foreign(path: str, head: bytes) -> None:
    """Raise `NotASession` with a sentence for files that are known not to be sessions of the family.

    An `UnsupportedFormat` (a `NotASession`) for pi-agent-core's v4 store; event streams and other agents'
    transcripts are told by the shape of their first lines.
    """
    reason = foreign_reason(head)
    if reason is not None:
        raise NotASession(f"{Path(path).name}: {reason}")


def foreign_reason(head: bytes) -> str | None:
    """Return why the first bytes of a file are none of a session of the family, or None if they may be."""
    from sessionbrowse.format.foreign import recognise

    return recognise(head)


def _read(descriptor: int, path: str, agent: str) -> Session:
    return build_session(
        line_blocks(file_blocks(descriptor)),
        RULES[agent],
        path,
        lambda offset, size: read_at(path, offset, size),
    )
