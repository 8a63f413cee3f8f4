"""Damaged files: each opens, what can be read is there, each problem says where and why, and what the agent would do."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessionbrowse.agents import AGENTS
from sessionbrowse.errors import NotASession, Unreadable, UnsupportedFormat
from sessionbrowse.format import foreign
from sessionbrowse.format.entries import MessageEntry, UnknownEntry, UserMessage
from sessionbrowse.model.reading import MAX_PROBLEMS
from sessionbrowse.model.session import Session
from sessionbrowse.store.scan import summarise_path
from sessionbrowse.store.session_file import open_session
from tests.session_files import answer, entry, header, ids, line, opened, problems, slot, user, written

H = header()
A = user("a", None)
B = answer("b", "a")
C = user("c", "b", "third")
AT_A, AT_B = len(H), len(H) + len(A)
AT_C = AT_B + len(B)
DEEP = entry("custom", "b", "a", customType="x", data=0).replace(b'"data":0', b'"data":' + b"[" * 5000 + b"]" * 5000)

Problems = list[tuple[int, int, str]]

# Name, file, ids that are read, problems (line, byte offset, reason): the same for all four programs.
SAME_FOR_ALL: list[tuple[str, bytes, list[str | None], Problems]] = [
    ("whole", H + A + B, ["a", "b"], []),
    ("no final newline", H + A + B[:-1], ["a", "b"], []),
    ("CRLF", (H + A + B).replace(b"\n", b"\r\n"), ["a", "b"], []),
    ("blank lines", b"\n \n" + H + b"\n\t\n" + A + b"\n" + B, ["a", "b"], []),
    ("lone surrogate", H + A.replace(b"question", b"\\ud800") + B, ["a", "b"], []),
    ("raw line separators", H + user("a", None, "x\u2028y\u2029z\x85") + B, ["a", "b"], []),
    ("infinite number", H + A.replace(b"1786608001000", b"1e999") + B, ["a", "b"], []),
    ("number of 5000 digits", H + A.replace(b"1786608001000", b"9" * 5000) + B, ["a", "b"], []),
    ("duplicate keys", H + A + B.replace(b'"id":"b"', b'"id":"x","id":"b"'), ["a", "b"], []),
    ("version 9", header(9) + A + B, ["a", "b"], []),
    ("torn last line", H + A + B[:-30], ["a"], [(3, AT_B, "unfinished last line")]),
    (
        "torn line",
        H + A + B[:-30] + b"\n" + C,
        ["a", "c"],
        [(3, AT_B, "torn: the record is not complete"), (4, AT_C - 29, "the parent b is missing")],
    ),
    ("invalid UTF-8", H + A.replace(b"question", b"qu\xffest") + B, ["a", "b"], [(2, AT_A, "bytes that are not UTF-8")]),
    ("lone CR inside", H + A + B[:-1] + b"\r" + C, ["a", "b", "c"], [(3, AT_B, "carriage returns where newlines belong")]),
    ("NULs at the end", H + A + b"\0" * 100, ["a"], [(3, AT_B, "holds NUL bytes where a record should be")]),
    ("NULs inside", H + A + b"\0\0\n" + B, ["a", "b"], [(3, AT_B, "holds NUL bytes where a record should be")]),
    (
        "NaN",
        H + A.replace(b"1786608001000", b"NaN") + B,
        ["b"],
        [(2, AT_A, "not JSON: NaN is not JSON"), (3, AT_B - 10, "the parent a is missing")],
    ),
    ("deep nesting", H + A + DEEP + user("c", "b"), ["a", "b", "c"], [(3, AT_B, foreign_to_no_one)])
    if (foreign_to_no_one := "nested too deeply: what lies deepest is left out")
    else ("", b"", [], []),
    ("text where a time belongs", H + A.replace(b"1786608001000", b'"soon"') + B, ["a", "b"], []),
    ("number as time", H + entry("custom", "a", None) [:-1].replace(b'"2026-08-13T08:00:01.000Z"', b"5") + b"\n", ["a"], [(2, AT_A, "the time is a number")]),
    ("label a number", H + A + entry("label", "b", "a", targetId="a", label=5), ["a", "b"], [(3, AT_B, "the label is a number")]),
    ("content a number in a tool result", H + A + B.replace(b'"assistant"', b'"toolResult"').replace(b'"content":', b'"content":5,"x":'), ["a", "b"], []),
    ("block without type", H + A + answer("b", "a", content=[{}]), ["a", "b"], []),
    ("no id", H + A + line({"type": "custom", "parentId": "a", "timestamp": "t"}), ["a", None], [(3, AT_B, "the entry has no id")]),
    ("no parent key", H + A + line({"type": "custom", "id": "b", "timestamp": "t"}), ["a", "b"], [(3, AT_B, "the entry names no parent")]),
    ("no type", H + A + line({"id": "b", "parentId": "a", "timestamp": "t"}), ["a", "b"], [(3, AT_B, "the entry has no type")]),
    ("orphan", H + A + user("b", "gone"), ["a", "b"], [(3, AT_B, "the parent gone is missing")]),
    ("duplicate id", H + A + B + user("b", "a"), ["a", "b", "b"], [(4, AT_C, "a second entry with the id b")]),
    ("own parent", H + A + user("b", "b"), ["a", "b"], [(3, AT_B, "the entry is its own parent")]),
    ("loop", H + user("a", "b") + B, ["a", "b"], [(2, AT_A, "its parents form a loop, which is cut here")]),
    ("label of nothing", H + A + entry("label", "b", "a", targetId="zz", label="x"), ["a", "b"], [(3, AT_B, "a label for the entry zz, which is not in the file")]),
    ("junk before the header", b"junk\n" + H + A, ["a"], [(1, 0, "not JSON: expecting value at character 1")]),
    ("header without directory", header(cwd=None) + A, ["a"], [(1, 0, "the session header names no directory")]),
]
