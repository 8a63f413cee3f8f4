"""The rows of the lists: their columns stay apart, whatever a session counts."""

from __future__ import annotations

import pytest

from sessionbrowse.tui.library import SessionRow
from sessionbrowse.tui.render import ListStyle, session_row
from tests.tui_support import NOW_MS, summary


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
