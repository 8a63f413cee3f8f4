"""Read bytes of a session file, in blocks or at an offset, and omp's blobs; nothing is written or repaired."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from sessionbrowse.agents.base import HEAD_BYTES, Marks, marks_of_head, marks_of_program
from sessionbrowse.errors import ChangedMeanwhile, Unreadable
from sessionbrowse.format.codec import OURS, PROBED_LINES, program_of_file
from sessionbrowse.format.lines import BEGINNING_BYTES, MAX_LINE_BYTES, LineBlock, beginning_of, blocks_with_newlines
from sessionbrowse.model.listing.summary import Sketch
from sessionbrowse.store.find.discover import PACKED_SUFFIX
from sessionbrowse.store.read.archive import unpacked_descriptor
from sessionbrowse.store.read.translation import translated, translated_descriptor
from sessionbrowse.store.system.files import CLOEXEC, NONBLOCK, pread

BLOCK_BYTES = 128 * 1024
"""Number of bytes read at once; larger blocks do not fit into the processor's cache, and need new memory each time."""
SHORT_HEAD_BYTES = 8 * 1024
MOST_OUTPUT_BYTES = 16 * 1024 * 1024
"""Maximum size of a file with a tool's whole output that is read."""
_OUTPUTS = "tool-results"


def file_blocks(descriptor: int, offset: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield the bytes of an open file from `offset` to `end` in blocks; if `end` is None, to the end of the file."""
    while end is None or offset < end:
        wanted = BLOCK_BYTES if end is None else min(BLOCK_BYTES, end - offset)
        piece = pread(descriptor, wanted, offset)
        if not piece:
            return
        offset += len(piece)
        yield piece


def read_exactly(descriptor: int, name: str, offset: int, size: int) -> bytes:
    """Return `size` bytes of an open file; `name` is its name for the user.

    Raises:
        ChangedMeanwhile: the file has become shorter.
    """
    content = b"".join(file_blocks(descriptor, offset, offset + size))
    if len(content) < size:
        raise ChangedMeanwhile(f"{name} got shorter while it was read; nothing was changed. Try again.")
    return content


def head_of(descriptor: int) -> bytes:
    """Return the beginning of an open file: enough lines to recognise the file's format."""
    head = pread(descriptor, SHORT_HEAD_BYTES, 0)
    if len(head) < SHORT_HEAD_BYTES or head.count(b"\n") >= PROBED_LINES:
        return head
    return pread(descriptor, HEAD_BYTES, 0)


class LineConsumer(Protocol):
    """An object that receives the lines of a session file, such as a `SummaryBuilder`."""

    def add_lines(self, lines: list[bytes], offset: int) -> None:
        """Receive complete lines, each with its newline; the first line is at byte `offset` of the file."""

    def add_block(self, block: LineBlock) -> None:
        """Receive one line, as a block: a line that is too large, or a last line without newline."""


class Content(Struct, frozen=True):
    """An open session file. `is_in_place` is False if `descriptor` is that of unpacked or translated content.

    `status` is that of the session file when it was read. For a translated session, `program` is its agent. If the
    translation is in memory, `lines` has it, and `descriptor` is that of the session file. A `sketch` stands in for
    all of its lines.
    """

    descriptor: int
    status: os.stat_result
    is_in_place: bool = True
    program: str | None = None
    lines: list[bytes] | None = None
    sketch: Sketch | None = None

    def head(self) -> bytes:
        """Return enough bytes of the content's beginning to recognise its format."""
        return head_of(self.descriptor) if self.lines is None else b"".join(self.lines[:PROBED_LINES])

    def feed(self, taker: LineConsumer) -> None:
        """Pass all lines to a consumer."""
        if self.lines is None:
            feed_lines(self.descriptor, taker)
            return
        is_torn = not self.lines[-1].endswith(b"\n")
        whole = self.lines[:-1] if is_torn else self.lines
        taker.add_lines(whole, 0)
        if is_torn:
            taker.add_block(LineBlock(sum(map(len, whole)), self.lines[-1:], torn=True))

    def marks(self, head: bytes) -> Marks:
        """Return the marks of the file; `head` are the first bytes of its content."""
        return marks_of_program(self.program) if self.program is not None else marks_of_head(head)


def read_at(path: str | os.PathLike[str], offset: int, size: int) -> bytes:
    """Return the line of `size` bytes at `offset` of a session file; fewer bytes if the file has become shorter.

    If the line is longer than 64 MiB, only its beginning is returned.

    Raises:
        Unreadable: the file is gone or cannot be read.
    """
    with closing(open_content(path).descriptor) as descriptor:
        try:
            if size > MAX_LINE_BYTES:
                return beginning_of(pread(descriptor, BEGINNING_BYTES, offset))
            return b"".join(file_blocks(descriptor, offset, offset + size))
        except OSError as error:
            raise unreadable(path, error) from error


@contextmanager
def closing(descriptor: int) -> Iterator[int]:
    """Close the descriptor of an open file at the end of the `with` block."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_regular(path: str | os.PathLike[str]) -> int:
    """Open a file for reading and return its descriptor.

    Raises:
        Unreadable: the file is gone, forbidden, or not regular (a pipe would block, a device never end).
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | CLOEXEC | NONBLOCK)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unreadable(f"{os.fspath(path)} is not a regular file")
    return descriptor


