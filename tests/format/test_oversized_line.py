"""A line too large to hold comes out small, as JSON, with everything a list or a tree needs."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.format import oversized_line
from sessionbrowse.format.envelope import Envelope, read_envelope
from sessionbrowse.format.json_value import BadJson, loads
from sessionbrowse.format.oversized_line import BigLine, is_deep, reduce_line, without_deepest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=30,
)
MESSAGE = {
    "type": "message",
    "id": "b",
    "parentId": "a",
    "timestamp": "2026-08-13T08:00:00.000Z",
    "message": {
        "role": "assistant",
        "content": [],
        "provider": "p",
        "model": "m",
        "usage": {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "cost": {"total": 0.5}},
        "stopReason": "stop",
        "timestamp": 5,
    },
}


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits so small that made-up records pass them."""
    monkeypatch.setattr(oversized_line, "KEPT_STRING_BYTES", 32)
    monkeypatch.setattr(oversized_line, "SHORTEST_CUT_BYTES", 12)
    monkeypatch.setattr(oversized_line, "MAX_MEMBER_BYTES", 160)
    monkeypatch.setattr(oversized_line, "MAX_REDUCED_BYTES", 4096)
    # A string within one step is kept as it is.
    monkeypatch.setattr(oversized_line, "_STEP_BYTES", 7)


def fed(line: bytes, sizes: list[int]) -> bytes:
    big = BigLine()
    for piece in pieces(line, sizes):
        big.feed(piece)
    assert big.size == len(line)
    return big.reduced()


def pieces(line: bytes, sizes: list[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        yield line[at : at + size]
        at += size
    yield line[at:]


def dumped(value: object, *, ascii_only: bool = False) -> bytes:
    return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":")).encode("utf-8", "surrogatepass")


@given(JSON.filter(lambda value: isinstance(value, list | dict)), st.lists(st.integers(0, 20)), st.booleans())
def test_what_is_small_comes_out_as_it_went_in_however_it_was_cut(value: object, sizes: list[int], ascii_only: bool):
    line = dumped(value, ascii_only=ascii_only)
    assert fed(line, sizes) == line


@pytest.mark.slow
@given(JSON, JSON, st.lists(st.integers(0, 60)), st.booleans())
def test_a_reduced_record_is_json_with_the_keys_of_the_record_and_of_its_message(
    small_limits: None, content: object, other: object, sizes: list[int], ascii_only: bool
):
    message = {**MESSAGE["message"], "content": [content, other, content], "details": other}  # type: ignore[dict-item]
    record = {**MESSAGE, "message": message, "data": content, "last": 7}
    reduced = json.loads(fed(dumped(record, ascii_only=ascii_only), sizes))
    assert list(reduced) == list(record)
    assert list(reduced["message"]) == list(message)
    for key in ("type", "id", "parentId", "timestamp", "last"):
        assert reduced[key] == record[key]
    for key in ("role", "provider", "model", "usage", "stopReason", "timestamp"):
        assert reduced["message"][key] == message[key]


@given(st.text(), st.lists(st.integers(0, 9)), st.booleans())
def test_a_cut_string_is_the_beginning_of_the_true_one(
    small_limits: None, text: str, sizes: list[int], ascii_only: bool
):
    kept = json.loads(fed(dumped({"text": text}, ascii_only=ascii_only), sizes))["text"]
    # Half of a surrogate pair may be what is left of a character beyond the plane that 16 bits reach.
    whole = kept[:-1] if "\ud800" <= kept[-1:] <= "\udfff" else kept
    assert text.startswith(whole)
    assert kept == text or len(dumped(text, ascii_only=ascii_only)) > 12


@pytest.mark.parametrize("count", range(1, 80))
def test_a_string_of_backslashes_is_never_cut_in_the_middle_of_an_escape(small_limits: None, count: int):
    reduced = json.loads(reduce_line(dumped({"text": "\\" * count, "id": "b"})))
    assert reduced["id"] == "b"
    assert reduced["text"] == ("\\" * count)[: len(reduced["text"])]


@given(JSON.filter(lambda value: isinstance(value, list | dict)), st.data())
def test_a_torn_record_stays_torn(small_limits: None, value: object, data: st.DataObject):
    line = dumped({"type": "custom", "data": value})
    torn = line[: data.draw(st.integers(0, len(line) - 1))]
    with pytest.raises(ValueError):  # noqa: PT011
        json.loads(reduce_line(torn).decode("utf-8", "replace"))


@given(st.binary(max_size=200), st.lists(st.integers(0, 30)))
def test_any_bytes_are_survived_and_bounded(small_limits: None, line: bytes, sizes: list[int]):
    assert len(fed(line, sizes)) <= len(line) + 1


