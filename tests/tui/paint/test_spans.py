"""Rows of text stay inside their cells, whatever the text is made of."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.text import clean
from sessionbrowse.text import width as cell_width
from sessionbrowse.tui.layout.parts import LinePart, TextPart, overlay, text_cuts, text_parts, wrap_line
from sessionbrowse.tui.paint.spans import cut_left, fit, line_width, sides, wrap_offsets, wrap_words

FOREIGN = st.text(alphabet=st.sampled_from("ab c日本e\u0301👩\u200d👧🇩🇪\u200b\u202e\x1b[]-_/"), max_size=60)


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("one two", 20, ["one two"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("    indented words", 12, ["    indented", "words"]),
        ("    averylongword", 8, ["    aver", "ylongwor", "d"]),
        ("in /home/dev/webshop/api", 12, ["in", "/home/dev/", "webshop/api"]),
        ("in “/home/dev/webshop/api” now", 13, ["in", "“/home/dev/", "webshop/api”", "now"]),
        ("/verylongname/x", 8, ["/verylon", "gname/x"]),
        ("aGFja/d29ybGQ", 8, ["aGFja/d2", "9ybGQ"]),
        ("日本語の検索", 5, ["日本", "語の", "検索"]),
        ("日本 語の", 6, ["日本", "語の"]),
        ("", 5, [""]),
    ],
)
def test_text_breaks_at_blanks_and_between_wide_characters(text: str, width: int, rows: list[str]) -> None:
    assert wrap_words(text, width) == rows


@given(FOREIGN, st.integers(1, 30))
def test_no_row_is_wider_than_its_room_and_no_letter_is_lost(text: str, width: int) -> None:
    text = clean(text)
    rows = wrap_words(text, width)
    # A single character may be wider than a room of one cell.
    assert all(cell_width(row) <= max(width, 2) for row in rows)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "")
    offsets = wrap_offsets(text, width)
    assert all(first[1] <= second[0] for first, second in pairwise(offsets))


@given(FOREIGN, FOREIGN, st.integers(0, 40))
def test_a_line_with_two_sides_has_exactly_its_room_or_less(left: str, right: str, width: int) -> None:
    line = sides([(clean(left), ""), (clean(left), "dim")], [(clean(right), "")], width)
    assert line_width(line) <= width


@given(FOREIGN, st.integers(1, 40))
def test_cutting_keeps_a_beginning_or_an_end(text: str, width: int) -> None:
    text = clean(text)
    assert line_width(fit([(text, "")], width)) <= width
    assert cell_width(cut_left(text, width)) <= width


def test_the_right_side_stays_and_the_title_is_cut() -> None:
    line = sides([("a very long title of a session", "")], [("2h", "dim")], 20)
    assert "".join([text for text, _ in line]) == "a very long tit… 2h"[:0] + "a very long titl… 2h"


def test_a_long_text_is_cut_into_parts_at_line_ends_and_nothing_is_lost() -> None:
    text = "".join([f"line {number} " + "x" * (number % 90) + "\n" for number in range(20_000)])
    cuts = text_cuts(text)
    assert len(cuts) > 50
    assert "\n".join([text[start:end] for start, end in cuts]) == text


def test_one_line_of_a_megabyte_is_cut_inside() -> None:
    cuts = text_cuts("x" * 1_000_000)
    assert cuts[0][0] == 0
    assert cuts[-1][1] == 1_000_000
    assert max(end - start for start, end in cuts) <= 16 * 1024


def test_a_part_shows_foreign_text_without_its_control_characters() -> None:
    part = TextPart("a\x1b[31mred\x07\tb\nc\u202ed", 0, 17)
    rows = ["".join([text for text, _ in row]) for row in part.rows(40)]
    assert "\x1b" not in "".join(rows)
    assert rows[1] == "cd"


def test_wrapped_rows_after_the_first_hang() -> None:
    part = LinePart([("key       ", "dim"), ("a value that is long", "")], indent=10)
    rows = ["".join([text for text, _ in row]) for row in part.rows(18)]
    assert rows == ["key       a value", "          that is", "          long"]


def test_spans_keep_their_roles_when_a_line_is_wrapped_and_marked() -> None:
    line = [("user: ", "user"), ("hello there", "")]
    rows = wrap_line(line, 11)
    assert rows == [[("user: ", "user"), ("hello", "")], [("there", "")]]
    assert overlay(line, [(6, 11)], "match") == [("user: ", "user"), ("hello", "match"), (" there", "")]


def test_text_parts_of_fifty_megabytes_are_made_at_once() -> None:
    text = "a line of some length, as tools write them\n" * 1_200_000
    parts = text_parts(text)
    assert sum([part.estimate(80) for part in parts]) > 1_000_000
    assert len(parts[0].rows(80)) > 100


def test_a_line_without_end_is_cut_where_the_lines_before_it_end() -> None:
    text = "a" * 3_000 + "\n" + "b" * 40_000
    cuts = text_cuts(text)
    assert cuts[0] == (0, 3_000)
    assert cuts[1][0] == 3_001
    assert "".join([text[start:end] for start, end in cuts]) == text.replace("\n", "")


def test_no_row_of_a_line_of_facts_ends_with_a_separator() -> None:
    part = LinePart([("13.2k tokens of 200k", "bold"), (" · ", "dim"), ("model", ""), (" · last", "dim")])
    assert ["".join(text for text, _ in row) for row in part.rows(22)] == ["13.2k tokens of 200k", "model · last"]
    assert part.plain().count("·") == 2
