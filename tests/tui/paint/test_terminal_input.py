"""What a terminal sends becomes keys, whatever bytes stand between them."""

from __future__ import annotations

import random

import pytest
from textual import events

from sessionbrowse.tui.paint.terminal_input import PAUSE_SECONDS, InputSplitter
from sessionbrowse.tui.paint.textual_driver import InputParser

ESCAPE_SECONDS = 0.1
PAUSE = 2 * PAUSE_SECONDS


def keys(*given: bytes | float) -> list[str]:
    """Return the keys of bytes that are read one after another; a number is a pause in seconds."""
    splitter, parser = InputSplitter(ESCAPE_SECONDS), InputParser()
    now, pieces = 0.0, []
    for each in given:
        if isinstance(each, bytes):
            pieces += splitter.feed(each, now)
            continue
        end = now + each
        while (deadline := splitter.deadline) is not None and deadline <= end:
            now = max(now, deadline)
            pieces += splitter.expire(now)
        now = end
    found = [event for piece in pieces for event in parser.events_of(piece)]
    return [_name(event) for event in found]


def _name(event: object) -> str:
    match event:
        case events.Key():
            return event.key
        case events.Paste():
            return f"paste {event.text}"
        case events.MouseDown():
            return f"mouse {event.x:g} {event.y:g}"
        case _:
            return type(event).__name__


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (b"ab\r\t\x7f\x12", ["a", "b", "enter", "tab", "backspace", "ctrl+r"]),
        ("ü€😀".encode(), ["ü", "euro_sign", "grinning_face"]),
        (b"\x1b[A\x1bOB\x1b[1;5C\x1b[3~\x1b[15~", ["up", "down", "ctrl+right", "delete", "f5"]),
        (b"\x1b[[A\x1b[3$\x1b[24$x", ["f1", "shift+delete", "f24", "x"]),
        (b"\x1bx\x1b\xc3\xbc\x1bX", ["alt+x", "alt+ü", "alt+shift+x"]),
        (b"\x1b[27u\x1b[106u\x1b[122;5u", ["escape", "j", "ctrl+z"]),
        (b"\x1b\x1b[A", ["escape", "up"]),
        (b"\x1b[<0;5;6M", ["mouse 4 5"]),
        (b"\x1b[I\x1b[O", ["AppFocus", "AppBlur"]),
        (b"\x1b[?2026;1$yj", ["TerminalSupportsSynchronizedOutput", "j"]),
        (b"\x1b[200~a\x1b[Ab\x1b[201~j", ["paste a\x1b[Ab", "j"]),
    ],
)
def test_keys_and_reports_arrive_also_torn_at_any_byte(given: bytes, expected: list[str]) -> None:
    assert keys(given) == expected
    assert keys(*[given[at : at + 1] for at in range(len(given))]) == expected


@pytest.mark.parametrize("byte", range(0x80, 0x100))
def test_a_byte_that_is_no_text_is_ignored(byte: int) -> None:
    assert keys(b"j", bytes([byte]), b"\x1b[A", bytes([byte]) + b"k") == ["j", "up", "k"]


@pytest.mark.parametrize(
    "noise",
    [
        b"\xc3\x1b[201~",
        b"\xf0\x9f",
        b"\x1b[M \xff\xfe",
        b"\x1b[M \xc3\xa9",
        b"\x1b[32;10;5M",
        b"\x1b[1114112u",
        b"\x1b[99999999999u",
        b"\x1b[97;;1114112u",
        b"\x1b[97:65;2u",
        b"\x1b[48;0;0;0;0t",
        b"\x1b[<0;0;0M",
        b"\x1b[?62;4;22c",
        b"\x1b[" + b"1;" * 50_000 + b"A",
        b"\x1b]11;rgb:ffff/ffff/ffff\x07",
        b"\x1b]52;c;dXVycQ==\x1b\\",
        b"\x1bP>|tmux 3.4\x1b\\",
        b"\x1b_Gi=1;OK\x1b\\",
    ],
)
def test_what_is_no_key_is_dropped_whole(noise: bytes) -> None:
    assert keys(b"j" + noise + b"k") == ["j", "k"]
    assert keys(b"j", noise, PAUSE, b"k") == ["j", "k"]


@pytest.mark.parametrize(
    "unfinished",
    [b"\x1b]52;c;" + b"dXVycQ" * 5000, b"\x1bP1+r", b"\x1b[12;", b"\x1b[M ", b"\x1b[<0;", b"\xe2\x82", b"\x1bO1;"],
)
def test_the_next_key_counts_after_input_that_never_ends(unfinished: bytes) -> None:
    assert keys(unfinished + b"\x1b[A")[-1:] == ["up"]
    assert keys(unfinished + b"\x03")[-1:] == ["ctrl+c"]
    assert keys(unfinished, PAUSE, b"j")[-1:] == ["j"]


def test_a_letter_after_a_string_without_end_counts_after_a_pause() -> None:
    assert keys(b"\x1b]52;c;" + b"A" * 500 + b"j", PAUSE) == ["j"]
    assert keys(b"\x1b]52;c;" + b"A" * 500, b"j", PAUSE) == ["j"]


def test_escape_and_alt_with_a_sign_are_keys_if_nothing_follows() -> None:
    assert keys(b"\x1b", ESCAPE_SECONDS, b"j") == ["escape", "j"]
    assert keys(b"\x1b[", ESCAPE_SECONDS, b"\x1bO", ESCAPE_SECONDS) == ["left_square_bracket", "alt+shift+o"]
    assert keys(b"\x1b]", ESCAPE_SECONDS, b"\x1bP", ESCAPE_SECONDS) == ["right_square_bracket", "alt+shift+p"]
    assert keys(b"\x1b]52;c;AAAA", b"\x1b", PAUSE) == ["escape"]


def test_a_paste_keeps_what_is_no_text_visible_and_waits_for_its_end() -> None:
    assert keys(b"\x1b[200~caf\xe9 \xff", PAUSE, b"more of it\x1b[20", PAUSE, b"1~j") == ["paste caf� �more of it", "j"]


def test_a_key_after_a_paste_without_end_counts_after_a_pause() -> None:
    assert keys(b"\x1b[200~text", PAUSE, b"j", PAUSE, b"k") == ["paste text", "j", "k"]
    assert keys(b"\x1b[200~text", b"\x1b[B", PAUSE) == ["paste text", "down"]
    assert keys(b"\x1b[200~text\x1b[B", PAUSE) == ["paste text", "down"]


def test_no_bytes_in_any_pieces_are_an_error() -> None:
    rng = random.Random(20261127)
    for _ in range(3000):
        noise = bytes(rng.choices([*range(256), *b"\x1b\x1b\x1b[]OPM_;~u\x07\x9b\xff"], k=rng.randint(1, 40)))
        cuts = sorted(rng.choices(range(len(noise) + 1), k=2))
        given = [noise[: cuts[0]], noise[cuts[0] : cuts[1]], noise[cuts[1] :]]
        assert keys(*given, PAUSE, b"j", PAUSE, b"\x1b[B", PAUSE)[-1] == "down"
