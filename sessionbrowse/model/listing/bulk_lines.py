"""Ordinary lines by the block: decoded to the little that a list needs, and what they add to it.

One statement for each line would cost more than decoding the line: everything here is done for a block at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import compress
from operator import add
from types import NoneType
from typing import Any

from msgspec import Struct

from sessionbrowse.format.envelope import whole
from sessionbrowse.format.listing_line import (
    ListedCustom,
    ListedModelChange,
    ListedUsage,
    beyond_ascii,
    decode_each,
)
from sessionbrowse.model.session.stranded_messages import is_move
from sessionbrowse.text import parse_time

SUBAGENT = "task"
"""The tool by which omp starts a subagent."""

OTHER, USER, ANSWER, RESULT = range(4)
"""What an ordinary line is: no message, or whose message."""


class Block(Struct):
    """Consecutive lines, each with its newline, what they decode to, the messages among it, and what each line is.

    Where the decoder refused a line, which `refused` names by number, the entry is `REFUSED`; an entry that is no
    message has None for one.
    """

    lines: list[bytes]
    entries: list[Any]
    messages: list[Any]
    kinds: bytes
    refused: list[int]


class Run(Struct):
    """What a list counts of consecutive ordinary lines, whatever came before them, as plain values.

    `end` is where the last one ends in the file, newline included. `models` are the answers of each model by number,
    `choices` the changes of the model as number, provider, model and role, `moves` the numbers of entries that going
    elsewhere in the tree leaves. `moment` is the time of the last message, 0 where there is none.
    """

    end: int
    ids: list[str]
    parents: list[str | None]
    kinds: bytes
    models: dict[str, list[int]]
    choices: list[tuple[int, str | None, str | None, str | None]]
    moves: list[int]
    moment: float
    tokens: int
    costs: list[float]


class Refused:
    """Stands where a decoder refused a line."""

    message = None


REFUSED = Refused()


def decode_block(lines: list[bytes], decode: Callable[[bytes], Any]) -> Block:
    """Decode lines."""
    entries, refused = decode_each(lines, decode, REFUSED)
    messages = [entry.message for entry in entries]
    return Block(lines, entries, messages, bytes(map(_KINDS.__getitem__, map(type, messages))), refused)


def of_kind(values: Sequence[Any], kinds: bytes, kind: int) -> list[Any]:
    """Return the values of the lines that are of one kind."""
    return list(compress(values, kinds.translate(_IS_KIND[kind])))


def messages_only(kinds: bytes) -> bytes:
    """Return for each line 1 if it is a message, else 0."""
    return kinds.translate(_IS_MESSAGE)


def odd_lines(block: Block, *, cut_at_separators: bool) -> list[int]:
    """Return the numbers of the lines that only the reader can judge, whatever came before them.

    These are the refused ones; those that are no UTF-8, for what is skipped is not checked; what pi's list, which
    reads with node's readline, cuts to pieces; and results of subagents, whose details tell omp what these spent.
    """
    lines = block.lines
    odd = [number for number in beyond_ascii(lines) if _is_odd_text(lines[number], cut_at_separators)]
    results = of_kind(block.messages, block.kinds, RESULT)
    if SUBAGENT in [result.toolName for result in results]:
        numbers = of_kind(range(len(lines)), block.kinds, RESULT)
        odd += [number for number, result in zip(numbers, results, strict=True) if result.toolName == SUBAGENT]
    return sorted({*odd, *block.refused}) if odd else block.refused


def stretches(block: Block, *, cut_at_separators: bool) -> Iterator[tuple[int, int, bool]]:
    """Yield a block's runs of ordinary lines and each odd line, in order: the first's number, the next's, which."""
    begin = 0
    for odd in odd_lines(block, cut_at_separators=cut_at_separators):
        if begin < odd:
            yield begin, odd, True
        yield odd, odd + 1, False
        begin = odd + 1
    if begin < len(block.lines):
        yield begin, len(block.lines), True


def run_of(block: Block, begin: int, end: int, end_offset: int) -> Run:
    """Return what the ordinary lines `begin` to `end` of a block tell; the last one ends at `end_offset`."""
    entries, messages, kinds = block.entries[begin:end], block.messages[begin:end], block.kinds[begin:end]
    answers = of_kind(messages, kinds, ANSWER)
    moment = last_moment(of_kind(entries, kinds, ANSWER), answers)
    if USER in kinds:
        moment = max(moment, last_moment(of_kind(entries, kinds, USER), of_kind(messages, kinds, USER)))
    used = [answer.usage for answer in answers if answer.usage is not None]
    others = of_kind(range(len(kinds)), kinds, OTHER) if OTHER in kinds else []
    return Run(
        end=end_offset,
        ids=[entry.id for entry in entries],
        parents=[entry.parentId for entry in entries],
        kinds=kinds,
        models=_models_of(answers, of_kind(range(len(kinds)), kinds, ANSWER)),
        choices=[
            (number, entry.provider, entry.modelId or entry.model, entry.role)
            for number in others
            if (entry := entries[number]).__class__ is ListedModelChange
        ],
        moves=[
            number
            for number in others
            if (entry := entries[number]).__class__ is ListedCustom and is_move("custom", entry.customType)
        ],
        moment=moment,
        tokens=tokens_of(used),
        # An answer without a price costs nothing.
        costs=[usage.cost.total for usage in used if usage.cost is not None],
    )


def last_moment(entries: Sequence[Any], messages: Sequence[Any]) -> float:
    """Return the latest time of messages, in milliseconds: their own, else their entries'; 0 where there is none."""
    own: list[float | None] = [message.timestamp for message in messages]
    try:
        return max([0, *own])  # type: ignore[type-var, return-value]
    except TypeError:
        # Some have none.
        pass
    times = [parse_time(entry.timestamp) if time is None else time for time, entry in zip(own, entries, strict=True)]
    return max([0, *[time for time in times if time is not None]])


def tokens_of(used: Sequence[ListedUsage]) -> int:
    """Return the tokens of calls, each summed up as pi does."""
    sums = [usage.input + usage.output + usage.cacheRead + usage.cacheWrite for usage in used]
    try:
        return sum(map(int, sums))
    except (OverflowError, ValueError):
        return sum(map(whole, sums))


def add_costs(cost: float, costs: Sequence[float]) -> float:
    """Return the cost with others added one by one, so that the sum is the same to the last bit."""
    return reduce(add, costs, cost)


def _models_of(answers: list[Any], numbers: list[int]) -> dict[str, list[int]]:
    """Return the numbers of ordinary answers by their models: mostly, all are of one."""
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
    """What lines are by the struct of their message, whose tag is its role."""

    def __missing__(self, struct: type[Struct]) -> int:
        kind = self[struct] = _ROLES.index(struct.__struct_config__.tag)
        return kind


_ROLES = (None, "user", "assistant", "toolResult")
_KINDS = _Kinds({NoneType: OTHER})


def _table(*kinds: int) -> bytes:
    return bytes(kind in kinds for kind in range(256))


_IS_KIND = tuple(map(_table, range(4)))
_IS_MESSAGE = _table(USER, ANSWER, RESULT)
