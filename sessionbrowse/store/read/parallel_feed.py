"""One large file's lines, read by several processes, fed to a `Summariser` in the order of the file.

What ordinary lines tell travels as plain values, all others as they stand.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any, TypeAlias

from msgspec.structs import astuple

from sessionbrowse.format.lines import LineBlock
from sessionbrowse.format.listing_line import decode_listed
from sessionbrowse.model.listing.bulk_lines import Run, decode_block, run_of, stretches
from sessionbrowse.model.listing.summariser import Summariser
from sessionbrowse.store.read.content import file_blocks
from sessionbrowse.store.read.line_feeder import ENDLESS, feed_lines
from sessionbrowse.store.read.worker_processes import fork_map

MIN_SHARED_BYTES = 64 * 1024 * 1024
"""A smaller file is read by one process, beside others."""
PART_BYTES = 16 * 1024 * 1024
"""How much of the file a process takes at once."""
HEAD_BYTES = 1024 * 1024
"""How much is read, again and again, until the first message was found."""
MAX_SEARCHED_BYTES = 16 * 1024 * 1024
"""How far the end of a line is looked for; where there is none, the part is longer."""
ROOM_BYTES = 16 * 1024 * 1024
"""How much of odd lines all parts together may hold: a part with more is read again where nothing is held."""

Step: TypeAlias = Run | LineBlock


def feed_together(descriptor: int, summariser: Summariser, workers: int) -> None:
    """Feed the lines of an open file as `feed_lines` does; `workers` processes read, this one included."""
    size = os.fstat(descriptor).st_size
    offset = 0
    while offset < size and not summariser.takes_runs:
        end = _next_line(descriptor, offset + HEAD_BYTES)
        feed_lines(descriptor, summariser, offset, end)
        offset = end
    parts = list(pairwise(_bounds(descriptor, offset, size)))
    room = ROOM_BYTES // max(1, len(parts))

    def work(chunk: list[int]) -> list[tuple[int, list[Step] | None]]:
        answers: list[tuple[int, list[Step] | None]] = []
        for number in chunk:
            recorder = Recorder(cut_at_separators=summariser.cuts_at_separators, room=room)
            feed_lines(descriptor, recorder, *parts[number])
            answers.append((number, recorder.steps))
        return answers

    read: dict[int, list[Step] | None] = {}
    for answers in fork_map([[number] for number in range(len(parts))], work, workers, pack=_packed, unpack=_unpacked):
        read.update(answers)
    for number, part in enumerate(parts):
        steps = read.pop(number)
        if steps is None:
            feed_lines(descriptor, summariser, *part)
            continue
        for step in steps:
            if isinstance(step, Run):
                summariser.add_run(step)
            else:
                summariser.add_block(step)


class Recorder:
    """Takes lines, and keeps what a summariser would take of them. `steps` is None if that is too much to hold."""

    def __init__(self, *, cut_at_separators: bool, room: int) -> None:
        self.steps: list[Step] | None = []
        self._cut_at_separators = cut_at_separators
        self._room = room

    def add_lines(self, lines: list[bytes], offset: int) -> None:
        """Take whole lines, each with its newline, the first one at `offset` of the file."""
        if self.steps is None:
            return
        block = decode_block(lines, decode_listed)
        for begin, end, is_ordinary in stretches(block, cut_at_separators=self._cut_at_separators):
            end_offset = offset + sum(map(len, lines[begin:end]))
            if is_ordinary:
                self._keep(run_of(block, begin, end, end_offset))
            else:
                self._keep(LineBlock(offset, [lines[begin][:-1]]))
            offset = end_offset

    def add_block(self, block: LineBlock) -> None:
        """Take a line that was too large, or is torn."""
        if block.torn:
            self._keep(block)
            return
        small = decode_block([block.lines[0] + b"\n"], decode_listed)
        for _, _, is_ordinary in stretches(small, cut_at_separators=self._cut_at_separators):
            self._keep(run_of(small, 0, 1, block.offset + block.reduced_from + 1) if is_ordinary else block)

    def _keep(self, step: Step) -> None:
        if isinstance(step, LineBlock):
            self._room -= sum(map(len, step.lines))
        if self._room < 0:
            self.steps = None
        elif self.steps is not None:
            self.steps.append(step)


def _bounds(descriptor: int, offset: int, size: int) -> list[int]:
    """Return where the parts of a file begin, from `offset` on, and beyond its end."""
    bounds = [offset]
    wanted = offset + PART_BYTES
    while wanted + PART_BYTES < size:
        found = _next_line(descriptor, wanted)
        if found != ENDLESS:
            bounds.append(found)
        wanted = max(wanted, bounds[-1]) + PART_BYTES
    return [*bounds, ENDLESS]


def _next_line(descriptor: int, offset: int) -> int:
    """Return where the next line begins, at `offset` or behind it; `ENDLESS` if there is none, or far away."""
    at = offset - 1
    for piece in file_blocks(descriptor, at, at + MAX_SEARCHED_BYTES):
        newline = piece.find(b"\n")
        if newline >= 0:
            return at + newline + 1
        at += len(piece)
    return ENDLESS


def _packed(answers: list[tuple[int, list[Step] | None]]) -> list[tuple[int, list[Any] | None]]:
    return [
        (number, None if steps is None else [(isinstance(step, Run), astuple(step)) for step in steps])
        for number, steps in answers
    ]


def _unpacked(packed: list[tuple[int, list[Any] | None]]) -> list[tuple[int, list[Step] | None]]:
    return [
        (number, None if steps is None else [(Run if is_run else LineBlock)(*fields) for is_run, fields in steps])
        for number, steps in packed
    ]
