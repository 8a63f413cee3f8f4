"""The messages between the browser and the search program."""

from __future__ import annotations

from msgspec import Struct, field

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.monitor_messages import BrowserScope
from sessionbrowse.services.search.hits import Checkpoint
from sessionbrowse.services.search.ranked_page import RankedSession
from sessionbrowse.services.search.ranking import HALF_LIFE_DAYS

# ---- from the browser to the search ---------------------------------------------------------------------------------


class SearchSessions(BrowserScope, frozen=True, kw_only=True, tag=True):
    """First request: answer searches over all sessions; `half_life_days` weighs their age."""

    half_life_days: float = HALF_LIFE_DAYS


class Find(Struct, frozen=True, tag=True):
    """Request to search for a text; the previous search ends. The search pauses after `limit` sessions.

    `stamp` is the number of the request; every answer to it has the same number. `newest` lists exact matches, newest
    session first, instead of ranking.
    """

    stamp: int
    text: str
    tools: bool = False
    limit: int = 20
    newest: bool = False


class FindMore(Struct, frozen=True, tag=True):
    """Request to continue the paused search with this stamp until it has `limit` sessions in total."""

    stamp: int
    limit: int


class FindInSession(Struct, frozen=True, tag=True):
    """Request for more hits of one session that the search with this stamp found."""

    stamp: int
    path: str


class StopSearch(Struct, frozen=True, tag=True):
    """Request to stop the search with this stamp."""

    stamp: int


class ListCheckpoints(Struct, frozen=True, tag=True):
    """Request to send every label of every session, newest session first."""

    stamp: int


class Refresh(Struct, frozen=True, tag=True):
    """Request to scan the disk again, and to repeat the current search if sessions changed."""


SearchRequest = SearchSessions | Find | FindMore | FindInSession | StopSearch | ListCheckpoints | Refresh

# ---- from the search to the browser ---------------------------------------------------------------------------------


class SearchStatus(Struct, frozen=True, kw_only=True, tag=True):
    """The number of searched sessions, and the state of the index and of the disk scan.

    `has_tools`: the index contains tool calls and results. `reading`: a scan of the disk is under way. `note` is a
    sentence about the index, or None.
    """

    sessions: int
    has_index: bool
    has_tools: bool
    reading: bool
    note: str | None = None


class HitPage(Struct, frozen=True, tag=True):
    """Sessions with their hits, which replace all sessions from position `at` on.

    `ranked`: best first, else newest first. `ranking_follows`: a page of the best sessions replaces this one soon.
    `instead` maps misspelt words to the words that were searched. `unread` counts the sessions with words of the query
    that were not read, because there are too many.
    """

    stamp: int
    at: int
    sessions: list[RankedSession]
    ranked: bool = False
    ranking_follows: bool = False
    instead: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unread: int = 0


class SessionHits(Struct, frozen=True, tag=True):
    """More hits of one session, the best first."""

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
    """The reason why a text cannot be searched for."""

    stamp: int
    sentence: str


class CheckpointPage(Struct, frozen=True, tag=True):
    """Some more checkpoints; so far `searched` of `total` labelled sessions were read."""

    stamp: int
    checkpoints: list[Checkpoint]
    sessions: list[Summary]
    searched: int
    total: int
    finished: bool = False


SearchAnswer = SearchStatus | HitPage | SessionHits | SearchProgress | SearchRefused | CheckpointPage
