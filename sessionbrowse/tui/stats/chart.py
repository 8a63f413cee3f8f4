"""Make the lines of the statistics screen: the total, a bar chart by day, week or month, the rows of the table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from sessionbrowse.model.usage.request import (
    ABANDONED,
    COMPACTION,
    COST,
    KEPT,
    PARTS,
    REQUESTS,
    SUBAGENTS,
    UNPRICED,
    Totals,
    tokens_of,
)
from sessionbrowse.services.usage.stats import cents
from sessionbrowse.services.usage.usage_listing import UsageRow
from sessionbrowse.text import clean, plural, tokens
from sessionbrowse.tui.paint.spans import Line, cut_left, fit, line_width, pad, right_aligned

BAR_WIDTH = 2
"""Width in cells of a bar of the chart, including the gap after the bar."""
CHART_LINES = 6
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_LEFT_EIGHTHS = " ▏▎▍▌▋▊▉"
_ABANDONED = "░"


def total_line(totals: Totals, width: int, times: str) -> Line:
    """Return the line with the total cost and how it is divided ("kept", "abandoned" …), shortened to `width` cells.

    `times` names the span of time of the total, such as "this month".
    """
    total, copies = totals.total, totals.copies
    pieces = [(cents(total), "title"), (f" {times}", ""), (f"  {tokens(tokens_of(total))} tokens", "")]
    for name, part in zip(PARTS, totals.parts, strict=True):
        if part[REQUESTS]:
            pieces.append((f"   {name} {cents(part)}", "warning" if name == PARTS[ABANDONED] else "dim"))
    if total[UNPRICED]:
        pieces.append((f"   {plural(total[UNPRICED], 'request')} not priced", "dim"))
    if copies[REQUESTS]:
        pieces.append((f"   copies ({cents(copies)}) not counted again", "dim"))
    line = list(pieces)
    # If the line is too long, drop the copies first (not part of the total), then "kept" (it follows from the rest).
    for needless in ("copies", PARTS[KEPT], PARTS[COMPACTION], "tokens", PARTS[SUBAGENTS]):
        if line_width(line) > width:
            line = [piece for piece in line if needless not in piece[0]]
    return fit(line, width)


def chart(rows: Sequence[UsageRow], period: str, width: int, lines: int = CHART_LINES) -> list[Line]:
    """Return the lines of a bar chart of the newest periods that fit into `width`, with their dates below the bars.

    A bar's height is the cost of a period, or the number of tokens if no request to a model has a price. The lower part
    of a bar is the cost on abandoned branches, drawn with another character because a colour alone may not be visible.
    """
    known = {str(row.key): row for row in rows if row.key is not None}
    if not known:
        return []
    label_width = 9
    names = periods(max(known), period, max(1, (width - label_width) // BAR_WIDTH))
    names = [name for name in names if name >= min(known)]
    is_money = any(row.totals.total[COST] for row in rows)
    values = [_values(known.get(name), is_money) for name in names]
    highest = max([whole for whole, _ in values])
    shown: list[Line] = []
    for number in range(lines - 1):
        height = lines - 2 - number
        label = (cents([1, *[0] * 5, highest, 0, 0]) if is_money else tokens(highest)) if not number else ""
        line: Line = [right_aligned(label if highest else "", "dim", label_width - 1), (" ", "")]
        for whole, abandoned in values:
            line += [_cell(whole, abandoned, highest, height, lines - 1), (" ", "")]
        shown.append(fit(line, width))
    first, last = names[0], names[-1]
    room = len(names) * BAR_WIDTH - 1 - len(first) - len(last)
    drawn = Totals()
    for name in names:
        if name in known:
            drawn.merge(known[name].totals)
    amount = cents(drawn.total) if is_money else f"{tokens(tokens_of(drawn.total))} tokens"
    count, some = plural(len(names), period), "the last " * (min(known) < first)
    choices = (f"chart: {amount} in {some}{count}", f"{amount} in {some}{count}", f"{amount} in {count}")
    said = next((words for words in choices if len(words) + 2 <= room), "")
    # The words are between the two dates, or beside them below a short chart.
    between = said.center(room) if said else " " * room if room > 0 else " … "
    below = first + between + last if first != last else last
    if not said and label_width + len(below) + len(choices[0]) + 2 <= width:
        below += f"  {choices[0]}"
    return [*shown, fit([(" " * label_width, ""), (below, "dim")], width)]


def periods(last: str, period: str, count: int) -> list[str]:
    """Return the names of `count` successive days, weeks or months (`period`), oldest first, ending with `last`."""
    if period == "month":
        year, month = map(int, last.split("-"))
        months = range(year * 12 + month - count, year * 12 + month)
        return [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in months if number >= 12]
    day = date.fromisoformat(f"{last}-1" if period == "week" else last)
    step = 7 if period == "week" else 1
    ordinals = range(day.toordinal() - (count - 1) * step, day.toordinal() + 1, step)
    days = [date.fromordinal(ordinal) for ordinal in ordinals if ordinal > 0]
    if period == "week":
        return [f"{year:04d}-W{week:02d}" for year, week, _ in map(date.isocalendar, days)]
    return [each.isoformat() for each in days]


def _values(row: UsageRow | None, is_money: bool) -> tuple[int, int]:
    if row is None:
        return 0, 0
    total, left = row.totals.total, row.totals.parts[ABANDONED]
    return (total[COST], left[COST]) if is_money else (tokens_of(total), tokens_of(left))


def _cell(whole: int, abandoned: int, highest: int, height: int, lines: int) -> tuple[str, str]:
    """Return one cell of a bar of the chart: the cell `height` cells above the bar's foot."""
    if not highest or not whole:
        return " ", ""
    eighths = max(1, round(whole * lines * 8 / highest)) - height * 8
    if eighths <= 0:
        return " ", ""
    if abandoned * lines * 2 > highest * (height * 2 + 1):
        return _ABANDONED, "warning"
    return _EIGHTHS[min(eighths, 8)], "accent"


