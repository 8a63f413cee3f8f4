"""The rows of the lists, whose columns stay apart whatever a session counts, and the bar above them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from sessionbrowse.tui.data.library import SessionRow
from sessionbrowse.tui.lists.rows import (
    ListStyle,
    ScanProgress,
    columns,
    facts_line,
    heading,
    session_facts,
    session_row,
)
from sessionbrowse.tui.widgets.span_view import bar
from tests.support.tui_support import NOW_MS, summary


@pytest.mark.parametrize(
    ("count", "shown"),
    [(1, "1"), (999, "999"), (9_949, "9.9k"), (12_345, "12k"), (200_000, "200k"), (31_000_000, "31M")],
)
def test_the_columns_of_a_row_stay_apart_and_end_together(count: int, shown: str) -> None:
    session = summary(
        "/s/a.jsonl", name="long", message_count=count, cost=123_456.78, bytes=1_099_000_000, modified=NOW_MS - 1000
    )
    row = "".join([text for text, _ in session_row(SessionRow(session), 80, ListStyle(now_ms=NOW_MS, home="/home"))])
    assert len(row) == 80
    facts = row[row.index("now") :]
    assert " ".join(facts.split()) == f"now {shown} $123,456.78"


def shown_row(width: int, **style: Any) -> str:
    session = summary("/s/a.jsonl", name="A title of some length", cwd="/home/webshop", message_count=41, cost=1.35)
    return "".join([text for text, _ in session_row(SessionRow(session), width, STYLE(**style))])


STYLE = partial(ListStyle, now_ms=NOW_MS, home="/home", show_project=True)


def test_a_narrow_list_leaves_out_folder_agent_messages_cost_and_age_in_this_order() -> None:
    seen: list[list[str]] = []
    style = STYLE(fields=("project", "agent", "modified", "messages", "cost"))
    for width in range(120, 20, -1):
        fields = [str(field) for field, _ in columns(width, style)]
        if fields not in seen:
            seen.append(fields)
    assert seen == [
        ["project", "agent", "modified", "messages", "cost"],
        ["agent", "modified", "messages", "cost"],
        ["modified", "messages", "cost"],
        ["modified", "cost"],
        ["modified"],
        [],
    ]


@pytest.mark.parametrize("dates", ["age", "date", "iso"])
def test_columns_never_touch_and_are_named_above(dates: Any) -> None:
    counts: dict[str, Any] = {"message_count": 914, "cost": 30.33, "tokens": 47_600_000}
    session = summary("/s/a.jsonl", cwd="/home/webshop", model="m/opus", **counts)
    for fields in (
        ("model", "tokens", "cost", "messages", "modified"),
        ("project", "size", "branches", "agent", "cost"),
    ):
        for width in range(40, 200, 7):
            style = STYLE(fields=fields, dates=dates)
            facts = "".join([text for text, _ in session_facts(session, width, style)])
            assert len(facts) == len(heading(width, style)) == sum([cells + 1 for _, cells in columns(width, style)])
            assert not facts or facts[0] == " "
            assert "m914" not in facts
            assert "$30.33" in facts or "cost" not in heading(width, style)


def test_the_column_of_the_order_is_left_out_last() -> None:
    for width in (40, 50, 56, 120):
        assert "cost" in heading(width, STYLE(sort="cost"))
        assert "size" in heading(width, STYLE(sort="size"))


def test_a_path_is_shown_from_its_head_beside_age_and_messages() -> None:
    session = summary("/home/.pi/agent/sessions/--home-webshop--/2026-01-01_0192.jsonl", name="A", message_count=41)
    row = "".join([text for text, _ in session_row(SessionRow(session), 90, STYLE(show_path=True))])
    assert "~/.pi/agent/sessions/" in row
    assert row.split()[-2:] == ["now", "41"]


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (120, "indexing ▰▰▰▰▰▰▰▱ 9,812/10,000 · 1,226/s   10,000 sessions · 112 projects"),
        (80, "indexing ▰▰▰▰▰▰▰▱ 9,812/10,000 · 1,226/s   10,000 sessions"),
        (60, "indexing ▰▰▰▰▰▰▰▱ 9,812/10,000 · 1,226/s"),
        (40, "indexing 98%"),
    ],
)
def test_the_upper_bar_says_what_it_has_room_for(width: int, shown: str) -> None:
    under_way = ScanProgress("indexing", 9_812, 10_000, began_ms=0, began_done=0, now_ms=8_000)
    line = facts_line(10_000, 112, under_way, None, width)
    assert "".join([text for text, _ in line]) == shown
    assert "".join([text for text, _ in bar([("sessionbrowse › webshop", "")], line, width)]).rstrip().endswith(shown)
