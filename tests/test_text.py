"""Foreign text is harmless on a terminal, columns align, amounts and times read as the agents write them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import get_character_cell_size

from sessionbrowse import text as t
from sessionbrowse.text import without_sequences

NOW = 1_786_608_000_000  # 2026-08-13T08:00:00Z

HARMFUL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)

ATTACKS = st.sampled_from(
    [
        "\x1b[31m", "\x1b]8;;https://evil.example\x07", "\x1b]52;c;cm0gLXJmIC8=\x07", "\x9b2J", "\x07", "\r",
        "\n", "\t", "\u202e", "\u2066", "\u200f", "\u2028", "\x85", "\ud83d", "\ude00", "\u0301", "\u200d",
        "\ufe0f", "\u200c", "\U0001f3fd", "\U0001f1e9", "👩", "❤", "\U000e0041", "\u1161", "\u0e33",
        "\u0915", "\u094d", "[/red]", "漢", "é",
    ]
)  # fmt: skip
ANY_TEXT = st.one_of(
    st.text(st.characters(codec=None, categories=None), max_size=40),
    st.lists(ATTACKS, max_size=20).map("".join),
    st.lists(st.one_of(ATTACKS, st.text(max_size=3)), max_size=12).map("".join),
)

# ---- sanitising --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("plain text is untouched", "Refactor the auth module", "Refactor the auth module"),
        ("other scripts are untouched", "naïve café 日本語 עברית Привет", "naïve café 日本語 עברית Привет"),
        ("markup is only text", "[bold]x[/bold]", "[bold]x[/bold]"),
        ("line ends become blanks", "a\nb\r\nc\rd", "a b c d"),
        ("other separators too", "a\u2028b\u2029c\x85d\x0be\x0cf", "a b c d e f"),
        ("tabs become blanks", "a\tb", "a b"),
        ("NUL, BEL, DEL become blanks", "a\x00b\x07c\x7fd", "a b c d"),
        ("colours go", "\x1b[1;31mred\x1b[0m", "red"),
        ("an escape that begins nothing becomes a blank", "a\x1bhello\x1b\tb", "a hello  b"),
        ("a sequence inside a sequence makes no third", "\x1b\x1b[m[31mx", "[31mx"),
        (
            "bidi controls go",
            "pay \u202egro.live\u202c now\u2066\u2069\u200e\u200f\u061c",
            "pay gro.live now",
        ),
        ("hidden characters go", "pass\u200bword\ufeff\u2060\xad\u3164", "password"),
        ("hidden tag text goes", "hi\U000e0069\U000e0067\U000e006e\U000e006f\U000e0072\U000e0065", "hi"),
        ("lone surrogates are replaced", "a\ud800b\udc00", "a\ufffdb\ufffd"),
        ("noncharacters are replaced", "a\uffffb\ufdd0", "a\ufffdb\ufffd"),
        ("a mark without a letter gets a circle", "\u0301x", "◌\u0301x"),
        ("a joiner between letters goes", "a\u200db", "ab"),
        ("a joiner at the end goes", "👩\u200d", "👩"),
        ("a lone skin tone goes", "a\U0001f3fd", "a"),
        ("an emoji of joined people stays", "👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"),
        ("an emoji with skin tone and joiner stays", "👩🏽‍🚀 👍🏿", "👩🏽‍🚀 👍🏿"),
        ("an emoji with selector and joiner stays", "🏳️‍🌈 ❤️‍🔥 👁️‍🗨️ 1️⃣", "🏳️‍🌈 ❤️‍🔥 👁️‍🗨️ 1️⃣"),
        ("a Persian non-joiner stays", "می‌خواهم", "می‌خواهم"),
        ("any other non-joiner goes", "a\u200cb", "ab"),
        ("vowel signs stay", "नमस्ते กำลัง שָׁלוֹם", "नमस्ते กำลัง שָׁלוֹם"),
    ],
)
def test_clean_shows_one_harmless_line(name: str, text: str, shown: str) -> None:
    assert t.clean(text) == shown


LINK, END = "8;;https://a.example/?q=1 2", "8;;"


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("links that end with ST", f"\x1b]{LINK}\x1b\\file.c\x1b]{END}\x1b\\:3", "file.c:3"),
        ("links that end with BEL", f"\x1b]{LINK}\x07file.c\x1b]{END}\x07:3", "file.c:3"),
        ("links in 8 bits", f"see \x9d{LINK}\x9cfile.c\x9d{END}\x9c:3", "see file.c:3"),
        ("an escape that ends in 8 bits", f"\x1b]{LINK}\x9cfile.c\x9d{END}\x07:3", "file.c:3"),
        ("titles, the clipboard, colours", "\x1b]0;a b\x07\x1b]52;c;QUFB\x07\x1b]11;?\x1b\\x", "x"),
        ("a title for screen", "\x1bkbash\x1b\\$ ", "$ "),
        ("pictures", "\x1bPq#0;2;0~~@@\x1b\\a\x1b_Gf=100,a=T;QUFB\x1b\\b\x90q~~\x9cc", "abc"),
        ("privacy and other strings", "\x1b^secret\x1b\\a\x1bXodd\x1b\\b\x98odd\x9cc\x9eodd\x9cd\x9fodd\x9ce", "abcde"),
        (
            "what tmux passes on",
            f"\x1bPtmux;\x1b\x1b]{LINK}\x07a\x1b\\\x1bPtmux;\x1b\x1b]{END}\x1b\x1b\\\x1b\\b",
            "ab",
        ),
        ("what screen passes on", f"\x1bP\x1b]{LINK}\x07\x1b\\a", "a"),
        ("colours of every form", "\x1b[38;2;1;2;3ma\x1b[4:3mb\x1b[38:2::1:2:3mc\x1b[md\x9b1;31me\x9bmf", "abcdef"),
        ("very long colours", "\x1b[" + "1;" * 500 + "1mx", "x"),
        ("the cursor, modes, the shape", "\x1b[2J\x1b[H\x1b[?25l\x1b[>4;1m\x1b[6 q\x1b[!px", "x"),
        ("character sets and states", "\x1b(B\x1b)0\x1b%G\x1b#8\x1b7\x1b8\x1b=\x1b>\x1bM\x1bcX", "X"),
        ("a link that is cut in its address", "see \x1b]8;;https://a.exam", "see "),
        ("a link that is cut in its text", f"\x1b]{LINK}\x1b\\fil", "fil"),
        ("a link that is cut in its end", f"\x1b]{LINK}\x1b\\file\x1b]8;;\x1b", "file"),
        ("a link that is cut before dots", "\x1b]8;;https://a.exam…", "…"),
        ("a link in 8 bits that is cut", "\x9d8;;https://a.exam", ""),
        ("colours that are cut", "a\x1b[31", "a"),
        ("an escape at the end", "a\x1b", "a"),
        ("a picture that is cut", "a\x1b_Gf=100;QUFBQUFB", "a"),
    ],
)
def test_escape_sequences_go_as_a_whole(name: str, text: str, shown: str) -> None:
    assert t.clean(text) == shown
    assert t.clean_lines(text) == [shown]


def test_an_unfinished_sequence_hides_no_sentence() -> None:
    for begun in (
        "\x1b]",
        "\x1b]8;;https://a.example",
        "\x1b]0;",
        "\x1bP",
        "\x1b_G",
        "\x1b^",
        "\x1bX",
        "\x9d8;;",
        "\x1b[",
    ):
        assert t.clean_lines(f"{begun} The rest stays.\nAnd so does this.") == [" The rest stays.", "And so does this."]
        assert t.clean(f"{begun}\nThe rest stays.\a").strip() == "The rest stays."
        assert t.clean(f"{begun}日本語 stays.").startswith("日本語 stays.")


def test_letters_of_utf8_that_were_read_as_latin_1_begin_no_sequence() -> None:
    for sentence in ("“Hello 5;3m,” he said – ‘so’.", "ś5 Ý8;x Н]0;x", "名前8;;m x", "𝛛5m 𐝝8;x"):
        for broken in (sentence.encode().decode("latin-1"), sentence.encode().decode("latin-1").replace("\x80", "€")):
            assert without_sequences(broken + "\x9c") == broken + "\x9c"


@given(st.lists(st.one_of(ATTACKS, st.text("ab é\n\x9c\x1b]8;", max_size=5)), max_size=12).map("".join))
def test_no_line_loses_more_than_its_sequences(text: str) -> None:
    assert without_sequences(text).count("\n") == text.count("\n")
    if not re.search("[\x1b\x90\x98\x9b\x9d-\x9f]", text):
        assert without_sequences(text) == text


def test_ten_thousand_marks_on_one_letter_become_six() -> None:
    assert t.clean("e" + "\u0301" * 10_000 + "x") == "e" + "\u0301" * 6 + "x"
    assert t.clean("가" + "\u1161" * 10_000) == "가" + "\u1161" * 6  # not marks, yet without width


def test_ten_thousand_joined_emoji_do_not_claim_two_cells() -> None:
    shown = t.clean("\u200d".join("👩" * 10_000))
    assert shown.count("👩") == 10_000
    assert t.width(shown) == 4_000


@given(ANY_TEXT)
def test_no_cleaned_text_acts_on_a_terminal(text: str) -> None:
    shown = t.clean(text)
    assert not HARMFUL.search(shown)
    assert not any(HARMFUL.search(line) for line in t.clean_lines(text))


@given(ANY_TEXT)
def test_cleaning_never_leaves_a_pile_of_marks(text: str) -> None:
    run = 0
    for character in t.clean(text * 3):
        run = run + 1 if get_character_cell_size(character) == 0 else 0
        assert run <= t.MARKS_SHOWN


@given(ANY_TEXT)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    once = t.clean(text)
    assert t.clean(once) == once


def test_text_that_is_returned_unseen_holds_only_characters_with_a_width() -> None:
    for codepoint in range(sys.maxunicode + 1):
        character = chr(codepoint)
        if not t._ODD.search(character):
            assert get_character_cell_size(character) > 0, hex(codepoint)
            assert unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Mn", "Me"), hex(codepoint)


@pytest.mark.slow
def test_text_is_returned_unseen_if_it_holds_no_odd_character() -> None:
    for codepoint in range(sys.maxunicode + 1):
        character = chr(codepoint)
        assert t._is_plain(character) == (not t._ODD.search(character)), hex(codepoint)


def test_clean_lines_cuts_at_line_ends_only_and_expands_tabs() -> None:
    assert t.clean_lines("a\tb\r\n\t日\tc\u2028d\x0ce\rlast\n") == ["a   b", "    日  c d e", "last", ""]
    assert t.clean_lines("a\tb", tab_size=8) == ["a       b"]
    assert t.clean_lines("\x1b[32m✓ passed\x1b[0m\n") == ["✓ passed", ""]


@pytest.mark.slow
def test_a_megabyte_on_one_line_is_cleaned_in_a_blink() -> None:
    for text in (
        "x" * 1_000_000,
        "e" + "\u0301" * 100_000,
        "\x1b[" * 100_000,
        "\x1b[" + "1" * 900_000,
        "\x1b]" * 100_000,
        "\x1b]0;" + "x" * 900_000,
        "\x1bP\x1b\x1b" * 100_000,
        "\x1b" * 900_000,
        "\x9d8;" * 100_000,
        "\x9d" * 900_000,
        "\u200d" * 100_000,
        "\t" * 100_000,
    ):
        start = time.process_time()
        t.clean(text)
        t.clean_lines(text)
        assert time.process_time() - start < 2, text[:4]


# ---- display width -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [
        ("hello", 5, "hello"),
        ("hello", 4, "hel…"),
        ("hello", 1, "…"),
        ("hello", 0, ""),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 3, "👩‍👩‍👧‍👦…"),
        ("👩‍👩‍👧‍👦", 1, "…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("🇩🇪🇫🇷", 3, "🇩🇪…"),
        ("🇩🇪🇫🇷", 4, "🇩🇪🇫🇷"),
    ],
)
def test_truncate_never_cuts_through_what_is_one_sign(text: str, cells: int, shown: str) -> None:
    assert t.truncate(text, cells) == shown


@given(ANY_TEXT, st.integers(0, 30))
def test_truncated_and_fitted_text_keep_their_columns(text: str, cells: int) -> None:
    shown = t.clean(text)
    assert t.width(t.truncate(shown, cells)) <= cells
    assert t.width(t.fit(shown, cells)) == cells
    if t.width(shown) <= cells:
        assert t.truncate(shown, cells) == shown


def test_fit_pads_at_the_end() -> None:
    assert t.fit("日", 4) == "日  "


def test_truncating_a_megabyte_looks_only_at_what_fits() -> None:
    text = "日" * 1_000_000
    start = time.process_time()
    assert t.truncate(text, 7) == "日日日…"
    assert time.process_time() - start < 0.05


def test_reading_text_needs_no_terminal_library() -> None:
    code = "import sys, sessionbrowse.text as t; t.width(t.clean('a\\tb')); sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


# ---- amounts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("byte_count", "shown"),
    [
        (0, "0B"), (786, "786B"), (1023, "1023B"), (1024, "1KB"), (1536, "1.5KB"), (26_624, "26KB"),
        (102_297, "99.9KB"), (102_400, "100KB"), (1_048_575, "1MB"), (224_395_264, "214MB"),
        (1_932_735_283, "1.8GB"), (2 * 1024**4, "2TB"),
    ],
)  # fmt: skip
def test_sizes(byte_count: int, shown: str) -> None:
    assert t.size(byte_count) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0"), (812, "812"), (999, "999"), (1000, "1k"), (12_400, "12.4k"), (99_960, "100k"),
     (214_000, "214k"), (999_499, "999k"), (999_500, "1M"), (3_140_000, "3.1M"),
     (999_499_999, "999M"), (999_500_000, "1B"), (45_156_000_000, "45.2B"), (999_500_000_000, "999B+")],
)  # fmt: skip
def test_token_counts(count: int, shown: str) -> None:
    assert t.tokens(count) == shown


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [
        (0, "$0.00"),
        (0.0004, "<$0.01"),
        (0.005, "$0.01"),
        (0.02, "$0.02"),
        (1.2, "$1.20"),
        (1234.5, "$1,234.50"),
        (-58034.98, "-$58,034.98"),
        (-1e-9, "-<$0.01"),
    ],
)
def test_costs(dollars: float, shown: str) -> None:
    assert t.cost(dollars) == shown


@pytest.mark.parametrize(
    ("path", "home", "shown"),
    [
        ("/home/dev/webshop", "/home/dev", "~/webshop"),
        ("/home/dev", "/home/dev/", "~"),
        ("/home/developer", "/home/dev", "/home/developer"),
        ("/srv/app", "/", "/srv/app"),
        ("/srv/app", "", "/srv/app"),
        ("C:\\Users\\dev\\app", "C:\\Users\\dev", "~\\app"),
    ],
)
def test_home_is_shortened_at_path_boundaries(path: str, home: str, shown: str) -> None:
    assert t.shorten_home(path, home) == shown


# ---- times -------------------------------------------------------------------------------------------------

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        (-5 * HOUR, "now"), (0, "now"), (MINUTE - 1, "now"), (MINUTE, "1m"), (HOUR - 1, "59m"), (HOUR, "1h"),
        (DAY - 1, "23h"), (DAY, "1d"), (7 * DAY - 1, "6d"), (7 * DAY, "1w"), (30 * DAY - 1, "4w"),
        (30 * DAY, "1mo"), (364 * DAY, "12mo"),
        (365 * DAY, "1y"), (800 * DAY, "2y"),
    ],
)  # fmt: skip
def test_ages_are_those_of_pi(before: int, shown: str) -> None:
    assert t.age(NOW - before, NOW) == shown


def test_ages_take_written_times_and_nothing() -> None:
    assert t.age("2026-08-13T06:00:00.000Z", NOW) == "2h"
    assert [t.age(then, NOW) for then in (None, "yesterday", float("nan"), float("inf"), 1e300)] == [""] * 5


# What V8 (node 20) answers to Date.parse, in New York.
V8_DATES: list[tuple[str, int | None]] = [
    ("2026", 1767225600000),
    ("2026-11", 1793491200000),
    ("2026-11-21", 1795219200000),
    ("2026-11-21T10:00", 1795273200000),
    ("2026-11-21T10:00Z", 1795255200000),
    ("2026-11-21T10:00:05Z", 1795255205000),
    ("2026-11-21T10:00:05.1Z", 1795255205100),
    ("2026-11-21T10:00:05.1239Z", 1795255205123),
    ("2026-11-21T10:00:05+01:00", 1795251605000),
    ("2026-11-21T10:00:05+0100", 1795251605000),
    ("2026-11-21T10:00:05-05:30", 1795275005000),
    ("2026-11-21T10:00:05+23:59", 1795168865000),
    ("2026-11-21 10:00:05", 1795273205000),
    ("2026-11-21 10:00:05Z", 1795255205000),
    ("2026-11-21t10:00:05z", 1795255205000),
    ("2026-11-21T10:00:05.123", 1795273205123),
    ("2026-11-21T24:00:00Z", 1795305600000),
    ("2026-02-30T00:00:00Z", 1772409600000),
    ("2026-03-08T02:30:00", 1772955000000),  # an hour that New York skips
    ("2026-11-01T01:30:00", 1793511000000),  # an hour that New York has twice
    ("0000-01-01T00:00:00Z", -62167219200000),
    ("+002026-11-21T10:00:05Z", 1795255205000),
    ("-000001-01-01T00:00:00Z", -62198755200000),
    ("+275760-09-13T00:00:00.000Z", 8640000000000000),
    ("+275760-09-13T00:00:00.001Z", None),
    ("-000000-01-01T00:00:00Z", None),
    ("2026-13-01", None),
    ("2026-02-32T00:00:00Z", None),
    ("2026-11-21T24:00:01Z", None),
    ("2026-11-21T25:00:00Z", None),
    ("2026-11-21T10:60:00Z", None),
    ("2026-11-21T10:00:60Z", None),
    ("2026-11-21T10:00:05+24:00", None),
    ("2026-11-21T10:00:05+01:60", None),
    ("2026-11-21T10:00:05+01", None),
    ("2026-11-21T10", None),
    ("2026-11-21T1:00:05Z", None),
    ("2026-11-21T10:00:05.Z", None),
    ("2026-11-21T10:00:05,123Z", None),
    (" 2026-11-21T10:00:05Z ", None),
    ("20261121", None),
    ("1763681581544", None),
    ("garbage", None),
    ("", None),
]


@pytest.mark.parametrize(("written", "time_ms"), V8_DATES)
def test_times_are_read_as_javascript_reads_them(
    written: str, time_ms: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    assert t.parse_time(written) == time_ms


@pytest.mark.parametrize(
    ("time_ms", "written"),
    [
        (1_786_608_005_199, "2026-08-13T08:00:05.199Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1.9, "1970-01-01T00:00:00.001Z"),
        (-1.9, "1969-12-31T23:59:59.999Z"),
        (8_640_000_000_000_000, "+275760-09-13T00:00:00.000Z"),
        (-72_198_755_200_000, "-000318-02-10T06:13:20.000Z"),
    ],
)
def test_times_are_written_as_javascript_writes_them(time_ms: float, written: str) -> None:
    assert t.iso_ms(time_ms) == written


@given(st.integers(-8_640_000_000_000_000, 8_640_000_000_000_000))
def test_a_written_time_reads_back(time_ms: int) -> None:
    assert t.parse_time(t.iso_ms(time_ms)) == time_ms


@pytest.mark.parametrize("time_ms", [float("nan"), float("inf"), 8.64e15 + 2, -1e300])
def test_what_no_date_can_hold_is_refused(time_ms: float) -> None:
    assert not t.is_time(time_ms)
    with pytest.raises(ValueError, match="is not a time"):
        t.iso_ms(time_ms)


# ---- exact data --------------------------------------------------------------------------------------------


class Row(msgspec.Struct, frozen=True, rename="camel"):
    first_message: str
    parent: str | None = None


def test_json_escapes_what_acts_on_a_terminal_and_keeps_the_rest() -> None:
    value = {
        "a": "é 日 👩‍👩\x1b[31m\x7f\x85\u202e\u2066\u200f\u061c\u2028\ud800",
        "n": None,
        "list": [1, 2.5, True],
    }
    assert t.json_exact(value) == (
        '{"a":"é 日 👩‍👩\\u001b[31m\\u007f\\u0085\\u202e\\u2066\\u200f\\u061c\\u2028\\ud800",'
        '"n":null,"list":[1,2.5,true]}'
    )
    assert json.loads(t.json_exact(value)) == value


def test_json_takes_structs_even_beside_odd_values() -> None:
    row = Row(first_message="hi\u2028")
    assert t.json_exact([row]) == '[{"firstMessage":"hi\\u2028","parent":null}]'
    odd = [row, '\udc00 NaN "Infinity" \\', 2**70, float("nan"), float("-inf")]
    assert json.loads(t.json_exact(odd)) == [
        {"firstMessage": "hi\u2028", "parent": None}, "\udc00 NaN \"Infinity\" \\", 2**70, None, None,
    ]  # fmt: skip


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES)
@pytest.mark.slow
def test_json_is_exact_and_safe_to_print(value: Any) -> None:
    document = t.json_exact(value)
    document.encode()
    assert not re.search("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", document)
    assert json.loads(document) == json.loads(json.dumps(value))


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.4, "0 s"),
        (59, "59 s"),
        (90, "2 min"),
        (3600, "1 h"),
        (12_000, "3 h 20 min"),
        (187_200, "2 d 4 h"),
        (86_400, "1 d"),
    ],
)
def test_a_length_of_time_reads_as_people_say_it(seconds: float, shown: str) -> None:
    assert t.duration(seconds) == shown


def test_json_is_exact_and_hides_no_text_from_a_person_who_reads_it() -> None:
    """A model reads tag letters and other characters that no terminal and no editor draws."""
    hidden = "".join(map(chr, [*range(0xE0041, 0xE0045), 0x200B, 0x2060, 0x2063, 0xFEFF, 0xAD, 0x202E, 0x9B, 0xD800]))
    document = t.json_exact({"shown 👩\u200d🚀 é": f"{hidden}\x1b\n\x7f"})
    assert json.loads(document) == {"shown 👩\u200d🚀 é": f"{hidden}\x1b\n\x7f"}
    assert (
        document
        == '{"shown 👩\u200d🚀 é":"'
        + "".join(f"\\u{unit:04x}" for unit in memoryview(hidden.encode("utf-16-le", "surrogatepass")).cast("H"))
        + '\\u001b\\n\\u007f"}'
    )
