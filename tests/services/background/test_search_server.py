"""The process that answers searches: the newest question, page by page, from the index first and then from the disk."""

from __future__ import annotations

import os
import queue
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from sessionbrowse.services.background import search_server
from sessionbrowse.services.background.programs import start_job
from sessionbrowse.services.background.search_messages import (
    Find,
    FindInSession,
    FindMore,
    FindPaths,
    FoundPaths,
    HitPage,
    ListScope,
    Refresh,
    SearchAnswer,
    SearchProgress,
    SearchRefused,
    SearchSessions,
    SearchStatus,
    SessionHits,
    StopSearch,
)
from sessionbrowse.services.background.search_server import SearchServer
from sessionbrowse.services.list.gather import Snapshot, take_snapshot, update_index
from sessionbrowse.services.search.hits import Hit
from sessionbrowse.services.search.ranked_page import RankedSession
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.store.index.index import Index, open_index
from sessionbrowse.store.index.schema import remove_files
from tests.support.index_support import answer, append, entry, folder, header, scope_of, user, write

Wanted = TypeVar("Wanted")
PATIENCE = 30


class Asked:
    """A server in a thread, and what it answered."""

    def __init__(self, server: SearchServer, answers: queue.Queue[SearchAnswer]) -> None:
        self.server = server
        self._answers = answers
        self.ask = server.take

    def until(
        self, kind: type[Wanted] | tuple[type[Wanted], ...], is_it: Callable[[Any], bool] = lambda _: True
    ) -> Wanted:
        """The next answer of a kind that is as asked for."""
        while True:
            answered = self._answers.get(timeout=PATIENCE)
            if isinstance(answered, kind) and is_it(answered):
                return answered

    def hits(self, stamp: int) -> list[Any]:
        """All hits of a search, as far as it goes."""
        return hits_of(self.sessions(stamp))

    def sessions(self, stamp: int) -> list[RankedSession]:
        """All sessions of a search, as far as it goes."""
        found: list[RankedSession] = []
        while True:
            answered = self._answers.get(timeout=PATIENCE)
            if isinstance(answered, HitPage) and answered.stamp == stamp:
                assert answered.at <= len(found), "a gap between pages"
                found[answered.at :] = answered.sessions
            elif (
                isinstance(answered, SearchProgress)
                and answered.stamp == stamp
                and (answered.finished or answered.paused)
            ):
                return found


def hits_of(sessions: list[RankedSession]) -> list[Hit]:
    """The hits of some sessions."""
    return [hit for session in sessions for hit in session.hits]


@contextmanager
def asking(store: Path, cache: Path) -> Iterator[Asked]:
    answers: queue.Queue[SearchAnswer] = queue.Queue()
    server = SearchServer(scope_of(store, hidden=True, archived=True), cache, answers.put)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Asked(server, answers)
    finally:
        server.end()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def many(store: Path, sessions: int = 30) -> None:
    for number in range(sessions):
        text = f"common word {number}"
        write(
            folder(store) / f"{number:02}.jsonl", header(f"s{number}"), user("1", None, text), answer("2", "1", "Yes")
        )


def indexed_store(tmp_path: Path) -> tuple[Path, Path]:
    store, cache = tmp_path / "store", tmp_path / "cache"
    many(store)
    index = open_index(cache, print, create=True)
    assert index is not None
    update_index(scope_of(store), index, processes=True)
    index.close()
    return store, cache


def test_it_says_what_is_searched_and_then_answers(tmp_path: Path) -> None:
    with asking(*indexed_store(tmp_path)) as asked:
        known = asked.until(SearchStatus)
        assert (known.sessions, known.has_index, known.has_tools) == (30, True, False)
        asked.ask(Find(1, "common 7"))
        assert [hit.entry_id for hit in asked.hits(1)] == ["1"]


