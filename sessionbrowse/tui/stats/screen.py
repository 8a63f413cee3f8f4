"""The statistics screen: total, trend and tables of what the sessions cost, each request counted once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.strip import Strip

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.usage.sums import COST
from sessionbrowse.services.usage.question import UsageAnswer, UsageQuestion
from sessionbrowse.services.usage.stats import ABANDONED_FIRST
from sessionbrowse.services.usage.stats_document import name_of
from sessionbrowse.services.usage.usage_listing import UsageRow
from sessionbrowse.text import clean, plural, shorten_home
from sessionbrowse.tui.commands.command import CommandContext
from sessionbrowse.tui.commands.contexts import STATS
from sessionbrowse.tui.data.jobs import Outcome
from sessionbrowse.tui.data.library import Filter, parse_filter
from sessionbrowse.tui.data.source import SessionUpdates
from sessionbrowse.tui.lists.state import ListFilter
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.stats.chart import chart, table_head, table_row, total_line
from sessionbrowse.tui.stats.times import ALL, TIMES, span_named
from sessionbrowse.tui.widgets.bars import Bar, KeyBar
from sessionbrowse.tui.widgets.filter_line import FilterLine
from sessionbrowse.tui.widgets.row_list import RowList, RowState
from sessionbrowse.tui.widgets.span_view import SpanView

TABLES = ("project", "session", "model", "family", "branch", "agent", "provider")
PERIODS = ("day", "week", "month")
ORDERS = ("cost", ABANDONED_FIRST, "tokens", "time", "name")
REFRESH_SECONDS = 0.05
"""Seconds to wait after a change on the disk before counting again, in case more changes follow."""


class StatsChart(SpanView, can_focus=False):
    """The chart of the statistics."""

    def __init__(self) -> None:
        super().__init__(id="stats-chart")
        self.answer: UsageAnswer | None = None

    def render_line(self, y: int) -> Strip:
        """Paint a line of the chart."""
        width = self.size.width
        if self.answer is None:
            return self.paint([], width)
        lines = chart(self.answer.chart.rows, self.answer.question.period, width, self.size.height)
        return self.paint(lines[y] if y < len(lines) else [], width)


class StatsLine(SpanView, can_focus=False):
    """A line that depends on the width at which it is painted."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._make: Callable[[int], Line] = lambda _: []

    def show(self, make: Callable[[int], Line]) -> None:
        """Show the line that `make` returns for a width."""
        self._make = make
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint the line, with a margin of a cell on both sides as in bars."""
        width = self.size.width
        return self.paint([(" ", ""), *self._make(max(0, width - 2))], width)


class StatsScreen(CommandScreen[None]):
    """The statistics: a first question, and further ones into which the user went.

    `folder` are the directories between which and all the scope switches; `paths` returns the sessions that match a
    filter, in all directories.
    """

    CONTEXTS = (STATS,)

    def __init__(
        self,
        question: UsageQuestion,
        *,
        folder: tuple[str, ...] | None = None,
        filter: Filter | None = None,
        paths: Callable[[Filter], Sequence[str]] = lambda _: (),
    ) -> None:
        super().__init__(name="stats")
        self._questions = [question]
        self._folder = folder
        self._paths = paths
        self._filters = {"stats": filter or Filter()}
        self._matching = ListFilter(self, self._filters, "stats", self._find)
        self._times = ALL
        self._answer: UsageAnswer | None = None
        self._problem: str | None = None
        self._rows: list[UsageRow] = []
        self._refresh_due = False
        self._is_counting = self._is_outdated = False
        self._asked_at = 0.0

    def compose(self) -> ComposeResult:
        """Lay out bars, chart, table and footer."""
        yield Bar(id="header")
        yield StatsLine(id="stats-parts")
        yield StatsChart()
        yield StatsLine(id="stats-head")
        yield RowList(self._render_row, id="stats-rows", classes="pane")
        yield FilterLine(id="filter")
        yield KeyBar(id="footer")

    @property
    def rows_list(self) -> RowList:
        """The widget that shows the table."""
        return self.query_one("#stats-rows", RowList)

    @property
    def question(self) -> UsageQuestion:
        """The question that the screen shows the answer to."""
        return self._questions[-1]

    def on_mount(self) -> None:
        """Ask for the figures."""
        self.set_focus(self.rows_list)
        self._find()

    def moving(self) -> RowList:
        """Return the table, which the movement keys move while a filter is typed too."""
        return self.rows_list

    def command_context(self) -> CommandContext:
        """Return the state that decides which commands are available."""
        has_folder = self._folder is not None or self.question.cwds is not None
        return CommandContext(has_rows=bool(self._rows), has_folder=has_folder)

    def text_changed(self, text: str) -> None:
        """Apply the filter after each typed letter, and count the sessions that match."""
        if text != self._filter.text:
            self._filters["stats"] = parse_filter(text)
            self.rows_list.go_first()
            self._find()

    def sessions_changed(self, updates: SessionUpdates) -> None:
        """Count again soon."""
        # A new question cancels the one before: sessions that change all the time would never be counted.
        if self._is_counting:
            self._is_outdated = True
        else:
            self._count_after(REFRESH_SECONDS)

    def _count_after(self, seconds: float) -> None:
        if not self._refresh_due:
            self._refresh_due = True
            # Sessions that are new may match the filter.
            self.set_timer(seconds, self._find)

    # -- the filter ----------------------------------------------------------------------------------------------

    @property
    def _filter(self) -> Filter:
        return self._filters["stats"]

    def _find(self) -> None:
        """Find the sessions that match the filter, and count them."""
        paths: tuple[str, ...] | None = None
        if not self._filter.is_empty:
            found = self._matching.rows(self._paths)
            if found is None:
                # The matches of its pattern are still being searched.
                return
            paths = tuple(found)
        self._questions = [replace(question, paths=paths) for question in self._questions]
        line = self.query_one(FilterLine)
        if line.display:
            problem = self._filter.problem
            if problem is not None:
                line.say([(problem, "error")])
            else:
                line.say([] if paths is None else [(plural(len(paths), "match", "matches"), "dim")])
        self._ask()

    # -- asking --------------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        self._refresh_due = self._is_outdated = False
        span = span_named(self._times, self.browser.now_ms())
        count = self.browser.source.count_usage
        question = replace(self.question, since=span.since, until=span.until)
        if count is None:
            self._problem = "Here nothing can be counted."
        else:
            self._is_counting, self._asked_at = True, time.monotonic()
            lane = self.lane("stats", self._take)
            self.expect(lane)
            lane.ask(lambda _: count(question))
        self._show()

    def _take(self, outcome: Outcome) -> None:
        self._is_counting = False
        if outcome.error is not None:
            self._problem = outcome.sentence
        elif outcome.value is not None:
            self._problem, self._answer = None, outcome.value
        self._show()
        if self._is_outdated:
            # Counting may take half of the time.
            self._count_after(max(REFRESH_SECONDS, time.monotonic() - self._asked_at))

    def _show(self) -> None:
        found = self._answer
        self._rows = found.table.rows if found is not None else []
        self.query_one(StatsChart).answer = found
        self.query_one(StatsChart).refresh()
        rows = self.rows_list
        rows.set_rows([row.key for row in self._rows], empty=self._empty_sentence())
        self._show_bars()
        self.update_footer()

    def _empty_sentence(self) -> str:
        if self._problem is not None:
            return f"{self._problem} {self.browser.keys.key_of('stats_again')} tries again."
        return "Counting …" if self._answer is None else "Nothing here has a record of tokens or cost."

    def _show_bars(self) -> None:
        question, found = self.question, self._answer
        left: Line = [("Cost", "title"), (f"  {clean(self._place())}", "dim")]
        right: Line = [("counting …  ", "accent")] if self._is_counting else []
        right += [(f"per {question.period}, by {question.by}, {question.sort} first", "dim")]
        self.query_one("#header", Bar).show(left, right)
        totals = found.table.total if found is not None else None
        self.query_one("#stats-parts", StatsLine).show(lambda width: total_line(totals, width) if totals else [])
        rows = self.rows_list
        head = self.query_one("#stats-head", StatsLine)
        head.show(lambda _: [("  ", ""), *table_head(max(1, rows.room - 2), question.by)])

    def _place(self) -> str:
        """Return the words for what the figures are about."""
        question = self.question
        cwds = question.cwds
        # A narrow bar cuts the end: the time stands first.
        words = [] if self._times == ALL else [self._times]
        words.append(shorten_home(cwds[0], self.browser.home) or "(no directory)" if cwds else "all sessions")
        if not self._filter.is_empty:
            words.append(f'"{clean(self._filter.text)}"')
        if question.agent is not None:
            words.append(question.agent)
        if question.only is not None:
            words.append(question.only[1] or f"(unknown {question.only[0]})")
        return " · ".join(words)

    def _render_row(self, index: int, width: int, state: RowState) -> Line:
        row = self._rows[index]
        most = max((each.totals.total[COST] for each in self._rows), default=0)
        return table_row(row, self._title(row), width, most)

    def _title(self, row: UsageRow) -> str:
        by = self._answer.table.by if self._answer is not None else self.question.by
        if by == "project":
            return shorten_home(str(row.key or ""), self.browser.home) or "(no directory)"
        name = name_of(by, row) or (row.path and shorten_home(row.path, self.browser.home)) or "(unknown)"
        return f"{row.leaf_id}  {name}" if by == "branch" and row.leaf_id else name

    # -- commands ------------------------------------------------------------------------------------------------

    def do_stats_open(self) -> None:
        """Show the sessions of the row under the cursor, or open its session or branch."""
        row, by = self._rows[self.rows_list.cursor], self.question.by
        key = None if row.key is None else str(row.key)
        if by == "project":
            self._go(by="session", cwds=(key or "",))
        elif by == "agent":
            self._go(by="session", agent=key)
        elif by in ("model", "provider"):
            self._go(by="session", only=(by, key))
        elif row.path is not None:
            known = self.browser.library.get(row.path)
            self.browser.show_session(known or Summary(path=row.path, agent=""), entry_id=row.leaf_id)

    def do_stats_back(self) -> None:
        """Go back to the table before, or leave the statistics."""
        if len(self._questions) > 1:
            self._questions.pop()
            self._ask()
        else:
            self.dismiss(None)

    def do_scope(self) -> None:
        """Switch between one folder and all."""
        self.rows_list.go_first()
        self._change(cwds=self._folder if self.question.cwds is None else None)

    def do_filter(self) -> None:
        """Open the filter line, in which words of the wanted sessions are typed."""
        self.query_one(FilterLine).open("/", self._filter.text, 'words, "a phrase", re:pattern', replacing=True)

    def do_accept_filter(self) -> None:
        """Keep the filter, which the title shows, and focus the table."""
        self.set_focus(self.rows_list)
        self.query_one(FilterLine).close()

    def do_clear_filter(self) -> None:
        """Clear the filter, so that all sessions count again."""
        self.do_accept_filter()
        self.text_changed("")

    def do_stats_table(self) -> None:
        """Show the next table."""
        self._change(by=_after(TABLES, self.question.by))

    def do_stats_period(self) -> None:
        """Show a bar for each day, week or month."""
        self._change(period=_after(PERIODS, self.question.period))

    def do_stats_times(self) -> None:
        """Limit the figures to the next span of time."""
        self._times = _after(TIMES, self._times)
        self.rows_list.go_first()
        self._ask()

    def do_stats_sort(self) -> None:
        """Change the order of the table."""
        self._change(sort=_after(ORDERS, self.question.sort))

    def do_stats_again(self) -> None:
        """Count again."""
        self._find()

    def _go(self, **changes: object) -> None:
        self._questions.append(replace(self.question, **changes))
        self.rows_list.go_first()
        self._ask()

    def _change(self, **changes: object) -> None:
        self._questions[-1] = replace(self.question, **changes)
        self._ask()


def _after(names: tuple[str, ...], name: str) -> str:
    return names[(names.index(name) + 1) % len(names)]
