"""The screen of the search over all sessions: it lists matching entries while the user types, with a preview."""

from __future__ import annotations

import time
from bisect import bisect_right

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.search_messages import (
    Find,
    FindInSession,
    FindMore,
    HitPage,
    Refresh,
    SearchAnswer,
    SearchProgress,
    SearchRefused,
    SearchStatus,
    SessionHits,
    StopSearch,
)
from sessionbrowse.services.search.ranked_page import RankedSession, corrected
from sessionbrowse.text import clean, plural
from sessionbrowse.tui.commands.command import CommandContext
from sessionbrowse.tui.commands.contexts import FOUND, RESULTS, RESULTS_VIEW, SEARCHING
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.paint.words import one_line
from sessionbrowse.tui.search.answer_sentence import answer_sentence
from sessionbrowse.tui.search.examples import EXAMPLES, example_row
from sessionbrowse.tui.search.hit_rows import result_row
from sessionbrowse.tui.search.result_rows import ResultRow, merged, rows_of, with_hits_kept
from sessionbrowse.tui.search.results_screen import ResultsScreen
from sessionbrowse.tui.shell.browser import FoundEntry
from sessionbrowse.tui.shell.command_screen import MOUNT_SECONDS
from sessionbrowse.tui.widgets.bars import Bar
from sessionbrowse.tui.widgets.row_list import RowState

PAGE_SESSIONS = 20
"""Number of found sessions per request; the screen requests more when the cursor comes near the last row."""
NEAR_END = 15
ROOM_FOR_FILTERS = 114
"""Minimum screen width at which the placeholder of the query line also names filters such as `agent:`."""


