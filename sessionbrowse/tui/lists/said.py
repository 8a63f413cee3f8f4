"""Find sessions whose entries contain the words of the session list's filter.

The list shows these sessions below the sessions whose names match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sessionbrowse.tui.data.library import SessionRow
from sessionbrowse.tui.lists.state import ListState
from sessionbrowse.tui.shell.command_screen import CommandScreen

if TYPE_CHECKING:
    from sessionbrowse.services.background.search_messages import SearchAnswer
    from sessionbrowse.services.search.hits import Hit
    from sessionbrowse.services.search.ranked_page import RankedSession

LEAST_LETTERS = 3
MAX_SESSIONS = 60
SHOWN_BEFORE = 12
"""Number of characters of an entry's text that a row shows before the first match."""
MAX_ABOVE = 500
"""If the filter finds more sessions than this by name, the list omits the sessions found by their entries."""


class SaidSessions:
    """Asks the background search process which sessions have entries that contain the filter's words."""

    def __init__(self, screen: CommandScreen[None], state: ListState, changed: Callable[[], object]) -> None:
        self._screen = screen
        self._changed = changed
        self._state = state
        self._listens = False
        self._text = ""
        self._stamp = 0
        self._is_asked = False
        self._found: Sequence[RankedSession] = ()
        self._searched = ""
        self._all_hits: dict[str, Sequence[Hit]] = {}
        self._listed: frozenset[str] = frozenset()

    @property
    def due(self) -> bool:
        """True while an answer of the search process is awaited."""
        return self._is_asked

    def prepare(self) -> None:
        """Start the search process (if the browser has one) before the first letter of a filter is typed."""
        client = self._screen.browser.search_client
        if client.start() and not self._listens:
            self._listens = True
            client.listen(lambda answer: self._screen.call_later(self.take, answer))

    def ask(self, text: str) -> None:
        """Search all entries for the words of a filter; drop the sessions that were found for the previous filter."""
        if text == self._text:
            return
        # Import the request class `Find` here, because the browser's first frame must not wait for the import.
        from sessionbrowse.services.background.search_messages import Find

        client = self._screen.browser.search_client
        if text and not self._listens:
            self.prepare()
        self._text, self._found, self._is_asked = text, (), False
        self._searched, self._all_hits = text, {}
        if self._listens and client.is_running and _is_asked_for(text):
            self._stamp, self._is_asked = client.stamp(), True
            client.send(Find(self._stamp, text, limit=MAX_SESSIONS))

    def take(self, answer: SearchAnswer | None) -> None:
        """Handle an answer of the search process; None means that the process has ended."""
        from sessionbrowse.services.background.search_messages import HitPage, SearchProgress, SessionHits
        from sessionbrowse.services.search.ranked_page import corrected

        match answer:
            case HitPage(stamp=stamp, ranking_follows=False, ranked=True) if stamp == self._stamp:
                self._found, self._is_asked = answer.sessions, False
                self._searched = corrected(self._text, answer.instead)
                self._changed()
            case SessionHits(stamp=stamp, session=session) if stamp == self._stamp:
                self._all_hits[session.summary.path] = session.hits
            case SearchProgress(stamp=stamp) if stamp == self._stamp and (answer.finished or answer.stopped):
                self._is_asked = False
            case None:
                self._is_asked = False

    def searched_in(self, path: str) -> str:
        """Return the searched query if entries of a session are known to match it, else ""."""
        return self._searched if self.hits(path) else ""

    def hits(self, path: str) -> list[Hit]:
        """Return the entries of a session that contain the filter's words, best match first."""
        known = next((found.hits for found in self._found if found.summary.path == path), ())
        return [hit for hit in self._all_hits.get(path, known) if hit.entry_index is not None]

    def hit(self, path: str) -> Hit | None:
        """Return the best matching entry of a session that the list shows because of its entries; else None."""
        return next(iter(self.hits(path)), None) if path in self._listed else None

    def hit_to_open(self, path: str) -> Hit | None:
        """Return the entry at which to open a session found by its entries, else None.

        Also request all matching entries of the session from the search process.
        """
        from sessionbrowse.services.background.search_messages import FindInSession

        if any(found.more and found.summary.path == path for found in self._found):
            self._screen.browser.search_client.send(FindInSession(self._stamp, path))
        return self.hit(path)

    def rows(self, above: Sequence[SessionRow]) -> list[SessionRow]:
        """Return rows of sessions whose entries contain the filter's words, except sessions in the rows `above`."""
        self._listed = frozenset()
        if not self._found or len(above) > MAX_ABOVE or self._state.filter.text != self._text:
            return []
        known = {row.summary.path for row in above}
        rows = []
        for found in self._found:
            summary = self._state.library.get(found.summary.path)
            if summary is not None and summary.path not in known and self._state.is_in_scope(summary):
                rows.append(SessionRow(summary, said=_part_of(found.hits[0])))
        self._listed = frozenset(row.summary.path for row in rows)
        return rows


def _part_of(hit: Hit) -> str:
    """Return a piece of a found entry's text for a row; it begins shortly before the first match."""
    begin = max(0, hit.marks[0][0] - SHOWN_BEFORE) if hit.marks else 0
    return ("…" if begin else "") + hit.snippet[begin:]


def _is_asked_for(text: str) -> bool:
    if len(text.strip()) < LEAST_LETTERS:
        return False
    from sessionbrowse.model.search.query import BadSearch, parse_question
    from sessionbrowse.services.search.ranking import can_rank

    try:
        return can_rank(parse_question(text))
    except BadSearch:
        return False
