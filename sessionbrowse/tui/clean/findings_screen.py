"""The base of the doctor and the clean-up: a list of findings about sessions, to mark, with the one at the cursor."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from textual import on
from textual.app import ComposeResult

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.text import clean, plural, shorten_home, size
from sessionbrowse.tui.commands.command import CommandContext
from sessionbrowse.tui.layout.parts import FittedPart, Part
from sessionbrowse.tui.paint.spans import Line, cut_left
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.bars import Bar, KeyBar
from sessionbrowse.tui.widgets.row_list import RowList, RowState
from sessionbrowse.tui.widgets.text_view import TextView

F = TypeVar("F")


class FindingsScreen(CommandScreen[None], Generic[F]):
    """A list of findings, each about one session; commands act on the sessions of the marked rows."""

    HEADING = ""
    NOTHING = ""
    """The sentence in place of an empty list."""

    def __init__(self, findings: Sequence[F], *, name: str) -> None:
        super().__init__(name=name)
        self.findings = list(findings)

    def compose(self) -> ComposeResult:
        """Lay out the bar at the top, the list, the finding at the cursor, and the footer."""
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
        """Return the key of a finding's row."""

    @abstractmethod
    def session_of(self, finding: F) -> Summary:
        """Return the session that has the finding."""

    @abstractmethod
    def row_of(self, finding: F, width: int) -> Line:
        """Return a finding's row."""

    @abstractmethod
    def parts_of(self, finding: F) -> Sequence[Part]:
        """Return everything that is known of a finding, for the pane below the list."""

    def amount(self, sessions: Sequence[Summary]) -> str:
        """Return the total for the header: the number of sessions and their size."""
        return f"{plural(len(sessions), 'session')}, {size(sum(one.bytes for one in sessions))}"

    def marked_words(self) -> Line:
        """Return how much is marked, for the right end of the bar at the top."""
        if not self.sessions_list.marks:
            return []
        chosen = size(sum(one.bytes for one in self.chosen))
        return [(f"{plural(len(self.chosen), 'session')} marked, {chosen}", "accent")]

    def path_part(self, path: str, before: str = "") -> Part:
        """Return a line with the end of a path, which names the file."""
        shown = clean(shorten_home(path, self.browser.home))
        return FittedPart(lambda width: [(before, "dim"), (cut_left(shown, max(1, width - len(before))), "dim")])

    # -- the state for commands ---------------------------------------------------------------------------------

    @property
    def finding(self) -> F | None:
        """The finding under the cursor."""
        cursor = self.sessions_list.cursor
        return self.findings[cursor] if cursor < len(self.findings) else None

    @property
    def chosen_findings(self) -> list[F]:
        """The marked findings; without marks the one under the cursor."""
        marks = self.sessions_list.marks
        marked = [one for one in self.findings if self.key_of(one) in marks]
        return marked or ([self.finding] if self.finding is not None else [])

    @property
    def chosen(self) -> Sequence[Summary]:
        """The sessions of the chosen findings, each once."""
        return list({one.path: one for one in map(self.session_of, self.chosen_findings)}.values())

    @property
    def subject(self) -> Summary | None:
        """The session of the finding under the cursor."""
        return self.session_of(self.finding) if self.finding is not None else None

    def command_context(self) -> CommandContext:
        """Return the state that decides which commands are available."""
        has_rows = bool(self.findings)
        return CommandContext(has_rows=has_rows, has_session=has_rows)

    # -- the rows -----------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Show the findings."""
        self.set_focus(self.sessions_list)
        self.show_findings(self.findings)

    def show_findings(self, findings: Sequence[F]) -> None:
        """Replace the findings; marks stay on those that are still there."""
        self.findings = list(findings)
        rows = self.sessions_list
        keys = [self.key_of(one) for one in self.findings]
        rows.marks &= set(keys)
        rows.set_rows(keys, empty=self.NOTHING)
        self._show_rest()

    @on(RowList.Highlighted, "#findings")
    @on(RowList.Marked)
    def _moved(self, event: RowList.Highlighted | RowList.Marked) -> None:
        event.stop()
        self._show_rest()

    @on(RowList.Entered)
    def _entered(self, event: RowList.Entered) -> None:
        event.stop()
        self.do_open()

    def _show_rest(self) -> None:
        finding = self.finding
        self.query_one("#finding", TextView).show(self.parts_of(finding) if finding is not None else [])
        sessions = {one.path: one for one in map(self.session_of, self.findings)}
        left: Line = [(self.HEADING, "title"), (f"  {self.amount(list(sessions.values()))}", "dim")]
        self.query_one("#header", Bar).show(left, self.marked_words())
        self.update_footer()

    def _render_row(self, index: int, width: int, state: RowState) -> Line:
        return self.row_of(self.findings[index], width)

    # -- commands -----------------------------------------------------------------------------------------------

    def do_open(self) -> None:
        """Open the session, at the entry concerned if there is one."""
        if self.subject is not None:
            self.browser.open_tree(self.subject, entry_id=self.entry_id)

    def do_back(self) -> None:
        """Take the marks away; without marks, leave the screen."""
        if self.sessions_list.marks:
            self.sessions_list.clear_marks()
        else:
            self.dismiss(None)
