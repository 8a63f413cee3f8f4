"""The rows of the lists, whose columns stay apart whatever a session counts, and the bar above them."""

from __future__ import annotations

import pytest

from sessionbrowse.tui.data.library import SessionRow
from sessionbrowse.tui.lists.rows import ListStyle, session_row
from sessionbrowse.tui.lists.titles import ScanProgress, facts_line
from sessionbrowse.tui.widgets.bars import bar
from tests.support.tui_support import NOW_MS, summary


@pytest.mark.parametrize(
    ("count", "shown"),
    [(1, "1 msg"), (9_999, "9,999 msg"), (12_345, "12.3k msg"), (200_000, "200k msg"), (31_000_000, "31M msg")],
)
def test_the_columns_of_a_row_stay_apart_and_end_together(count: int, shown: str) -> None:
    session = summary(
        "/s/a.jsonl", name="long", message_count=count, cost=123_456.78, bytes=1_099_000_000, modified=NOW_MS - 1000
    )
    row = "".join([text for text, _ in session_row(SessionRow(session), 80, ListStyle(now_ms=NOW_MS, home="/home"))])
    assert len(row) == 80
    facts = row[row.index("now") :]
    assert " ".join(facts.split()) == f"now {shown} $123,456.78"


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (120, "indexing ▰▰▰▰▰▰▰▱ 9,812/10,000 · 1,226/s   10,000 sessions · 112 folders"),
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
