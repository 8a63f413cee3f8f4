"""Bytes in blocks of any size come out as lines with their offsets; only the newline ends one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.format.lines import LineBlock, line_blocks

CONTENT = st.lists(
    st.sampled_from([b"\n", b"\n\n", b"a", b"\r", b"\0", b"\xe2\x80\xa8", b"\xff", b"{}", b"x" * 30])
).map(b"".join)
SIZES = st.lists(st.integers(1, 40), min_size=1)


def cut(content: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        if at < len(content):
            yield content[at : at + size]
        at += size
    if at < len(content):
        yield content[at:]


def rows(blocks: Iterable[LineBlock]) -> list[tuple[int, bytes]]:
    """Each line with the offset that its block gives it."""
    found = []
    for block in blocks:
        at = block.offset
        for line in block.lines:
            found.append((at, line))
            at += (block.reduced_from or len(line)) + 1
    return found


@given(CONTENT, SIZES)
def test_every_line_comes_once_at_its_offset(content: bytes, sizes: list[int]):
    blocks = list(line_blocks(cut(content, sizes)))
    found = rows(blocks)
    expected = content.split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    assert [line for _, line in found] == expected
    for at, line in found:
        assert content[at : at + len(line)] == line
    assert [block.torn for block in blocks[:-1]] == [False] * (len(blocks) - 1 if blocks else 0)
    if content:
        assert blocks[-1].torn == (not content.endswith(b"\n"))


@given(st.lists(st.integers(0, 60), min_size=1, max_size=8), SIZES, st.booleans(), st.integers(20, 40))
def test_lines_that_are_too_large_come_reduced_with_their_true_size(
    lengths: list[int], sizes: list[int], ends: bool, limit: int
):
    records = [json.dumps({"n": number, "x": "y" * length}).encode() for number, length in enumerate(lengths)]
    content = b"\n".join(records) + (b"\n" if ends else b"")
    blocks = list(line_blocks(cut(content, sizes), offset=100, max_line=limit))
    found = rows(blocks)
    assert [json.loads(line)["n"] for _, line in found] == list(range(len(records)))
    at = 100
    for (offset, _), record in zip(found, records, strict=True):
        assert offset == at
        at += len(record) + 1
    for block in blocks:
        if block.reduced_from:
            assert len(block.lines) == 1
            assert block.reduced_from > limit
        else:
            assert max(map(len, block.lines)) <= limit


def test_nothing_gives_nothing():
    assert list(line_blocks([])) == []
    assert list(line_blocks([b""])) == []


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\f", "\v", "\x1c", "\r"])
def test_no_other_separator_ends_a_line(separator: str):
    content = f"a{separator}b\n".encode()
    assert rows(line_blocks([content])) == [(0, content[:-1])]
