"""Where the disk looks as it did, the list is known without going through its files; what changed at all is seen."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.agents.base import Disk
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list import catalog, choose, documents, first_messages, index_access, indexed, overview
from sessionbrowse.services.list.scope import Scope
from sessionbrowse.store.find import discover, listing_digest, slow_disks
from sessionbrowse.store.find.prefetch import STORES, Ahead
from sessionbrowse.store.find.roots import own_places
from sessionbrowse.store.find.scan_passes import turns
from sessionbrowse.store.index.index import Index
from tests.support.index_support import answer, append, header, user, write

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


class Asked:
    """A home with an index, asked for its list again and again, each time with a look ahead."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.cache = tmp_path / "home", tmp_path / "cache"
        self._patch = monkeypatch
        self._walks = 0

        def counted(*arguments: Any, **named: Any) -> Any:
            self._walks += 1
            return turns(*arguments, **named)

        monkeypatch.setattr(overview, "turns", counted)

    def store(self, agent: str = "pi") -> Path:
        return self.home / f".{agent}" / "agent" / "sessions"

    def session(self, name: str, agent: str = "pi", **more: Any) -> Path:
        folder = self.store(agent) / "--work-shop--"
        folder.mkdir(parents=True, exist_ok=True)
        return write(folder / f"{name}.jsonl", header(name, **more), user("u", None, name), answer("a", "u", "yes"))

    def scope(self, **more: Any) -> Scope:
        return Scope(around=Surroundings(home=str(self.home), environ={}, cwd=str(self.home)), **more)

    def index_all(self) -> None:
        index = index_access.open_or_create(self.cache, print)
        assert index is not None
        indexed.gather(self.scope(), index, everything=True)
        index.close()

    def ask(self, **more: Any) -> list[Summary]:
        """Return the list by the index, after a look ahead."""
        look = Ahead()
        look.start([str(self.home / store) for store in STORES])
        self._patch.setattr(discover, "AHEAD", look)
        self._patch.setattr(listing_digest, "AHEAD", look)
        found = overview.newest_sessions(
            self.scope(**more), self.cache, lambda found: documents.newest(found.briefs), note=print
        )
        assert found is not None
        return first_messages.with_first_messages(*found)

    def spared(self, **more: Any) -> bool:
        """Ask; the answer must be that of reading everything. Return whether the walk was spared."""
        before = self._walks
        found = self.ask(**more)
        walked = self._walks > before
        assert by_path(found) == by_path(self.careful(**more))
        return not walked

    def careful(self, **more: Any) -> list[Summary]:
        """Read everything."""
        return choose.select(catalog.all_summaries(self.scope(**more)))


