"""The session preview: a summary at once, the conversation and the family's cost when the cursor rests."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, TypeAlias

from sessionbrowse.errors import NoSuchEntry, SessionBrowseError
from sessionbrowse.model.listing.families import is_stub
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.machines.results import seen_words
from sessionbrowse.text import clean, iso_ms, tokens
from sessionbrowse.tui.data.jobs import Job, Outcome
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.lists.rows import is_recent
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.shell.paned_screen import Delayed, ListScreen, Resting
from sessionbrowse.tui.widgets.text_view import FindMatches, TextView

if TYPE_CHECKING:
    from sessionbrowse.services.search.hits import Hit
    from sessionbrowse.services.usage.usage_listing import UsageRow

Target: TypeAlias = "tuple[str, tuple[Hit, str] | None]"
"""The path of a previewed session, and the hit in it with the query that found it."""

PREVIEW_DELAY = 0.12
"""Seconds that the cursor must rest on a session before the preview reads the session's file."""

WRITING_SECONDS = 0.004
"""Seconds between painting a frame and reading a session for the preview.

During this pause another thread writes the frame to the terminal; reading a session would delay the writing.
"""


class Preview:
    """Controls the preview pane: decides which session it shows, and when the session's file is read.

    `in_place` returns what is shown in place of the session, such as examples of queries; [] if nothing is.
    """

    def __init__(self, screen: ListScreen, in_place: Callable[[], list[Part]]) -> None:
        self._screen = screen
        self._state = screen.state
        self._in_place = in_place
        self._is_stale = False
        self._loading = Delayed(screen, self.load)
        self._resting = Resting(screen, self._rests)
        self._asked: Target | None = None
        self._shown: Target | None = None
        self._read: tuple[list[Part], FindMatches | None] = ([], None)
        self._family = FamilyTotals(screen, self._show_read)

    @property
    def due(self) -> bool:
        """True while the preview of the session under the cursor is delayed, because the cursor has just moved."""
        return self._loading.due or self._resting.due

    @property
    def _view(self) -> TextView:
        return self._screen.query_one("#preview", TextView)

    def show(self, *, is_found: bool = False) -> None:
        """Show the session under the cursor in the preview: its summary, and after a short delay its conversation.

        If `is_found` is True, a search has moved the cursor, not the user, and the conversation is read without delay.
        """
        summary = self._screen.subject
        self._loading.cancel()
        self._screen.lane("preview", self.receive).cancel()
        in_place = self._in_place()
        if summary is None or in_place:
            self._resting.cancel()
            self._asked = self._shown = None
            self._view.show(in_place, empty="")
            return
        self._asked = (summary.path, self._screen.hit)
        if is_found:
            self._resting.cancel()
            self._screen.after_frame(lambda: self._resting.start(WRITING_SECONDS))
        elif self._resting.moved():
            # Paint the list first, because the preview takes as long as the list to paint, and longer the first time,
            # when modules must be imported.
            self._screen.after_frame(self._show_facts)
            self._loading.start(PREVIEW_DELAY)

    def rows_changed(self) -> None:
        """Update the preview if the search now finds a different entry of the previewed session."""
        self._family.scanned()
        if self._asked is not None and self._asked[1] != self._screen.hit:
            self.show(is_found=True)

    def set_shown(self, shown: bool) -> None:
        """Show or hide the preview pane."""
        screen = self._screen
        if shown == screen.has_class("-preview-shown"):
            return
        screen.set_class(shown, "-preview-shown")
        if shown:
            self.show()
        elif screen.focused is self._view:
            screen.set_focus(screen.query_one("#sessions"))

    def _rests(self) -> None:
        """Show the session under the cursor in the preview, after quick cursor moves have ended."""
        self._show_facts()
        self.load()

    def load(self, *, follows: bool = False) -> None:
        """Read the session under the cursor in the background, to show it in the preview; do nothing if that is hidden.

        With `follows`, a read that is still running ends first instead of being cancelled.
        """
        summary, browser = self._screen.subject, self._screen.browser
        if summary is None or self._asked is None or not self._screen.has_class("-preview-shown"):
            return

        hit, now_ms = self._asked[1], browser.now_ms()
        copies = self._state.library.copies(summary)

        def load(job: Job) -> tuple[list[Part], str]:
            from sessionbrowse.tui.reading.documents import conversation, entry_document, rule
            from sessionbrowse.tui.reading.views import ENTRY_IS_GONE, find_again

            session = browser.open_session(summary.path, summary.agent)
            if hit is None:
                return [*_of_copies(copies), *conversation(session, summary)], ""
            index = find_again(session, hit[0].entry_index, hit[0].entry_id)
            if index is None:
                raise NoSuchEntry(ENTRY_IS_GONE)
            return [rule(), *entry_document(session, index, now_ms)], hit[1]

        lane = self._screen.lane("preview", self.receive)
        (lane.follow if follows else lane.ask)(load)

    def sessions_changed(self, paths: Collection[str]) -> None:
        """Read the previewed session again if `paths` contains its path; the preview keeps its scroll position."""
        self._family.forget()
        if self._asked is None or self._asked[0] not in paths or not self._screen.has_class("-preview-shown"):
            return
        # While another screen covers the preview, do not read the session: `seen_again` will read it.
        self._is_stale = not self._screen.is_seen
        if self._screen.is_seen:
            self.load(follows=True)

    def seen_again(self) -> None:
        """Read the previewed session again if it changed while another screen covered the preview."""
        if self._is_stale:
            self._is_stale = False
            self.load()

    def receive(self, outcome: Outcome) -> None:
        """Show the conversation (or the error) of a session that was read, if the cursor is still on the session."""
        summary = self._screen.subject
        if summary is None or self._asked is None or summary.path != self._asked[0]:
            return
        from sessionbrowse.tui.reading.documents import rule

        if outcome.error is not None:
            reason = LinePart([("✗ ", "error"), (clean(outcome.sentence), "error")])
            self._view.show([*self._facts(summary), rule(), reason])
            return
        parts, query = outcome.value
        marks = None
        if query:
            from sessionbrowse.tui.shell.match_spans import MatchMarks

            marks = MatchMarks(self._screen, "marks", self._view.marks_changed).of(query)
        self._read = (parts, marks)
        self._family.ask(summary.path)
        self._show_read(keep_place=self._shown == self._asked)
        self._shown = self._asked

    def _show_read(self, *, keep_place: bool = True) -> None:
        summary = self._screen.subject
        if summary is not None and self._asked is not None and summary.path == self._asked[0]:
            parts, marks = self._read
            facts = self._facts(summary)
            self._view.show([*facts, *parts], keep_place=keep_place, marks=marks, searched_from=len(facts))

    def _show_facts(self) -> None:
        summary = self._screen.subject
        if summary is not None and (self._shown is None or self._shown[0] != summary.path):
            self._view.show(self._facts(summary))

    def _facts(self, summary: Summary) -> list[Part]:
        from sessionbrowse.tui.reading.documents import summary_parts

        browser = self._screen.browser
        exists = self._state.exists.get(summary.cwd)
        family = self._family.line(summary.path)
        state = self._state.machines.get(summary.machine or "")
        machine = ""
        if state is not None:
            recent = is_recent(summary, browser.now_ms(), self._state.machines)
            machine = seen_words(state.name, state.seen, browser.now_ms()) + (", changed just before" if recent else "")
        now_ms = browser.now_ms()
        return summary_parts(summary, browser.home, now_ms, exists=exists, family=family, machine=machine)


