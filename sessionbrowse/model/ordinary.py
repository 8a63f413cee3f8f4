"""Lines into columns: ordinary messages many at once, every other line through the reader."""

from __future__ import annotations

from array import array
from itertools import accumulate

from sessionbrowse.format.envelope import Envelope
from sessionbrowse.format.lines import LineBlock
from sessionbrowse.format.listing_line import beyond_ascii, decode_each
from sessionbrowse.format.opened_line import OpenedLine, OpenedUser, decode_opened
from sessionbrowse.model.columns import Columns
from sessionbrowse.model.reading import Reader, Record, is_utf8


class ColumnReader:
    """Adds the entries of one file to columns, block by block."""

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
        found, refused = decode_each(lines, decode_opened, _UNREAD)
        refused = sorted({*refused, *(number for number in beyond_ascii(lines) if not is_utf8(lines[number]))})
        sizes = list(map(len, lines))
        starts = array("q", accumulate([size + 1 for size in sizes], initial=block.offset))
        first_line = reader.lines_read + 1
        begin = read = 0
        others: dict[int, Envelope] = {}
        for number in [*refused, len(lines)]:
            reader.skip_ordinary(number - read)
            read = number + 1
            records: list[Record] = []
            if number < len(lines):
                records = list(reader.read(LineBlock(starts[number], [lines[number]])))
                if len(records) == 1 and (records[0].offset, records[0].size) == (starts[number], sizes[number]):
                    others[number - begin] = records[0].envelope
                    self.ordinals.append(records[0].ordinal)
                    continue
            if begin < number:
                here = slice(begin, number)
                self.columns.add_ordinary(found[here], sizes[here], first_line + begin, starts[here], others)
            for record in records:
                self.record(record)
            begin, others = number + 1, {}
        reader.bytes_read, reader.torn = starts[-1], False
        if block.torn:
            self._read(LineBlock(starts[-1], block.lines[-1:], torn=True))

    def record(self, record: Record) -> None:
        """Take any other entry."""
        self.columns.add(record.envelope, record.line, record.offset, record.size)
        self.ordinals.append(record.ordinal)

    def _read(self, block: LineBlock) -> None:
        for record in self.reader.read(block):
            self.record(record)


# Stands where the decoder refused a line.
_UNREAD = OpenedLine("message", "", None, "", OpenedUser(""))
