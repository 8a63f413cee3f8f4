"""The lines of session files that a search looks at: some by their places, or all of them, one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from sessionbrowse.errors import Unreadable
from sessionbrowse.format.lines import MAX_LISTED_LINE_BYTES, line_blocks
from sessionbrowse.format.oversized_line import reduce_line
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.records import Reader
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.store.read.content import file_blocks, open_content


def lines_at(path: str, places: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, bytes]]:
    """Yield entries by index with their lines, as far as the index looks at a line; `places` are index, offset, size.

    Raises:
        IndexError: the file became shorter.
    """
    try:
        descriptor = open_content(path)
    except Unreadable:
        return
    try:
        for index, offset, size in places:
            raw = b"".join(file_blocks(descriptor, offset, offset + size))
            if len(raw) < size:
                raise IndexError(path)
            yield index, reduce_line(raw) if size > MAX_LISTED_LINE_BYTES else raw
    except OSError:
        return
    finally:
        os.close(descriptor)


def streamed_lines(summary: Summary) -> Iterator[tuple[int, bytes]]:
    """Yield every entry of a file by index with its line."""
    try:
        descriptor = open_content(summary.path)
    except Unreadable:
        return
    try:
        reader = Reader(RULES[summary.agent])
        index = -1
        with suppress(OSError):
            for block in line_blocks(file_blocks(descriptor), max_line=MAX_LISTED_LINE_BYTES):
                for record in reader.read(block):
                    index += 1
                    yield index, record.raw
    finally:
        os.close(descriptor)
