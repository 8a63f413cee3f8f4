"""A session that is opened holds what reading every line in full gives, wherever a buffer ends."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.agents import AGENTS
from sessionbrowse.format.lines import line_blocks
from sessionbrowse.model.session.column_reader import ColumnReader
from sessionbrowse.model.session.columns import Columns, kind_of
from sessionbrowse.model.session.records import Reader, Record
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.store.read import line_feeder
from sessionbrowse.store.system import files
from tests.support.session_files import answer, entry, header, line, user

RESULT = {"role": "toolResult", "toolName": "bash", "content": [{"type": "text", "text": "über → done"}]}
LINES = [
    user("u", None),
    user("v", "u", [{"type": "text", "text": "look"}, {"type": "image", "data": "A" * 900}]),
    answer("a", "u"),
    answer("b", "a", content=[{"type": "toolCall", "id": "call", "name": "bash", "arguments": {"command": "make"}}]),
    answer("c", "b", "...", model="opus", stopReason="aborted"),
    entry("message", "r", "b", message=RESULT),
    entry("label", "l", "u", targetId="u", label="mark"),
    entry("model_change", "m", "u", provider="openai", modelId="gpt"),
    entry("session_info", "i", "u", name="A name"),
    entry("message", "h", "u", message={"role": "hookMessage", "content": "old"}),
    header(),
    line({"type": "message", "id": "n"}),
    user("f", "u")[:-1] + answer("g", "f"),
    user("k", "u")[:-1] + b"\r\n",
    user("x", "u", "not UTF-8").replace(b"not", b"\xff\xfe"),
    user("s", "u", "cut \u2028 here"),
    b"\n",
    b"null\n",
    b'{"type":"mess\n',
]


def read_in_full(content: bytes, agent: str, max_line: int) -> tuple[Reader, list[Record]]:
    reader = Reader(RULES[agent])
    return reader, [record for block in line_blocks([content], max_line=max_line) for record in reader.read(block)]


def read_by_columns(path: Path, agent: str, max_line: int) -> tuple[Reader, Columns]:
    into = ColumnReader(Reader(RULES[agent]), Columns())
    descriptor = os.open(path, os.O_RDONLY)
    line_feeder.feed_lines(descriptor, into, max_line=max_line)
    os.close(descriptor)
    return into.reader, into.columns


def told_by_reader(reader: Reader) -> dict[str, Any]:
    told = ("header", "generation", "bytes_read", "torn", "refusal", "unlisted", "problems", "marks", "lines_read")
    return {name: getattr(reader, name) for name in told}


def check(path: Path, content: bytes, agent: str, max_line: int, *, is_written: bool = False) -> Columns:
    if not is_written:
        path.write_bytes(content)
    careful, records = read_in_full(content, agent, max_line)
    quick, columns = read_by_columns(path, agent, max_line)
    assert told_by_reader(quick) == told_by_reader(careful)
    found = zip(
        columns.ids, columns.parent_ids, columns.times, columns.lines, columns.offsets, columns.sizes, strict=True
    )
    assert list(found) == [
        (one.envelope.id, one.envelope.parent_id, one.envelope.timestamp, one.line, one.offset, one.size)
        for one in records
    ]
    assert [columns.kind(index) for index in range(len(columns))] == [kind_of(one.envelope) for one in records]
    assert sorted(columns.calls) == sorted(call for one in records for call in one.envelope.tool_calls)
    assert {index: records[index].envelope for index in columns.kept} == columns.kept
    return columns


@given(
    st.lists(st.sampled_from(LINES), max_size=14),
    st.sampled_from(list(AGENTS)),
    st.sampled_from([None, 1, 2, 3]),
    st.sampled_from([64, 301, 1000, line_feeder.BUFFER_BYTES]),
    st.sampled_from([100, 400, 1000, 1 << 20]),
    st.booleans(),
)
def test_a_session_is_read_the_same_wherever_a_buffer_ends(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    agent: str,
    version: int | None,
    buffer: int,
    max_line: int,
    ends: bool,
) -> None:
    content = header(version) + b"".join(lines)
    with pytest.MonkeyPatch.context() as patched:
        # No line fits a buffer that is still larger than a line may be.
        patched.setattr(line_feeder, "BUFFER_BYTES", min(buffer, max_line + 1))
        patched.setattr(line_feeder, "_spare_buffers", [])
        path = tmp_path_factory.getbasetemp() / "fed.jsonl"
        check(path, content if ends else content.rstrip(b"\n"), agent, max_line)


@pytest.mark.parametrize("size", [line_feeder.BUFFER_BYTES - 200, line_feeder.BUFFER_BYTES, 1_000_000])
def test_a_line_that_is_larger_than_the_buffer_is_kept_whole_up_to_its_limit(tmp_path: Path, size: int) -> None:
    content = header() + user("a", None, "x" * size) + answer("b", "a")
    for limit in (900_000, 2_000_000):
        for torn in (False, True):
            columns = check(tmp_path / "long.jsonl", content[:-1] if torn else content, "pi", limit)
            assert columns.ids == ["a", "b"]
            assert columns.sizes[0] == len(user("a", None, "x" * size)) - 1


def with_hole(path: Path, before: bytes, hole: int, after: bytes) -> Path:
    """Write a file with a hole, which takes no room on the disk; skip where the disk makes none."""
    with path.open("wb") as file:
        file.write(before)
        file.seek(hole, os.SEEK_CUR)
        file.write(after)
        file.truncate(len(before) + hole + len(after))
    if path.stat().st_blocks * 512 > path.stat().st_size // 2:
        pytest.skip("this disk makes no holes in files")
    return path


@pytest.mark.parametrize("begun", [b"", b'{"type":"message","id":"z","message":{"role":"user","content":"', b'{"a":['])
@pytest.mark.parametrize("after", [b"", b"\n" + user("b", "a"), b'"}}\n' + user("b", "a"), b"\0\0\n"])
@pytest.mark.parametrize("knows_holes", [True, False])
def test_a_hole_is_read_as_the_nul_bytes_that_it_stands_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bytes, after: bytes, knows_holes: bool
) -> None:
    monkeypatch.setattr(line_feeder, "BUFFER_BYTES", 1001)
    monkeypatch.setattr(line_feeder, "_spare_buffers", [])
    if not knows_holes:
        monkeypatch.delattr(os, "SEEK_DATA", raising=False)
    before, hole = header() + user("a", None) + begun, 300_000
    path = with_hole(tmp_path / "sparse.jsonl", before, hole, after)
    for limit in (1000, 100_000, 1_000_000):
        check(path, before + bytes(hole) + after, "pi", limit, is_written=True)


def test_a_hole_of_gigabytes_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "SEEK_DATA"):
        pytest.skip("this system does not know holes in files")
    path = with_hole(tmp_path / "sparse.jsonl", header() + user("a", None), 3 << 30, b"\n" + user("b", "a"))
    read: list[int] = []
    preadv = files.preadv

    def counted(descriptor: int, buffers: list[bytearray | memoryview], offset: int) -> int:
        read.append(preadv(descriptor, buffers, offset))
        return read[-1]

    monkeypatch.setattr(line_feeder, "preadv", counted)
    reader, columns = read_by_columns(path, "pi", 1 << 20)
    assert columns.ids == ["a", "b"]
    assert [problem.reason for problem in reader.problems] == ["holds NUL bytes where JSON should be"]
    assert reader.bytes_read == path.stat().st_size
    assert sum(read) < 5 * line_feeder.BUFFER_BYTES
