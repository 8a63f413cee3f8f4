"""The base class of the doctor, clean-up and review screens: a list of findings with marks, and a details pane."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from textual import on
from textual.app import ComposeResult

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.transaction.change_context import Progress
from sessionbrowse.text import clean, plural, shorten_home, size
from sessionbrowse.tui.commands.command import CommandContext
from sessionbrowse.tui.data.jobs import Job, Outcome, at_most_every
from sessionbrowse.tui.layout.parts import FittedPart, Part
from sessionbrowse.tui.lists.rows import progress_bar
from sessionbrowse.tui.paint.spans import Line, cut_left
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.row_list import RowList
from sessionbrowse.tui.widgets.span_view import Bar, KeyBar
from sessionbrowse.tui.widgets.text_view import TextView

F = TypeVar("F")
Look = Callable[[Job, Progress, list[F]], Sequence[F]]
"""A search for findings; while it runs, it may add findings to the list, which are shown with the progress."""
REPORT_STEP_S = 0.1
"""Minimum seconds between two reports of a search that are shown."""


class FindingsScreen(CommandScreen[None], Generic[F]):
    """A screen that lists findings about sessions; commands act on marked findings or the one under the cursor."""

    HEADING = ""

    def __init__(self, findings: Sequence[F], *, name: str) -> None:
        super().__init__(name=name)
        self.findings, self.place = list(findings), name
        self._read: tuple[int, int] | None = None
        """Numbers of read and of all sessions while a search for findings runs; None if none runs."""

    def compose(self) -> ComposeResult:
        """Make the widgets: header, list of findings, details of the finding under the cursor, footer."""
        yield Bar(id="header")
        yield RowList(self._render_row, id="findings", classes="pane")
        yield TextView(id="finding", classes="pane")
        yield KeyBar(id="footer")

    @property
    def sessions_list(self) -> RowList:
        """The widget that lists the findings."""
        return self.query_one("#findings", RowList)

    # -- what each screen defines -------------------------------------------------------------------------------

    @abstractmethod
    def key_of(self, finding: F) -> Hashable:
        """Return a key that identifies a finding in the list."""

    @abstractmethod
    def session_of(self, finding: F) -> Summary:
        """Return the summary of the session that a finding is about."""

    @abstractmethod
    def row_of(self, finding: F, width: int) -> Line:
        """Return the screen row of a finding, `width` cells wide."""

    @abstractmethod
    def parts_of(self, finding: F) -> Sequence[Part]:
        """Return the details of a finding, for the pane below the list."""

    @property
    def nothing(self) -> str:
        """The sentence that the list shows if there are no findings."""
        return ""

    def amount(self, sessions: Sequence[Summary]) -> str:
        """Return the total for the header: the number of sessions and their size."""
        return f"{plural(len(sessions), 'session')}, {size(sum(one.bytes for one in sessions))}"

    def selected_words(self) -> Line:
        """Return the number and the size of the selected sessions, for the right end of the header."""
        if not self.sessions_list.marks:
            return []
        chosen = size(sum(one.bytes for one in self.chosen))
        return [(f"{plural(len(self.chosen), 'session')} selected, {chosen}", "accent")]

    def path_part(self, path: str, before: str = "") -> Part:
        """Return a line that shows a path; a long path loses its beginning, so that the file name is visible."""
        shown = clean(shorten_home(path, self.browser.home))
        return FittedPart(lambda width: [(before, "dim"), (cut_left(shown, max(1, width - len(before))), "dim")])

    # -- the state for commands ---------------------------------------------------------------------------------

    @property
    def finding(self) -> F | None:
        """The finding under the cursor; None if the list is empty."""
        cursor = self.sessions_list.cursor
        return self.findings[cursor] if cursor < len(self.findings) else None

    @property
    def chosen_findings(self) -> list[F]:
        """The marked findings; without marks, the finding under the cursor."""
        marks = self.sessions_list.marks
        marked = [one for one in self.findings if self.key_of(one) in marks]
        return marked or ([self.finding] if self.finding is not None else [])

    @property
    def chosen(self) -> Sequence[Summary]:
        """The sessions of the marked findings, or of the finding under the cursor, without duplicates."""
        return self.sessions_of(self.chosen_findings)

    def sessions_of(self, findings: Iterable[F]) -> list[Summary]:
        """Return the sessions of findings, each once."""
        return list({one.path: one for one in map(self.session_of, findings)}.values())

    @property
    def subject(self) -> Summary | None:
        """The session of the finding under the cursor."""
        return self.session_of(self.finding) if self.finding is not None else None

    def command_context(self) -> CommandContext:
        """Return the screen's state, from which each command decides whether it is available."""
        has_rows = bool(self.findings)
        return CommandContext(has_rows=has_rows, has_session=has_rows, has_project=bool(self.project))

    # -- the rows -----------------------------------------------------------------------------------------------

    # Textual calls this after the `on_mount` of the derived class.
    def on_mount(self) -> None:
        """Focus the list and show the findings."""
        self.set_focus(self.sessions_list)
        self.show_findings(self.findings)

    def show_findings(self, findings: Sequence[F]) -> None:
        """Replace the findings in the list; marked findings stay marked if the new list contains them."""
        self.findings = list(findings)
        rows = self.sessions_list
        keys = [self.key_of(one) for one in self.findings]
        rows.marks &= set(keys)
        rows.set_rows(keys, empty=self.nothing if self._read is None else "Reading sessions …")
        self._show_rest()

    def search(self, look: Look[F]) -> None:
        """Run `look` in the background and list its findings; the header shows how far it is, and Esc stops it."""
        self._read = (0, 0)

        def work(job: Job) -> Sequence[F]:
            found: list[F] = []
            emit = at_most_every(REPORT_STEP_S, lambda done, total, name: job.emit((done, total, list(found))))
            return look(job, emit, found)

        self.lane("findings", self._receive_findings).ask(work)
        self.show_findings(self.findings)

    def _receive_findings(self, outcome: Outcome) -> None:
        found = outcome.value
        self._read = None
        if outcome.error is not None:
            self.browser.say(outcome.sentence, "error")
        elif not outcome.last:
            self._read, found = outcome.value[:2], outcome.value[2] or None
        self.show_findings(self.findings if found is None else found)

    @on(RowList.Highlighted, "#findings")
    @on(RowList.Marked)
    def _moved(self, event: RowList.Highlighted | RowList.Marked) -> None:
        event.stop()
        self._show_rest()

    def _show_rest(self) -> None:
        finding = self.finding
        self.query_one("#finding", TextView).show(self.parts_of(finding) if finding is not None else [])
        amount = self.amount(self.sessions_of(self.findings))
        left: Line = [(self.HEADING, "title"), (f"  {amount}", "dim")]
        right = self.selected_words() if self._read is None else progress_bar(*self._read)
        self.query_one("#header", Bar).show(left, right)
        self.update_footer()

    def _render_row(self, index: int, width: int) -> Line:
        return self.row_of(self.findings[index], width)

    # -- commands -----------------------------------------------------------------------------------------------

    def do_open(self) -> None:
        """Open the session of the finding under the cursor, at the damaged entry if there is one."""
        if self.subject is not None:
            self.browser.open_tree(self.subject, entry_id=self.entry_id)

    def do_back(self) -> None:
        """Remove all marks; if no finding is marked, close the screen."""
        if self.sessions_list.marks:
            self.sessions_list.clear_marks()
        else:
            self.dismiss(None)
