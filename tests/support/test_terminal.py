"""The terminal that tests and benchmarks look through shows what a person's would."""

from __future__ import annotations

import pytest

from tests.support.terminal import Screen


@pytest.mark.parametrize(
    ("name", "written", "lines"),
    [
        ("plain", b"one\r\ntwo", ["one", "two"]),
        ("places", b"\x1b[2;3Hat\x1b[1;1Hfirst", ["first", "  at"]),
        ("colours are no text", b"\x1b[1;38;2;1;2;3mred\x1b[0m", ["red", ""]),
        ("erasing the screen", b"old\x1b[2J\x1b[Hnew", ["new", ""]),
        ("erasing to the end of the line", b"abcdef\x1b[1;3H\x1b[K", ["ab", ""]),
        ("questions and titles", b"\x1b]0;title\x07x\x1b[?2026$p\x1b[>25uy\x1b[<u", ["xy", ""]),
        ("wide characters", "日x".encode(), ["日x", ""]),
    ],
)
def test_the_screen_holds_what_a_terminal_would_show(name: str, written: bytes, lines: list[str]) -> None:
    whole = Screen(2, 20)
    whole.feed(written)
    assert whole.lines() == lines
    torn = Screen(2, 20)
    for place in range(len(written)):
        torn.feed(written[place : place + 1])
    assert torn.lines() == lines