def table_head(width: int, by: str) -> Line:
    """Return the line with the column titles of the statistics table."""
    return _columns(["cost", "tokens", "kept", "abandoned", "subagents"], by, width, ["dim"] * 5, "dim")


def table_row(row: UsageRow, name: str, width: int, most: int) -> Line:
    """Return a row of the statistics table; the abandoned cost is highlighted if it exceeds a quarter of the total."""
    total, parts = row.totals.total, row.totals.parts
    cells = [cents(total), tokens(tokens_of(total)), *[cents(part) if part[REQUESTS] else "" for part in parts]]
    left = parts[ABANDONED][COST] * 4 > total[COST] > 0
    roles = ["", "dim", "dim", "warning" if left else "dim", "dim"]
    whole = _gauge_cells(width) * 8
    share = min(whole, round(whole * total[COST] / most)) if most else 0
    gauge = "█" * (share // 8) + _LEFT_EIGHTHS[share % 8].strip()
    return _columns([*cells[:4], cells[5]], clean(name), width, roles, "", gauge)


def _columns(
    cells: Sequence[str], name: str, width: int, roles: Sequence[str], name_roles: str, gauge: str = ""
) -> Line:
    """Return a line of the statistics table: right-aligned columns, a bar, and a name; narrow lines omit columns."""
    room = 2 if width < 60 else 3 if width < 76 else 4 if width < 90 else 5
    wanted = (0, 3) if room == 2 else (0, 1, 3) if room == 3 else tuple(range(room))
    line: Line = []
    for number in wanted:
        line += [right_aligned(cells[number], roles[number], 11 if number != 1 else 7), ("  ", "")]
    if gauge_cells := _gauge_cells(width):
        line += [*pad([(gauge, "accent")], gauge_cells), ("  ", "")]
    left = max(0, width - line_width(line))
    if name.startswith(("/", "~")):
        name = cut_left(name, left)
    return fit([*line, (name, name_roles)], width)


def _gauge_cells(width: int) -> int:
    """Return the width in cells of the bar in each row of the statistics table; 0 on a narrow screen."""
    return 0 if width < 100 else 8 if width < 150 else 24
