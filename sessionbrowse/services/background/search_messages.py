"""The messages between the browser and the search program."""

from __future__ import annotations

from msgspec import Struct, field

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.monitor_messages import BrowserScope
from sessionbrowse.services.search.ranked_page import RankedSession
from sessionbrowse.services.search.ranking import HALF_LIFE_DAYS

# ---- from the browser to the search ---------------------------------------------------------------------------------


class SearchSessions(BrowserScope, frozen=True, kw_only=True, tag=True):
    """The browser's first message to the search program; it says which sessions are searched.

    The bonus that the ranking gives to recent sessions halves every `half_life_days` days (setting `search_half_life`).
    """

    half_life_days: float = HALF_LIFE_DAYS


class ListScope(Struct, frozen=True):
    """The limits of a list: sessions of some working directories (None: all), only named, only archived sessions."""

    directories: frozenset[str] | None = None
    named: bool = False
    archived: bool = False

    def holds(self, summary: Summary) -> bool:
        """Return True if the list shows a session."""
        return (
            (self.directories is None or summary.cwd in self.directories)
            and (not self.named or bool((summary.name or "").strip()))
            and (not self.archived or summary.archived)
        )


class Find(Struct, frozen=True, tag=True):
    """Request to search for a text; it ends the previous search. The search pauses when it has found `limit` sessions.

    `stamp` is the number of the request; every answer to the request has the same number. With `newest`, exact matches
    are listed, newest session first; otherwise sessions are ranked. `scope` limits the sessions that are searched.
    """

    stamp: int
    text: str
    tools: bool = False
    limit: int = 20
    newest: bool = False
    scope: ListScope | None = None


class FindMore(Struct, frozen=True, tag=True):
    """Request to continue the paused search with the number `stamp` until it has found `limit` sessions in total."""

    stamp: int
    limit: int


class FindInSession(Struct, frozen=True, tag=True):
    """Request for more hits (matching entries) in one session that the search with the number `stamp` has found."""

    stamp: int
    path: str


class StopSearch(Struct, frozen=True, tag=True):
    """Request to stop the search with the number `stamp`."""

    stamp: int


class FindPaths(Struct, frozen=True, tag=True):
    """Request for the paths of all sessions that match a text; a newer request cancels it."""

    stamp: int
    text: str


class Refresh(Struct, frozen=True, tag=True):
    """Request to scan the disk again, and to repeat the current search if sessions changed."""


SearchRequest = SearchSessions | Find | FindMore | FindInSession | StopSearch | FindPaths | Refresh

# ---- from the search to the browser ---------------------------------------------------------------------------------


class SearchStatus(Struct, frozen=True, kw_only=True, tag=True):
    """The number of sessions that are searched, and the state of the index and of the disk scan.

    `has_tools`: the index contains tool calls and results. `reading`: a scan of the disk is running. `note` is a
    sentence about the index, or None.
    """

    sessions: int
    has_index: bool
    has_tools: bool
    reading: bool
    note: str | None = None


class HitPage(Struct, frozen=True, tag=True):
    """Found sessions with their matching entries; in the browser's list they replace those from position `at` on.

    `ranked`: the best session is first; otherwise the newest one is. `ranking_follows`: ranked sessions soon replace
    these. `instead` maps misspelt words to the words that were searched in their place. `unread` is the number of
    sessions that contain words of the query but were not read, because there are too many. `nowhere` are the words
    that no session contains. `notes` are sentences about filters that fit no session.
    """

    stamp: int
    at: int
    sessions: list[RankedSession]
    ranked: bool = False
    ranking_follows: bool = False
    instead: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unread: int = 0
    nowhere: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class SessionHits(Struct, frozen=True, tag=True):
    """More matching entries (hits) in one session, the best first."""

    stamp: int
    session: RankedSession


class SearchProgress(Struct, frozen=True, tag=True):
    """The number of sessions searched so far, and the number of all sessions.

    `finished`: all sessions were searched. `paused`: the search reached its limit of sessions. `stopped`: the user
    stopped the search, or it failed for the reason in `problem`.
    """

    stamp: int
    searched: int
    sessions: int
    finished: bool = False
    paused: bool = False
    stopped: bool = False
    problem: str | None = None


class SearchRefused(Struct, frozen=True, tag=True):
    """The reason why the text of a search request cannot be searched for."""

    stamp: int
    sentence: str


class FoundPaths(Struct, frozen=True, tag=True):
    """The paths of the sessions that match the text of a request, or the reason why it cannot be searched for."""

    stamp: int
    paths: list[str] = field(default_factory=list)
    problem: str | None = None


SearchAnswer = SearchStatus | HitPage | SessionHits | SearchProgress | SearchRefused | FoundPaths