def _of_copies(copies: Sequence[Summary]) -> list[Part]:
    """Read the copies of a session on several machines, and return a line about their differences."""
    if len({one.machine for one in copies}) < 2:
        return []
    from sessionbrowse.services.inspect.compare import apart_since
    from sessionbrowse.store.read.session_file import open_session

    try:
        since = apart_since([open_session(one.path, one.agent) for one in copies])
    except SessionBrowseError:
        return []
    apart = f"apart since {iso_ms(since)[:10]}" if since is not None else "the same"
    return [LinePart([("⊞ ", "branch"), (f"{len(copies)} copies, {apart}", "dim")])]


QUIET_SECONDS = 5.0
"""Seconds to wait after sessions changed before computing the shown total cost again, in case more changes follow.

The computation is slow, because it reads the costs of all sessions.
"""


class FamilyTotals:
    """Computes in the background the cost of the previewed session's family (with its forks, copies and subagents).

    Totals are computed after a scan of the disk, because computing them would delay the scan. `changed` is called when
    a computation has ended.
    """

    def __init__(self, screen: ListScreen, changed: Callable[[], None]) -> None:
        self._screen = screen
        self._changed = changed
        self._lines: dict[str, Line] = {}
        self._path: str | None = None
        self._awaits_scan = self._is_counting = False
        self._recount = Delayed(screen, self._count)

    def line(self, path: str) -> Line | None:
        """Return the line with the total cost of a session and its related sessions; None if there is no total.

        While the total is being computed, the line shows "…".
        """
        is_awaited = path == self._path and (self._awaits_scan or self._is_counting)
        return self._lines.get(path) or (_line("…") if is_awaited and self._has_family(path) else None)

    def ask(self, path: str) -> None:
        """Compute the cost of a session and its related sessions, unless cached; if a scan runs, wait for its end."""
        self._path = path
        self._awaits_scan = self._screen.state.scanning
        if path not in self._lines and not self._awaits_scan:
            self._count()

    def scanned(self) -> None:
        """If the scan of the disk has ended, compute the total cost that was requested during the scan."""
        if self._awaits_scan and not self._screen.state.scanning and self._path is not None:
            self.ask(self._path)

    def forget(self) -> None:
        """Drop the cached total costs, because sessions changed; keep the shown total until it is computed again."""
        self._lines = {path: line for path, line in self._lines.items() if path == self._path}
        self._recount.cancel()
        if self._lines:
            self._recount.start(QUIET_SECONDS)

    def _has_family(self, path: str) -> bool:
        """Return True if sessions related to the session at `path` are known."""
        library = self._screen.state.library
        summary = library.get(path)
        return summary is not None and not is_stub(summary) and len(library.family(path)) > 1

    def _count(self) -> None:
        path, count = self._path, self._screen.browser.source.count_usage
        if path is None or count is None:
            return
        is_listed, self._is_counting = self._has_family(path), True

        def work(job: Job) -> tuple[str, Line | None]:
            from sessionbrowse.agents.base import own_folder
            from sessionbrowse.services.usage.question import UsageQuestion

            if not is_listed and not os.path.isdir(own_folder(path) or ""):
                return path, None
            rows = count(UsageQuestion(family_of=path)).table.rows
            return path, _total(rows[0]) if rows else None

        self._screen.lane("family", self._receive).ask(work)

    def _receive(self, outcome: Outcome) -> None:
        self._is_counting = False
        # If a total cannot be computed, the preview shows no total; the statistics screen reports the error.
        if outcome.error is None:
            path, line = outcome.value
            self._lines.pop(path, None)
            if line is not None:
                self._lines[path] = line
        self._changed()


def _total(row: UsageRow) -> Line:
    from sessionbrowse.model.usage.request import tokens_of
    from sessionbrowse.services.usage.stats import cents

    total = row.totals.total
    return _line(f"{cents(total)} · {tokens(tokens_of(total))} tokens")


def _line(text: str) -> Line:
    return [("⊞ ", "branch"), ("family total ", "dim"), (text, "dim")]
