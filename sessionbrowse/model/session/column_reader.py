"""Read the lines of a session file and add the entries to `Columns`.

Ordinary messages are decoded many at a time; a `Reader` reads all other lines one by one, which is slower.
"""

from __future__ import annotations

from array import array
from itertools import accumulate

from sessionbrowse.format.envelope import Envelope
from sessionbrowse.format.lines import LineBlock
from sessionbrowse.format.ordinary_line import (
    OrdinaryCustom,
    OrdinaryMessage,
    beyond_ascii,
    decode_each,
    decode_ordinary,
)
from sessionbrowse.model.session.columns import Columns
from sessionbrowse.model.session.records import Reader, Record, is_utf8


class ColumnReader:
    """Reads the lines of one file, in the order of the file, and adds the entries in them to `columns`."""

    def __init__(self, reader: Reader, columns: Columns) -> None:
        self.reader = reader
        self.columns = columns
        self.ordinals: list[int] = []
        """The `Record.ordinal` of the entries that `reader` read; these are all entries in format versions 1 and 2."""

    def add_block(self, block: LineBlock) -> None:
        """Read the next lines of the file, given as `block`, and add their entries to `columns`."""
        if block.reduced_from:
            self._read(block)
            return
        whole = block.lines[:-1] if block.torn else block.lines
        self.add_lines([line + b"\n" for line in whole], block.offset)
        if block.torn:
            self._read(LineBlock(block.offset + sum(map(len, whole)) + len(whole), block.lines[-1:], torn=True))

    def add_lines(self, lines: list[bytes], offset: int) -> None:
        """Read the next lines of the file and add their entries to `columns`.

        `lines` have their newlines; `offset` is the first line's position in the file.
        """
        begin = 0
        while begin < len(lines) and not self._takes_ordinary_lines():
            self._read(LineBlock(offset, [lines[begin][:-1]]))
            offset += len(lines[begin])
            begin += 1
        if begin < len(lines):
            self._add_ordinary(lines[begin:] if begin else lines, offset)

    def _takes_ordinary_lines(self) -> bool:
        reader = self.reader
        return reader.header is not None and reader.generation >= 3 and not reader.is_transcript

    def _add_ordinary(self, lines: list[bytes], offset: int) -> None:
        reader = self.reader
        found, _ = decode_each(lines, decode_ordinary, _UNREAD)
        odd = {
            number for number, entry in enumerate(found) if entry is _UNREAD or entry.__class__ is not OrdinaryMessage
        }
        odd.update(number for number in beyond_ascii(lines) if not is_utf8(lines[number]))
        ends = list(map(len, lines))
        # Building lists first is faster: `array(list)` copies all items at once, `array(iterator)` one by one.
        starts = array("q", list(accumulate(ends, initial=offset)))
        sizes = array("q", [size - 1 for size in ends])
        first_line = reader.lines_read + 1
        begin = read = 0
        others: dict[int, Envelope] = {}
        for number in [*sorted(odd), len(lines)]:
            reader.skip_ordinary(number - read)
            read = number + 1
            records: list[Record] = []
            if number < len(lines):
                records = list(reader.read(LineBlock(starts[number], [lines[number][:-1]])))
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

    def record(self, record: Record) -> None:
        """Add an entry to `columns` that `reader` read."""
        self.columns.add(record.envelope, record.line, record.offset, record.size)
        self.ordinals.append(record.ordinal)

    def _read(self, block: LineBlock) -> None:
        for record in self.reader.read(block):
            self.record(record)


# This value stands for a line that `decode_ordinary` cannot decode, until a `Reader` has decoded the line in full.
_UNREAD = OrdinaryCustom("", None, "")
