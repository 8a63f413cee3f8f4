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


def check(path: Path, content: bytes, agent: str, max_line: int) -> Columns:
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
