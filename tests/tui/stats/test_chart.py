"""The lines of the statistics."""

from __future__ import annotations

from sessionbrowse.model.usage.totals import Totals
from sessionbrowse.tui.paint.spans import line_width
from sessionbrowse.tui.stats.chart import total_line


def test_a_narrow_total_leaves_out_whole_parts() -> None:
    totals = Totals()
    for number, part in enumerate(totals.parts):
        part[:] = [1, 1000, 0, 0, 0, 0, (number + 1) * 10**12, 0, 0]
    totals.copies[:] = [1, 0, 0, 0, 0, 0, 10**12, 0, 0]

    def shown(width: int) -> str:
        return "".join(text for text, _ in total_line(totals, width)).rstrip()

    everything = (
        "$10.00  4k tokens   kept $1.00   abandoned $2.00   compaction $3.00   subagents $4.00"
        "   copies ($1.00) not counted again"
    )
    assert shown(200) == everything
    assert shown(100) == everything.partition("   copies")[0]
    assert shown(78) == "$10.00  4k tokens   abandoned $2.00   compaction $3.00   subagents $4.00"
    assert shown(60) == "$10.00  4k tokens   abandoned $2.00   subagents $4.00"
    assert shown(50) == "$10.00   abandoned $2.00   subagents $4.00"
    assert shown(35) == "$10.00   abandoned $2.00"
    assert all(line_width(total_line(totals, width)) <= width for width in range(120))
