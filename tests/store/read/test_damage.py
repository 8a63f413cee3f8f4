"""Damaged files: each opens, what can be read is there, each problem says where and why, and what the agent does."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from sessionbrowse.agents import AGENTS
from sessionbrowse.errors import NotASession, Unreadable, UnsupportedFormat
from sessionbrowse.format import codec
from sessionbrowse.format.entries import CustomMessage, UnknownEntry
from sessionbrowse.format.envelope import TOO_DEEP
from sessionbrowse.model.session.records import MAX_PROBLEMS
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.read.summarise import summarise_path
from tests.support.session_files import TIME, answer, entry, header, ids, line, opened, problems, slot, user, written

H = header()
A = user("a", None)
B = answer("b", "a")
C = user("c", "b", "third")
AT_A, AT_B = len(H), len(H) + len(A)
AT_C = AT_B + len(B)
SOON = b"1786608001000"
# Python 3.14 recurses as deep as its stack allows, so the quick decoder skips the value like any other.
DEEP_PROBLEM = [(3, AT_B, TOO_DEEP)] if sys.version_info < (3, 14) else []
DEEP = entry("custom", "b", "a", data=0).replace(b'"data":0', b'"data":' + b"[" * 100_000 + b"]" * 100_000)
NUMBER_AS_TIME = entry("custom", "b", "a").replace(f'"{TIME.format(1, 0)}"'.encode(), b"5")

Problems = list[tuple[int, int, str]]


def misfit(value: object) -> bytes:
    return H + A + line(value)


# What is read of it, ids and problems, is the same for all four programs.
SAME_FOR_ALL: list[tuple[str, bytes, list[str | None], Problems]] = [
    ("whole", H + A + B, ["a", "b"], []),
    ("no final newline", H + A + B[:-1], ["a", "b"], []),
    ("CRLF", (H + A + B).replace(b"\n", b"\r\n"), ["a", "b"], []),
    ("blank lines", b"\n \n" + H + b"\n\t\n" + A + b"\n" + B, ["a", "b"], []),
    ("lone surrogate", H + A.replace(b"question", b"\\ud800") + B, ["a", "b"], []),
    ("raw line separators", H + user("a", None, "x\u2028y\u2029z\x85") + B, ["a", "b"], []),
    ("infinite number", H + A.replace(SOON, b"1e999") + B, ["a", "b"], []),
    ("number of 5000 digits", H + A.replace(SOON, b"9" * 5000) + B, ["a", "b"], []),
    ("duplicate keys", H + A + B.replace(b'"id":"b"', b'"id":"x","id":"b"'), ["a", "b"], []),
    ("version 9", header(9) + A + B, ["a", "b"], []),
    ("text where a number belongs", H + A.replace(SOON, b'"soon"') + B, ["a", "b"], []),
    ("block without type", H + A + answer("b", "a", content=[{}]), ["a", "b"], []),
    ("torn last line", H + A + B[:-30], ["a"], [(3, AT_B, "unfinished last line")]),
    (
        "torn line",
        H + A + B[:-30] + b"\n" + C,
        ["a", "c"],
        [(3, AT_B, "torn: the line is not complete"), (4, AT_C - 29, "the parent b is missing")],
    ),
    (
        "invalid UTF-8",
        H + A.replace(b"question", b"qu\xffest") + B,
        ["a", "b"],
        [(2, AT_A, "bytes that are not UTF-8")],
    ),
    (
        "lone CR inside",
        H + A + B[:-1] + b"\r" + C,
        ["a", "b", "c"],
        [(3, AT_B, "carriage returns end the lines in place of newlines")],
    ),
    ("NULs at the end", H + A + b"\0" * 99, ["a"], [(3, AT_B, "holds NUL bytes where JSON should be")]),
    ("NULs inside", H + A + b"\0\0\n" + B, ["a", "b"], [(3, AT_B, "holds NUL bytes where JSON should be")]),
    (
        "NaN",
        H + A.replace(SOON, b"NaN") + B,
        ["b"],
        [(2, AT_A, "not JSON: NaN is not JSON"), (3, AT_B - 10, "the parent a is missing")],
    ),
    ("deep nesting", H + A + DEEP + user("c", "b"), ["a", "b", "c"], DEEP_PROBLEM),
    ("number as time", H + A + NUMBER_AS_TIME, ["a", "b"], [(3, AT_B, "the entry's time is a number")]),
    (
        "label a number",
        H + A + entry("label", "b", "a", targetId="a", label=5),
        ["a", "b"],
        [(3, AT_B, "the label is a number")],
    ),
    (
        "no id",
        misfit({"type": "custom", "parentId": "a", "timestamp": "t"}),
        ["a", None],
        [(3, AT_B, "the entry has no id")],
    ),
    (
        "no parent key",
        misfit({"type": "custom", "id": "b", "timestamp": "t"}),
        ["a", "b"],
        [(3, AT_B, "the entry names no parent")],
    ),
    (
        "no type",
        misfit({"id": "b", "parentId": "a", "timestamp": "t"}),
        ["a", "b"],
        [(3, AT_B, "the entry has no type")],
    ),
    ("orphan", H + A + user("b", "gone"), ["a", "b"], [(3, AT_B, "the parent gone is missing")]),
    ("empty parent", H + A + user("b", ""), ["a", "b"], [(3, AT_B, "the parent (empty) is missing")]),
    ("duplicate id", H + A + B + user("b", "a"), ["a", "b", "b"], [(4, AT_C, "a second entry with the id b")]),
    ("own parent", H + A + user("b", "b"), ["a", "b"], [(3, AT_B, "the entry is its own parent")]),
    ("loop", H + user("a", "b") + B, ["a", "b"], [(2, AT_A, "its parents form a loop, which is cut here")]),
    (
        "label of nothing",
        H + A + entry("label", "b", "a", targetId="zz", label="x"),
        ["a", "b"],
        [(3, AT_B, "a label for the entry zz, which is not in the file")],
    ),
    ("junk before the header", b"junk\n" + H + A, ["a"], [(1, 0, "not JSON: expecting value at character 1")]),
    ("header without directory", header(cwd=None) + A, ["a"], [(1, 0, "the session header names no directory")]),
]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    ("content", "expected", "wrong"), [row[1:] for row in SAME_FOR_ALL], ids=[row[0] for row in SAME_FOR_ALL]
)
def test_what_can_be_read_is_there_and_each_problem_says_where_and_why(
    tmp_path: Path, agent: str, content: bytes, expected: list[str | None], wrong: Problems
):
    session = opened(tmp_path, content, agent=agent)
    assert ids(session) == expected
    assert problems(session) == wrong
    assert (session.refusal, session.unlisted) == (None, None)
    for index in range(len(expected)):
        assert session.entry(index).id == expected[index]
    summary = summarise_path(str(tmp_path / "session.jsonl"), lambda _: agent)
    assert summary is not None
    assert (summary.entry_count, summary.problem) == (len(expected), None)


OVERWRITES = "would overwrite this file: "
REFUSES = "refuses this file: "
HIDES = "hides this file from its list: "

# What each program would do with it: (refusal, why it is not in its list). Read all the same.
JUDGED: list[tuple[str, bytes, dict[str, tuple[str | None, str | None]], list[str | None]]] = [
    (
        "byte order mark",
        b"\xef\xbb\xbf" + H + A,
        {
            "pi": (
                REFUSES + "it starts with a byte order mark",
                "does not list this file: it starts with a byte order mark",
            ),
            "omp": (None, None),
            "atomic": (REFUSES + "it starts with a byte order mark", None),
            "indusagi": (None, None),
        },
        ["a"],
    ),
    (
        "lines that end in CR",
        (H + A + B).replace(b"\n", b"\r"),
        {
            "pi": (REFUSES + "its lines end in carriage returns", None),
            "omp": (None, None),
            "atomic": (REFUSES + "its lines end in carriage returns", None),
            "indusagi": (OVERWRITES + "its lines end in carriage returns", None),
        },
        ["a", "b"],
    ),
    (
        "no header",
        A + B,
        {
            "pi": (
                REFUSES + "its first record is no session header",
                "does not list this file: its first record is no session header",
            ),
            "indusagi": (
                OVERWRITES + "it has no session header",
                "does not list this file: its first record is no session header",
            ),
        },
        ["a", "b"],
    ),
    (
        "header behind an entry",
        A + H + B,
        {
            "pi": (
                REFUSES + "its first record is no session header",
                "does not list this file: its first record is no session header",
            ),
            "indusagi": (
                OVERWRITES + "its first record is no session header",
                "does not list this file: its first record is no session header",
            ),
        },
        ["a", "b"],
    ),
    (
        "0 bytes",
        b"",
        dict.fromkeys(
            AGENTS,
            ("would write a new session into this empty file", "does not list this file: there is no session header"),
        ),
        [],
    ),
    (
        "blanks only",
        b" \n\n",
        {
            "pi": (REFUSES + "it has no session header", "does not list this file: there is no session header"),
            "omp": (
                "would write a new session into this empty file",
                "does not list this file: there is no session header",
            ),
            "indusagi": (
                OVERWRITES + "it has no session header",
                "does not list this file: there is no session header",
            ),
        },
        [],
    ),
    (
        "header without text id",
        header(id=5) + A,
        {
            "pi": (REFUSES + "its header has no valid id", None),
            "omp": (REFUSES + "its header has no valid id", "does not list this file: its header has no valid id"),
            "indusagi": (OVERWRITES + "its header has no id", None),
        },
        ["a"],
    ),
    (
        "directory a number",
        header(cwd=5) + A,
        {"pi": (None, None), "omp": ("fails on this file: the directory in its header is no text", None)},
        ["a"],
    ),
    (
        "content null",
        H + user("a", None, None) + B,
        {"pi": (None, HIDES + "the message's content is null"), "omp": (None, HIDES + "the message's content is null")},
        ["a", "b"],
    ),
    (
        "content null behind omp's listed beginning",
        H + user("a", None, "x" * 4096) + user("b", "a", None),
        {"pi": (None, HIDES + "the message's content is null"), "omp": (None, None)},
        ["a", "b"],
    ),
    (
        "no content",
        H + A + B.replace(b'"content"', b'"kontent"'),
        {"pi": (None, None), "omp": (None, HIDES + "the message has no content")},
        ["a", "b"],
    ),
    (
        "no message",
        H + entry("message", "a", None) + B,
        {
            "pi": (None, HIDES + "the message is missing"),
            "omp": ("fails on this file: the message is missing", None),
        },
        ["a", "b"],
    ),
    (
        "name a number",
        H + A + entry("session_info", "b", "a", name=7),
        {"pi": (None, HIDES + "the name is a number"), "omp": (None, None)},
        ["a", "b"],
    ),
    (
        "null line",
        H + A + b"null\n" + B,
        {
            "pi": (None, None),
            "omp": (
                "fails on this file: it has a line that is only null",
                "fails on this file: it has a line that is only null",
            ),
        },
        ["a", "b"],
    ),
    (
        "null line behind omp's listed beginning",
        H + user("a", None, "x" * 4096) + b"null\n" + B,
        {"pi": (None, None), "omp": ("fails on this file: it has a line that is only null", None)},
        ["a", "b"],
    ),
    (
        "title slot",
        slot() + H + A,
        {
            "pi": (
                REFUSES + "its first line is omp's title slot",
                "does not list this file: its first line is omp's title slot",
            ),
            "omp": (None, None),
            "indusagi": (
                OVERWRITES + "its first line is omp's title slot",
                "does not list this file: its first line is omp's title slot",
            ),
        },
        ["a"],
    ),
    (
        "title slot of another shape",
        slot(pad=5) + H + A,
        {"omp": (REFUSES + "its title slot is not valid", None)},
        ["a"],
    ),
    (
        "title slot of another version",
        slot(v=2) + H + A,
        {"omp": (REFUSES + "its title slot is not valid", None)},
        ["a"],
    ),
    (
        "title slot below junk",
        b"junk\n" + slot() + H + A,
        {"omp": (REFUSES + "its title slot is not the first line", None)},
        ["a"],
    ),
    (
        "title slot twice",
        slot() + slot() + H + A,
        {
            "omp": (
                REFUSES + "its first record is no session header",
                "does not list this file: its first record is no session header",
            )
        },
        [None, "a"],
    ),
]


@pytest.mark.parametrize(("content", "judged", "expected"), [row[1:] for row in JUDGED], ids=[row[0] for row in JUDGED])
def test_what_the_agent_would_refuse_or_hide_is_said_and_read_all_the_same(
    tmp_path: Path, content: bytes, judged: dict[str, tuple[str | None, str | None]], expected: list[str | None]
):
    # atomic and indusagi do as pi does where nothing else stands; of the others' rules, none is published.
    for agent in [one for one in AGENTS if not RULES[one].only_read]:
        if agent not in judged and ("pi" not in judged or agent == "omp"):
            continue
        wanted = judged.get(agent) or judged["pi"]
        session = opened(tmp_path, content, agent=agent)
        assert (session.refusal, session.unlisted) == wanted, agent
        assert ids(session) == expected
        summary = summarise_path(str(tmp_path / "session.jsonl"), lambda _, name=agent: name)  # type: ignore[misc]
        assert summary is not None
        reason = wanted[1] or wanted[0]
        assert summary.problem == (f"{agent} {reason}" if reason else None)


# ---- where the programs differ -----------------------------------------------------------------------------------


def test_of_two_records_on_one_line_omp_keeps_the_first_and_the_others_none(tmp_path: Path):
    content = H + A + B[:-1] + C + user("d", "a")
    for agent in ("pi", "atomic", "indusagi"):
        session = opened(tmp_path, content, agent=agent)
        assert ids(session) == ["a", "d"]
        assert problems(session) == [(3, AT_B, "two records fused on one line")]
    session = opened(tmp_path, content, agent="omp")
    assert ids(session) == ["a", "b", "d"]
    assert problems(session) == [(3, AT_B, "two records fused on one line; only the first counts")]
    assert session.entry(1).id == "b"
    assert not isinstance(session.entry(1), UnknownEntry)
    assert session.fields(1)["message"]["role"] == "assistant"


def test_a_second_header_is_an_entry_for_omp_only(tmp_path: Path):
    content = H + A + header(id="s-2") + B
    assert ids(opened(tmp_path, content)) == ["a", "b"]
    session = opened(tmp_path, content, agent="omp")
    assert ids(session) == ["a", "s-2", "b"]
    assert session.header is not None
    assert session.header.id == "s-1"
    entry_of_header = session.entry(1)
    assert isinstance(entry_of_header, UnknownEntry)
    assert entry_of_header.raw["cwd"] == "/home/dev/webshop"
    assert session.roots == [0, 1]


def test_values_that_javascript_takes_for_false_are_skipped_by_all_but_omp(tmp_path: Path):
    content = H + A + b'false\n0\n""\n' + B
    assert ids(opened(tmp_path, content)) == ["a", "b"]
    assert ids(opened(tmp_path, content, agent="omp")) == ["a", None, None, None, "b"]


def test_other_values_are_nameless_entries_and_a_last_one_leaves_no_leaf(tmp_path: Path):
    session = opened(tmp_path, H + A + b'5\n"x"\n[]\n')
    assert ids(session) == ["a", None, None, None]
    assert (session.leaf_id, session.active_branch()) == (None, [])
    assert [session.entry(index) for index in (1, 2, 3)] == [
        UnknownEntry(raw=5),
        UnknownEntry(raw="x"),
        UnknownEntry(raw=[]),
    ]
    # They are shown, behind the rest.
    assert session.roots == [0, 1, 2, 3]


def test_nothing_of_a_deeply_nested_entry_is_lost_but_what_is_deepest(tmp_path: Path):
    deep = entry("custom_message", "b", "a", customType="t", content="kept", details=0)
    session = opened(
        tmp_path, H + A + deep.replace(b'"details":0', b'"details":' + b'{"a":' * 5000 + b"1" + b"}" * 5000)
    )
    message = session.entry(1)
    assert isinstance(message, CustomMessage)
    assert (message.id, message.parent_id, message.content) == ("b", "a", "kept")


def test_problems_stand_in_the_order_of_the_file_and_are_counted_beyond_a_limit(tmp_path: Path):
    session = opened(tmp_path, H, *[user(f"{number:x}", f"gone{number}") for number in range(MAX_PROBLEMS + 50)])
    assert len(session.problems) == MAX_PROBLEMS
    assert session.problem_count == MAX_PROBLEMS + 50
    assert [problem.line for problem in session.problems] == list(range(2, MAX_PROBLEMS + 2))


@pytest.mark.parametrize("agent", AGENTS)
def test_every_byte_offset_is_where_the_line_begins(tmp_path: Path, agent: str):
    content = b"\xef\xbb\xbfjunk\n" + H + b"\n" + B[:40] + b"\n" + user("c", "gone") + A[:-9] + b"\r\n" + b"\0\n"
    session = opened(tmp_path, content, agent=agent)
    lines = content.split(b"\n")
    starts = [sum(len(each) + 1 for each in lines[:number]) for number in range(len(lines))]
    assert len(session.problems) >= 5
    for problem in session.problems:
        assert problem.offset == starts[problem.line - 1]


# ---- no sessions -------------------------------------------------------------------------------------------------

FOREIGN: list[tuple[str, bytes, str]] = [
    ("pi-agent-core v4", line({"v": 4, "kind": "header", "id": "x", "storageVersion": 1}), codec.V4),
    ("event stream", line({"type": "agent_start"}) + line({"type": "turn_start"}), codec.EVENT_STREAM),
    (
        "event stream behind a header",
        H + line({"type": "agent_start"}) + line({"type": "message_start", "message": {"role": "user"}}),
        codec.EVENT_STREAM,
    ),
    ("event stream behind slot and header", slot() + H + line({"type": "turn_start"}), codec.EVENT_STREAM),
    ("RPC log", line({"type": "response", "command": "prompt", "success": True}), codec.EVENT_STREAM),
    ("subagent log", line({"type": "tool_execution_start", "toolName": "bash"}), codec.EVENT_STREAM),
    ("Claude Code summary", line({"type": "summary", "summary": "s", "leafUuid": "u"}), codec.CLAUDE_CODE),
    ("Claude Code queue", line({"type": "queue-operation", "sessionId": "s"}), codec.CLAUDE_CODE),
    ("with a byte order mark", b"\xef\xbb\xbf" + line({"type": "agent_start"}), codec.EVENT_STREAM),
]


@pytest.mark.parametrize(("content", "reason"), [row[1:] for row in FOREIGN], ids=[row[0] for row in FOREIGN])
def test_look_alikes_are_refused_with_a_sentence_and_listed_with_it(tmp_path: Path, content: bytes, reason: str):
    path = written(tmp_path, content)
    for agent in (None, *AGENTS):
        with pytest.raises(UnsupportedFormat) as raised:
            open_session(path, agent)
        assert str(raised.value) == f"session.jsonl: {reason}"
    summary = summarise_path(str(path), lambda _: "pi")
    assert summary is not None
    assert (summary.problem, summary.bytes) == (reason, len(content))


LOOKS_FOREIGN_AND_IS_NOT: list[tuple[str, bytes]] = [
    ("an entry type like an event's", H + entry("agent_start", "a", None)),
    ("events later in a session", H + A + line({"type": "agent_start"})),
    ("a header with a sessionId", header(sessionId="s", uuid="u") + A),
    ("an entry with a uuid", H + entry("summary", "a", None, sessionId="s", uuid="u")),
    ("a header alone", H),
    ("nothing", b""),
]


@pytest.mark.parametrize(
    "content", [row[1] for row in LOOKS_FOREIGN_AND_IS_NOT], ids=[row[0] for row in LOOKS_FOREIGN_AND_IS_NOT]
)
def test_what_may_be_a_session_is_opened(tmp_path: Path, content: bytes):
    assert opened(tmp_path, content).path == str(tmp_path / "session.jsonl")


def test_a_path_without_a_file_says_so(tmp_path: Path):
    with pytest.raises(Unreadable, match=r"gone\.jsonl cannot be read: No such file or directory"):
        open_session(tmp_path / "gone.jsonl")
    with pytest.raises(Unreadable, match="is not a regular file"):
        open_session(tmp_path)
    with pytest.raises(Unreadable, match="cannot be read"):
        open_session("a\0b")
    assert issubclass(Unreadable, NotASession)


def test_a_pipe_does_not_hold_us_up(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(Unreadable, match="is not a regular file"):
        open_session(tmp_path / "pipe.jsonl")


# ---- a file that changes under us --------------------------------------------------------------------------------


def test_an_entry_of_a_file_that_shrank_is_unknown_and_of_one_that_is_gone_unreadable(tmp_path: Path):
    session = opened(tmp_path, H, A, B)
    path = tmp_path / "session.jsonl"
    path.write_bytes(H + A[:50])
    assert session.raw(0) == A[:50]
    assert session.entry(0) == UnknownEntry(type="message", id="a", timestamp="2026-08-13T08:00:01.000Z")
    assert session.raw(1) == b""
    assert session.entry(1) == UnknownEntry(type="message", id="b", parent_id="a", timestamp="2026-08-13T08:00:01.000Z")
    assert session.fields(1) == {}
    path.unlink()
    for read in (session.raw, session.entry, session.fields):
        with pytest.raises(Unreadable, match="No such file"):
            read(0)
    path.mkdir()
    with pytest.raises(Unreadable, match="is not a regular file"):
        session.entry(0)


def test_an_entry_of_a_file_with_other_bytes_is_what_stands_there_now(tmp_path: Path):
    session = opened(tmp_path, H, A, B)
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"x" * path.stat().st_size)
    assert session.entry(0) == UnknownEntry(type="message", id="a", timestamp="2026-08-13T08:00:01.000Z")
    path.write_bytes(H + A.replace(b"question", b"QUESTION") + B)
    assert session.fields(0)["message"]["content"] == "QUESTION"