def test_hits_come_in_pages_and_go_on_when_more_are_wanted(tmp_path: Path) -> None:
    with asking(*indexed_store(tmp_path)) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(1, "common", limit=10, newest=True))
        first = asked.hits(1)
        assert len(first) == 10
        asked.ask(FindMore(1, 1000))
        page = asked.until(HitPage)
        assert page.at in (9, 10)
        assert asked.until(SearchProgress, lambda it: it.finished).finished


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no list of mapped files")
@pytest.mark.parametrize("newest", [False, True])
def test_texts_are_closed_after_a_while_without_a_question_and_results_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newest: bool
) -> None:
    monkeypatch.setattr(search_server, "IDLE_SECONDS", 0.05)
    store, cache = indexed_store(tmp_path)

    def is_closed() -> bool:
        return f"{cache}/text-" not in Path("/proc/self/maps").read_text()

    with asking(store, cache) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(1, "common", limit=10, newest=newest))
        assert len(asked.sessions(1)) == 10
        end = time.monotonic() + PATIENCE
        while not is_closed():
            assert time.monotonic() < end
            os.sched_yield()
        asked.ask(FindMore(1, 25))
        assert len(asked.sessions(1)) == 25
        asked.ask(FindInSession(1, f"{folder(store)}/03.jsonl"))
        assert len(asked.until(SessionHits).session.hits) == 1
        append(folder(store) / "07.jsonl", user("9", "2", "a zebra"))
        asked.ask(Refresh())
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(2, "zebra"))
        assert [hit.entry_id for hit in asked.hits(2)] == ["9"]


def test_the_newest_exact_matches_come_at_once_and_the_best_replace_them(tmp_path: Path) -> None:
    store, cache = tmp_path / "store", tmp_path / "cache"
    said = ["a zebra, and much else that nobody asked about. " * 20, "zebra crossing", "zebras crossed a road"]
    for number, text in enumerate(said):
        write(folder(store) / f"{number}.jsonl", header(f"s{number}"), user("1", None, text, ms=1_000_000 - number))
    with asking(store, cache) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(1, "zebra crossing"))
        first = asked.until(HitPage)
        assert (first.ranked, first.ranking_follows, len(first.sessions)) == (False, True, 1)
        best = asked.until(HitPage)
        assert (best.at, best.ranked, best.ranking_follows) == (0, True, False)
        assert [(each.summary.id, each.match) for each in best.sessions] == [
            ("s1", "exact"),
            ("s2", "forms"),
            ("s0", "some"),
        ]


def test_more_hits_of_one_session_come_on_request_in_either_order(tmp_path: Path) -> None:
    store, cache = tmp_path / "store", tmp_path / "cache"
    write(folder(store) / "a.jsonl", header("s"), *[user(str(n), None, f"zebra number {n}") for n in range(40)])
    with asking(store, cache) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        for stamp, newest in enumerate((False, True), 1):
            asked.ask(Find(stamp, "zebra", newest=newest))
            (found,) = asked.sessions(stamp)
            assert len(found.hits) == 3
            asked.ask(FindInSession(stamp, found.summary.path))
            more = asked.until(SessionHits).session
            assert len(more.hits) == 40
            assert more.more == 0
            assert more.hits[:3] == found.hits or newest


def test_the_newest_sessions_come_in_order_those_found_by_name_among_them(tmp_path: Path) -> None:
    store, cache = tmp_path / "store", tmp_path / "cache"
    for number, texts in enumerate((["zebra"], ["named"], ["zebra", "one more zebra"], ["zebra"])):
        entries = [user(str(n), None, text, ms=4_000_000 - number) for n, text in enumerate(texts)]
        named = [entry("session_info", "9", "0", name="a zebra")] if number in (1, 2) else []
        write(folder(store) / f"{number}.jsonl", header(f"s{number}"), *entries, *named)
    with asking(store, cache) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(1, "zebra", newest=True))
        found = asked.hits(1)
        assert list(dict.fromkeys([hit.id for hit in found])) == ["s0", "s1", "s2", "s3"]
        assert [hit.role for hit in found if hit.id == "s2"] == ["name", "user", "user"]


def test_without_an_index_a_large_store_is_listed_as_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessionbrowse.services.background.search_results.RANKED_BYTES", 1_000)
    many(tmp_path / "store")
    with asking(tmp_path / "store", tmp_path / "none") as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(1, "common", limit=100))
        assert not asked.until(HitPage).ranked


def test_a_page_brings_the_sessions_of_its_hits(tmp_path: Path) -> None:
    with asking(*indexed_store(tmp_path)) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(1, "common 3", limit=100))
        page = asked.until(HitPage, lambda it: bool(it.sessions))
        assert all(hit.path == each.summary.path for each in page.sessions for hit in each.hits)


def test_without_an_index_every_file_is_read(tmp_path: Path) -> None:
    many(tmp_path / "store")
    with asking(tmp_path / "store", tmp_path / "none") as asked:
        known = asked.until(SearchStatus, lambda status: not status.reading)
        assert not known.has_index
        assert known.sessions == 30
        asked.ask(Find(1, "common", limit=100))
        assert len(asked.hits(1)) == 30
    assert not (tmp_path / "none").exists()


