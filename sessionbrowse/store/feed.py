"""A session file's lines, fed to a `Summariser` out of one buffer that is used again: no copies, bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable

from sessionbrowse.format.big_line import BigLine, reduce_line
from sessionbrowse.format.lines import MAX_LISTED_LINE_BYTES, LineBlock
from sessionbrowse.model.summary import Summariser

BUFFER_BYTES = 512 * 1024
"""More than a listed line may have, so that a full buffer without a newline is a line to be streamed."""

_spare_buffers: list[bytearray] = []


def feed_lines(
    descriptor: int,
    summariser: Summariser,
    offset: int = 0,
    before_torn: Callable[[int], None] = lambda _: None,
) -> None:
    """Feed the whole lines of an open file from `offset` to its end, and a last line without newline as torn.

    `before_torn` is called once, with the offset behind the last whole line.
    """
    # A fresh buffer for each file costs more in page faults than reading the file does.
    buffer = _spare_buffers.pop() if _spare_buffers else bytearray(BUFFER_BYTES)
    with memoryview(buffer) as view:
        held = 0
        while True:
            got = os.preadv(descriptor, [view[held:]], offset + held)
            held += got
            stop = buffer.rfind(b"\n", 0, held) + 1
            if stop:
                summariser.add_lines(buffer, view, stop, offset)
                view[: held - stop] = view[stop:held]
                held -= stop
                offset += stop
            elif held == BUFFER_BYTES:
                offset, rest = _feed_big_line(descriptor, summariser, bytes(view), offset, before_torn)
                if rest is None:
                    held = 0
                    break
                view[: len(rest)] = rest
                held = len(rest)
            if not got:
                before_torn(offset)
                break
        if held:
            line = bytes(view[:held])
            is_large = held > MAX_LISTED_LINE_BYTES
            lines = [reduce_line(line) if is_large else line]
            summariser.add_block(LineBlock(offset, lines, held if is_large else 0, torn=True))
    _spare_buffers.append(buffer)


def _feed_big_line(
    descriptor: int, summariser: Summariser, piece: bytes, offset: int, before_torn: Callable[[int], None]
) -> tuple[int, bytes | None]:
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
    before_torn(offset)
    summariser.add_block(LineBlock(offset, [line.reduced()], line.size, torn=True))
    return offset + line.size, None
