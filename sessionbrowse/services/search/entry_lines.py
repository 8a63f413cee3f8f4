"""Read the lines of entries for a search: the lines at given offsets, or all lines of a session file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from sessionbrowse.errors import Unreadable
from sessionbrowse.format.lines import line_blocks
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.read.content import closing, file_blocks, open_content


def lines_at(path: str, places: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, bytes]]:
    """Yield (entry index, line) for some entries of a file; `places` are their (index, offset, size in bytes).

    Nothing more is yielded if the file cannot be read.

    Raises:
        IndexError: the file has become shorter since the offsets were determined.
    """
    try:
        descriptor = open_content(path).descriptor
    except Unreadable:
        return
    with closing(descriptor):
        for index, offset, size in places:
            try:
                raw = b"".join(file_blocks(descriptor, offset, offset + size))
            except OSError:
                return
            if len(raw) < size:
                raise IndexError(path)
            yield index, raw


def streamed_lines(summary: Summary) -> Iterator[tuple[int, bytes]]:
    """Yield (entry index, line) for every entry of a session file, read from beginning to end."""
    # Imported here for a faster start: usually all files are in the index, so that none is read like this.
    from sessionbrowse.model.session.records import Reader
    from sessionbrowse.model.session.rules import RULES

    try:
        descriptor = open_content(summary.path).descriptor
    except Unreadable:
        return
    with closing(descriptor):
        reader = Reader(RULES[summary.agent])
        index = -1
        with suppress(OSError):
            for block in line_blocks(file_blocks(descriptor)):
                for record in reader.read(block):
                    index += 1
                    yield index, record.raw
