"""The lines of the statistics."""

from __future__ import annotations

from sessionbrowse.model.usage.request import Totals
from sessionbrowse.services.usage.usage_listing import UsageRow
from sessionbrowse.tui.paint.spans import line_width
from sessionbrowse.tui.stats.chart import chart, total_line


def test_a_narrow_total_leaves_out_whole_parts() -> None:
    totals = Totals()
    for number, part in enumerate(totals.parts):
        part[:] = [1, 1000, 0, 0, 0, 0, (number + 1) * 10**12, 0, 0]
    totals.copies[:] = [1, 0, 0, 0, 0, 0, 10**12, 0, 0]

    def shown(width: int) -> str:
        return "".join(text for text, _ in total_line(totals, width, "all time")).rstrip()

    everything = (
        "$10.00 all time  4k tokens   kept $1.00   abandoned $2.00   compaction $3.00   subagents $4.00"
        "   copies ($1.00) not counted again"
    )
    assert shown(200) == everything
    assert shown(100) == everything.partition("   copies")[0]
    assert shown(87) == "$10.00 all time  4k tokens   abandoned $2.00   compaction $3.00   subagents $4.00"
    assert shown(69) == "$10.00 all time  4k tokens   abandoned $2.00   subagents $4.00"
    assert shown(59) == "$10.00 all time   abandoned $2.00   subagents $4.00"
    assert shown(44) == "$10.00 all time   abandoned $2.00"
    assert all(line_width(total_line(totals, width, "all time")) <= width for width in range(120))


def test_the_chart_says_which_days_it_shows_and_what_these_cost() -> None:
    rows = []
    for day in range(1, 31):
        spent = Totals()
        spent.parts[0][:] = [1, 1000, 0, 0, 0, 0, 10**12, 0, 0]
        rows.append(UsageRow(f"2026-09-{day:02d}", spent))

    def last(width: int, days: int) -> str:
        return "".join(text for text, _ in chart(rows[:days], "day", width)[-1]).strip()

    assert " $20.00 in 20 days " in last(50, 30)
    assert "chart: $30.00 in 30 days" in last(120, 30)
    assert "chart: $3.00 in 3 days" in last(120, 3), "beside the dates of a short chart"
    assert last(69, 30).startswith("2026-09-01")
    assert " $25.00 in the last 25 days " in last(59, 30)