def test_an_index_that_cannot_be_asked_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def held(index: Index) -> bool:
        raise sqlite3.OperationalError("database is locked")

    store, cache = indexed_store(tmp_path)
    monkeypatch.setattr(Index, "is_empty", held)
    with asking(store, cache) as asked:
        assert asked.until(SearchStatus, lambda status: not status.reading).sessions == 30
        asked.ask(Find(1, "common", limit=100))
        assert len(asked.hits(1)) == 30


def test_who_asks_again_and_again_waits_for_one_look_at_the_disk_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, cache = indexed_store(tmp_path)
    looks: queue.Queue[bool] = queue.Queue()
    may_end = threading.Semaphore(0)

    def waiting(*args: Any, **kwargs: Any) -> Snapshot:
        looks.put(True)
        assert may_end.acquire(timeout=PATIENCE)
        return take_snapshot(*args, **kwargs)

    monkeypatch.setattr("sessionbrowse.services.background.search_server.take_snapshot", waiting)
    with asking(store, cache) as asked:
        looks.get(timeout=PATIENCE)
        for _ in range(5):
            asked.ask(Refresh())
        asked.ask(FindPaths(1, "zebra"))
        asked.until(FoundPaths)
        assert looks.empty()
        append(folder(store) / "03.jsonl", user("3", "2", "zebra", 1_800_000_000_000))
        may_end.release(2)
        asked.until(SearchStatus, lambda status: not status.reading)
        looks.get(timeout=PATIENCE)
        assert looks.empty()
        asked.ask(Find(2, "zebra"))
        assert len(asked.hits(2)) == 1


def test_a_root_that_is_gone_ends_the_look_at_the_disk_with_a_sentence(tmp_path: Path) -> None:
    store, cache = indexed_store(tmp_path)
    with asking(store, cache) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        store.rename(tmp_path / "elsewhere")
        asked.ask(Refresh())
        known = asked.until(SearchStatus)
        assert not known.reading
        assert known.note == f"--root {store} does not exist."


def test_what_was_appended_is_found_after_a_fresh_look_at_the_disk(tmp_path: Path) -> None:
    store, cache = indexed_store(tmp_path)
    with asking(store, cache) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(1, "zebra"))
        assert asked.hits(1) == []
        append(folder(store) / "03.jsonl", user("3", "2", "A zebra", 1_800_000_000_000))
        asked.ask(Refresh())
        page = asked.until(HitPage, lambda it: bool(it.sessions))
        assert [(hit.entry_id, page.stamp) for hit in hits_of(page.sessions)] == [("3", 1)]


def test_the_scan_is_said_to_be_done_only_after_its_sessions_were_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, cache = indexed_store(tmp_path)
    may_end = threading.Semaphore(0)

    def waiting(*args: Any, **kwargs: Any) -> Snapshot:
        assert may_end.acquire(timeout=PATIENCE)
        return take_snapshot(*args, **kwargs)

    append(folder(store) / "03.jsonl", user("3", "2", "A zebra", 1_800_000_000_000))
    monkeypatch.setattr("sessionbrowse.services.background.search_server.take_snapshot", waiting)
    with asking(store, cache) as asked:
        asked.ask(Find(1, "zebra"))
        assert asked.hits(1) == []
        may_end.release()
        told = asked.until((HitPage, SearchStatus), lambda it: isinstance(it, HitPage) or not it.reading)
        assert isinstance(told, HitPage)
        assert [hit.entry_id for hit in hits_of(told.sessions)] == ["3"]


def anew(index: Index, store: Path) -> None:
    index.empty()
    update_index(scope_of(store), index)


def with_tools(index: Index, store: Path) -> None:
    update_index(scope_of(store), index, tools=True)


@pytest.mark.parametrize("made", [anew, with_tools])
def test_an_index_that_is_made_anew_while_it_is_searched_loses_no_hit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Callable[[Index, Path], None]
) -> None:
    # What is held in memory is searched there. Texts stand in shards.
    monkeypatch.setattr("sessionbrowse.store.index.index.BULK_BYTES", 1)
    store, cache = indexed_store(tmp_path)
    with asking(store, cache) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        index = open_index(cache, print, create=True)
        assert index is not None
        made(index, store)
        index.close()
        asked.ask(Find(1, "word", limit=100))
        assert len(asked.hits(1)) == 30
        asked.ask(Refresh())
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(2, "word", limit=100))
        assert len(asked.hits(2)) == 30
        assert not asked.server._searcher.is_outdated()