def open_content(path: str | os.PathLike[str], translation: Literal["file", "memory", "brief"] = "file") -> Content:
    """Open a session file for reading; unpack a session that omp packed, translate one of Claude Code or Codex.

    `translation` says where a translation goes: to a temporary file, or to `Content.lines` ("memory"), there perhaps
    only as much as a list needs ("brief").

    Raises:
        Unreadable: the file is gone, forbidden, damaged, or not regular.
    """
    name = os.fspath(path)
    own = open_regular(path)
    is_own = False
    try:
        status = os.fstat(own)
        if name.endswith(PACKED_SUFFIX):
            return Content(unpacked_descriptor(name), status, is_in_place=False)
        program = program_of(own)
        if program is not None and translation != "file":
            made = translated(name, own, status, program, brief=translation == "brief")
            is_own = True
            return Content(own, status, False, program, list(made.lines()) if made.sketch is None else [], made.sketch)
        if program is not None:
            return Content(translated_descriptor(name, own, status, program), status, False, program)
        is_own = True
        return Content(own, status)
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        if not is_own:
            os.close(own)


def program_of(descriptor: int) -> str | None:
    """Return "claude" or "codex" if an open file is a session of Claude Code or Codex; else None."""
    # This check must be fast: it runs whenever a file is opened, and most files need no translation.
    if pread(descriptor, len(OURS[0]), 0).startswith(OURS):
        return None
    return program_of_file(lambda size: pread(descriptor, size, 0))


def read_output(session_path: str, name: str) -> str | None:
    """Return a tool's whole output from the file `name` in a session's folder; None if it is not there or too large.

    Claude Code keeps such files, also for the session's subagents. No file outside their folder is read.
    """
    above = [one.parent for one in Path(os.path.abspath(session_path)).parents if one.name == "subagents"]
    for folder in (Path(session_path).with_suffix(""), *above):
        place = os.path.join(os.path.realpath(folder), _OUTPUTS)
        path = os.path.realpath(os.path.join(place, name))
        if os.path.dirname(path) == place and os.path.isfile(path) and os.path.getsize(path) <= MOST_OUTPUT_BYTES:
            with suppress(OSError, Unreadable), os.fdopen(open_regular(path), "rb") as file:
                return file.read(MOST_OUTPUT_BYTES).decode("utf-8", "replace")
    return None


def unreadable(path: str | os.PathLike[str], error: Exception) -> Unreadable:
    """Return an `Unreadable` error whose text contains the path and the reason why the file cannot be read."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return Unreadable(f"{os.fspath(path)} cannot be read: {reason}")


def feed_lines(descriptor: int, taker: LineConsumer, offset: int = 0) -> None:
    """Pass the lines of an open file, from the beginning of a line at `offset`, to the consumer `taker`."""
    for block in blocks_with_newlines(file_blocks(descriptor, offset), offset):
        if block.reduced_from or block.torn:
            taker.add_block(block)
        else:
            taker.add_lines(block.lines, block.offset)


LARGEST_BLOB = 256 * 1024 * 1024
_REFERENCE = re.compile("blob:sha256:([0-9a-f]{64})")


def read_blob(session_path: str, reference: str) -> bytes | None:
    """Return the bytes of a blob to which a session refers by `blob:sha256:…`; None if the blob does not exist.

    Raises:
        Unreadable: the blob cannot be read, or is too large for an image.
    """
    named = _REFERENCE.fullmatch(reference)
    if named is None:
        return None
    for folder in Path(os.path.abspath(session_path)).parents:
        path = folder.parent / "blobs" / named[1]
        if folder.name == "sessions" and os.path.isfile(path):
            with os.fdopen(open_regular(path), "rb") as blob:
                content = blob.read(LARGEST_BLOB + 1)
            if len(content) > LARGEST_BLOB:
                raise Unreadable(f"{path} is too large for an image")
            return content
    return None
