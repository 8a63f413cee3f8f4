"""The search of the session list: sends queries to the search program while the user types, and keeps the results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from sessionbrowse.model.listing.picker import ordered
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.text import clean, plural
from sessionbrowse.tui.data.library import SessionRow, path_of_key, with_scattered_letters
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.shell.browser import FoundEntry
from sessionbrowse.tui.shell.paned_screen import Delayed, ListScreen

if TYPE_CHECKING:
    from sessionbrowse.model.search.query import SearchQuery
    from sessionbrowse.services.background.search_messages import HitPage, ListScope, SearchAnswer, SearchProgress
    from sessionbrowse.services.search.hits import Hit
    from sessionbrowse.services.search.ranked_page import RankedSession
    from sessionbrowse.tui.layout.parts import Part
    from sessionbrowse.tui.search.found_rows import FoundRow

MOST_QUERIES = 50


class Queries:
    """The latest queries, oldest first, and the one that was brought back last."""

    def __init__(self, known: Sequence[str]) -> None:
        self.known = list(known)
        self._at: int | None = None

    def add(self, text: str) -> None:
        """Add a query that was used, as the latest one."""
        text = text.strip()
        if text:
            self.known = [*[each for each in self.known if each != text], text][-MOST_QUERIES:]
        self._at = None

    def recalled(self, text: str, step: int) -> str | None:
        """Return the query before (`step` -1) or after (1) the one that was brought back last.

        `text` is the text in the search line. Return None if the user typed it, or if there is no such query.
        """
        at = self._at if self._at is not None and text == self.known[self._at] else None
        if at is None and (text or step > 0):
            return None
        wanted = (len(self.known) if at is None else at) + step
        if wanted >= len(self.known):
            self._at = None
            return ""
        if wanted < 0:
            return None
        self._at = wanted
        return self.known[wanted]


PAGE_SESSIONS, ALL_SESSIONS = 50, 500
"""Numbers of found sessions per request; the second if they are sorted by size or the like, which needs all of them."""
NEAR_END = 15
REFRESH_SECONDS = 0.5
"""Seconds to wait after a change of a session file before repeating the search, in case more changes follow."""
ANSWER_FRAME_SECONDS = 0.002
"""Seconds to wait before painting an answer of the search, so that the next answers are painted in the same frame."""


class ListSearch:
    """The search of the session list: its query, the answers, and the rows of the results.

    While the typed query is not valid, the list keeps the results of the last valid one.
    """

    def __init__(self, screen: ListScreen) -> None:
        self._screen = screen
        self._state = screen.state
        self.text = ""
        """The text in the search line; it may be no valid query."""
        self.problem: str | None = None
        self.tools = False
        self.searched = ""
        """The query as searched, with misspelt words replaced, for highlighting; "" if it matches no text."""
        self._query: SearchQuery | None = None
        self._valid_text = ""
        """The text of the query that is searched: the last text in the search line that was a valid query."""
        self._unfinished: str | None = None
        self._scope: ListScope | None = None
        self._stamp = self._answered = 0
        self._limit = 0
        self._is_local = self._is_first = self._listens = self._is_behind = False
        self._refreshing = Delayed(screen, self._refresh)
        self._ends = 0
        """Number of times that the search program ended since its last answer; after the first, it is started again."""
        self._found: list[RankedSession] = []
        self._page: HitPage | None = None
        self._progress: SearchProgress | None = None
        self._hits: dict[str, RankedSession] = {}
        self._unfolded: set[str] = set()
        self._next: list[Callable[[], object]] = []

    # -- the query ----------------------------------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        """True if there is a valid query, so that the list shows, or will show, its results."""
        return self._query is not None

    def set_text(self, text: str) -> None:
        """Search for the text in the search line; if it is not a valid query, keep the results of the last one."""
        from sessionbrowse.model.search.query import BadSearch, parse_question

        self.text, self.problem, self._unfinished, self._next = text, None, None, []
        try:
            query = parse_question(text)
        except BadSearch as error:
            is_unfinished = error.is_unfinished(text)
            self.problem, self._unfinished = (None, error.sentence) if is_unfinished else (error.sentence, None)
            return
        if query.excluded and not (query.has_text or query.is_about_entries):
            return  # A query of only excluded words is not complete: the user will add what to search for.
        wanted = None if query.is_empty else query
        self._valid_text = text
        if wanted != self._query:
            self._query = wanted
            self._hits, self._unfolded = {}, set()
            self.ask(top=True)
        elif self._is_local and query.is_about_sessions:
            # The user may still be typing a filter's value, such as `agent:o` on the way to `agent:omp`.
            self._state.searched = text
            self._screen.refresh_sessions()

    def refuses(self) -> bool:
        """Return True if the text is not a valid query; the search line then shows the reason."""
        self.problem, self._unfinished = self.problem or self._unfinished, None
        return self.problem is not None

    def prepare(self) -> bool:
        """Start the search program before the first letter is typed; return False if it cannot be started."""
        client = self._screen.browser.search_client
        # A program that starts now reads all changes that were made until now.
        self._is_behind = self._is_behind and client.is_running
        if self._ends > 1 or not client.start():
            return False
        if not self._listens:
            self._listens = True
            client.listen(lambda answer: self._screen.call_later(self.receive, answer))
        return True

    def ask(self, *, top: bool = False) -> None:
        """Search again, because the query, the order, or the searched sessions have changed."""
        from sessionbrowse.services.background.search_messages import Find

        query, state, client = self._query, self._state, self._screen.browser.search_client
        self._stamp, self._progress, self._next = client.stamp(), None, []
        if top:
            self._screen.sessions_list.was_moved = False
        self._limit = PAGE_SESSIONS if state.found_sort in ("best", "newest") else ALL_SESSIONS
        self._scope = state.scope() if query is not None else None
        self._is_local = query is not None and (query.is_about_sessions or not self.prepare())
        if query is None or self._is_local:
            # End a search that still runs.
            client.send(Find(self._stamp, ""))
            self._found, self._page, self._answered, self._is_first = [], None, self._stamp, False
            state.searched = self._valid_text if query is not None else ""
            self.searched = "" if query is None or query.is_about_sessions else self._valid_text
            self._screen.refresh_sessions(top=top and self._is_local)
            return
        is_newest = state.found_sort == "newest"
        client.send(Find(self._stamp, self._valid_text, self.tools, self._limit, is_newest, self._scope))
        if self._is_behind and not self._refreshing.due:
            self._refresh()

    def again(self) -> None:
        """Make the search program scan the disk again, and start it if it has ended."""
        from sessionbrowse.services.background.search_messages import Refresh

        ends, self._ends = self._ends, 0
        if self._listens:
            self._is_behind = False
            self._screen.browser.search_client.send(Refresh())
        if ends and self.is_active:
            self.ask()

    def sessions_changed(self, gone: Collection[str]) -> None:
        """Drop the sessions that are gone, and repeat the search after a short delay, because sessions changed.

        Without a search, the search program reads the changes when the next search begins.
        """
        self._found = [each for each in self._found if each.summary.path not in gone]
        self._is_behind = True
        if self.is_active and not self._is_local:
            self._refreshing.start(REFRESH_SECONDS)

    def _refresh(self) -> None:
        status = self._screen.browser.search_client.status
        # Do not refresh without an index, because a refresh would read every session file.
        if status is not None and status.has_index:
            self.again()

    def stop(self) -> bool:
        """Stop the running search; return False if none is running."""
        from sessionbrowse.services.background.search_messages import StopSearch

        if not self.is_searching:
            return False
        self._screen.browser.search_client.send(StopSearch(self._stamp))
        return True

    @property
    def is_searching(self) -> bool:
        """True while the search program is searching."""
        progress = self._progress
        if self._query is None or self._is_local or not self._screen.browser.search_client.is_running:
            return False
        return progress is None or not (progress.finished or progress.paused or progress.stopped)

    @property
    def is_unanswered(self) -> bool:
        """True if the list does not yet show the results of the query in the search line."""
        return self.is_searching and (self._answered != self._stamp or self._is_first)

    def when_answered(self, callback: Callable[[], object]) -> None:
        """Call `callback` once the list shows the results of this query; drop the call if the query changes first."""
        self._next.append(callback)

    @property
    def due(self) -> bool:
        """True while an answer of the search program is awaited."""
        client = self._screen.browser.search_client
        is_reading = self._listens and client.is_running and (client.status is None or client.status.reading)
        return self.is_searching or is_reading or self._refreshing.due

    # -- answers ------------------------------------------------------------------------------------------------

    def receive(self, answer: SearchAnswer | None) -> None:
        """Handle an answer of the search program; None means that the program has ended."""
        from sessionbrowse.services.background.search_messages import (
            HitPage,
            SearchProgress,
            SearchRefused,
            SearchStatus,
            SessionHits,
        )

        match answer:
            case None:
                self._ends += 1
                self.ask()
            case HitPage(stamp=stamp) if stamp == self._stamp and not self._is_local:
                self._receive_page(answer)
            case SessionHits(stamp=stamp, session=session) if stamp == self._stamp:
                self._receive_hits(session)
            case SearchProgress(stamp=stamp) if stamp == self._stamp:
                self._progress = answer
            case SearchRefused(stamp=stamp) if stamp == self._stamp:
                self.problem = answer.sentence
            case SearchStatus():
                pass
            case _:
                return
        if not isinstance(answer, HitPage):
            self._screen.refresh_sessions()
        # Textual paints at fixed intervals, and has just painted the typed letter: do not wait for its next frame.
        self._screen.set_timer(ANSWER_FRAME_SECONDS, self._screen.paint_now)

    def _receive_page(self, page: HitPage) -> None:
        from sessionbrowse.services.search.ranked_page import corrected
        from sessionbrowse.tui.search.found_rows import merged

        is_new, screen = self._answered != page.stamp, self._screen
        self._ends = 0
        self._answered, self._page, self._is_first = page.stamp, page, page.ranking_follows
        text = self._valid_text
        self._state.searched, self.searched = text, corrected(text, page.instead)
        found = [*self._found[: page.at], *page.sessions]
        if page.nowhere or not found:
            found += self._scattered({each.summary.path for each in found})
        rows, kept = self._screen.sessions_list, 0
        if not is_new and rows.was_moved:
            paths = [each.summary.path for each in self._found]
            path = path_of_key(rows.key)
            kept = paths.index(path) + 1 if path in paths else 0
        self._found = found if is_new else merged(self._found, kept, found, self._hits)
        self._screen.refresh_sessions(top=is_new or not rows.was_moved)
        waiting, self._next = ([], self._next) if self._is_first else (self._next, [])
        for callback in waiting:
            if screen.is_top:
                callback()

    def _scattered(self, known: set[str]) -> list[RankedSession]:
        """Return further sessions that pi's picker finds, whose name or directory has a word's letters in order."""
        from sessionbrowse.services.search.ranked_page import RankedSession

        query = self._query
        if not self._screen.browser.keys.types or query is None or not query.words or query.phrases or query.pattern:
            return []
        found = [each for each in with_scattered_letters(query.words, self._state.chosen()) if each.path not in known]
        return [RankedSession(each, [], "some", 0.0) for each in found]

    def _receive_hits(self, session: RankedSession) -> None:
        from sessionbrowse.tui.search.found_rows import with_hits_kept

        path = session.summary.path
        self._found = [with_hits_kept(each, session) if each.summary.path == path else each for each in self._found]
        self._hits[path] = session

    # -- rows ---------------------------------------------------------------------------------------------------

    def rows(self) -> Sequence[FoundRow] | None:
        """Return the rows of the results; None if there is no query, or its first answer has not come yet."""
        query, state = self._query, self._state
        if query is not None and self._scope != state.scope():
            self.ask(top=True)
        if query is None or not state.searched:
            return None
        if self._is_local:
            found, sort = state.library.fitting(query, state.chosen()), state.found_sort
            return list(map(SessionRow, found if sort in ("best", "newest") else ordered(found, sort)))
        from sessionbrowse.tui.search.found_rows import found_rows

        return found_rows(self._in_order(), self._unfolded, self.summary_of)

    def summary_of(self, summary: Summary) -> Summary:
        """Return the list's summary of a found session, or the search program's summary if the list lacks it."""
        return self._state.library.get(summary.path) or summary

    def summary_at(self, path: str) -> Summary | None:
        """Return the summary of a found session; None if it was not found."""
        found = next((each.summary for each in self._found if each.summary.path == path), None)
        return self.summary_of(found) if found is not None else self._state.library.get(path)

    def _in_order(self) -> list[RankedSession]:
        sort = self._state.found_sort
        if sort in ("best", "newest"):
            return self._found
        by_path = {each.summary.path: each for each in self._found}
        return [by_path[each.path] for each in ordered([each.summary for each in self._found], sort)]

    def show_more(self, cursor: int, count: int) -> None:
        """Request further sessions if the cursor is near the last row."""
        if self._progress is not None and self._progress.paused and cursor >= count - NEAR_END:
            from sessionbrowse.services.background.search_messages import FindMore

            self._limit += PAGE_SESSIONS
            self._progress = None
            self._screen.browser.search_client.send(FindMore(self._stamp, self._limit))

    def unfold(self, path: str) -> bool:
        """Show all hits of a session, or its best ones again; return False if all are shown anyway."""
        from sessionbrowse.services.background.search_messages import FindInSession
        from sessionbrowse.services.search.ranked_page import PER_SESSION
        from sessionbrowse.tui.search.found_rows import entry_hits

        session = next((each for each in self._found if each.summary.path == path), None)
        if session is None or len(entry_hits(session)) + session.more <= PER_SESSION:
            return False
        self._unfolded ^= {path}
        if session.more:
            self._screen.browser.search_client.send(FindInSession(self._stamp, path))
        self._screen.refresh_sessions()
        return True

    # -- hits ---------------------------------------------------------------------------------------------------

    def hit_of(self, row: FoundRow | None) -> Hit | None:
        """Return the entry to show and open for a row: its hit, or the best one of a session; None without hits."""
        if row is None or isinstance(row, SessionRow):
            hits = row.found.hits if row is not None and row.found is not None else []
            return next((hit for hit in hits if hit.entry_index is not None), None)
        return row.hit

    def step_found(self, step: int) -> FoundEntry | None:
        """Go to the next (`step` 1) or previous (-1) found session and return its best hit; None if there is none."""
        rows, found = self._screen.sessions_list, self._in_order()
        paths = [each.summary.path for each in found]
        path = path_of_key(rows.key)
        at = paths.index(path) + step if path in paths else -1
        if not 0 <= at < len(paths):
            return None
        rows.go_to_key(paths[at])
        hit = next((hit for hit in found[at].hits if hit.entry_index is not None), None)
        index, entry_id = (hit.entry_index, hit.entry_id) if hit is not None else (None, None)
        return FoundEntry(self.summary_of(found[at].summary), index, entry_id)

    # -- sentences ----------------------------------------------------------------------------------------------

    def status(self) -> Line:
        """Return the text at the right of the search line: the number of sessions and how the query was understood."""
        client, progress = self._screen.browser.search_client, self._progress
        too: Line = [("with tools", "accent")] if self.tools else []
        if self.problem is not None:
            return [(clean(self.problem), "error")]
        if self._query is None:
            return [(self._unfinished, "dim")] if self._unfinished is not None else too
        if self._is_local:
            found = [(plural(len(self._state.library.fitting(self._query, self._state.chosen())), "session"), "dim")]
            is_partial = not self._query.is_about_sessions
            return [*found, (" · names only: the search does not run", "warning")] if is_partial else found
        if self.is_searching and client.status is None:
            return [("getting ready …", "dim")]
        if self.is_unanswered and not self._found and progress is None:
            return [("searching …", "dim")]
        more = "+" if progress is not None and progress.paused else ""
        line: Line = [(f"{len(self._found):,}+ sessions" if more else plural(len(self._found), "session"), "dim")]
        if self.is_searching and progress is not None:
            line = [(f"searching … {progress.searched:,}/{progress.sessions:,}  ", "accent"), *line]
        elif progress is not None and progress.problem is not None:
            line = [(f"{progress.problem}  ", "error"), *line]
        elif progress is not None and progress.stopped:
            line = [("stopped  ", "warning"), *line]
        if too:
            line += [(" · ", "dim"), *too]
        if (note := [(self._unfinished, "dim")] if self._unfinished else self._note()) and not self.is_searching:
            line += [(" · ", "dim"), *note]
        return line

    def _note(self) -> Line:
        from sessionbrowse.tui.search.sentences import answer_note

        status = self._screen.browser.search_client.status
        page, query = self._page, self._query
        note = [] if page is None or query is None or self._is_first else answer_note(self._found, page, query)
        if note or status is None:
            return note
        if status.reading:
            return [("reading the disk …" if status.has_index else "reading every file …", "accent")]
        if not status.has_index or (self.tools and not status.has_tools):
            return [("not in the index: every file is read", "warning")]
        return []

    def examples(self) -> list[Part]:
        """Return examples of queries for the preview, while the search line is empty; else []."""
        keys = self._screen.browser.keys
        if not self._screen.typing or keys.types or self._state.filtered != "sessions" or self.text:
            return []
        from sessionbrowse.tui.search.sentences import example_parts

        return example_parts(*[keys.key_of(command) for command in ("scope", "search_tools", "sort")])

    def nothing_found(self) -> str:
        """Return the message of an empty list of results."""
        from sessionbrowse.tui.search.sentences import nothing_sentence

        browser, progress = self._screen.browser, self._progress
        if self.is_searching:
            return "Searching …"
        if progress is not None and progress.problem is not None:
            return progress.problem
        if not self._is_local and browser.search_client.status is not None and browser.search_client.status.reading:
            # Files that are not read yet may contain matching entries, which the search process will send later.
            return "Nothing found yet; the disk is still being read."
        if self._is_local and self._query is not None and (notes := self._state.library.unmatched(self._query)):
            return " ".join(notes)
        in_project = self._state.shown_project is not None
        key_of = browser.keys.key_of
        return nothing_sentence(
            self._state.searched, self._page, key_of, tools=self.tools or self._is_local, in_project=in_project
        )
