"""The base class of the search and checkpoints screens: a list of entries of many sessions, with a preview."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message
from textual.timer import Timer

from sessionbrowse.errors import NoSuchEntry
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.search_messages import SearchAnswer
from sessionbrowse.tui.commands.command import CommandContext
from sessionbrowse.tui.commands.table import BY_ID
from sessionbrowse.tui.data.jobs import Job, Outcome
from sessionbrowse.tui.layout.parts import Part, PreviewDocument
from sessionbrowse.tui.lists.rows import ListStyle
from sessionbrowse.tui.paint.words import one_line
from sessionbrowse.tui.reading.documents import conversation, entry_document, summary_parts
from sessionbrowse.tui.reading.find_entry import ENTRY_IS_GONE, find_again
from sessionbrowse.tui.search.hit_rows import place_line
from sessionbrowse.tui.shell.browser import FoundEntry
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.shell.match_spans import MatchMarks
from sessionbrowse.tui.widgets.bars import Bar, KeyBar
from sessionbrowse.tui.widgets.filter_line import FilterLine
from sessionbrowse.tui.widgets.row_list import RowList, RowState
from sessionbrowse.tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from sessionbrowse.tui.data.source import SessionUpdates
    from sessionbrowse.tui.paint.spans import Line

PREVIEW_DELAY = 0.12
"""Seconds after the last cursor move or typed letter before the preview reads the session under the cursor."""

ANSWER_FRAME_SECONDS = 0.002
"""Seconds to wait before painting an answer of the search, so that the next answers are painted in the same frame."""

REFRESH_SECONDS = 0.5
"""Seconds to wait after a change of a session file before repeating the search, in case more changes follow."""


class ResultsScreen(CommandScreen[None]):
    """The base class of screens with a query line, a list of found entries, and a preview."""

    class Answered(Message):
        """Textual message: the background search process has sent `answer`, or has ended (None)."""

        def __init__(self, answer: SearchAnswer | None) -> None:
            super().__init__()
            self.answer = answer

    def __init__(self, *, name: str) -> None:
        super().__init__(name=name)
        self._preview_timer: Timer | None = None
        self._preview_due = False
        self._previewed: tuple[object, str] | None = None
        self._waiting_for: tuple[object, str] | None = None
        self._paint_due = False
        self._refresh_due = False
        self.was_shown = False
        self.query_text = ""
        self.searched = ""
        """The query as searched, after the replacement of misspelt words; the preview highlights its matches."""
        self._problem: str | None = None
        self._stamp = 0
        self._sessions: dict[str, Summary] = {}
        self._ended = False

    def compose(self) -> ComposeResult:
        """Make the widgets: top bar, query line, list of entries, preview and footer."""
        yield Bar(id="header")
        yield FilterLine(id="filter")
        with Container(id="found"):
            yield RowList(self._render_row, id="found-rows", classes="pane")
            yield TextView(id="found-view", classes="pane", empty="")
        yield Bar(id="found-place")
        yield KeyBar(id="footer")

    @property
    def rows_list(self) -> RowList:
        """The widget that lists the entries that were found."""
        return self.query_one("#found-rows", RowList)

    @property
    def text_view(self) -> TextView:
        """The widget that shows the entry under the cursor as a preview."""
        return self.query_one("#found-view", TextView)

    @property
    def line(self) -> FilterLine:
        """The text field in which the query is typed."""
        return self.query_one(FilterLine)

    @cached_property
    def _marks(self) -> MatchMarks:
        return MatchMarks(self, "marks", self.text_view.marks_changed)

    # -- what each screen defines -------------------------------------------------------------------------------

    @property
    @abstractmethod
    def found_entry(self) -> FoundEntry | None:
        """The found entry under the cursor; None if the row has no entry, or the list is empty."""

    @property
    def subject(self) -> Summary | None:
        """The session that contains the entry under the cursor; None if there is no such entry."""
        return self.found_entry.summary if self.found_entry is not None else None

    @abstractmethod
    def refresh_search(self) -> None:
        """Make the background search process scan the disk again, and show the changed results."""

    def sessions_changed(self, updates: SessionUpdates) -> None:
        """Refresh the results after a short delay, because sessions changed on disk, if this is the topmost screen."""
        if self.is_top and not self._refresh_due:
            self._refresh_due = True
            self.set_timer(REFRESH_SECONDS, self._refresh_if_on_top)

    def _refresh_if_on_top(self) -> None:
        self._refresh_due = False
        status = self.browser.search_client.status
        # Do not refresh without an index, because a refresh would read every session file.
        if self.is_top and status is not None and status.has_index:
            self.refresh_search()

    def reload(self) -> None:
        """Scan the disk again, then repeat the search."""
        self.give(BY_ID["search_again"])

    @abstractmethod
    def _render_row(self, index: int, width: int, state: RowState) -> Line:
        """Return the row at `index` in the list of results as spans (pieces of styled text)."""

    @abstractmethod
    def take_answer(self, answer: SearchAnswer | None) -> None:
        """Show an answer of the background search process; None means that the process has ended."""

    def command_context(self) -> CommandContext:
        """Return the state of the screen that decides which commands are enabled."""
        return CommandContext(has_rows=self.rows_list.count > 0, has_session=self.found_entry is not None)

    def moving(self) -> RowList | TextView | None:
        """Return the pane that movement keys act on: the focused preview, else (also during typing) the list."""
        return self.text_view if self.focused is self.text_view else self.rows_list

    def style(self) -> ListStyle:
        """Return the display options for times and paths in the result rows."""
        browser = self.browser
        return ListStyle(now_ms=browser.now_ms(), home=browser.home, dates=browser.options.settings.date_style)

    # -- the search ---------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Show the preview pane, and start to receive the answers of the background search process."""
        self.add_class("-preview-shown")
        self.browser.search_client.listen(lambda answer: self.post_message(self.Answered(answer)))

    def on_resize(self) -> None:
        """Show the entry under the cursor in the preview, which may become visible on a wider screen."""
        self.call_after_refresh(self.show_preview)

    @on(Answered)
    def _answered(self, message: Answered) -> None:
        message.stop()
        self.take_answer(message.answer)
        if not self._paint_due:
            self._paint_due = True
            self.set_timer(ANSWER_FRAME_SECONDS, self._paint_answer)

    def _paint_answer(self) -> None:
        # Textual paints at fixed intervals, and has just painted the typed letter: do not wait for its next frame.
        self._paint_due = False
        self.paint_now()

    # -- the preview --------------------------------------------------------------------------------------------

    @on(RowList.Highlighted, "#found-rows")
    def _highlighted(self, event: RowList.Highlighted) -> None:
        event.stop()
        self.show_preview()
        self.update_footer()

    @on(RowList.Entered)
    def _entered(self, event: RowList.Entered) -> None:
        event.stop()
        self.do_open_found()

    def show_preview(self, rested: float = 0.0) -> None:
        """Show the entry under the cursor in the preview after `PREVIEW_DELAY` seconds without another cursor move.

        `rested` is the part of the delay, in seconds, that has already passed.
        """
        found = self.found_entry
        self.query_one("#found-place", Bar).show(self.bottom_line())
        wanted = (_identity(found), self.query_text) if found is not None else None
        if wanted == self._previewed or (self._preview_due and wanted == self._waiting_for):
            # The entry under the cursor is unchanged; new results in other rows must not delay the preview.
            return
        if self._preview_timer is not None:
            self._preview_timer.stop()
        self._preview_due = False
        self.lane("preview", self._take_preview).cancel()
        if found is None:
            self._previewed = None
            self.text_view.show([], empty="")
        elif self.text_view.display:
            self._preview_due, self._waiting_for = True, wanted
            self._preview_timer = self.set_timer(max(0.0, PREVIEW_DELAY - rested), self._load_preview)

    def bottom_line(self) -> Line:
        """Return the line below the list: agent, session, folder and role of the entry under the cursor."""
        found = self.found_entry
        return place_line(found.summary, found.role, found.state, self.style()) if found is not None else []

    def _load_preview(self) -> None:
        self._preview_due = False
        found = self.found_entry
        if found is None:
            return
        query = self.searched
        self._previewed = (_identity(found), self.query_text)
        browser = self.browser
        now_ms, home = browser.now_ms(), browser.home

        def load(job: Job) -> PreviewDocument:
            session = browser.open_session(found.summary.path, found.summary.agent)
            index = find_again(session, found.index, found.entry_id)
            parts: list[Part]
            if index is None and found.index is not None:
                raise NoSuchEntry(ENTRY_IS_GONE)
            if index is None:
                parts = [*summary_parts(found.summary, home, now_ms), *conversation(session, found.summary)]
                return PreviewDocument(parts)
            parts = entry_document(session, index, now_ms)
            return PreviewDocument(parts, query)

        self.lane("preview", self._take_preview).ask(load)

    def _take_preview(self, outcome: Outcome) -> None:
        """Show in the preview the entry that a background job has read, scrolled to the first match of the query."""
        if outcome.error is not None:
            self.text_view.show([], empty=one_line(outcome.sentence))
            return
        shown: PreviewDocument = outcome.value
        self.text_view.show(shown.parts, marks=self._marks.of(shown.query))

    @property
    def busy(self) -> bool:
        """True during background work, during the delay before a preview, and until the screen is first shown."""
        return super().busy or self._preview_due or not self.was_shown

    # -- commands -----------------------------------------------------------------------------------------------

    def do_open_found(self) -> None:
        """Open the session's tree at the entry under the cursor; in `sessionbrowse pick`, choose the entry."""
        found = self.found_entry
        if found is not None:
            self.browser.show_session(found.summary, found.index, found.entry_id, self.searched)

    def do_browse(self) -> None:
        """Open the session's tree at the entry under the cursor, even in `sessionbrowse pick`."""
        found = self.found_entry
        if found is not None:
            self.browser.open_tree(found.summary, found.index, found.entry_id, self.searched)

    def do_leave_found(self) -> None:
        """Go back to the previous screen."""
        self.app.pop_screen()

    def do_found_line(self) -> None:
        """Focus the query line."""
        self.set_focus(self.line.input)

    def select_line(self) -> None:
        """Focus the query line and select its text, so that the next typed letter starts a new query."""
        self.set_focus(self.line.input)
        self.line.input.select_all()

    def do_found_rows(self) -> None:
        """Focus the list of the entries that were found."""
        self.set_focus(self.rows_list)

    def do_pane_left(self) -> None:
        """Focus the list of the entries that were found."""
        self.do_found_rows()

    def do_found_view(self) -> None:
        """Focus the preview of the entry under the cursor."""
        self.set_preview(True)
        self.set_focus(self.text_view)

    def do_found_preview(self) -> None:
        """Show the preview pane, or hide it if it is shown."""
        self.set_preview(not self.has_class("-preview-shown"))

    def set_preview(self, shown: bool) -> None:
        """Show or hide the preview pane."""
        self.set_class(shown, "-preview-shown")
        if shown:
            self._previewed = None
            self.call_after_refresh(self.show_preview)
        elif self.focused is self.text_view:
            self.set_focus(self.rows_list)

    def do_copy(self) -> None:
        """Copy the text of the entry in the preview to the clipboard."""
        if self.text_view.has_parts:
            self.browser.copy(self.text_view.plain(), "the previewed entry")

    def focus_changed(self) -> None:
        """Set a CSS class if the preview is focused, because a narrow screen shows only one pane."""
        at_view = self.focused is self.text_view
        changed = self.has_class("-at-view") != at_view
        self.set_class(at_view, "-at-view")
        if at_view and changed:
            # On a narrow screen the preview is visible only while it is focused, so it may not show the entry yet.
            self.call_after_refresh(self.show_preview)
        super().focus_changed()


def _identity(found: FoundEntry) -> object:
    return found.summary.path, found.index
