"""Markdown is laid out to read: nothing is lost, nothing raw gets through, whatever a model wrote."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sessionbrowse.text import clean_lines
from sessionbrowse.text import width as cell_width
from sessionbrowse.tui.layout.markdown import LONGEST_MARKDOWN, inline_lines, letters, markdown_parts
from sessionbrowse.tui.layout.parts import Fold
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.reading.texts import Detail, said_parts

RAW = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
PIECES = [
    *"#*_`~[]()<>|!&;:.-+=\\\"' \n\t>abcXYZ019",
    *("\n\n", "\n- ", "\n  - ", "\n1. ", "\n> ", "```", "~~~py\n", "\n|", "**", "---\n", "    ", "\r\n"),
    *("| a | b |\n|---|---|\n", "[x](y)", '![i](u "t")', "[ref]: z 'q'\n", "http://e.x/?a=1&b", "&amp;", "<b>"),
    *("日本", "e\u0301", "👩\u200d👧", "\x1b[31m", "\u202e", "\ud800", "\u200b", "\x85", "\u2028"),
]
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


def texts(rows: list[Line]) -> list[str]:
    return ["".join([text for text, _ in row]) for row in rows]


def laid_out(source: str, width: int = 60) -> list[str]:
    return [row.rstrip() for part in markdown_parts(source) for row in texts(part.rows(width))]


@given(MARKDOWN, st.integers(12, 90))
@example("- - - - - - - - - - - - - - - - - - - - - - - - x\n", 20)
@example("> " * 40 + "deep\n", 20)
@example("1. | a | b |\n   |---|---|\n   | c | d | e |\n", 30)
@example("[a]: b\n[a]: c\n", 30)
@example("```a\\*b &amp;\ncode", 30)
@example("a\\\nb  \n   c", 30)
def test_no_letter_is_lost_and_nothing_raw_gets_through(source: str, width: int) -> None:
    rows = [row for part in markdown_parts(source) for row in texts(part.rows(width))]
    assert not any(RAW.search(row) for row in rows)
    shown = letters("".join(rows))
    wanted = letters("".join(clean_lines(source)))
    assert sorted(shown) == sorted(wanted), rows


@given(MARKDOWN, st.integers(30, 90))
def test_no_row_is_wider_than_the_pane(source: str, width: int) -> None:
    for part in markdown_parts(source):
        assert all(cell_width(row) <= width for row in texts(part.rows(width)))


@given(MARKDOWN, st.integers(1, 6))
def test_a_fold_hides_a_rest_but_loses_none_of_it(source: str, lines: int) -> None:
    shown = ""
    for part in said_parts(source, Detail(lines=lines)):
        inside = part.body() if isinstance(part, Fold) else [part]
        shown += "".join(["".join(texts(one.rows(80))) for one in inside])
    assert not RAW.search(shown)
    # The fence of code that is cut is named again after the cut.
    assert not Counter(letters("".join(clean_lines(source)))) - Counter(letters(shown))


def test_blocks_are_laid_out_as_they_read() -> None:
    source = """# Two ways

Some **bold**, *slanted* and `code`,
a [link](https://example.com/x).

- one
- two
  1. nested
- [ ] open
- [x] done

> a quote
> > deeper

***
"""
    assert laid_out(source) == [
        "Two ways",
        "",
        "Some bold, slanted and code,",
        "a link (https://example.com/x).",
        "",
        "• one",
        "• two",
        "  1. nested",
        "• ☐ open",
        "• ☑ done",
        "",
        "▎ a quote",
        "▎ ▎ deeper",
        "",
        "─" * 60,
    ]


def test_roles_name_what_a_piece_is() -> None:
    spans = dict(inline_lines("a **b** *c* `d` ~~e~~ [f](g)")[0])
    assert spans["b"] == "strong"
    assert spans["c"] == "italic"
    assert spans["d"] == "inline-code"
    assert spans["e"] == "strike"
    assert spans["f"] == "link"
    assert spans[" (g)"] == "dim"


def test_code_keeps_its_lines_and_blanks_behind_a_bar() -> None:
    assert laid_out("Look:\n```python\ndef f(x):\n    return x\n\n```\nDone.") == [
        "Look:",
        "▏ python",
        "▏ def f(x):",
        "▏     return x",
        "▏",
        "Done.",
    ]


def test_a_table_gets_columns_that_are_aligned_by_cells() -> None:
    rows = laid_out("| name | count |\n|:--|--:|\n| 日本 | 1 |\n| b | 1,000 |\n")
    assert rows == [
        "name │ count",
        "─────┼──────",
        "日本 │     1",
        "b    │ 1,000",
    ]
    assert len({cell_width(row) for row in rows}) == 1


def test_a_table_that_does_not_fit_is_shown_as_it_was_written() -> None:
    source = "| " + " | ".join(["heading"] * 12) + " |\n" + "|---" * 12 + "|\n| " + " | ".join(["cell"] * 12) + " |"
    rows = laid_out(source, 40)
    assert rows[0].startswith("| heading | heading")


@pytest.mark.parametrize(
    "source",
    [
        "| a | b |\n|---|---|\n| c | d | lost |",
        "[a link](https://x.y/?q=1&amp;z=2)",
        "[name]: https://example.com 'title'",
        "<details><summary>sum</summary></details>",
        "one &lt; two",
    ],
)
def test_what_markdown_would_drop_is_shown_as_it_was_written(source: str) -> None:
    assert "\n".join(laid_out(source)) == source


def test_line_ends_and_indents_of_pasted_text_stay() -> None:
    source = "Error: no\n    at foo (bar.js:1)\n    at baz"
    assert "\n".join(laid_out(source)) == source


def test_a_wide_list_item_hangs_below_its_text() -> None:
    assert laid_out("10. some words that are too long for one row", 24) == [
        "10. some words that are",
        "    too long for one row",
    ]


def test_a_fence_that_is_cut_goes_on_as_code_after_the_fold() -> None:
    source = "```python\n" + "\n".join([f"x{number} = {number}" for number in range(60)]) + "\n```\nafter *it*"
    *head, fold = said_parts(source, Detail(lines=10))
    assert texts(fold.rows(60)) == ["▸ 53 more lines"]
    assert isinstance(fold, Fold)
    body = [row for part in fold.body() for row in texts(part.rows(60))]
    assert body[0] == "▏ python"
    assert body[1] == "▏ x9 = 9"
    assert body[-1] == "after it"
    assert texts(head[1].rows(60))[-1] == "▏ x8 = 8"


def test_a_text_of_megabytes_is_not_parsed() -> None:
    source = "# heading\n" * (LONGEST_MARKDOWN // 10 + 10)
    parts = markdown_parts(source)
    assert texts(parts[0].rows(60))[0] == "# heading"


@pytest.mark.parametrize(
    "source",
    ["[" * 50_000, "*a **b " * 8_000, "![[" * 9_000, ">" * 30_000, "- " * 9_000, "|a" * 9_000 + "\n" + "|-" * 9_000],
)
def test_what_would_keep_a_parser_busy_is_shown_plain(source: str) -> None:
    parts = markdown_parts(source)
    shown = "".join(["".join(texts(part.rows(80))) for part in parts])
    assert letters(shown) == letters(source)
