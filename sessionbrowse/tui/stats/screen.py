"""The statistics screen: total cost of sessions, a chart over time, and tables; the spans of time to choose from.

Each request to a model is counted once, even if several files contain copies of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial, partialmethod

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.strip import Strip

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.usage.request import ALL_TIME, COST, Span
from sessionbrowse.services.background.search_messages import FindPaths, FoundPaths, Refresh, SearchAnswer, SearchStatus
from sessionbrowse.services.usage.question import UsageAnswer, UsageQuestion
from sessionbrowse.services.usage.stats import ABANDONED_FIRST, name_of
from sessionbrowse.services.usage.usage_listing import UsageRow
from sessionbrowse.text import clean, plural, shorten_home
from sessionbrowse.tui.commands.command import STATS, CommandContext
from sessionbrowse.tui.data.jobs import Outcome
from sessionbrowse.tui.data.library import after
from sessionbrowse.tui.data.source import SessionUpdates
from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.shell.paned_screen import Delayed
from sessionbrowse.tui.stats.chart import chart, table_head, table_row, total_line
from sessionbrowse.tui.widgets.filter_line import FilterLine
from sessionbrowse.tui.widgets.row_list import RowList
from sessionbrowse.tui.widgets.span_view import Bar, KeyBar, SpanView

ALL = "all time"
TIMES = (ALL, "last 30 days", "last 7 days", "this month", "last month", "this week", "last week", "today")
"""The names of the spans of time, in the order in which keys go through them."""


def span_named(name: str, now_ms: float) -> Span:
    """Return the span of time that `name` means at the time `now_ms`, in local time; weeks begin on Monday."""
    if name == ALL:
        return ALL_TIME
    today = datetime.fromtimestamp(now_ms / 1000).replace(hour=0, minute=0, second=0, microsecond=0)
    if name == "today":
        begin, end = today, today + timedelta(days=1)
    elif name.endswith("days"):
        begin, end = today - timedelta(days=int(name.split()[1]) - 1), today + timedelta(days=1)
    elif name.endswith("week"):
        begin = today - timedelta(days=today.weekday())
        end = begin + timedelta(days=7)
        if name == "last week":
            begin, end = begin - timedelta(days=7), begin
    else:
        begin = today.replace(day=1)
        end = (begin + timedelta(days=32)).replace(day=1)
        if name == "last month":
            begin, end = (begin - timedelta(days=1)).replace(day=1), begin
    return Span(begin.timestamp() * 1000, end.timestamp() * 1000)


TABLES = ("project", "session", "model", "family", "branch", "agent", "provider")
PERIODS = ("day", "week", "month")
ORDERS = ("cost", ABANDONED_FIRST, "tokens", "time", "name")
REFRESH_SECONDS = 0.05
"""Seconds to wait after a change of a session file before computing the costs again, in case more changes follow."""


class StatsLines(SpanView, can_focus=False):
    """A widget whose lines are computed by a function of the widget's width and height."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._make: Callable[[int, int], Sequence[Line]] = lambda width, height: []

    def show(self, make: Callable[[int, int], Sequence[Line]]) -> None:
        """Show the lines that `make` returns for the widget's width and height."""
        self._make = make
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one row of the screen."""
        lines = self._make(*self.size)
        return self.paint(lines[y] if y < len(lines) else [], self.size.width)


class StatsScreen(CommandScreen[None]):
    """The statistics screen, with a table of costs; opening a row, such as a project, shows the project's sessions.

    `project` contains the directories of the project to which the user can limit the costs; None without one.
    `text` is a query of the search, to whose sessions the statistics are limited.
    """

    CONTEXTS = (STATS,)
    ENTER = "stats_open"

    def __init__(self, question: UsageQuestion, *, project: tuple[str, ...] | None = None, text: str = "") -> None:
        super().__init__(name="stats")
        self._questions = [question]
        self._project = project
        self._text = self._given = text
        self._found: FoundPaths | None = None
        self._stamp = 0
        self._was_reading = False
        self.times = ALL
        """The name of the span of time to which the costs are limited."""
        self._answer: UsageAnswer | None = None
        self._problem: str | None = None
        self._rows: list[UsageRow] = []
        self._recount = Delayed(self, self._find_again)
        self._is_counting = self._is_outdated = self._opens_next = False
        self._asked = question
        self._asked_at = 0.0

    def compose(self) -> ComposeResult:
        """Make the widgets: top bar, total, chart, table, filter line and footer."""
        yield Bar(id="header")
        yield StatsLines(id="stats-parts")
        yield StatsLines(id="stats-chart")
        yield StatsLines(id="stats-head")
        yield RowList(self._render_row, id="stats-rows", classes="pane")
        yield FilterLine(id="filter")
        yield KeyBar(id="footer")

    @property
    def rows_list(self) -> RowList:
        """The widget that shows the table."""
        return self.query_one("#stats-rows", RowList)

    @property
    def question(self) -> UsageQuestion:
        """The choice of costs shown: the filters, the kind of table (by project, by model …), the sort order."""
        return self._questions[-1]

    def on_mount(self) -> None:
        """Compute the costs in the background and show them."""
        self.set_focus(self.rows_list)
        self.browser.search_client.listen(self._receive)
        self._find()

    def on_unmount(self) -> None:
        """Stop listening to the search program."""
        super().on_unmount()
        self.browser.search_client.forget(self._receive)

    def moving(self) -> RowList:
        """Return the table: movement keys act on the table, also while the user types a filter."""
        return self.rows_list

    def command_context(self) -> CommandContext:
        """Return the state of the screen that decides which commands are available."""
        has_scopes = self._project is not None or self.question.cwds is not None
        return CommandContext(has_rows=bool(self._rows), has_scopes=has_scopes)

    def text_changed(self, text: str) -> None:
        """Apply the filter after each typed letter, and compute the costs of the matching sessions."""
        if text != self._text:
            self._text = text
            self.rows_list.go_first()
            self._find()

    def sessions_changed(self, updates: SessionUpdates) -> None:
        """Compute the costs again after a short delay, because sessions changed."""
        # Let a running computation finish: if sessions change all the time, restarting it would never show a result.
        if self._is_counting:
            self._is_outdated = True
        else:
            self._recount.start(REFRESH_SECONDS)

    # -- the filter ----------------------------------------------------------------------------------------------

    def _find_again(self) -> None:
        """Apply the filter again, because new sessions may match it, and compute the costs."""
        if self._text.strip():
            self.browser.search_client.send(Refresh())
        self._find()

    def _find(self) -> None:
        """Ask the search program for the sessions that match the filter; without a filter, compute the costs of all."""
        client = self.browser.search_client
        self._stamp = client.stamp()
        if not self._text.strip():
            self._receive_paths(FoundPaths(self._stamp))
        elif client.start():
            client.send(FindPaths(self._stamp, self._text))
        else:
            self._receive_paths(FoundPaths(self._stamp, problem="The sessions cannot be searched."))

    do_stats_again = _find

    def _receive(self, answer: SearchAnswer | None) -> None:
        self.call_later(self._receive_answer, answer)

    def _receive_answer(self, answer: SearchAnswer | None) -> None:
        if isinstance(answer, FoundPaths) and answer.stamp == self._stamp:
            self._receive_paths(answer)
        elif isinstance(answer, SearchStatus):
            if self._was_reading and not answer.reading and self._text.strip():
                self._find()
            self._was_reading = answer.reading

    def _receive_paths(self, found: FoundPaths) -> None:
        """Compute the costs of the sessions that match the filter."""
        self._found = found
        paths = tuple(found.paths) if self._text.strip() else None
        self._questions = [replace(question, paths=paths) for question in self._questions]
        line = self.query_one(FilterLine)
        if line.display:
            if found.problem is not None:
                line.say([(found.problem, "error")])
            else:
                line.say([] if paths is None else [(plural(len(paths), "match", "matches"), "dim")])
        self._ask()

    @property
    def busy(self) -> bool:
        """True during background work, or while the search program looks for the sessions of the filter."""
        client, is_asked = self.browser.search_client, self._found is None or self._found.stamp != self._stamp
        is_reading = client.status is None or client.status.reading
        return super().busy or (client.is_running and bool(self._text.strip()) and (is_asked or is_reading))

    # -- asking --------------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        self._is_outdated = self._opens_next = False
        span = span_named(self.times, self.browser.now_ms())
        count = self.browser.source.count_usage
        self._asked = question = replace(self.question, since=span.since, until=span.until)
        if count is None:
            self._problem = "The costs of the sessions cannot be computed."
        else:
            self._is_counting, self._asked_at = True, time.monotonic()
            lane = self.lane("stats", self._receive_usage)
            self.expect(lane)
            lane.ask(lambda _: count(question))
        self._show()

    def _receive_usage(self, outcome: Outcome) -> None:
        self._is_counting = False
        if outcome.error is not None:
            self._problem = outcome.sentence
        elif outcome.value is not None:
            self._problem, self._answer = None, outcome.value
        self._show()
        opens, self._opens_next = self._opens_next and self.is_top and outcome.error is None, False
        if opens:
            self.row_entered()
        if self._is_outdated:
            # Wait as long as the last computation took, so that at most half of the time is spent on computing.
            self._recount.start(max(REFRESH_SECONDS, time.monotonic() - self._asked_at))

    def _show(self) -> None:
        found = self._answer
        self._rows = found.table.rows if found is not None else []
        if found is not None:
            rows, period = found.chart.rows, found.question.period
            self.query_one("#stats-chart", StatsLines).show(lambda width, height: chart(rows, period, width, height))
        self.rows_list.set_rows([row.key for row in self._rows], empty=self._empty_sentence())
        self._show_bars()
        self.update_footer()

    def _empty_sentence(self) -> str:
        if self._problem is not None:
            return f"{self._problem} {self.browser.keys.key_of('stats_again')} tries again."
        return "Counting …" if self._answer is None else "No sessions with recorded tokens or cost."

    def _show_bars(self) -> None:
        question, found = self.question, self._answer
        left: Line = [("Cost", "title"), (f"  {clean(self._place())}", "dim")]
        right: Line = [("counting …  ", "accent")] if self._is_counting else []
        right += [(f"per {question.period}, by {question.by}, {question.sort} first", "dim")]
        self.query_one("#header", Bar).show(left, right)
        times = f"in found sessions, {self.times}" if self._text.strip() else self.times
        if found is not None:
            totals, parts = found.table.total, self.query_one("#stats-parts", StatsLines)
            parts.show(lambda width, _: [[(" ", ""), *total_line(totals, max(0, width - 2), times)]])
        rows, head = self.rows_list, self.query_one("#stats-head", StatsLines)
        head.show(lambda *_: [[("   ", ""), *table_head(max(1, rows.room - 2), question.by)]])

    def _place(self) -> str:
        """Return the top bar's text about the counted sessions: time, directory, filter, agent, model or provider."""
        question = self.question
        cwds = question.cwds
        # The time comes first, because a narrow bar cuts the end of the text.
        words = [] if self.times == ALL else [self.times]
        words.append(shorten_home(cwds[0], self.browser.home) or "(no directory)" if cwds else "all sessions")
        if self._text.strip():
            words.append(f'"{clean(self._text)}"')
        if question.agent is not None:
            words.append(question.agent)
        if question.only is not None:
            words.append(question.only[1] or f"(unknown {question.only[0]})")
        return " · ".join(words)

    def _render_row(self, index: int, width: int) -> Line:
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
        """Open the row under the cursor: the sessions of a project, agent, model or provider, or a session's tree."""
        answer = self._answer
        if answer is None or (self._is_counting and answer.question != self._asked):
            self._opens_next = True  # The rows still answer an earlier question: open the row under the cursor later.
            return
        row, by = self._rows[self.rows_list.cursor], answer.table.by
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
        """Go back to the table from which the shown one was opened; then clear a search typed here; then leave."""
        if len(self._questions) > 1:
            self._questions.pop()
            self._ask()
        elif self._text != self._given:
            self.text_changed(self._given)
        else:
            self.dismiss(None)

    def do_scope(self) -> None:
        """Switch between the statistics of one project and of all projects."""
        self.rows_list.go_first()
        self._change(cwds=self._project if self.question.cwds is None else None)

    def do_filter(self) -> None:
        """Open the filter line, in which the user types words that limit the statistics to matching sessions."""
        self.query_one(FilterLine).open("/", self._text, 'words "a phrase" after:7d agent: project: …', replacing=True)

    def do_accept_filter(self) -> None:
        """Keep the filter, close the filter line, and focus the table."""
        self.set_focus(self.rows_list)
        self.query_one(FilterLine).close()

    def do_clear_filter(self) -> None:
        """Clear the filter, so that the statistics include all sessions again."""
        self.do_accept_filter()
        self.text_changed("")

    def do_stats_table(self) -> None:
        """Ask how to group the rows: by project, session, model, family, branch, agent or provider."""
        self._ask_one_of("Table", TABLES, self.question.by, lambda name: self._change(by=name))

    def do_stats_period(self) -> None:
        """Ask whether a bar of the chart is a day, a week or a month."""
        self._ask_one_of("Bars of the chart", PERIODS, self.question.period, lambda name: self._change(period=name))

    def do_stats_times(self) -> None:
        """Ask for the span of time to which the costs are limited, such as "this month" or "today"."""
        self._ask_one_of("Span", TIMES, self.times, self.limit)

    def _step_span(self, step: int) -> None:
        """Show only costs from the next or previous span of time in `TIMES`."""
        self.limit(after(TIMES[::step], self.times))

    do_stats_next_span = partialmethod(_step_span, 1)
    do_stats_previous_span = partialmethod(_step_span, -1)

    def limit(self, times: str) -> None:
        """Show only costs from a span of time; `times` is its name in `TIMES`."""
        self.times = times
        self.rows_list.go_first()
        self._ask()

    def do_stats_sort(self) -> None:
        """Switch to the next sort order of the table: by cost, abandoned cost, tokens, time or name."""
        self._change(sort=after(ORDERS, self.question.sort))

    def _ask_one_of(self, title: str, names: Sequence[str], now: str, use: Callable[[str], None]) -> None:
        from sessionbrowse.tui.dialogs.dialogs import Choice, ask

        choices = [Choice(name, name, "shown now" if name == now else "", do=partial(use, name)) for name in names]
        ask(self.browser, title, [], choices)

    def _go(self, **changes: object) -> None:
        self._questions.append(replace(self.question, **changes))
        self.rows_list.go_first()
        self._ask()

    def _change(self, **changes: object) -> None:
        self._questions[-1] = replace(self.question, **changes)
        self._ask()


def do_cost(screen: BrowseScreen) -> None:
    """Open the costs of the listed project, or of all projects, for the sessions that the list's search found."""
    state, library = screen.state, screen.state.library
    shown = state.shown_project
    project = shown if shown is not None else state.other_project(screen.subject)
    # A project's row contains several directories if it is a repository, or if the directory has several spellings.
    directories = tuple([cwd for cwd in library.directories() if library.project_of(cwd) == project])
    cwds = None if project is None else directories or (project,)
    question = UsageQuestion(cwds=None if shown is None else cwds)
    screen.browser.push_screen(StatsScreen(question, project=cwds, text=state.searched))
