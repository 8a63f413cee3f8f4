"""The messages between the browser and its programs: each kind arrives as it was sent, whatever bytes its texts had."""

from __future__ import annotations

import pytest

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.monitor_messages import (
    DirectoryCount,
    FirstRows,
    IndexProgress,
    IndexRead,
    MonitorDisk,
    MonitorEvent,
    MonitorFailed,
    MonitorRequest,
    Notice,
    Painted,
    Rescan,
    ScanComplete,
    SessionsFound,
    SessionsGone,
    SessionsInUse,
)
from sessionbrowse.services.background.search_messages import (
    Find,
    FindInSession,
    FindMore,
    FindPaths,
    FoundPaths,
    HitPage,
    Refresh,
    SearchAnswer,
    SearchProgress,
    SearchRefused,
    SearchRequest,
    SearchSessions,
    SearchStatus,
    SessionHits,
    StopSearch,
)
from sessionbrowse.services.search.hits import Hit
from sessionbrowse.services.search.ranked_page import RankedSession
from tests.support.channels import channel_pair

PATH = "/x/\udcff.jsonl"
SUMMARY = Summary(agent="pi", path=PATH, name="half \ud800", tokens=2**40, cost=0.5, modified=1.5)
HIT = Hit(PATH, "s", "pi", "/x", None, 3, "e", "user", "active", "a \x00 日本", ((0, 1), (4, 6)), 1.5)
FOUND = RankedSession(SUMMARY, [HIT], "some", 1.5, 4, ("日本",))
MESSAGES = [
    (MonitorRequest, MonitorDisk(home="/home/\udce9", environ={"HOME": "\udce9"}, cache="/c", roots=("/r",))),
    (MonitorRequest, Painted()),
    (MonitorRequest, Rescan(hidden=True)),
    (MonitorEvent, FirstRows((SUMMARY,), (DirectoryCount("/x", 1, 0),), 1)),
    (MonitorEvent, SessionsFound((SUMMARY,), 1, 2)),
    (MonitorEvent, IndexRead()),
    (MonitorEvent, SessionsGone((PATH,))),
    (MonitorEvent, ScanComplete((("/x", "no"),))),
    (MonitorEvent, IndexProgress(1, 2)),
    (MonitorEvent, SessionsInUse(("/x",))),
    (MonitorEvent, Notice("so")),
    (MonitorEvent, MonitorFailed("so")),
    (SearchRequest, SearchSessions(home="/home", environ={}, cache="/c", agents=("pi",))),
    (SearchRequest, Find(3, "\ud800 \x00 日本 \udcff")),
    (SearchRequest, FindMore(3, 120)),
    (SearchRequest, FindInSession(3, PATH)),
    (SearchRequest, StopSearch(3)),
    (SearchRequest, FindPaths(4, "x")),
    (SearchRequest, Refresh()),
    (SearchAnswer, SearchStatus(sessions=1, has_index=True, has_tools=False, reading=True, note="so")),
    (SearchAnswer, HitPage(3, 60, [FOUND], ranked=True, instead={"tokne": ("token",)}, unread=7)),
    (SearchAnswer, SessionHits(3, FOUND)),
    (SearchAnswer, SearchProgress(3, 1, 2, paused=True)),
    (SearchAnswer, SearchRefused(3, "so")),
    (SearchAnswer, FoundPaths(4, ["/a"], "why")),
]


@pytest.mark.parametrize(("kinds", "message"), MESSAGES, ids=lambda value: type(value).__name__)
def test_a_message_arrives_as_it_was_sent(kinds: object, message: object) -> None:
    first, second = channel_pair(kinds, kinds)
    assert first.send(message)
    assert second.receive(20) == message


def test_every_kind_of_message_is_tried() -> None:
    tried = {(kinds, type(message)) for kinds, message in MESSAGES}
    all_kinds = (MonitorRequest, MonitorEvent, SearchRequest, SearchAnswer)
    assert tried == {(kinds, kind) for kinds in all_kinds for kind in kinds.__args__}