def test_a_newer_question_makes_the_older_one_stale(tmp_path: Path) -> None:
    with asking(*indexed_store(tmp_path)) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        for stamp, text in enumerate(["c", "co", "com", "common 11"], 1):
            asked.ask(Find(stamp, text))
        assert len(asked.hits(4)) == 1


def test_what_cannot_be_asked_is_refused_with_the_reason(tmp_path: Path) -> None:
    with asking(*indexed_store(tmp_path)) as asked:
        asked.ask(Find(1, "re:("))
        assert "not valid" in asked.until(SearchRefused).sentence


def test_a_stopped_search_says_how_far_it_came(tmp_path: Path) -> None:
    with asking(*indexed_store(tmp_path)) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.server.take(StopSearch(1))
        asked.ask(Find(1, "re:common"))
        searched = asked.until(SearchProgress, lambda it: it.stamp == 1)
        assert not searched.finished
        assert not searched.paused


def test_the_hits_of_before_stay_until_there_are_as_many_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, cache = indexed_store(tmp_path)
    with asking(store, cache) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(1, "common", limit=100))
        assert len(asked.hits(1)) == 30
        # However slowly they come.
        monkeypatch.setattr("sessionbrowse.services.background.search_results.FIRST_PAGE_SECONDS", 0.0)
        monkeypatch.setattr("sessionbrowse.services.background.search_results.PAGE_SECONDS", 0.0)
        append(folder(store) / "03.jsonl", user("3", "2", "A common one", 1_800_000_000_000))
        asked.ask(Refresh())
        first = asked.until(HitPage)
        assert (first.at, len(first.sessions)) == (0, 30)


def test_what_a_stopped_search_found_stays_when_the_disk_changes(tmp_path: Path) -> None:
    store, cache = indexed_store(tmp_path)
    with asking(store, cache) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(1, "common", limit=10))
        assert len(asked.hits(1)) == 10
        asked.server.take(StopSearch(1))
        append(folder(store) / "03.jsonl", user("3", "2", "A common one", 1_800_000_000_000))
        asked.ask(Refresh())
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(FindPaths(2, "common"))
        assert isinstance(asked.until(object, lambda it: isinstance(it, HitPage | FoundPaths)), FoundPaths)


def test_the_hits_of_before_stay_when_the_search_behind_a_change_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, cache = indexed_store(tmp_path)
    with asking(store, cache) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(1, "common", limit=20, newest=True))
        assert len(asked.hits(1)) == 20
        find = Searcher.find

        def stopped(searcher: Searcher, *query: Any, **options: Any) -> Iterator[Hit]:
            asked.server.take(StopSearch(1))
            yield from find(searcher, *query, **options)

        monkeypatch.setattr(Searcher, "find", stopped)
        append(folder(store) / "03.jsonl", user("3", "2", "A common one", 1_800_000_000_000))
        asked.ask(Refresh())
        told = asked.until(object, lambda it: isinstance(it, HitPage | SearchProgress))
        assert isinstance(told, SearchProgress)
        assert told.stopped


def test_every_label_is_listed_with_its_session(tmp_path: Path) -> None:
    store, cache = indexed_store(tmp_path)
    append(folder(store) / "05.jsonl", entry("label", "9", "2", targetId="1", label="good here"))
    with asking(store, cache) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        for text in ("label:", "label:good", "label:good branch:active"):
            asked.ask(Find(7, text))
            page = asked.until(HitPage)
            (session,) = page.sessions
            assert session.summary.path == str(folder(store) / "05.jsonl")
            (hit,) = session.hits
            assert (hit.role, hit.entry_id, hit.entry_index, hit.marks) == ("label", "1", 0, ((0, 9),))
            assert hit.snippet.startswith("good here  ")
        asked.ask(Find(8, "label:bad"))
        page = asked.until(HitPage, lambda page: page.stamp == 8)
        assert (page.sessions, page.notes) == ([], ("label:bad fits no session.",))


