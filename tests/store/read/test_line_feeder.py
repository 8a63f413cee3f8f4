"""A session that is opened holds what reading every line in full gives, wherever a block ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.agents import AGENTS
from sessionbrowse.format.lines import line_blocks
from sessionbrowse.model.session.records import Reader
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.session.session import Migration, build_session
from sessionbrowse.store.read import content
from sessionbrowse.store.read.session_file import open_session
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


def check(path: Path, written: bytes, agent: str) -> None:
    path.write_bytes(written)
    reader = Reader(RULES[agent])
    records = [record for block in line_blocks([written]) for record in reader.read(block)]
    migration = Migration(reader)
    with open(path, "rb") as file:
        session = build_session(line_blocks(content.file_blocks(file.fileno())), RULES[agent], str(path), cut)
    envelopes = [one.envelope for one in records]
    if reader.generation < 3:
        envelopes = [migration.migrated(one.envelope, one.ordinal) for one in records]
    assert session.envelopes == envelopes
    assert session.ids == [one.id for one in envelopes]
    places = zip(session.lines, session.offsets, session.sizes, strict=True)
    assert list(places) == [(one.line, one.offset, one.size) for one in records]
    assert (session.header, session.size, session.torn) == (reader.header, reader.bytes_read, reader.torn)


def cut(offset: int, size: int) -> bytes:
    """Read nothing: to open a session, no line is read a second time."""
    raise AssertionError("read again")


@given(
    st.lists(st.sampled_from(LINES), max_size=14),
    st.sampled_from(list(AGENTS)),
    st.sampled_from([None, 1, 2, 3]),
    st.sampled_from([64, 301, 1000, content.BLOCK_BYTES]),
    st.booleans(),
)
def test_a_session_is_read_the_same_wherever_a_block_ends(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    agent: str,
    version: int | None,
    block_bytes: int,
    ends: bool,
) -> None:
    written = header(version) + b"".join(lines)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(content, "BLOCK_BYTES", block_bytes)
        path = tmp_path_factory.getbasetemp() / "fed.jsonl"
        check(path, written if ends else written.rstrip(b"\n"), agent)


def test_of_a_line_beyond_the_limit_the_place_in_the_tree_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = user("a", None, "x" * 300_000)
    lines = [header(), large, answer("b", "a")]
    path = tmp_path / "large.jsonl"
    path.write_bytes(b"".join(lines))
    monkeypatch.setattr("sessionbrowse.format.lines.MAX_LINE_BYTES", 200_000)
    monkeypatch.setattr(content, "MAX_LINE_BYTES", 200_000)
    session = open_session(path, "pi")
    assert (list(session.ids), session.parents) == (["a", "b"], [-1, 0])
    assert session.sizes[0] == len(large) - 1
    assert [problem.reason for problem in session.problems] == [
        f"a line of {len(large) - 1:,} bytes, of which only the beginning is read"
    ]
    assert session.envelopes[0].role == "user"
