"""What a tree and a list need of one entry, decoded fast or, where the line is odd, slowly: the same answer."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.format.entries import TRANSCRIPT_SCHEMA, BadLine
from sessionbrowse.format.envelope import CONTENT_NULL, NO_CONTENT, TOO_DEEP, Envelope, Spending, read_envelope
from sessionbrowse.format.json_value import BadJson, loads
from tests.support.session_files import answer, entry, line, user

BASE = {"id": "b", "parentId": "a", "timestamp": "2026-08-13T08:00:00.000Z"}


def envelope(value: object) -> Envelope:
    found = read_envelope(line(value))
    assert isinstance(found, Envelope)
    return found


def message(**own: Any) -> Envelope:
    return envelope({"type": "message", **BASE, "message": own})


# ---- what is read ----------------------------------------------------------------------------------------------


def test_an_answer_gives_its_role_model_calls_tokens_and_money():
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": " ok "},
        {"type": "toolCall", "id": "c1", "name": "read", "arguments": {}},
        {"type": "toolCall", "id": "c2", "name": "bash", "arguments": {}},
    ]
    raw = answer("b", "a", content=content, stopReason="toolUse")
    found = read_envelope(raw)
    assert isinstance(found, Envelope)
    assert (found.type, found.id, found.parent_id, found.role) == ("message", "b", "a", "assistant")
    assert (found.timestamp, found.message_ms) == ("2026-08-13T08:00:01.000Z", 1_786_608_001_000)
    assert (found.provider, found.model, found.stop_reason) == ("anthropic", "sonnet", "toolUse")
    assert (found.has_text, found.has_content, found.tool_calls) == (True, True, ("c1", "c2"))
    assert found.spent == Spending(10, 5, 2, 1, 0.25)
    assert (found.problem, found.parent_given) == (None, True)


@pytest.mark.parametrize(
    ("kind", "own", "text"),
    [
        ("label", {"targetId": "x", "label": "here"}, "here"),
        ("label", {"targetId": "x"}, None),
        ("label", {"targetId": "x", "label": "", "message": {"role": "user"}}, ""),
        ("session_info", {"name": "n"}, "n"),
        ("title_change", {"title": "t", "source": "user"}, "t"),
        ("compaction", {"details": {"strategy": "verbatim-lines"}}, "verbatim-lines"),
        ("compaction", {"details": {"readFiles": []}}, None),
        ("compaction", {"details": "none"}, None),
        ("compaction", {}, None),
    ],
)
def test_text_is_what_the_entry_is_about(kind: str, own: dict[str, Any], text: str | None):
    assert envelope({"type": kind, **BASE, **own}).text == text


@pytest.mark.parametrize(
    ("content", "has_text"),
    [
        ("", False),
        (" \n", False),
        ("x", True),
        ([], False),
        ([{"type": "text", "text": "\u00a0"}], False),
        ([{"type": "text", "text": ""}, {"type": "text", "text": "x"}], True),
        ([{"type": "thinking", "text": "x"}], False),
    ],
)
def test_text_of_blanks_is_no_text(content: object, has_text: bool):
    assert message(role="assistant", content=content).has_text == has_text
    assert message(role="user", content=content).has_text is False


def test_models_are_read_from_changes_in_the_ways_of_pi_and_of_omp():
    of_pi = envelope({"type": "model_change", **BASE, "provider": "p", "modelId": "m"})
    of_omp = envelope({"type": "model_change", **BASE, "model": "p/m", "role": "plan"})
    assert (of_pi.provider, of_pi.model, of_pi.role) == ("p", "m", "")
    assert (of_omp.provider, of_omp.model, of_omp.role) == (None, "p/m", "plan")


def test_money_is_found_in_all_its_places():
    usage = {"input": 1, "output": 2, "cost": {"total": 3}}
    spent = Spending(1, 2, 0, 0, 3)
    for kind in ("compaction", "branch_summary", "usage", "model_usage", "session_summary"):
        assert envelope({"type": kind, **BASE, "usage": usage}).spent == spent
    assert message(role="toolResult", usage=usage).spent == spent
    assert message(role="toolResult", toolName="task", details={"usage": usage}).task_spent == spent
    assert message(role="toolResult", toolName="task", details={"usage": usage}).spent is None
    assert message(role="toolResult", toolName="bash", details={"usage": usage}).task_spent is None


def test_numbers_that_no_sum_survives_count_as_nothing():
    raw = answer("b", "a").replace(b'"input":10', b'"input":1e999').replace(b"0.25", b"9" * 400)
    found = read_envelope(raw)
    assert isinstance(found, Envelope)
    assert found.spent == Spending(0, 5, 2, 1, 0)
    huge = Spending(1e308, 1e308, 0, 0, 0)
    assert huge.tokens == 0


# ---- what is odd -----------------------------------------------------------------------------------------------

ODD: list[tuple[str, dict[str, Any], str | None, str | None]] = [
    ("an ordinary entry", {"type": "custom"}, None, None),
    ("no type", {}, "the entry has no type", None),
    ("type null", {"type": None}, None, None),
    ("type a number", {"type": 5}, "the type is a number", None),
    ("id a number", {"type": "custom", "id": 5}, "the id is a number", None),
    ("id a list", {"type": "custom", "id": []}, "the id is an array", None),
    ("no time", {"type": "custom", "timestamp": None}, "the entry has no time", None),
    ("time a number", {"type": "custom", "timestamp": 5}, "the entry's time is a number", None),
    ("no message", {"type": "message"}, "the message is missing", "no message"),
    ("message null", {"type": "message", "message": None}, "the message is missing", "no message"),
    ("message a text", {"type": "message", "message": "x"}, "the message is a text", None),
    ("message a list", {"type": "message", "message": []}, "the message is an array", None),
    ("no role", {"type": "message", "message": {}}, "the message has no role", None),
    ("role a number", {"type": "message", "message": {"role": 5}}, "the role is a number", None),
    ("role a list", {"type": "message", "message": {"role": []}}, "the role is an array", None),
    ("type a list", {"type": []}, "the type is an array", None),
    ("label a number", {"type": "label", "targetId": "x", "label": 5}, "the label is a number", None),
    ("name a number", {"type": "session_info", "name": 5}, "the name is a number", "bad name"),
    ("name false", {"type": "session_info", "name": False}, "the name is a boolean", "bad name"),
    ("name null", {"type": "session_info", "name": None}, None, None),
]
CONTENTS: list[tuple[str, object, str | None, str | None]] = [
    ("null", None, CONTENT_NULL, "bad content"),
    ("number", 5, "the message's content is a number", "bad content"),
    ("false", False, "the message's content is a boolean", "bad content"),
    ("object", {}, "the message's content is an object", "bad content"),
    ("a null block", [None], "a content block is null", "bad content"),
    ("a block of text", ["x"], "a content block is no object", None),
    ("a block of number", [5], "a content block is no object", None),
    ("no blocks", [], None, None),
    ("text a number", [{"type": "text", "text": 5}], None, None),
    ("block without type", [{}], None, None),
]


@pytest.mark.parametrize(("own", "problem", "fault"), [row[1:] for row in ODD], ids=[row[0] for row in ODD])
def test_odd_values_are_named(own: dict[str, Any], problem: str | None, fault: str | None):
    found = envelope({**BASE, **own})
    assert (found.problem, found.fault) == (problem, fault)


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize(
    ("content", "problem", "fault"), [row[1:] for row in CONTENTS], ids=[row[0] for row in CONTENTS]
)
def test_odd_content_of_the_roles_that_pis_list_reads_is_named(
    role: str, content: object, problem: str | None, fault: str | None
):
    found = message(role=role, content=content)
    assert (found.problem, found.fault) == (problem, fault)
    # The list of pi 1.5.2 does not look into the others.
    assert message(role="toolResult", content=content).problem is None


def test_a_message_without_content_has_a_fault_of_its_own():
    found = message(role="user")
    assert (found.problem, found.fault, found.has_content) == (NO_CONTENT, "no content", False)
    assert message(role="toolResult").problem is None


def test_everything_that_is_odd_is_named_at_once():
    found = envelope({"type": "session_info", "id": 5, "parentId": None, "name": 7})
    assert found.problem == "the name is a number; the id is a number; the entry has no time" or set(
        (found.problem or "").split("; ")
    ) == {"the name is a number", "the id is a number", "the entry has no time"}
    assert found.fault == "bad name"


@pytest.mark.parametrize(
    ("label", "text"),
    [
        (5, "5"),
        (0, None),
        (True, "true"),
        (False, None),
        ([], "[]"),
        (["x"], '["x"]'),
        ({}, "{}"),
        ("", ""),
        (None, None),
    ],
)
def test_every_label_that_javascript_takes_for_true_is_one(label: object, text: str | None):
    assert envelope({"type": "label", **BASE, "targetId": "x", "label": label}).text == text


@pytest.mark.parametrize("value", ["text", 5, [], True])
def test_a_value_that_is_no_object_is_an_entry_without_anything(value: object):
    found = envelope(value)
    assert (found.type, found.id, found.parent_id) == ("", None, None)
    assert found.problem is not None
    assert found.problem.endswith("where an entry belongs")


def test_a_missing_parent_is_told_from_an_empty_one():
    assert envelope({"type": "custom", "id": "b", "timestamp": "t"}).parent_given is False
    assert envelope({"type": "custom", "id": "b", "parentId": None, "timestamp": "t"}).parent_given is True


def test_numbers_as_ids_are_their_digits():
    found = envelope({"type": "custom", "id": 7, "parentId": 6, "timestamp": "t"})
    assert (found.id, found.parent_id) == ("7", "6")
    assert envelope({"type": "custom", "id": True, "parentId": [], "timestamp": "t"}).id is None


def test_a_line_nested_100_000_levels_deep_keeps_its_place_in_the_tree():
    raw = entry("custom", "b", "a", customType="deep", data=0).replace(
        b'"data":0', b'"data":' + b"[" * 100_000 + b"]" * 100_000
    )
    found = read_envelope(raw)
    assert isinstance(found, Envelope)
    assert (found.type, found.id, found.parent_id, found.custom_type) == ("custom", "b", "a", "deep")
    # Python 3.14 recurses as deep as its stack allows, so the quick decoder skips the value like any other.
    assert found.problem == (TOO_DEEP if sys.version_info < (3, 14) else None)


def test_a_transcript_node_and_its_head_are_told_apart_from_entries():
    node = {"schema": TRANSCRIPT_SCHEMA, "kind": "entry", "id": "b", "prev": "a", "role": "user", "at": "t"}
    found = envelope({**node, "message": {"role": "user", "content": "hi"}})
    assert (found.type, found.id, found.parent_id, found.role, found.schema) == (
        "message",
        "b",
        "a",
        "user",
        TRANSCRIPT_SCHEMA,
    )
    assert found.problem is None
    assert envelope({**node, "id": 5}).problem is not None
    head = envelope({"schema": TRANSCRIPT_SCHEMA, "kind": "head", "sessionId": "s", "leaf": "b"})
    assert (head.type, head.text, head.schema) == ("head", "b", TRANSCRIPT_SCHEMA)


def test_a_message_that_quotes_the_transcripts_schema_is_no_transcript():
    found = read_envelope(user("b", "a", f'"{TRANSCRIPT_SCHEMA}"'))
    assert isinstance(found, Envelope)
    assert found.schema is None


# ---- both ways of reading ----------------------------------------------------------------------------------------

WORDS = st.sampled_from(["user", "assistant", "toolResult", "task", "text", "toolCall", "x", "", " ", "é\u2028", "b"])
NUMBERS = st.integers(0, 10**15) | st.floats(allow_nan=False, allow_infinity=False)
PRICES = st.fixed_dictionaries(
    {},
    optional={
        "input": NUMBERS,
        "output": NUMBERS,
        "cost": st.none() | st.fixed_dictionaries({}, optional={"total": NUMBERS}),
    },
)
BLOCKS = st.lists(st.fixed_dictionaries({"type": WORDS}, optional={"text": WORDS | st.none(), "id": WORDS, "x": WORDS}))
MESSAGES = st.fixed_dictionaries(
    {"role": WORDS},
    optional={
        "content": WORDS | BLOCKS | st.none(),
        "timestamp": NUMBERS | st.none(),
        "provider": WORDS,
        "model": WORDS,
        "stopReason": WORDS,
        "customType": WORDS,
        "toolCallId": WORDS,
        "toolName": WORDS,
        "usage": PRICES | st.none(),
        "details": st.fixed_dictionaries({"usage": PRICES}) | WORDS | st.none(),
    },
)
KINDS = st.sampled_from(["message", "label", "session_info", "compaction", "custom", "model_change", "usage", "later"])
ENTRIES = st.fixed_dictionaries(
    {"type": KINDS, "id": WORDS, "parentId": WORDS | st.none(), "timestamp": WORDS},
    optional={
        "message": MESSAGES | st.none(),
        "targetId": WORDS | st.none(),
        "label": WORDS | st.none(),
        "name": WORDS | st.none(),
        "provider": WORDS,
        "modelId": WORDS,
        "model": WORDS,
        "role": WORDS,
        "attribution": WORDS,
        "customType": WORDS,
        "usage": PRICES | st.none(),
        "details": st.fixed_dictionaries({"strategy": WORDS}) | WORDS | st.none(),
    },
)


@given(ENTRIES)
def test_the_fast_way_and_the_slow_way_read_the_same(value: dict[str, Any]):
    plain = json.dumps(value).encode()
    # Half a surrogate pair is JSON that the fast decoder refuses.
    odd = json.dumps({**value, "zz": "\ud800"}).encode()
    assert read_envelope(plain) == read_envelope(odd)


@given(ENTRIES, st.data())
def test_a_line_is_bad_if_and_only_if_it_is_no_json(value: dict[str, Any], data: st.DataObject):
    raw = bytearray(json.dumps(value, ensure_ascii=False).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from([b"", b'"', b"\\", b"\x01", b"\xff", b"{", b"}", b"0", b"NaN", b",", b"\xe2\x80", b"\0"])
        )
    try:
        loads(bytes(raw))
        reason = None
    except BadJson as error:
        reason = str(error)
    found = read_envelope(bytes(raw))
    assert isinstance(found, Envelope) if reason is None else found == BadLine(reason)


@given(st.binary(max_size=300))
def test_no_bytes_are_too_strange(raw: bytes):
    assert isinstance(read_envelope(raw), Envelope | BadLine)
