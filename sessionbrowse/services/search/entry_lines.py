"""Read the lines of entries for a search: the lines at given offsets, or all lines of a session file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from sessionbrowse.errors import Unreadable
from sessionbrowse.format.lines import MAX_LISTED_LINE_BYTES, line_blocks
from sessionbrowse.format.oversized_line import reduce_line
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.read.content import BLOCK_BYTES, closing, file_blocks, open_content

_GAP_BYTES = 4 * 1024
"""Largest gap between two lines that are read at once."""


def lines_at(path: str, places: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, bytes]]:
    """Yield the index and the line of entries; `places` are their indexes, offsets and sizes in bytes.

    Very long lines are shortened in the same way as for the index.

    Raises:
        IndexError: the file was shortened meanwhile.
    """
    try:
        descriptor = open_content(path)
    except Unreadable:
        return
    with closing(descriptor):
        try:
            begin, end, block = 0, 0, b""
            for number, (index, offset, size) in enumerate(places):
                if not (begin <= offset and offset + size <= end):
                    begin, end = offset, _end_of_block(places, number)
                    block = b"".join(file_blocks(descriptor, begin, end))
                raw = block[offset - begin : offset - begin + size]
                if len(raw) < size:
                    raise IndexError(path)
                yield index, reduce_line(raw) if size > MAX_LISTED_LINE_BYTES else raw
        except OSError:
            return


def _end_of_block(places: Sequence[tuple[int, int, int]], number: int) -> int:
    """Return where to end reading from one place on, so that neighbours in the file are read at once."""
    _, begin, size = places[number]
    end = begin + size
    while (number := number + 1) < len(places):
        _, offset, size = places[number]
        if not end <= offset <= end + _GAP_BYTES or offset + size > begin + BLOCK_BYTES:
            break
        end = offset + size
    return end


def streamed_lines(summary: Summary) -> Iterator[tuple[int, bytes]]:
    """Yield the index and the line of every entry of a session file."""
    # As a rule all files are in the index, and a search starts faster without these modules.
    from sessionbrowse.model.session.records import Reader
    from sessionbrowse.model.session.rules import RULES

    try:
        descriptor = open_content(summary.path)
    except Unreadable:
        return
    with closing(descriptor):
        reader = Reader(RULES[summary.agent])
        index = -1
        with suppress(OSError):
            for block in line_blocks(file_blocks(descriptor), max_line=MAX_LISTED_LINE_BYTES):
                for record in reader.read(block):
                    index += 1
                    yield index, record.raw
