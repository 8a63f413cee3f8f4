"""Sessions in which the words of the list's filter were said, listed below those that match by name."""

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
"""Number of characters shown before the first match."""
MAX_ABOVE = 500
"""Number of matches by name from which no others are listed: nobody would see them so far below."""


class SaidSessions:
    """Asks the search program for the sessions in which a filter's words were said."""

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
        """True while an answer is expected."""
        return self._is_asked

    def prepare(self) -> None:
        """Start the search program, if there is one, before the first letter of a filter."""
        client = self._screen.browser.search_client
        if client.start() and not self._listens:
            self._listens = True
            client.listen(lambda answer: self._screen.call_later(self.take, answer))

    def ask(self, text: str) -> None:
        """Search for a filter's words; the sessions found for the filter before are forgotten."""
        if text == self._text:
            return
        # Imported here: the first rows need no search.
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
        """Take an answer of the search program; None means that the program has ended."""
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
        """Return the query whose words were said in a session; "" if they were not, or this is not known."""
        return self._searched if self.hits(path) else ""

    def hits(self, path: str) -> list[Hit]:
        """Return the entries of a session in which the words were said, best first."""
        known = next((found.hits for found in self._found if found.summary.path == path), ())
        return [hit for hit in self._all_hits.get(path, known) if hit.entry_index is not None]

    def hit(self, path: str) -> Hit | None:
        """Return the entry by which a session matches the filter; None if the session's name matches."""
        return next(iter(self.hits(path)), None) if path in self._listed else None

    def hit_to_open(self, path: str) -> Hit | None:
        """Return the entry by which a session matches, as `hit` does, and ask for all hits of the session."""
        from sessionbrowse.services.background.search_messages import FindInSession

        if any(found.more and found.summary.path == path for found in self._found):
            self._screen.browser.search_client.send(FindInSession(self._stamp, path))
        return self.hit(path)

    def rows(self, above: Sequence[SessionRow]) -> list[SessionRow]:
        """Return the rows of sessions in which the words were said, without those that match by name."""
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
    """Return the snippet from shortly before its first match."""
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
