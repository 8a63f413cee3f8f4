"""The status of a session: every case of omp's rule, and the same answer from the index and from the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.model.listing.summary import SessionStatus
from sessionbrowse.model.listing.summary_builder import STATUS_BYTES, status_at_end
from sessionbrowse.store.read.summarise import summarise_path
from tests.support.change_helpers import header

ENTRY = {"id": "00000001", "parentId": None, "timestamp": "2026-08-13T08:00:00.000Z"}
CALL = {"type": "toolCall", "id": "c", "name": "ls", "arguments": {}}
TEXT = {"type": "text", "text": "done"}
USER = {"role": "user", "content": "go on"}
DONE = {"role": "assistant", "content": [TEXT], "stopReason": "stop"}
FAILED = {**DONE, "stopReason": "error"}
MESSAGES: list[tuple[Any, SessionStatus | None]] = [
    (DONE, "complete"),
    ({**DONE, "stopReason": None}, "complete"),
    ({**DONE, "content": "text"}, "complete"),
    ({"role": "assistant"}, "complete"),
    ({**DONE, "content": [TEXT, CALL], "stopReason": "toolUse"}, "interrupted"),
    ({**DONE, "content": [None, "toolCall", CALL]}, "interrupted"),
    ({**DONE, "stopReason": "length"}, "interrupted"),
    ({**DONE, "content": [CALL], "stopReason": "error"}, "error"),
    ({**DONE, "content": [CALL], "stopReason": "aborted"}, "aborted"),
    ({"role": "toolResult", "toolCallId": "c", "content": [TEXT]}, "interrupted"),
    (USER, "pending"),
    ({**USER, "stopReason": "error"}, "pending"),
    ({"role": "developer", "content": "note"}, None),
    ({"role": "bashExecution", "command": "ls"}, None),
    ({"role": ["assistant"]}, None),
    ({}, None),
    ([], None),
    ("text", None),
]


def line(message: Any, **more: Any) -> bytes:
    return json.dumps({"type": "message", **ENTRY, "message": message, **more}).encode()


def file_of(*lines: bytes) -> bytes:
    return b"".join(each + b"\n" for each in lines)


@pytest.mark.parametrize(("message", "status"), MESSAGES)
def test_the_last_message_decides(message: Any, status: SessionStatus | None) -> None:
    assert status_at_end(file_of(line(FAILED), line(message))) == status
    assert status_at_end(file_of(line(FAILED), line(message))[:-1]) == status
    # With a time that is no text the line is not an ordinary one, which is read in another way.
    assert status_at_end(file_of(line(FAILED), line(message, timestamp=1))) == status


@pytest.mark.parametrize(
    "after",
    [
        b"",
        b"\n\n",
        b'{"type":"custom","customType":"note"}\n',
        b'{"type":"session_exit","message":{"role":"user"}}\n',
        b'{"type":"message"}\n{"type":"message","message":null}\n{"type":"message","message":""}\n',
        b'{"type":"message","message":{"role":"us',
        b" " + line(USER) + b"\n",
        line(USER) + line(USER) + b"\n",
        b"[" + line(USER) + b"]\n",
    ],
)
def test_lines_that_omp_does_not_take_for_a_message_are_passed_over(after: bytes) -> None:
    assert status_at_end(file_of(line(USER), line(FAILED)) + after) == "error"


@pytest.mark.parametrize("end", [b"", b"\n", b"no JSON\n", file_of(b'{"type":"session","id":"s"}')])
def test_a_file_without_a_message_has_no_status(end: bytes) -> None:
    assert status_at_end(end) is None


def test_a_message_of_a_side_branch_counts_if_it_is_the_last_of_the_file() -> None:
    side = line(FAILED, id="00000003", parentId="00000001")
    assert status_at_end(file_of(line(DONE, id="00000002", parentId="00000001"), side)) == "error"


def test_a_line_of_the_newer_indusagi_transcripts_is_judged_alike() -> None:
    entry = {"schema": "indus/transcript@1", "kind": "entry", "id": "e", "role": "user", "message": USER}
    assert status_at_end(file_of(line(DONE), json.dumps(entry).encode())) == "pending"


@pytest.mark.parametrize(("more", "status"), [(0, "pending"), (1, None)])
def test_only_a_line_that_fits_into_the_last_bytes_is_seen(tmp_path: Path, more: int, status: str | None) -> None:
    empty = line({**USER, "content": ""}) + b"\n"
    last = line({**USER, "content": "x" * (STATUS_BYTES - len(empty) + more)})
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(json.dumps(header()).encode(), line(DONE), last))
    found = summarise_path(str(path), lambda _: "omp")
    assert found is not None
    assert found.status == status


@given(st.lists(st.sampled_from([message for message, _ in MESSAGES] + [None]), max_size=6), st.integers(0, 400))
def test_bytes_before_the_last_message_change_nothing(messages: list[Any], cut: int) -> None:
    lines = [line(message) if message is not None else b'{"type":"custom"}' for message in messages]
    last_message = next((message for message in reversed(messages) if message is not None), None)
    expected = next((status for message, status in MESSAGES if message == last_message), None)
    end = file_of(*lines, b'{"type":"label"}')
    assert status_at_end(end) == expected
    last = file_of(*lines[-1:], b'{"type":"label"}')
    assert status_at_end(end[min(cut, len(end) - len(last)) :]) in (expected, None)
    assert status_at_end(end + file_of(line(USER))) == "pending"
