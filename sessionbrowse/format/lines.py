"""Bytes in blocks → lines with their offsets. Only `\\n` ends a line; memory stays bounded whatever a line holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from sessionbrowse.format.big_line import BigLine

MAX_LINE_BYTES = 8 * 1024 * 1024
"""A longer line is streamed and arrives reduced (see `big_line`)."""


class LineBlock(Struct, frozen=True, gc=False):
    """Consecutive lines. `offset` is where the first begins; each is followed by one newline byte.

    `reduced_from` is the true size in bytes of the only line of a block that was too large, else 0. `torn` says that
    the last line of the block ends the file without a newline.
    """

    offset: int
    lines: list[bytes]
    reduced_from: int = 0
    torn: bool = False


def line_blocks(pieces: Iterable[bytes], offset: int = 0, max_line: int = MAX_LINE_BYTES) -> Iterator[LineBlock]:
    """Yield every line of a stream of byte pieces that begins at `offset` of the file."""
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
        if big is not None:
            big.feed(piece[:first])
            yield LineBlock(offset, [big.reduced()], big.size)
            offset += big.size + 1
            big = None
            first += 1
            last = piece.rfind(b"\n")
            if last < first:
                carry, carried = [piece[first:]], len(piece) - first
                continue
            body = piece[first:last]
        else:
            last = piece.rfind(b"\n")
            carry.append(piece[:last])
            body = b"".join(carry) if len(carry) > 1 else carry[0]
        yield LineBlock(offset, body.split(b"\n"))
        offset += len(body) + 1
        carry, carried = [piece[last + 1 :]], len(piece) - last - 1
    if big is not None:
        yield LineBlock(offset, [big.reduced()], big.size, torn=True)
        return
    rest = b"".join(carry)
    if rest:
        yield LineBlock(offset, [rest], torn=True)
