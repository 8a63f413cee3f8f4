"""The messages between the browser and the search."""

from __future__ import annotations

from msgspec import Struct, field

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.monitor_messages import BrowserScope
from sessionbrowse.services.search.hits import Checkpoint, Hit

# ---- from the browser to the search ---------------------------------------------------------------------------------


class SearchSessions(BrowserScope, frozen=True, kw_only=True, tag=True):
    """Answer searches over all sessions."""


class Find(Struct, frozen=True, tag=True):
    """Search for a text, ending the search before it; pause after `limit` hits.

    `stamp` numbers the request; every answer to it bears the same number.
    """

    stamp: int
    text: str
    tools: bool = False
    limit: int = 60


class FindMore(Struct, frozen=True, tag=True):
    """Continue the paused search of that stamp until there are `limit` hits in all."""

    stamp: int
    limit: int


class StopSearch(Struct, frozen=True, tag=True):
    """Stop the search of that stamp."""

    stamp: int


class ListCheckpoints(Struct, frozen=True, tag=True):
    """Send every label of every session, newest session first."""

    stamp: int


class Refresh(Struct, frozen=True, tag=True):
    """Scan the disk again; repeat the current search if sessions changed."""


SearchRequest = SearchSessions | Find | FindMore | StopSearch | ListCheckpoints | Refresh

# ---- from the search to the browser ---------------------------------------------------------------------------------


class SearchStatus(Struct, frozen=True, kw_only=True, tag=True):
    """The sessions that are searched, and by which means.

    `has_tools`: the index holds tool calls and results. `reading`: a scan of the disk is under way. `note` is a
    sentence about the index, or None.
    """

    sessions: int
    has_index: bool
    has_tools: bool
    reading: bool
    note: str | None = None


class HitPage(Struct, frozen=True, tag=True):
    """Hits from position `at` on, replacing all from there; `sessions` are the summaries that were not sent before."""

    stamp: int
    at: int
    hits: list[Hit]
    sessions: list[Summary] = field(default_factory=list)


class SearchProgress(Struct, frozen=True, tag=True):
    """The number of sessions searched so far of all.

    `finished`: all were searched. `paused`: the limit of hits is reached. `stopped`: the search was stopped, by
    the user or for the reason in `problem`.
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
    """More checkpoints; `searched` of `total` labelled sessions were read."""

    stamp: int
    checkpoints: list[Checkpoint]
    sessions: list[Summary]
    searched: int
    total: int
    finished: bool = False


SearchAnswer = SearchStatus | HitPage | SearchProgress | SearchRefused | CheckpointPage
