"""Bytes in blocks of any size come out as lines with their offsets; only the newline ends one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.format import lines
from sessionbrowse.format.json_value import MAX_DEPTH, BadJson, is_deep, loads, without_deepest
from sessionbrowse.format.lines import LineBlock, beginning_of, line_blocks

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


@given(st.lists(st.integers(0, 60), min_size=1, max_size=8), SIZES, st.booleans(), st.integers(50, 90))
def test_of_a_line_that_is_too_large_the_keys_come_with_its_true_size(
    lengths: list[int], sizes: list[int], ends: bool, limit: int
):
    records = [json.dumps({"n": number, "x": ["y" * length]}).encode() for number, length in enumerate(lengths)]
    content = b"\n".join(records) + (b"\n" if ends else b"")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lines, "MAX_LINE_BYTES", limit)
        blocks = list(line_blocks(cut(content, sizes), offset=100))
    found = rows(blocks)
    assert [json.loads(line)["n"] for _, line in found] == list(range(len(records)))
    at = 100
    for (offset, _), record in zip(found, records, strict=True):
        assert offset == at
        at += len(record) + 1
    for block in blocks:
        if block.reduced_from:
            assert block.reduced_from >= limit
            assert json.loads(block.lines[0]).keys() == {"n"}


BEGINNINGS = [
    (
        b'{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":[',
        ["type", "id", "parentId"],
    ),
    (b' { "type" : "custom" , "id" : "a\\"]" , "data" : "AAAA', ["type", "id"]),
    (b'{"type":"custom","n":-1.5e3,"data":{"deep":[', ["type", "n"]),
    (b'{"data":"AAAA', []),
]


@pytest.mark.parametrize(("line", "keys"), BEGINNINGS)
def test_the_beginning_of_a_line_is_json_with_its_first_keys(line: bytes, keys: list[str]):
    found = json.loads(beginning_of(line))
    assert [key for key in found if key != "message"] == keys
    assert found.get("message", {"role": "user", "content": []}) == {"role": "user", "content": []}


@pytest.mark.parametrize("line", [b"", b"\0" * 100_000, b"[1,2", b"not json"])
def test_the_beginning_of_a_line_that_is_no_object_is_none(line: bytes):
    with pytest.raises(BadJson):
        loads(beginning_of(line))


@pytest.mark.parametrize("depth", [1, MAX_DEPTH, MAX_DEPTH + 1, 5 * MAX_DEPTH])
def test_depth_is_counted_outside_of_strings(depth: int):
    line = b'{"a\\"":"[[{\\\\","b":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b',"c":"]"}'
    assert is_deep(line) == (depth > MAX_DEPTH)


def test_only_the_deepest_values_go_when_a_line_is_deep():
    def nested(depth: int, inner: str) -> str:
        return '{"[\\"":' * depth + inner + "}" * depth

    line = '{"first":"x]","deep":' + nested(MAX_DEPTH - 1, '[[1,"}"],2,{"k":[3]}]') + ',"last":[true]}'
    expected = '{"first":"x]","deep":' + nested(MAX_DEPTH - 1, "[]") + ',"last":[true]}'
    assert without_deepest(line.encode()) == expected.encode()


def test_no_pattern_of_the_program_has_a_possessive_group():
    # Before Python 3.11.5 such a group matches too little or too much.
    sources = Path(lines.__file__).parents[1].rglob("*.py")
    assert [
        path.name for path in sources if re.search(rb"[^\\]\)(?:[*+?]|\{[0-9,]+\})\+|\(\?>", path.read_bytes())
    ] == []


def test_nothing_gives_nothing():
    assert list(line_blocks([])) == []
    assert list(line_blocks([b""])) == []


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\f", "\v", "\x1c", "\r"])
def test_no_other_separator_ends_a_line(separator: str):
    content = f"a{separator}b\n".encode()
    assert rows(line_blocks([content])) == [(0, content[:-1])]
