"""Split a stream of bytes into lines with their file offsets; memory stays bounded even for a huge line.

Only `\\n` ends a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from sessionbrowse.format.oversized_line import BigLine, reduce_line

MAX_LINE_BYTES = 8 * 1024 * 1024
"""Maximum size in bytes of a line that is read unchanged; a longer line is shortened (see `oversized_line`)."""
MAX_LISTED_LINE_BYTES = 256 * 1024
"""Maximum size in bytes of a line that session lists and the search index read unchanged.

It is smaller than `MAX_LINE_BYTES`, because lists and the index read thousands of files. Usually only lines with
images are longer.
"""


class LineBlock(Struct, frozen=True, gc=False):
    """Consecutive lines of a file, without their newlines; `offset` is the file position of the first line.

    If a line was too large, it is shortened and alone in its block, and `reduced_from` is its original size in bytes;
    otherwise `reduced_from` is 0. `torn` is True if the last line ends the file without a newline.
    """

    offset: int
    lines: list[bytes]
    reduced_from: int = 0
    torn: bool = False


def line_blocks(pieces: Iterable[bytes], offset: int = 0, max_line: int = MAX_LINE_BYTES) -> Iterator[LineBlock]:
    """Yield blocks with all lines of a byte stream, given in pieces; the stream begins at `offset` of its file.

    A line of more than `max_line` bytes is shortened.
    """
    carry: list[bytes] = []
    carried = 0
    big: BigLine | None = None
    for piece in pieces:
        first = piece.find(b"\n")
        if first < 0:
            if big is not None:
                big.feed(piece)
                continue
            carry.append(piece)
            carried += len(piece)
            if carried > max_line:
                big = BigLine()
                for part in carry:
                    big.feed(part)
                carry, carried = [], 0
            continue
        if big is None and carried + first > max_line:
            big = BigLine()
            for part in carry:
                big.feed(part)
        if big is not None:
            big.feed(piece[:first])
            yield LineBlock(offset, [big.reduced()], big.size)
            offset += big.size + 1
            big = None
            lines = _split(piece[first + 1 :])
        else:
            lines = _split(piece)
            if carried:
                carry.append(lines[0])
                lines[0] = b"".join(carry)
        rest = lines.pop()
        carry, carried = [rest], len(rest)
        if lines:
            yield from _complete_lines(lines, offset, max_line)
            offset += sum(map(len, lines)) + len(lines)
    if big is not None:
        yield LineBlock(offset, [big.reduced()], big.size, torn=True)
        return
    rest = b"".join(carry)
    if len(rest) > max_line:
        yield LineBlock(offset, [reduce_line(rest)], len(rest), torn=True)
    elif rest:
        yield LineBlock(offset, [rest], torn=True)


def _split(piece: bytes) -> list[bytes]:
    """Split a piece of bytes at its newlines."""
    # `bytes.find` is faster than `bytes.split`, which tests every byte separately.
    lines: list[bytes] = []
    begin = 0
    while (end := piece.find(b"\n", begin)) >= 0:
        lines.append(piece[begin:end])
        begin = end + 1
    lines.append(piece[begin:])
    return lines


def _complete_lines(lines: list[bytes], offset: int, max_line: int) -> Iterator[LineBlock]:
    """Yield `lines`, which begin at `offset` of the file, as blocks of consecutive lines.

    A line of more than `max_line` bytes is shortened and gets its own block.
    """
    if max(map(len, lines)) <= max_line:
        yield LineBlock(offset, lines)
        return
    run: list[bytes] = []
    begin = offset
    for line in lines:
        end = offset + len(line) + 1
        if len(line) > max_line:
            if run:
                yield LineBlock(begin, run)
            yield LineBlock(offset, [reduce_line(line)], len(line))
            run, begin = [], end
        else:
            run.append(line)
        offset = end
    if run:
        yield LineBlock(begin, run)
