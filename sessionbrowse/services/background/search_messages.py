"""The messages between the browser and the search program."""

from __future__ import annotations

from msgspec import Struct, field

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.monitor_messages import BrowserScope
from sessionbrowse.services.search.hits import Checkpoint, Hit

# ---- from the browser to the search ---------------------------------------------------------------------------------


class SearchSessions(BrowserScope, frozen=True, kw_only=True, tag=True):
    """First request: answer searches over all sessions."""


class Find(Struct, frozen=True, tag=True):
    """Request to search for a text; the previous search ends. The search pauses after `limit` hits.

    `stamp` is the number of the request; every answer to it has the same number.
    """

    stamp: int
    text: str
    tools: bool = False
    limit: int = 60


class FindMore(Struct, frozen=True, tag=True):
    """Request to continue the paused search with this stamp until it has `limit` hits in total."""

    stamp: int
    limit: int


class StopSearch(Struct, frozen=True, tag=True):
    """Request to stop the search with this stamp."""

    stamp: int


class ListCheckpoints(Struct, frozen=True, tag=True):
    """Request to send every label of every session, newest session first."""

    stamp: int


class Refresh(Struct, frozen=True, tag=True):
    """Request to scan the disk again, and to repeat the current search if sessions changed."""


SearchRequest = SearchSessions | Find | FindMore | StopSearch | ListCheckpoints | Refresh

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
    """Hits that replace all hits from position `at` on; `sessions` are their summaries, if not sent before."""

    stamp: int
    at: int
    hits: list[Hit]
    sessions: list[Summary] = field(default_factory=list)


class SearchProgress(Struct, frozen=True, tag=True):
    """The number of sessions searched so far, and the number of all sessions.

    `finished`: all sessions were searched. `paused`: the search reached its limit of hits. `stopped`: the user stopped
    the search, or it failed for the reason in `problem`.
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


SearchAnswer = SearchStatus | HitPage | SearchProgress | SearchRefused | CheckpointPage