def test_an_image_is_cut_and_what_stands_behind_it_is_not():
    content = [
        {"type": "image", "mimeType": "image/png", "data": "QUJD" * 3_000_000},
        {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}},
        {"type": "text", "text": "done"},
    ]
    line = dumped({**MESSAGE, "message": {**MESSAGE["message"], "content": content}})  # type: ignore[dict-item]
    reduced = reduce_line(line)
    assert len(reduced) < 10_000
    envelope = read_envelope(reduced)
    assert isinstance(envelope, Envelope)
    assert (envelope.id, envelope.parent_id, envelope.role) == ("b", "a", "assistant")
    assert (envelope.has_text, envelope.tool_calls, envelope.model, envelope.message_ms) == (True, ("c1",), "m", 5)
    assert envelope.spent is not None
    assert (envelope.spent.tokens, envelope.spent.cost) == (10, 0.5)
    assert envelope.problem is None


def test_a_long_text_keeps_64_kib_even_when_it_is_all_escapes():
    line = dumped({"type": "message", "message": {"content": "é" * 4_000_000}}, ascii_only=True)
    text = loads(reduce_line(line))["message"]["content"]
    assert len(text) > 64 * 1024
    assert set(text) == {"é"}


@pytest.mark.parametrize("key", ["data", "arguments", "message"])
def test_a_value_of_very_many_small_parts_is_ended_early(key: str):
    parts = b'{"path":"src/a.py","line":12,"text":"some \\"text\\""},' * 40_000
    line = b'{"type":"custom","id":"b","' + key.encode() + b'":{"list":[' + parts[:-1] + b']},"parentId":"a"}'
    reduced = loads(reduce_line(line))
    assert list(reduced) == ["type", "id", key, "parentId"]
    assert 1000 < len(reduced[key]["list"]) < 40_000
    assert len(reduce_line(line)) < 2 * 1024 * 1024


def test_a_record_of_very_many_keys_is_ended_early():
    line = b'{"type":"custom","id":"b"' + b"".join(b',"key%d":1' % number for number in range(500_000)) + b"}"
    reduced = loads(reduce_line(line))
    assert (reduced["type"], reduced["id"]) == ("custom", "b")
    assert len(reduced) < 500_000


@pytest.mark.parametrize(
    "line",
    [b"\0" * 2_000_000, b'"' * 2_000_000, b"}" * 2_000_000, b'{"a":1}' * 300_000, b"[]" * 1_000_000],
    ids=["NUL", "quotes", "brackets", "records", "arrays"],
)
def test_two_megabytes_of_junk_take_no_time_and_no_room(line: bytes):
    reduced = reduce_line(line)
    assert len(reduced) < 10_000
    with pytest.raises(ValueError):  # noqa: PT011
        loads(reduced)


@pytest.mark.parametrize("depth", [199, 200, 201, 5000, 200_000])
def test_depth_is_counted_outside_of_strings(depth: int):
    line = b'{"text":"' + b"[" * 5000 + b'","data":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    assert is_deep(line) == (depth > 200)
    value = json.loads(without_deepest(line))
    assert value["text"] == "[" * 5000
    assert not is_deep(without_deepest(line)[:-1] if depth <= 200 else b"")


def test_only_the_deepest_values_go_when_a_line_is_merely_deep():
    line = b'{"image":"' + b"QUJD" * 1_000_000 + b'","deep":' + b"[" * 3000 + b"1" + b"]" * 3000 + b',"end":[1,2]}'
    value = loads(line)
    assert len(value["image"]) == 4_000_000
    assert value["end"] == [1, 2]


def test_a_hole_of_a_file_is_no_json_and_costs_no_time():
    hole = bytearray(1024 * 1024)
    start = time.process_time()
    for line in (b"", b'{"type":"message","id":"b",', b'{"type":"message","text":"abc'):
        big = BigLine()
        big.feed(line)
        for _ in range(1024):
            big.feed(hole)
        assert big.size == len(line) + 1024 * len(hole)
        assert big.reduced().startswith(line + b"\0")
        assert len(big.reduced()) <= oversized_line.MAX_REDUCED_BYTES
        with pytest.raises(BadJson):
            loads(big.reduced())
    assert time.process_time() - start < 10, "3 GB took a minute and a half"


def test_no_pattern_of_the_program_has_a_possessive_group():
    # Before Python 3.11.5 such a group matches too little or too much.
    sources = Path(oversized_line.__file__).parents[1].rglob("*.py")
    assert [
        path.name for path in sources if re.search(rb"[^\\]\)(?:[*+?]|\{[0-9,]+\})\+|\(\?>", path.read_bytes())
    ] == []
