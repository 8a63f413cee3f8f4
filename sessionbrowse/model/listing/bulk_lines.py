"""Decode many ordinary lines at once (messages of the usual form), and collect facts for a list of sessions.

One Python statement per line would cost more time than decoding the line, so all functions take blocks of lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import compress
from operator import add
from types import NoneType
from typing import Any

from msgspec import Struct

from sessionbrowse.format.envelope import TASK_TOOL, whole
from sessionbrowse.format.ordinary_line import REFUSALS, OrdinaryUsage
from sessionbrowse.text import is_time, model_name, parse_time

OTHER, USER, ANSWER, RESULT = range(4)
"""Kinds of lines: not a message, a user message, an assistant message (answer), a tool result."""


class DecodedLines(Struct):
    """Consecutive lines of a session file, each with its newline, and their decoded entries.

    `kinds` has one byte for each line: `OTHER`, `USER`, `ANSWER` or `RESULT`. `messages` has None for an entry that is
    no message. `refused` are the positions of lines that are not in the usual form (see `ordinary_line`); their entry
    is `REFUSED`.
    """

    lines: list[bytes]
    entries: list[Any]
    messages: list[Any]
    kinds: bytes
    refused: list[int]

    def part(self, begin: int, end: int) -> DecodedLines:
        """Return the lines from position `begin` to before `end`; none of them may be in `refused`."""
        here = slice(begin, end)
        return DecodedLines(self.lines[here], self.entries[here], self.messages[here], self.kinds[here], [])


class Refused:
    """Stands for the entry of a line that is not in the usual form (see `ordinary_line`), so it was not decoded."""

    message = None


REFUSED = Refused()


def decode_block(lines: list[bytes], decode: Callable[[bytes], Any]) -> DecodedLines:
    """Decode a block of lines with the given decoder, and determine the kind of each line (user, answer, …)."""
    entries, refused = decode_each(lines, decode, REFUSED)
    messages = [entry.message for entry in entries]
    return DecodedLines(lines, entries, messages, bytes(map(_KINDS.__getitem__, map(type, messages))), refused)


def of_kind(values: Sequence[Any], kinds: bytes, kind: int) -> list[Any]:
    """Return the items of `values` for the lines of one kind; `values` and `kinds` have one item per line."""
    return list(compress(values, kinds.translate(_IS_KIND[kind])))


def messages_only(kinds: bytes) -> bytes:
    """Return one byte per line: 1 if the line is a message, else 0."""
    return kinds.translate(_IS_MESSAGE)


def odd_lines(block: DecodedLines, *, cut_at_separators: bool) -> list[int]:
    """Return the positions of unusual lines, which must be decoded one by one.

    Unusual are the lines in `block.refused`, and lines that are not valid UTF-8: the decoder for usual lines skips some
    values of a line, and does not notice invalid bytes in these values. Results of omp's subagents are unusual because
    their `details` contain token usage. With `cut_at_separators`, lines with U+2028 or U+2029 are unusual too, because
    pi's list cuts lines at these characters.
    """
    lines = block.lines
    odd = [number for number in _beyond_ascii(lines) if _is_odd_text(lines[number], cut_at_separators)]
    results = of_kind(block.messages, block.kinds, RESULT)
    if TASK_TOOL in [result.toolName for result in results]:
        numbers = of_kind(range(len(lines)), block.kinds, RESULT)
        odd += [number for number, result in zip(numbers, results, strict=True) if result.toolName == TASK_TOOL]
    return sorted({*odd, *block.refused}) if odd else block.refused


def ordinary_runs(block: DecodedLines, *, cut_at_separators: bool) -> Iterator[tuple[int, int, bool]]:
    """Split a block into runs of ordinary lines and single unusual lines (see `odd_lines`), in order.

    Yields (position of the first line, position after the last line, True for a run of ordinary lines).
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
    """Return the latest time of messages in milliseconds, 0 if there is none.

    For a message without time, the time of its entry is used.
    """
    own: list[float | None] = [message.timestamp for message in messages]
    try:
        newest: float = max([0, *own])  # type: ignore[type-var, assignment]
        if is_time(newest):
            return newest
    except TypeError:
        # `max` fails if a message has no time.
        pass
    times = [parse_time(entry.timestamp) if time is None else time for time, entry in zip(own, entries, strict=True)]
    return max([0, *[time for time in times if time is not None and is_time(time)]])


def tokens_of(used: Sequence[OrdinaryUsage]) -> int:
    """Return the total number of tokens of the given model calls, added up in the same way as in pi."""
    sums = [usage.input + usage.output + usage.cacheRead + usage.cacheWrite for usage in used]
    try:
        return sum(map(int, sums))
    except (OverflowError, ValueError):
        return sum(map(whole, sums))


def add_costs(cost: float, costs: Sequence[float]) -> float:
    """Return `cost` plus all `costs`, added one by one, because another order changes the last bits of the sum."""
    return reduce(add, costs, cost)


def answers_by_model(block: DecodedLines) -> dict[str, list[int]]:
    """Map each `provider/model` to the positions of the lines in the block that are answers of this model."""
    answers, numbers = (
        of_kind(block.messages, block.kinds, ANSWER),
        of_kind(range(len(block.kinds)), block.kinds, ANSWER),
    )
    names = [answer.model for answer in answers]
    makers = [answer.provider for answer in answers]
    if names and names[0] and names.count(names[0]) == makers.count(makers[0]) == len(names):
        return {model_name(makers[0], names[0]) or "": numbers}
    models: dict[str, list[int]] = {}
    for number, provider, model in zip(numbers, makers, names, strict=True):
        if model and (name := model_name(provider, model)):
            models.setdefault(name, []).append(number)
    return models


def _is_odd_text(line: bytes, cut_at_separators: bool) -> bool:
    try:
        text = str(line, "utf-8")
    except UnicodeDecodeError:
        return True
    return cut_at_separators and ("\u2028" in text or "\u2029" in text)


class _Kinds(dict[type, int]):
    """Maps the class of a decoded message to the message's kind: `OrdinaryUser` to `USER`, and so on."""

    def __missing__(self, struct: type[Struct]) -> int:
        kind = self[struct] = _ROLES.index(struct.__struct_config__.tag)
        return kind


_ROLES = (None, "user", "assistant", "toolResult")
_KINDS = _Kinds({NoneType: OTHER})


def _table(*kinds: int) -> bytes:
    return bytes(kind in kinds for kind in range(256))


_IS_KIND = tuple(map(_table, range(4)))
_IS_MESSAGE = _table(USER, ANSWER, RESULT)


def decode_each(lines: Iterable[bytes], decode: Callable[[bytes], Any], refused: Any) -> tuple[list[Any], list[int]]:
    """Decode each line with the function `decode`: `decode_ordinary` or `decode_with_tools`.

    Return one result for each line, and the positions, counted from 0, of the lines for which `decode` raised one of
    `REFUSALS`. The result for these lines is `refused`.
    """
    decoded: list[Any] = []
    numbers: list[int] = []
    rest = map(decode, lines)
    while True:
        try:
            decoded.extend(rest)
            return decoded, numbers
        except REFUSALS:
            # The results of all lines before the failed line are in `decoded`; `rest` goes on with the next line.
            numbers.append(len(decoded))
            decoded.append(refused)


def _beyond_ascii(lines: Sequence[bytes]) -> list[int]:
    """Return the positions, counted from 0, of the lines that contain a byte beyond ASCII."""
    are_ascii = list(map(bytes.isascii, lines))
    return [number for number, is_ascii in enumerate(are_ascii) if not is_ascii] if False in are_ascii else []