class SearchScreen(ResultsScreen):
    """The screen of the search over all sessions: a query line, a list of matching entries and a preview."""

    TYPING_CONTEXT = SEARCHING

    def __init__(self) -> None:
        super().__init__(name="search")
        self.tools = False
        self._found: list[RankedSession] = []
        self._rows: list[ResultRow] = []
        self._opened: frozenset[str] = frozenset()
        self._page: HitPage | None = None
        self._progress: SearchProgress | None = None
        self._asked_for = 0
        self._answered_stamp = 0
        self._is_first = False
        self._opens_first = False
        self._asked_at = 0.0

    def on_mount(self) -> None:
        """Show the query line, and examples of queries in the list."""
        self.tools = self.browser.options.settings.index_tools
        self._show_order()
        self.text_view.border_title = "Preview"
        filters = ", agent: project: role: after: …" if self.app.size.width >= ROOM_FOR_FILTERS else ""
        self.line.open("› ", self.query_text, f'words, "a phrase", re:pattern{filters}')
        self._show_examples()
        self._show_state()

    def on_screen_resume(self) -> None:
        """Start the search process, or make it scan the disk; if another screen used it, repeat this screen's query."""
        client = self.browser.search_client
        self.was_shown = True
        if client.is_running and (client.wanted == self._stamp or not self.query_text.strip()):
            client.send(Refresh())
        elif client.is_running:
            # The session list has used the search process for its filter meanwhile: send this screen's query again.
            self._send_find()
        elif client.start():
            self._ended = False
            self._find()
        self._show_state()
        self.update_footer()

    def contexts(self) -> tuple[str, ...]:
        """Return the contexts (groups of commands) whose keys work now: the focused pane's, then the screen's."""
        return (RESULTS_VIEW if self.focused is self.text_view else RESULTS, FOUND)

    def command_context(self) -> CommandContext:
        """Return the state of the screen that decides which commands are enabled."""
        return CommandContext(
            has_rows=bool(self._rows) or not self.query_text.strip() or self._is_unanswered,
            has_session=self.found_entry is not None,
            is_searching=self._is_searching,
        )

    @property
    def found_entry(self) -> FoundEntry | None:
        """The matching entry under the cursor; None if the row has no entry."""
        cursor = self.rows_list.cursor
        hit = self._rows[cursor].best if cursor < len(self._rows) else None
        if hit is None:
            return None
        return FoundEntry(self._summary(hit.path), hit.entry_index, hit.entry_id, hit.role, hit.state)

    @property
    def _is_searching(self) -> bool:
        if not self.query_text.strip() or self._problem is not None or not self.browser.search_client.is_running:
            return False
        return self._progress is None or not (
            self._progress.finished or self._progress.paused or self._progress.stopped
        )

    @property
    def _is_unanswered(self) -> bool:
        """True if the search process has not answered the current query yet."""
        return self._is_searching and (self._answered_stamp != self._stamp or self._is_first)

    @property
    def busy(self) -> bool:
        """True while background work or a search is running, or while the search process scans the disk."""
        status = self.browser.search_client.status
        is_reading = self.browser.search_client.is_running and (status is None or status.reading)
        return super().busy or self._is_searching or is_reading

    def _summary(self, path: str) -> Summary:
        return self.browser.library.get(path) or self._sessions[path]

    def refresh_search(self) -> None:
        """Make the background search process scan the disk for changed files, and send new matching entries if any."""
        self.browser.search_client.send(Refresh())

    # -- requests -----------------------------------------------------------------------------------------------

    def text_changed(self, text: str) -> None:
        """Send the query to the background search process after each typed letter."""
        if text != self.query_text:
            self.query_text = text
            self._find()

    def search_for(self, text: str) -> None:
        """Put a query from another screen into the query line, and search for it."""
        self.line.set_text(text)
        self.text_changed(text)

    async def search_when_mounted(self, text: str) -> None:
        """Wait until the screen is mounted, because a new screen has no query line yet; then search for a query."""
        await self.wait_until_mounted(MOUNT_SECONDS)
        self.search_for(text)

    def _find(self) -> None:
        client = self.browser.search_client
        self._stamp, self._progress, self._problem = client.stamp(), None, None
        self._asked_for, self._opened = PAGE_SESSIONS, frozenset()
        self._opens_first = False
        self._asked_at = time.monotonic()
        self.rows_list.forget_moves()
        # Send an empty query too, because it ends the previous search.
        self._send_find()
        if not self.query_text.strip():
            self._forget_found()
            self._show_examples()
        elif not self._found:
            # The empty list shows a message about the previous query: replace the message with "Searching …".
            self._show_hits(top=False)
        self._say_found()

    def _send_find(self) -> None:
        newest = self.browser.memory.newest_hits_first
        self.browser.search_client.send(Find(self._stamp, self.query_text, self.tools, self._asked_for, newest))

    def _forget_found(self) -> None:
        self._found, self._rows, self._page = [], [], None

    # -- answers ------------------------------------------------------------------------------------------------

    def take_answer(self, answer: SearchAnswer | None) -> None:
        """Show an answer of the background search process: found entries, progress, the process's state, an error."""
        match answer:
            case None:
                self._ended = True
                self._show_state()
            case SearchStatus():
                self._show_state()
                if not self._found and self.query_text.strip():
                    self._show_hits(top=False)
            case HitPage(stamp=stamp) if stamp == self._stamp:
                self._take_page(answer)
            case SessionHits(stamp=stamp, session=session) if stamp == self._stamp:
                self._take_session(session)
            case SearchProgress(stamp=stamp) if stamp == self._stamp:
                self._progress = answer
                if not self._found and self.query_text.strip():
                    self._show_hits(top=False)
                self._say_found()
            case SearchRefused(stamp=stamp, sentence=sentence) if stamp == self._stamp:
                # The query is invalid: remove the results of the previous query from the screen.
                self._problem = sentence
                self._forget_found()
                self._show_hits(top=False)
                self._say_found()
            case _:
                return
        self.update_footer()

    def _take_page(self, page: HitPage) -> None:
        if not self.query_text.strip():
            return
        is_new = self._answered_stamp != page.stamp
        self._answered_stamp, self._page, self._is_first = page.stamp, page, page.ranking_follows
        self.searched = corrected(self.query_text, page.instead)
        # Replace the results of the previous query only now, because emptying the list earlier would make it flicker.
        found = [*self._found[: page.at], *page.sessions]
        kept = 0
        if not is_new and self.rows_list.was_moved and self._rows:
            path = self._rows[self.rows_list.cursor].session.summary.path
            kept = 1 + next(number for number, each in enumerate(self._found) if each.summary.path == path)
        self._found = found if is_new else merged(self._found, kept, found, self._opened)
        self._show_hits(top=not self.rows_list.was_moved)
        if self._opens_first and self._found and self.is_top and not self._is_first:
            self._opens_first = False
            super().do_open_found()

    def _take_session(self, session: RankedSession) -> None:
        """Show all matching entries of a session, first those that are shown already."""
        path = session.summary.path
        self._opened |= {path}
        self._found = [with_hits_kept(each, session) if each.summary.path == path else each for each in self._found]
        self._show_hits(top=False)

    def _show_hits(self, *, top: bool) -> None:
        self._sessions.update({each.summary.path: each.summary for each in self._found})
        self._rows = rows_of(self._found)
        keys = [row.key for row in self._rows]
        self.rows_list.set_rows(keys, cursor=keys[0] if keys and top else None, empty=self._empty_sentence())
        self._show_order()
        self._say_found()
        self.show_preview(time.monotonic() - self._asked_at)

    def _show_order(self) -> None:
        is_newest = self.browser.memory.newest_hits_first
        if self._page is not None and self._found and not self._page.ranking_follows:
            is_newest = not self._page.ranked
        self.rows_list.border_title = f"Results · {'newest' if is_newest else 'best'} first"

    def _show_examples(self) -> None:
        self.rows_list.set_rows([("example", number) for number in range(len(EXAMPLES))], cursor=("example", 0))
        self.rows_list.border_subtitle = ""
        self.show_preview()

    def _empty_sentence(self) -> str:
        if self._problem is not None:
            return self._problem
        if self._is_searching:
            return "Searching …"
        searched = self._progress
        if searched is not None and searched.problem is not None:
            return searched.problem
        if searched is not None and searched.stopped:
            again = self.browser.keys.key_of("search_again")
            return f"Stopped after {searched.searched:,} of {searched.sessions:,} sessions. {again} searches again."
        asked = one_line(self.query_text, 60)
        status = self.browser.search_client.status
        more = (
            f" {self.browser.keys.key_of('search_tools')} also searches tool calls and results."
            if not self.tools
            else ""
        )
        if status is not None and status.reading:
            # Files that are not read yet may contain matching entries, which the search process will send later.
            return "Nothing found yet; the disk is still being read."
        if status is not None and not status.sessions:
            return "There are no sessions to search."
        return f'Nothing matches "{asked}".{more}'

    def _say_found(self) -> None:
        status: Line = []
        searched = self._progress
        if self._problem is not None:
            status = [(clean(self._problem), "error")]
        elif not self.query_text.strip():
            status = [("tools too", "accent")] if self.tools else []
        elif self._is_searching and self.browser.search_client.status is None:
            status = [("getting ready …", "dim")]
        else:
            count = (
                f"{len(self._found):,}+ sessions"
                if searched is not None and searched.paused
                else plural(len(self._found), "session")
            )
            status = [(count, "dim")]
            if self._is_searching:
                of = f" {searched.searched:,}/{searched.sessions:,}" if searched is not None else ""
                status = [(f"searching …{of}  ", "accent"), *status]
            elif searched is not None and searched.problem is not None:
                status = [(f"{searched.problem}  ", "error"), *status]
            elif searched is not None and searched.stopped:
                status = [("stopped  ", "warning"), *status]
            if self.tools:
                status.append((" · tools too", "accent"))
        self.line.say(status)
        self.query_one("#found-place", Bar).show(self.bottom_line())
        self.rows_list.border_subtitle = f"{len(self._found):,}" if self._found else ""

    def bottom_line(self) -> Line:
        """Return the line below the results: the error in the query, or how the search interpreted the query."""
        if self._problem is not None:
            return [(clean(self._problem), "error")]
        page = self._page
        if page is None or not self._found or self._is_first:
            return []
        key = None if self.tools else self.browser.keys.key_of("search_tools")
        return answer_sentence(self._found, page, tools_key=key)

    def _show_state(self) -> None:
        """Show in the top bar the state of the search process and the number of sessions."""
        browser = self.browser
        status = browser.search_client.status
        right: Line = []
        if self._ended:
            right = [(f"The search failed. Press {browser.keys.key_of('search_again')} to search again.", "error")]
        elif not browser.search_client.is_running:
            right = [("The sessions cannot be searched.", "warning")]
        elif status is None:
            right = [("getting ready …", "dim")]
        else:
            if status.reading:
                right.append(("scanning the disk …   " if status.has_index else "reading every file …   ", "accent"))
            elif not status.has_index:
                right.append(("no index: the search reads every file   ", "warning"))
            elif self.tools and not status.has_tools:
                right.append(("no tool output in the index: the search reads every file   ", "warning"))
            right.append((plural(status.sessions, "session"), "dim"))
        self.query_one("#header", Bar).show([("Search", "title"), *browser.scope_note()], right)

    # -- rows ---------------------------------------------------------------------------------------------------

    def _render_row(self, index: int, width: int, state: RowState) -> Line:
        if not self._rows:
            return example_row(EXAMPLES[index], width)
        row = self._rows[index]
        more_key = self.browser.keys.key_of("open_found")
        return result_row(row, self._summary(row.session.summary.path), width, self.style(), more_key)

    def position(self) -> str:
        """Return the cursor's position among the result rows, for the footer; empty without results."""
        return super().position() if self._rows else ""

    def show_preview(self, rested: float = 0.0) -> None:
        """Preview the entry under the cursor, and request more hits if the cursor is near the end of the list."""
        super().show_preview(rested)
        if self._progress is None or not self._progress.paused or self._asked_for > len(self._found):
            return
        if self.rows_list.cursor >= len(self._rows) - NEAR_END:
            self._asked_for = len(self._found) + PAGE_SESSIONS
            self._progress = None
            self.browser.search_client.send(FindMore(self._stamp, self._asked_for))

    # -- commands -----------------------------------------------------------------------------------------------

    def do_open_found(self) -> None:
        """Open the row under the cursor: the tree at an entry, more entries of a session, or an example's search."""
        if self.typing and self._is_unanswered and not self.rows_list.was_moved:
            # The rows still show the results of the previous query: open the first new result when the answer arrives.
            self._opens_first = True
            return
        if self._rows:
            row = self._rows[self.rows_list.cursor]
            if row.session.more:
                # Request all matching entries of the session: in the tree, keys move from match to match.
                self.browser.search_client.send(FindInSession(self._stamp, row.session.summary.path))
            if not row.is_more:
                super().do_open_found()
            return
        key = self.rows_list.key
        if not self.query_text.strip() and isinstance(key, tuple) and key[0] == "example":
            self.search_for(EXAMPLES[key[1]].query)
            self.do_found_line()

    def step_found(self, step: int) -> FoundEntry | None:
        """Go to the next (`step` 1) or previous (-1) found session and return its best entry; None if there is none."""
        paths = [row.session.summary.path for row in self._rows]
        heads = [at for at, path in enumerate(paths) if not at or path != paths[at - 1]]
        at = bisect_right(heads, self.rows_list.cursor) - 1 + step
        if not 0 <= at < len(heads):
            return None
        self.rows_list.go(heads[at])
        return self.found_entry

    def do_found_sort(self) -> None:
        """Switch the order of the results: best first, or newest first."""
        self.browser.memory.newest_hits_first = not self.browser.memory.newest_hits_first
        self._show_order()
        self._find()

    def do_search_tools(self) -> None:
        """Include tool calls and results in the search, or exclude them again."""
        self.tools = not self.tools
        status = self.browser.search_client.status
        if self.tools and status is not None and status.has_index and not status.has_tools:
            self.browser.say(
                "The index does not contain tool calls and results, so the search reads all files, which is slow. "
                "To add them to the index, run: sessionbrowse index --rebuild --tools"
            )
        self._show_state()
        self._find()

    def do_stop_search(self) -> None:
        """Stop the running search; the list keeps the entries found so far."""
        self.browser.search_client.send(StopSearch(self._stamp))

    def do_search_again(self) -> None:
        """Scan the disk again and repeat the search; start the search process again if it has ended."""
        client = self.browser.search_client
        if client.is_running:
            client.send(Refresh())
        else:
            self._ended = False
            client.start()
        self._find()
        self._show_state()

    def on_unmount(self) -> None:
        """End the background search process; the app removes this screen only when the browser ends."""
        self.browser.search_client.close()
