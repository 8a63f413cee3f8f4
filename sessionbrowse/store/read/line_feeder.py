"""Read the lines of a session file, and pass them to a consumer; memory use is limited."""

from __future__ import annotations

from typing import Protocol

from sessionbrowse.format.lines import LineBlock, blocks_with_newlines
from sessionbrowse.store.read.content import file_blocks


class LineConsumer(Protocol):
    """An object that receives the lines of a session file, such as a `SummaryBuilder`."""

    def add_lines(self, lines: list[bytes], offset: int) -> None:
        """Receive complete lines, each with its newline; the first line is at byte `offset` of the file."""

    def add_block(self, block: LineBlock) -> None:
        """Receive one line, as a block: a line that is too large, or a last line without newline."""


def feed_lines(descriptor: int, taker: LineConsumer, offset: int = 0) -> None:
    """Pass the lines of an open file, from the beginning of a line at `offset`, to the consumer `taker`."""
    for block in blocks_with_newlines(file_blocks(descriptor, offset), offset):
        if block.reduced_from or block.torn:
            taker.add_block(block)
        else:
            taker.add_lines(block.lines, block.offset)