def test_a_search_is_limited_to_the_sessions_that_a_list_shows(tmp_path: Path) -> None:
    store, cache = indexed_store(tmp_path)
    write(folder(store) / "named.jsonl", header("n", cwd="/named"), user("1", None, "common"))
    append(folder(store) / "named.jsonl", entry("session_info", "2", "1", name="a name"))
    with asking(store, cache) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        number = 0
        for scope in (ListScope(frozenset(["/named"])), ListScope(named=True)):
            for newest in (False, True):
                number += 1
                asked.ask(Find(number, "common", newest=newest, scope=scope))
                page = next(page for page in iter(lambda: asked.until(HitPage), None) if page.stamp == number)
                assert [each.summary.cwd for each in page.sessions] == ["/named"]
        asked.ask(Find(9, "common", scope=ListScope(archived=True)))
        assert asked.until(HitPage, lambda page: page.stamp == 9).sessions == []


def test_the_paths_of_all_sessions_that_match_are_found(tmp_path: Path) -> None:
    store, cache = indexed_store(tmp_path)
    with asking(store, cache) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(FindPaths(1, "common"))
        assert len(asked.until(FoundPaths).paths) > 20
        asked.ask(FindPaths(2, "role:nobody"))
        assert "role: takes" in (asked.until(FoundPaths).problem or "")


@pytest.mark.parametrize("end", [Find(2, "short"), StopSearch(1)], ids=["another question", "stop"])
def test_a_pattern_without_end_gives_way(tmp_path: Path, end: Find | StopSearch) -> None:
    store = tmp_path / "store"
    write(folder(store) / "old.jsonl", header(), user("1", None, "a" * 5_000, ms=1), user("2", "1", "short", ms=1))
    write(folder(store) / "new.jsonl", header("s2"), *[user(str(number), None, "a!") for number in range(50)])
    with asking(store, tmp_path / "cache") as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(1, "re:(a+)+!"))
        assert asked.until(HitPage).sessions
        asked.ask(end)
        asked.ask(Find(3, "short"))
        assert asked.until(HitPage, lambda page: page.stamp == 3).sessions


@pytest.mark.slow
def test_a_pattern_that_takes_too_long_ends_its_search_with_a_sentence(tmp_path: Path) -> None:
    store = tmp_path / "store"
    write(folder(store) / "old.jsonl", header(), user("1", None, "a" * 5_000, ms=1))
    write(folder(store) / "new.jsonl", header("s2"), user("1", None, "a!"))
    with asking(store, tmp_path / "cache") as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        # The first pattern starts the process; the time that an interpreter takes to start is not part of this story.
        asked.ask(Find(1, "re:a!"))
        assert asked.until(HitPage).sessions
        asked.server._patterns._limit_seconds = 1.5
        asked.ask(Find(2, "re:(a+)+!"))
        assert asked.until(HitPage, lambda page: page.stamp == 2).sessions
        told = asked.until(SearchProgress, lambda it: it.stopped and it.stamp == 2)
        assert told.problem == "The pattern took too long and was stopped: make it simpler."


def test_the_program_answers_and_ends_when_it_is_killed(tmp_path: Path) -> None:
    store, cache = indexed_store(tmp_path)
    environ = {"PATH": os.environ.get("PATH", "")}
    request = SearchSessions(cache=str(cache), home=str(tmp_path), environ=environ, roots=(str(store),))
    channel = start_job("search", request, SearchAnswer)
    assert channel is not None
    try:
        assert isinstance(channel.receive(PATIENCE), SearchStatus)
        channel.send(Find(1, "common 12"))
        while not (isinstance(page := channel.receive(PATIENCE), HitPage) and page.sessions):
            assert page is not None, "the program ended"
        assert page.sessions[0].hits[0].entry_id == "1"
    finally:
        channel.kill()
    while channel.receive(PATIENCE) is not None:
        pass
    assert channel.is_over


def test_an_index_that_was_deleted_and_made_again_is_the_one_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, cache = indexed_store(tmp_path)
    with asking(store, cache) as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(1, "word 7"))
        assert len(asked.hits(1)) == 1
        remove_files(cache)
        for number in range(5):
            write(folder(store) / f"00-{number}.jsonl", header(f"n{number}"), user("1", None, f"zebra number {number}"))
        index = open_index(cache, print, create=True)
        assert index is not None
        update_index(scope_of(store), index)
        index.close()
        asked.ask(Refresh())
        asked.until(SearchStatus, lambda status: not status.reading)
        asked.ask(Find(2, "word 7"))
        assert len(asked.hits(2)) == 1
        asked.ask(Find(3, "zebra"))
        assert len(asked.hits(3)) == 5
