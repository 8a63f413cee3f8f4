"""The screen of checkpoints: a list of the labels in all sessions, with a filter."""

from __future__ import annotations

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.patterns import is_in
from sessionbrowse.model.search.query import BadSearch, SearchQuery, parse_search
from sessionbrowse.services.background.search_messages import (
    CheckpointPage,
    ListCheckpoints,
    Refresh,
    SearchAnswer,
    SearchStatus,
)
from sessionbrowse.services.search.checkpoints import fits
from sessionbrowse.services.search.hits import Checkpoint
from sessionbrowse.text import clean, plural
from sessionbrowse.tui.commands.command import CommandContext
from sessionbrowse.tui.commands.contexts import CHECKPOINTS, FOUND, RESULTS_VIEW
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.paint.words import one_line
from sessionbrowse.tui.search.hit_rows import checkpoint_row
from sessionbrowse.tui.search.results_screen import ResultsScreen
from sessionbrowse.tui.shell.browser import FoundEntry
from sessionbrowse.tui.shell.pattern_answers import PatternAnswers
from sessionbrowse.tui.widgets.bars import Bar
from sessionbrowse.tui.widgets.row_list import RowState


class CheckpointsScreen(ResultsScreen):
    """The checkpoints screen: a list of the labels in all sessions, and a preview of the labelled entry."""

    def __init__(self) -> None:
        super().__init__(name="checkpoints")
        self._query = SearchQuery()
        self._answers: PatternAnswers | None = None
        self._all: list[Checkpoint] = []
        self._rows: list[Checkpoint] = []
        self._coming: list[Checkpoint] = []
        self._behind: tuple[int, int] | None = None
        self._finished = False
        # True if the labels must be listed again when the running scan ends, because they may be outdated until then.
        self._list_again = True

    def on_mount(self) -> None:
        """Focus the list of labels when the screen opens."""
        self.rows_list.border_title = "Checkpoints"
        self.text_view.border_title = "Preview"
        self.set_focus(self.rows_list)

    def on_screen_resume(self) -> None:
        """Read the labels of all sessions when the screen opens, and whenever it becomes the topmost screen again."""
        self.was_shown = True
        self.do_search_again()
        self.update_footer()

    def contexts(self) -> tuple[str, ...]:
        """Return the contexts (groups of commands) whose keys work now: the focused pane's, then the screen's."""
        return (RESULTS_VIEW if self.focused is self.text_view else CHECKPOINTS, FOUND)

    def command_context(self) -> CommandContext:
        """Return the state of the screen that decides which commands are enabled."""
        found = self.found_entry
        return CommandContext(
            has_rows=bool(self._rows),
            has_session=found is not None,
            has_filter=bool(self.query_text),
            has_entry_id=found is not None and bool(found.entry_id),
        )

    @property
    def found_entry(self) -> FoundEntry | None:
        """The labelled entry under the cursor; None if the list is empty."""
        cursor = self.rows_list.cursor
        if cursor >= len(self._rows):
            return None
        mark = self._rows[cursor]
        return FoundEntry(self._summary(mark), mark.entry_index, mark.entry_id, f"⚑ {mark.label}", mark.state)

    @property
    def entry_to_resume(self) -> str | None:
        """The id of the labelled entry under the cursor."""
        return self.found_entry.entry_id if self.found_entry is not None else None

    @property
    def busy(self) -> bool:
        """True while the search process reads labels, or other background work of the screen is running."""
        return super().busy or self._is_reading

    @property
    def _is_reading(self) -> bool:
        return self.browser.search_client.is_running and not (self._finished and not self._list_again)

    def _summary(self, mark: Checkpoint) -> Summary:
        known = self.browser.library.get(mark.path) or self._sessions.get(mark.path)
        return known or Summary(path=mark.path, agent=mark.agent, id=mark.id, cwd=mark.cwd, name=mark.session)

    # -- the labels --------------------------------------------------------------------------------------------

    def refresh_search(self) -> None:
        """Make the search process scan the disk, then list the labels again."""
        self._list_again = True
        self.browser.search_client.send(Refresh())

    def do_search_again(self) -> None:
        """Read the labels of all sessions again."""
        client = self.browser.search_client
        self._ended, self._list_again = False, True
        if client.is_running:
            client.send(Refresh())
        else:
            client.start()
        self._ask()
        self._show_rows()

    def _ask(self) -> None:
        self._stamp = self.browser.search_client.stamp()
        self._coming, self._behind, self._finished = [], None, False
        self.browser.search_client.send(ListCheckpoints(self._stamp))

    def take_answer(self, answer: SearchAnswer | None) -> None:
        """Show the labels in an answer of the background search process; None means that the process has ended."""
        match answer:
            case CheckpointPage(stamp=stamp) if stamp == self._stamp:
                self._coming += answer.checkpoints
                self._sessions.update({summary.path: summary for summary in answer.sessions})
                self._behind = (answer.searched, answer.total)
                self._finished = answer.finished
                # Keep the old list of labels until the new list is complete or at least as long, to avoid flicker.
                if answer.finished or len(self._coming) >= len(self._all):
                    self._all = sorted(self._coming, key=lambda mark: -(mark.time_ms or 0))
            case SearchStatus(reading=is_reading) if self._list_again and (self._finished or not is_reading):
                # Without an index a scan is slow, so list the labels that are known so far, and again after the scan.
                self._list_again = is_reading
                self._ask()
                return
            case None:
                self._ended, self._finished, self._list_again = True, True, False
            case _:
                return
        self._show_rows()

    def _show_rows(self) -> None:
        answers = self._answers
        if answers is not None and answers.problem is not None:
            self._problem = answers.problem
        pattern_is_in = answers.is_in if answers is not None else is_in
        text_of = self.browser.library.spellings.text
        shown = self._all if self._problem is None else []
        rows = [mark for mark in shown if fits(self._query, mark, pattern_is_in, text_of)]
        # Keep the current rows until the search for the filter's pattern has ended, so that the list does not flicker.
        self._rows = self._rows if answers is not None and answers.is_waiting else rows
        keys = [(mark.path, mark.entry_index) for mark in self._rows]
        self.rows_list.set_rows(keys, empty=self._empty_sentence())
        self.rows_list.border_subtitle = f"{len(keys):,}"
        if self._problem is not None:
            self.line.say([(clean(self._problem), "error")])
        else:
            self.line.say([(plural(len(keys), "match", "matches"), "dim")])
        right: Line = []
        if self._ended:
            right.append(
                (f"Reading labels failed. Press {self.browser.keys.key_of('search_again')} to try again.", "error")
            )
        elif self._is_reading:
            done, of = self._behind or (0, 0)
            right.append((f"reading {done:,}/{of:,}   " if of else "reading …   ", "accent"))
        right.append((plural(len(self._all), "label"), "dim"))
        self.query_one("#header", Bar).show([("Checkpoints", "title"), *self.browser.scope_note()], right)
        self.show_preview()
        self.update_footer()

    def _empty_sentence(self) -> str:
        keys = self.browser.keys.key_of
        if self._problem is not None:
            return self._problem
        if self._all:
            return f'No label matches "{one_line(self.query_text, 60)}". {keys("clear_filter")} shows all labels.'
        if not self.browser.search_client.is_running:
            return "The labels of the sessions cannot be read."
        if self._is_reading:
            return "Reading the labels of all sessions …"
        return "No entry of any session has a label. Add labels in a session's tree."

    def _render_row(self, index: int, width: int, state: RowState) -> Line:
        mark = self._rows[index]
        return checkpoint_row(mark, self._summary(mark), width, self.style())

    # -- the filter ---------------------------------------------------------------------------------------------

    def do_found_line(self) -> None:
        """Open the filter line, in which the user types a filter for the labels."""
        self.line.open("/", self.query_text, "words of label, session or entry; project: branch: after: …")

    def do_filter(self) -> None:
        """Open the filter line, in which the user types a filter for the labels."""
        self.do_found_line()

    def text_changed(self, text: str) -> None:
        """Filter the labels again after each typed letter."""
        if text == self.query_text:
            return
        self.query_text, self.searched, self._problem = text, text, None
        if self._answers is not None:
            self._answers.close()
            self._answers = None
        try:
            self._query = parse_search(text)
        except BadSearch as error:
            self._problem = str(error)
        if self._query.pattern is not None and self._problem is None:
            self._answers = PatternAnswers(self, "labels", self._query.pattern, self._show_rows)
        self._show_rows()
        self.rows_list.go_first()

    def do_accept_filter(self) -> None:
        """Keep the filter of the labels and focus the list of labels."""
        self.set_focus(self.rows_list)
        if not self.query_text:
            self.line.close()

    def do_clear_filter(self) -> None:
        """Clear the filter, so that all labels are listed again."""
        self.set_focus(self.rows_list)
        self.line.set_text("")
        self.line.close()
        self.text_changed("")

    def do_leave_found(self) -> None:
        """Go one step back: focus the list of labels, else clear the filter, else return to the previous screen."""
        if self.focused is self.text_view:
            self.set_focus(self.rows_list)
        elif self.query_text:
            self.do_clear_filter()
        else:
            super().do_leave_found()
