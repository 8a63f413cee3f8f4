"""Read the lines of a session file into one reused buffer, and pass them to a consumer; memory use is limited."""

from __future__ import annotations

import io
from typing import Protocol

from sessionbrowse.format.lines import MAX_LISTED_LINE_BYTES, LineBlock
from sessionbrowse.format.oversized_line import BigLine
from sessionbrowse.store.system.files import end_of_hole, preadv

BUFFER_BYTES = MAX_LISTED_LINE_BYTES + 1
"""Size of the line buffer: the longest line that is decoded at once, with newline; longer lines are read in pieces."""

_spare_buffers: list[tuple[io.BytesIO, bytearray]] = []


class LineConsumer(Protocol):
    """An object that receives the lines of a session file, such as a `SummaryBuilder`."""

    def add_lines(self, lines: list[bytes], offset: int) -> None:
        """Receive complete lines, each with its newline; the first line is at byte `offset` of the file."""

    def add_block(self, block: LineBlock) -> None:
        """Receive one line, as a block: a line that exceeds `BUFFER_BYTES`, or a last line without newline."""


def feed_lines(descriptor: int, taker: LineConsumer, offset: int = 0, max_line: int = MAX_LISTED_LINE_BYTES) -> None:
    """Pass the lines of an open file, from the beginning of a line at `offset`, to the consumer `taker`.

    Complete lines go to `add_lines`. A line longer than `BUFFER_BYTES` and a last line without newline (`torn`) go to
    `add_block`. A line longer than `max_line` bytes is shortened (see `oversized_line`).
    """
    try:
        # Buffers are reused, because page faults of new buffers would cost more time than reading a file.
        buffers = _spare_buffers.pop()
    except IndexError:
        buffers = _new_buffers()
    buffer, pieces = buffers
    with buffer.getbuffer() as view:
        held = 0
        while True:
            got = preadv(descriptor, [view[held:BUFFER_BYTES]], offset + held)
            held += got
            lines, rest = _lines(buffer, view, held)
            size = len(rest) - 1
            if lines:
                taker.add_lines(lines, offset)
                offset += held - size
            elif held == BUFFER_BYTES:
                line = _LongLine(max_line)
                line.feed(rest, size)
                next_line = _feed_rest(descriptor, line, offset, pieces)
                taker.add_block(line.block(offset, torn=next_line is None))
                if next_line is None:
                    held = 0
                    break
                offset += line.size + 1
                rest, size = next_line, len(next_line)
            view[:size] = memoryview(rest)[:size]
            held = size
            if not got:
                break
        if held:
            taker.add_block(LineBlock(offset, [bytes(view[:held])], torn=True))
    _spare_buffers.append(buffers)


def _new_buffers() -> tuple[io.BytesIO, bytearray]:
    """Return two buffers: one for lines, and one for the pieces of a line that is larger than the first buffer."""
    # Freeing one large block raises a threshold in glibc, so that it keeps freed memory for the next lines instead of
    # returning it to the operating system.
    bytearray(4 * BUFFER_BYTES)
    return io.BytesIO(bytes(BUFFER_BYTES + 1)), bytearray(BUFFER_BYTES)


def _lines(buffer: io.BytesIO, view: memoryview, held: int) -> tuple[list[bytes], bytes | bytearray]:
    """Return the complete lines in the first `held` bytes of a buffer, and the incomplete line after these lines.

    The incomplete line gets a newline at its end; if there is no incomplete line, a newline alone is returned.
    """
    if not held:
        return [], b"\n"
    # The newline after the `held` bytes ends an incomplete last line. `readlines(held)` stops after a line once it has
    # read `held` bytes, so if the last line is complete, it does not read this newline.
    view[held] = 10
    buffer.seek(0)
    lines = buffer.readlines(held)
    return lines, b"\n" if buffer.tell() == held else lines.pop()


class _LongLine:
    """Collects the pieces of a line longer than `BUFFER_BYTES`; a line longer than `max_bytes` is shortened."""

    def __init__(self, max_bytes: int) -> None:
        self.size = 0
        self._max_bytes = max_bytes
        self._whole = bytearray()
        self._big: BigLine | None = None

    def feed(self, piece: bytes | bytearray, end: int, hole: int = 0) -> None:
        """Append the bytes of `piece` before position `end`, and then the NUL bytes of a hole, to the line so far."""
        self.size += end + hole
        if self._big is None and self.size > self._max_bytes:
            self._big = BigLine()
            self._big.feed(self._whole)
            self._whole.clear()
        if self._big is not None:
            # The NUL bytes of a hole follow those of a whole piece, so to a shortened line they make no difference.
            self._big.feed(piece, end)
        else:
            self._whole += memoryview(piece)[:end]
            self._whole += bytes(hole)

    def block(self, offset: int, *, torn: bool) -> LineBlock:
        """Return the collected line as a `LineBlock`; `offset` is the line's position in the file."""
        if self._big is not None:
            return LineBlock(offset, [self._big.reduced()], self.size, torn=torn)
        return LineBlock(offset, [bytes(self._whole)], torn=torn)


def _feed_rest(descriptor: int, line: _LongLine, offset: int, pieces: bytearray) -> bytearray | None:
    """Read the rest of a long line that begins at `offset`; return the bytes after this line that were read too.

    Returns None if the file ends before the long line has a newline.
    """
    while got := preadv(descriptor, [pieces], offset + line.size):
        end = pieces.find(b"\n", 0, got)
        hole = 0
        if got == len(pieces) and not pieces[0] and not pieces[-1] and pieces.count(0) == got:
            # The piece may be the beginning of a hole of gigabytes, which is not read.
            here = offset + line.size + got
            hole = max(0, end_of_hole(descriptor, here) - here)
        line.feed(pieces, end if end >= 0 else got, hole)
        if end >= 0:
            return pieces[end + 1 : got]
    return None
