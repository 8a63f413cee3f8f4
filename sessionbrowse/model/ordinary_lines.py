"""Ordinary lines by the block: decoded to the little that a list needs, and what they add to it.

One statement for each line would cost more than decoding the line: everything here is done for a block at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

from msgspec import Struct

from sessionbrowse.format.envelope import whole
from sessionbrowse.format.listing_line import ListedUsage, decode_each


class Block(Struct):
    """Consecutive lines, each with its newline, what they decode to, and the messages among it with their types.

    Where the decoder refused a line, the entry is `REFUSED`; an entry that is no message has None for one.
    """

    lines: list[bytes]
    entries: list[Any]
    messages: list[Any]
    types: list[type]


class Refused:
    """Stands where a decoder refused a line."""

    message = None


REFUSED = Refused()


def decode_block(lines: list[bytes], decode: Callable[[bytes], Any]) -> Block:
    """Decode lines."""
    entries = decode_each(lines, decode, REFUSED)
    messages = [entry.message for entry in entries]
    return Block(lines, entries, messages, [message.__class__ for message in messages])


def odd_lines(block: Block, *, cut_at_separators: bool) -> list[int]:
    """Return the numbers of the lines that only the reader can judge, whatever came before them.

    These are the refused ones; those that are no UTF-8, for what is skipped is not checked; and what pi's list, which
    reads with node's readline, cuts to pieces.
    """
    odd = {number for number, entry in enumerate(block.entries) if entry is REFUSED}
    foreign = [number for number, is_ascii in enumerate(map(bytes.isascii, block.lines)) if not is_ascii]
    odd.update(number for number in foreign if _is_odd_text(block.lines[number], cut_at_separators))
    return sorted(odd)


def tokens_of(used: Sequence[ListedUsage]) -> int:
    """Return the tokens of calls, each summed up as pi does."""
    sums = [usage.input + usage.output + usage.cacheRead + usage.cacheWrite for usage in used]
    try:
        return sum(map(int, sums))
    except (OverflowError, ValueError):
        return sum(map(whole, sums))


def add_costs(cost: float, used: Sequence[ListedUsage]) -> float:
    """Return the cost with that of calls added one by one, so that the sum is the same to the last bit."""
    # An answer without a price costs nothing.
    return reduce(add, [usage.cost.total for usage in used if usage.cost is not None], cost)


def _is_odd_text(line: bytes, cut_at_separators: bool) -> bool:
    try:
        text = str(line, "utf-8")
    except UnicodeDecodeError:
        return True
    return cut_at_separators and ("\u2028" in text or "\u2029" in text)
