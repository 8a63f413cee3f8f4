"""A session file's lines, fed to a `Summariser` out of one buffer that is used again; bounded memory."""

from __future__ import annotations

import io
import os

from sessionbrowse.format.big_line import BigLine
from sessionbrowse.format.lines import MAX_LISTED_LINE_BYTES, LineBlock
from sessionbrowse.model.summary import Summariser

BUFFER_BYTES = MAX_LISTED_LINE_BYTES + 1
"""What a listed line may have with its newline: a full buffer without a newline is a line to be streamed."""

_spare_buffers: list[io.BytesIO] = []


def feed_lines(descriptor: int, summariser: Summariser, offset: int = 0) -> None:
    """Feed the whole lines of an open file from `offset` to its end, and a last line without newline as torn."""
    # A fresh buffer for each file costs more in page faults than reading the file does.
    buffer = _spare_buffers.pop() if _spare_buffers else io.BytesIO(bytes(BUFFER_BYTES + 1))
    with buffer.getbuffer() as view:
        held = 0
        while True:
            got = os.preadv(descriptor, [view[held:BUFFER_BYTES]], offset + held)
            held += got
            lines, rest = _lines(buffer, view, held)
            if lines:
                summariser.add_lines(lines, offset)
                offset += held - len(rest)
            elif held == BUFFER_BYTES:
                offset, next_line = _feed_big_line(descriptor, summariser, rest, offset)
                if next_line is None:
                    held = 0
                    break
                rest = next_line
            view[: len(rest)] = rest
            held = len(rest)
            if not got:
                break
        if held:
            summariser.add_block(LineBlock(offset, [bytes(view[:held])], torn=True))
    _spare_buffers.append(buffer)


def _lines(buffer: io.BytesIO, view: memoryview, held: int) -> tuple[list[bytes], bytes]:
    """Return the whole lines among the first bytes of a buffer, each with its newline, and what follows them."""
    if not held:
        return [], b""
    # A newline behind the last byte: whether that ends a line is then told by where the reading ends.
    view[held] = 10
    buffer.seek(0)
    lines = buffer.readlines(held)
    rest = b"" if buffer.tell() == held else lines.pop()[:-1]
    return lines, rest


def _feed_big_line(descriptor: int, summariser: Summariser, piece: bytes, offset: int) -> tuple[int, bytes | None]:
    """Stream the line that begins at `offset` with `piece`; return where the next begins, and what was read of it.

    None was read of a next line where this one ends the file without a newline.
    """
    line = BigLine()
    line.feed(piece)
    while piece := os.pread(descriptor, BUFFER_BYTES, offset + line.size):
        end = piece.find(b"\n")
        if end >= 0:
            line.feed(piece[:end])
            summariser.add_block(LineBlock(offset, [line.reduced()], line.size))
            return offset + line.size + 1, piece[end + 1 :]
        line.feed(piece)
    summariser.add_block(LineBlock(offset, [line.reduced()], line.size, torn=True))
    return offset + line.size, None
