"""Split a stream of bytes into lines with their file offsets; memory stays bounded even for a huge line.

Only `\\n` ends a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Maximum size in bytes of a line that is read whole; of a longer line, only the beginning is read."""
BEGINNING_BYTES = 64 * 1024

_KEYS = rb'\{(?:\s*"[^"\\]*"\s*:\s*(?:"[^"\\]*(?:\\.[^"\\]*)*"|[^][{}",]+)\s*,)*'
# These patterns match the keys before the first list, object or cut text in an entry, and in an entry's message. No
# pattern uses possessive groups, because Python before 3.11.5 matches them wrongly.
_ENTRY_KEYS = re.compile(rb"\s*" + _KEYS, re.DOTALL)
_MESSAGE_KEYS = re.compile(rb'\s*"message"\s*:\s*(' + _KEYS + rb")", re.DOTALL)


class LineBlock(Struct, frozen=True, gc=False):
    """Consecutive lines of a file, without their newlines; `offset` is the file position of the first line.

    If a line was too large, it is shortened and alone in its block, and `reduced_from` is its original size in bytes;
    otherwise `reduced_from` is 0. `torn` is True if the last line ends the file without a newline.
    """

    offset: int
    lines: list[bytes]
    reduced_from: int = 0
    torn: bool = False


def line_blocks(pieces: Iterable[bytes], offset: int = 0) -> Iterator[LineBlock]:
    """Yield blocks with all lines of a byte stream, given in pieces; the stream begins at `offset` of its file.

    Of a line of more than `MAX_LINE_BYTES` bytes, the block has the beginning (see `beginning_of`).
    """
    for block in blocks_with_newlines(pieces, offset):
        is_whole = not block.reduced_from and not block.torn
        yield LineBlock(block.offset, [line[:-1] for line in block.lines]) if is_whole else block


def blocks_with_newlines(pieces: Iterable[bytes], offset: int = 0) -> Iterator[LineBlock]:
    """Yield the same blocks as `line_blocks`, but with the newlines of lines that are complete and not too large."""
    carry, size = bytearray(), 0
    for piece in pieces:
        lines = _split(piece)
        if size and lines:
            first = lines.pop(0)
            carry += first
            size += len(first)
            if size > MAX_LINE_BYTES:
                del carry[BEGINNING_BYTES:]
            if not first.endswith(b"\n"):
                continue
            if size > MAX_LINE_BYTES:
                yield LineBlock(offset, [beginning_of(carry)], size - 1)
                offset += size
            else:
                lines.insert(0, bytes(carry))
            carry, size = bytearray(), 0
        if lines and not lines[-1].endswith(b"\n"):
            carry = bytearray(lines.pop())
            size = len(carry)
        if lines:
            yield LineBlock(offset, lines)
            offset += sum(map(len, lines))
    if size > MAX_LINE_BYTES:
        yield LineBlock(offset, [beginning_of(carry)], size, torn=True)
    elif size:
        yield LineBlock(offset, [bytes(carry)], torn=True)


def _split(piece: bytes) -> list[bytes]:
    """Split a piece of bytes after each of its newlines."""
    # `bytes.find` is faster than `bytes.split`, which tests every byte separately.
    lines: list[bytes] = []
    begin = 0
    while end := piece.find(b"\n", begin) + 1:
        lines.append(piece[begin:end])
        begin = end
    if begin < len(piece):
        lines.append(piece[begin:])
    return lines


def beginning_of(line: bytes | bytearray) -> bytes:
    """Return JSON with the keys before the first list or object of an entry, and before the content of its message.

    The result for a line that is no JSON object is not JSON either.
    """
    head = bytes(line[:BEGINNING_BYTES])
    keys = _ENTRY_KEYS.match(head)
    if keys is None:
        return head
    message = _MESSAGE_KEYS.match(head, keys.end())
    if message is None:
        return keys[0].rstrip(b",") + b"}"
    return keys[0] + b'"message":' + message[1] + b'"content":[]}}'