def by_path(summaries: list[Summary]) -> list[Summary]:
    return sorted(summaries, key=lambda summary: summary.path)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Five sessions of two agents, one a fork, all indexed and listed once."""
    made = Asked(tmp_path, monkeypatch)
    for name in ("one", "two", "three"):
        made.session(name)
    made.session("fork", parentSession=str(made.store() / "--work-shop--" / "one.jsonl"))
    made.session("other", agent="atomic")
    made.index_all()
    assert not made.spared()
    return made


def test_what_looks_as_before_is_not_gone_through_again(asked: Asked) -> None:
    assert asked.spared()
    assert asked.spared()


def grow(asked: Asked) -> None:
    append(asked.store() / "--work-shop--" / "one.jsonl", user("later", "a", "more"))


def rewrite(asked: Asked) -> None:
    path = asked.store() / "--work-shop--" / "two.jsonl"
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"yes", b"YES"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def delete(asked: Asked) -> None:
    (asked.store() / "--work-shop--" / "three.jsonl").unlink()


def add(asked: Asked) -> None:
    asked.session("new")


def swap(asked: Asked) -> None:
    delete(asked)
    add(asked)


def move_project(asked: Asked) -> None:
    (asked.store() / "--work-shop--").rename(asked.store() / "--work-till--")


def remove_store(asked: Asked) -> None:
    shutil.rmtree(asked.store("atomic"))


def begin_another_store(asked: Asked) -> None:
    asked.session("late", agent="indusagi")


def link_in(asked: Asked) -> None:
    elsewhere = write(asked.home / "kept.jsonl", header("kept"), user("u", None, "kept"))
    (asked.store() / "--work-shop--" / "linked.jsonl").symlink_to(elsewhere)


def begin_a_store_of_links(asked: Asked) -> None:
    store_of_links(asked, asked.store("indusagi"))


def store_of_links(asked: Asked, store: Path) -> None:
    elsewhere = asked.home / "elsewhere"
    elsewhere.mkdir()
    write(elsewhere / "far.jsonl", header("far"), user("u", None, "far"))
    store.mkdir(parents=True)
    (store / "--far--").symlink_to(elsewhere)


def lie_loose(asked: Asked) -> None:
    write(asked.store() / "loose.jsonl", header("loose"), user("u", None, "loose"))


@pytest.mark.parametrize(
    ("change", "settles"),
    [
        (grow, True),
        (rewrite, True),
        (add, True),
        (begin_another_store, True),
        # What is gone stays in the index until it is brought up to date; what takes a closer look always does.
        (delete, False),
        (swap, False),
        (move_project, False),
        (remove_store, False),
        (link_in, False),
        (begin_a_store_of_links, False),
        (lie_loose, False),
    ],
)
def test_every_change_is_seen(asked: Asked, change: Callable[[Asked], None], settles: bool) -> None:
    assert asked.spared()
    change(asked)
    assert not asked.spared()
    assert asked.spared() == settles
    asked.index_all()
    asked.spared()
    assert asked.spared() == (settles or change in (delete, swap, move_project, remove_store))


def test_where_nothing_lies_nothing_is_listed_again_and_again(asked: Asked) -> None:
    # The index knows of sessions elsewhere: a browser with --root brought them in.
    shutil.rmtree(asked.store())
    shutil.rmtree(asked.store("atomic"))
    asked.store().mkdir(parents=True)
    for _ in range(3):
        assert not asked.spared()


def test_a_link_that_begins_to_lead_somewhere_is_followed(asked: Asked) -> None:
    asked.store("omp").parent.mkdir(parents=True)
    asked.store("omp").symlink_to(asked.home / "mounted")
    asked.spared()
    asked.spared()
    # As before, it cannot be listed ahead: what lies in it takes a closer look.
    store_of_links(asked, asked.home / "mounted")
    assert not asked.spared()


def test_a_store_that_was_away_for_a_moment_is_not_overlooked_when_it_is_back(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.session("late", agent="indusagi")
    store, away = asked.store("indusagi"), asked.home / "away"

    def gone_while_walked(*arguments: Any, **named: Any) -> Any:
        store.rename(away)
        yield from list(turns(*arguments, **named))
        away.rename(store)

    with monkeypatch.context() as patch:
        patch.setattr(overview, "turns", gone_while_walked)
        asked.ask()
    assert not asked.spared()
    assert asked.spared()


def test_who_asks_for_something_else_is_answered_that(asked: Asked) -> None:
    assert not asked.spared(agents=("atomic",))
    assert not asked.spared(hidden=True)
    assert not asked.spared(archived=True)
    assert not asked.spared(roots=(str(asked.store()),))
    assert asked.spared()


def test_a_project_that_begins_to_name_a_place_of_its_own_is_looked_at(asked: Asked) -> None:
    project, elsewhere = asked.home / "project", asked.home / "elsewhere"
    (project / ".pi").mkdir(parents=True)
    elsewhere.mkdir()
    asked.session("here", cwd=str(project))
    asked.spared()
    assert asked.spared()
    write(elsewhere / "far.jsonl", header("far", cwd=str(project)), user("u", None, "far"))
    write(project / ".pi" / "settings.json", {"sessionDir": str(elsewhere)})
    assert not asked.spared()


def test_what_another_process_wrote_meanwhile_is_not_taken_for_what_was_seen(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(asked)
    note = Index.note_sight

    def late(index: Index, seen: bytes) -> None:
        other = index_access.open_if_there(asked.cache, print)
        assert other is not None
        other.connection.execute("INSERT OR REPLACE INTO facts VALUES ('test', hex(randomblob(8)))")
        other.close()
        note(index, seen)

    monkeypatch.setattr(Index, "note_sight", late)
    assert not asked.spared()
    assert not asked.spared()
    monkeypatch.setattr(Index, "note_sight", note)
    assert not asked.spared()
    assert asked.spared()


def test_a_locked_index_only_means_that_nothing_is_noted(asked: Asked) -> None:
    from sessionbrowse.store.index.schema import locked

    index = index_access.open_if_there(asked.cache, print)
    assert index is not None
    with locked(asked.cache):
        index.overview()
        index.note_sight(b"something")
    assert not index.saw(b"something")
    index.close()


# ---- all places asked for in one go -------------------------------------------------------------------------


@pytest.fixture
def dead() -> Iterator[threading.Event]:
    """An event on which the disk hangs until the test is over."""
    released = threading.Event()
    yield released
    released.set()
    assert slow_disks._going is not None
    slow_disks._going.join(20)


def test_a_disk_that_hangs_is_left_and_then_asked_with_a_limit_for_each_question(
    tmp_path: Path, dead: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_disks.in_one_go, "__defaults__", (0.05,))
    asked_for: list[str] = []

    def hang(path: str) -> bytes | None:
        asked_for.append(path)
        dead.wait(20)
        return None

    unlimited = Disk(hang, os.path.isdir, lambda path: [])
    disk = Disk(lambda path: None, os.path.isdir, lambda path: [], unlimited)
    around = Surroundings(home=str(tmp_path), environ={}, cwd=str(tmp_path), disk=disk)
    known = own_places(Surroundings(home=str(tmp_path), environ={}, cwd=str(tmp_path)), ["pi", "omp"])
    assert own_places(around, ["pi", "omp"]) == known
    assert own_places(around, ["pi", "omp"]) == known
    # The second time nobody asked the disk that still hangs.
    assert len(asked_for) == 1


def test_what_fails_in_one_go_is_asked_with_care() -> None:
    def fail() -> int:
        raise OSError("no")

    assert slow_disks.in_one_go(fail) is None
    assert slow_disks.in_one_go(lambda: 5) == 5
