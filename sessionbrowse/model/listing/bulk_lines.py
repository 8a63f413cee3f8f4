"""Decode ordinary lines in blocks, and collect the facts that a list of sessions needs.

A Python statement for each line would cost more than decoding the line, so all functions here take whole blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import compress
from operator import add
from types import NoneType
from typing import Any

from msgspec import Struct

from sessionbrowse.format.envelope import TASK_TOOL, whole
from sessionbrowse.format.ordinary_line import OrdinaryUsage, beyond_ascii, decode_each
from sessionbrowse.text import is_time, parse_time

OTHER, USER, ANSWER, RESULT = range(4)
"""The kinds of an ordinary line: no message, a user's message, an answer, a tool result."""


class DecodedLines(Struct):
    """Consecutive lines, each with its newline, and their decoded entries.

    `kinds` has one byte for each line: `OTHER`, `USER`, `ANSWER` or `RESULT`. A line that the decoder refused has
    `REFUSED` as its entry and its position in `refused`; an entry that is no message has None in `messages`.
    """

    lines: list[bytes]
    entries: list[Any]
    messages: list[Any]
    kinds: bytes
    refused: list[int]

    def part(self, begin: int, end: int) -> DecodedLines:
        """Return the lines from position `begin` to before `end`; the caller has checked that none was refused."""
        here = slice(begin, end)
        return DecodedLines(self.lines[here], self.entries[here], self.messages[here], self.kinds[here], [])


class Refused:
    """The placeholder for a line that the decoder refused."""

    message = None


REFUSED = Refused()


def decode_block(lines: list[bytes], decode: Callable[[bytes], Any]) -> DecodedLines:
    """Decode a block of lines, and determine the kind of each line."""
    entries, refused = decode_each(lines, decode, REFUSED)
    messages = [entry.message for entry in entries]
    return DecodedLines(lines, entries, messages, bytes(map(_KINDS.__getitem__, map(type, messages))), refused)


def of_kind(values: Sequence[Any], kinds: bytes, kind: int) -> list[Any]:
    """Return the items of `values` that belong to lines of this kind; `values` and `kinds` have one item per line."""
    return list(compress(values, kinds.translate(_IS_KIND[kind])))


def messages_only(kinds: bytes) -> bytes:
    """Return for each line 1 if it is a message, else 0."""
    return kinds.translate(_IS_MESSAGE)


def odd_lines(block: DecodedLines, *, cut_at_separators: bool) -> list[int]:
    """Return the positions of the unusual lines, which the reader must decode in full.

    These are lines that the decoder refused; lines that are not UTF-8, which the decoder does not notice in values
    that it skips; results of omp's subagents, whose `details` contain their usage; and, with `cut_at_separators`, lines
    with U+2028 or U+2029, at which pi's list would cut them.
    """
    lines = block.lines
    odd = [number for number in beyond_ascii(lines) if _is_odd_text(lines[number], cut_at_separators)]
    results = of_kind(block.messages, block.kinds, RESULT)
    if TASK_TOOL in [result.toolName for result in results]:
        numbers = of_kind(range(len(lines)), block.kinds, RESULT)
        odd += [number for number, result in zip(numbers, results, strict=True) if result.toolName == TASK_TOOL]
    return sorted({*odd, *block.refused}) if odd else block.refused


def ordinary_runs(block: DecodedLines, *, cut_at_separators: bool) -> Iterator[tuple[int, int, bool]]:
    """Split a block into runs of ordinary lines and single unusual lines, in order.

    Yields for each the position of its first line, the position after its last line, and True if it is ordinary.
    """
    begin = 0
    for odd in odd_lines(block, cut_at_separators=cut_at_separators):
        if begin < odd:
            yield begin, odd, True
        yield odd, odd + 1, False
        begin = odd + 1
    if begin < len(block.lines):
        yield begin, len(block.lines), True


def newest_message_ms(block: DecodedLines) -> float:
    """Return the time of the newest user or assistant message in milliseconds, 0 if there is none."""
    newest = 0.0
    for kind in (ANSWER, USER):
        if kind in block.kinds:
            messages = of_kind(block.messages, block.kinds, kind)
            newest = max(newest, last_moment(of_kind(block.entries, block.kinds, kind), messages))
    return newest


def last_moment(entries: Sequence[Any], messages: Sequence[Any]) -> float:
    """Return the latest time of the messages in milliseconds, else 0; a missing time is replaced by the entry's."""
    own: list[float | None] = [message.timestamp for message in messages]
    try:
        newest: float = max([0, *own])  # type: ignore[type-var, assignment]
        if is_time(newest):
            return newest
    except TypeError:
        # Some messages have no time of their own: the time of their entry is used instead.
        pass
    times = [parse_time(entry.timestamp) if time is None else time for time, entry in zip(own, entries, strict=True)]
    return max([0, *[time for time in times if time is not None and is_time(time)]])


def tokens_of(used: Sequence[OrdinaryUsage]) -> int:
    """Return the tokens of all these model calls together, added up as pi does."""
    sums = [usage.input + usage.output + usage.cacheRead + usage.cacheWrite for usage in used]
    try:
        return sum(map(int, sums))
    except (OverflowError, ValueError):
        return sum(map(whole, sums))


def add_costs(cost: float, costs: Sequence[float]) -> float:
    """Add costs to a sum one by one, because another order would change the last bits of the sum."""
    return reduce(add, costs, cost)


def answers_by_model(block: DecodedLines) -> dict[str, list[int]]:
    """Map each `provider/model` to the positions of its answers' lines; fast for the usual case of only one model."""
    answers, numbers = (
        of_kind(block.messages, block.kinds, ANSWER),
        of_kind(range(len(block.kinds)), block.kinds, ANSWER),
    )
    names = [answer.model for answer in answers]
    makers = [answer.provider for answer in answers]
    if names and names[0] and names.count(names[0]) == makers.count(makers[0]) == len(names):
        return {f"{makers[0]}/{names[0]}": numbers}
    models: dict[str, list[int]] = {}
    for number, provider, model in zip(numbers, makers, names, strict=True):
        if model:
            models.setdefault(f"{provider}/{model}", []).append(number)
    return models


def _is_odd_text(line: bytes, cut_at_separators: bool) -> bool:
    try:
        text = str(line, "utf-8")
    except UnicodeDecodeError:
        return True
    return cut_at_separators and ("\u2028" in text or "\u2029" in text)


class _Kinds(dict[type, int]):
    """Maps the class of a line's message to the kind of the line; the tag of the class is the message's role."""

    def __missing__(self, struct: type[Struct]) -> int:
        kind = self[struct] = _ROLES.index(struct.__struct_config__.tag)
        return kind


_ROLES = (None, "user", "assistant", "toolResult")
_KINDS = _Kinds({NoneType: OTHER})


def _table(*kinds: int) -> bytes:
    return bytes(kind in kinds for kind in range(256))


_IS_KIND = tuple(map(_table, range(4)))
_IS_MESSAGE = _table(USER, ANSWER, RESULT)
