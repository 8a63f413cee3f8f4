"""Lines into columns: ordinary messages many at once, every other line through the reader."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from sessionbrowse.format.lines import LineBlock
from sessionbrowse.format.listing_line import beyond_ascii, decode_each
from sessionbrowse.format.opened_line import decode_opened
from sessionbrowse.model.columns import Columns
from sessionbrowse.model.reading import Reader, Record, is_utf8


class ColumnReader:
    """Adds the entries of one file to columns, block by block. Who wants more of them than that makes a subclass."""

    decode: Callable[[bytes], Any] = staticmethod(decode_opened)
    """Decodes an ordinary message into what has the fields of an `OpenedLine`; raises `REFUSALS` on other lines."""

    def __init__(self, reader: Reader, columns: Columns) -> None:
        self.reader = reader
        self.columns = columns
        self.ordinals: list[int] = []
        """Each entry's place among all records, but for ordinary messages, which are of version 3."""

    def add(self, block: LineBlock) -> None:
        """Add the entries of the next block."""
        reader = self.reader
        if reader.header is None or reader.generation < 3 or reader.is_transcript or block.reduced_from:
            self._read(block)
            return
        lines = block.lines[:-1] if block.torn else block.lines
        found, refused = decode_each(lines, self.decode, None)
        refused = sorted({*refused, *(number for number in beyond_ascii(lines) if self.is_odd(lines[number]))})
        starts = array("q", accumulate([size + 1 for size in map(len, lines)], initial=block.offset))
        begin = 0
        for number in [*refused, len(found)]:
            if begin < number:
                self.ordinary(found[begin:number], lines[begin:number], starts[begin])
                reader.skip_ordinary(number - begin)
            if number < len(found):
                self._read(LineBlock(starts[number], [lines[number]]))
            begin = number + 1
        reader.bytes_read, reader.torn = starts[-1], False
        if block.torn:
            self._read(LineBlock(starts[-1], block.lines[-1:], torn=True))

    def is_odd(self, line: bytes) -> bool:
        """Tell whether a line beyond ASCII needs the reader, though it decodes."""
        return not is_utf8(line)

    def ordinary(self, entries: Sequence[Any], lines: Sequence[bytes], offset: int) -> None:
        """Take consecutive ordinary messages; the first one's line begins at `offset`."""
        self.columns.add_ordinary(entries, list(map(len, lines)), self.reader.lines_read + 1, offset)

    def record(self, record: Record) -> None:
        """Take any other entry."""
        self.columns.add(record.envelope, record.line, record.offset, record.size)
        self.ordinals.append(record.ordinal)

    def _read(self, block: LineBlock) -> None:
        for record in self.reader.read(block):
            self.record(record)
