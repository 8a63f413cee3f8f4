"""The disk monitor: the sessions of the index at once, then those on disk, then every change, each sent once."""

from __future__ import annotations

import os
import queue
import shutil
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.first_rows import FIRST_ROWS
from sessionbrowse.services.background.monitor_messages import (
    DirectoryCount,
    FirstRows,
    MonitorFailed,
    Notice,
    Rescan,
    ScanComplete,
    SessionsFound,
    SessionsGone,
    SessionsInUse,
)
from sessionbrowse.services.list.summary_cache import AT_ONCE_FILES
from sessionbrowse.store import watch
from sessionbrowse.store.find.discover import FoundFile
from sessionbrowse.store.find.slow_disks import is_remote
from sessionbrowse.store.own.remembered_views import ListView, remember, scope_key
from sessionbrowse.store.read import worker_processes
from sessionbrowse.store.read.summarise import summaries_of
from sessionbrowse.store.watch import Watcher, times_and_sizes
from tests.support.file_helpers import counted_forks
from tests.support.live_support import PATIENCE_SECONDS, index, live, step_until
from tests.support.mirrors import STORE, mirror, mirrored
from tests.support.session_files import answer, header, user, written


def store(tmp_path: Path, sessions: int = 3) -> Path:
    """A store of pi with some sessions."""
    root = tmp_path / "store"
    folder = root / "sessions" / "--home-dev-webshop--"
    folder.mkdir(parents=True)
    for number in range(sessions):
        written(folder, header(id=f"s-{number}"), user("a", None, f"question {number}"), name=f"{number}.jsonl")
    return root


def session(root: Path, name: str = "0.jsonl") -> Path:
    """One of its sessions."""
    return root / "sessions" / "--home-dev-webshop--" / name


def append(path: Path, *lines: bytes) -> None:
    """Append lines as an agent does."""
    with path.open("ab") as file:
        for line in lines:
            file.write(line)


def test_without_an_index_the_files_are_read_and_indexed(tmp_path: Path) -> None:
    root = store(tmp_path)
    events = index(root, tmp_path / "cache")
    assert events.names() == {"0.jsonl", "1.jsonl", "2.jsonl"}
    assert events.kinds() == ["SessionsFound", "ScanComplete"]
    assert (tmp_path / "cache" / "index.sqlite").exists()


def test_without_an_index_the_sessions_of_the_current_directory_are_read_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = store(tmp_path)
    here = tmp_path / "my_work"
    here.mkdir()
    monkeypatch.chdir(here)
    folder = root / "sessions" / f"--{str(here)[1:].replace('/', '-')}--"
    folder.mkdir()
    for name, age in (("old.jsonl", 2000), ("older.jsonl", 3000)):
        path = Path(written(folder, header(id=name), user("a", None, "here"), name=name))
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    events = [each for each in index(root, tmp_path / "cache").all if isinstance(each, SessionsFound)]
    found = [os.path.basename(each.path) for event in events for each in event.summaries]
    assert found[:2] == ["old.jsonl", "older.jsonl"]
    assert len(found) == 5


def test_with_an_index_the_first_rows_come_before_any_file_is_polled(tmp_path: Path) -> None:
    root = store(tmp_path)
    index(root, tmp_path / "cache")
    events = index(root, tmp_path / "cache")
    opening = events.all[0]
    assert isinstance(opening, FirstRows)
    assert opening.sessions == 3
    assert opening.directories == (DirectoryCount("/home/dev/webshop", 3, opening.summaries[0].modified or 0),)
    assert events.kinds() == ["FirstRows", "SessionsFound", "IndexRead", "ScanComplete"]


def test_the_first_rows_come_in_the_order_in_which_the_list_was_left(tmp_path: Path) -> None:
    root, state = store(tmp_path), str(tmp_path / "state")
    append(session(root, "1.jsonl"), answer("b", "a", "long " * 100))
    index(root, tmp_path / "cache")
    remember(state, scope_key([str(root)], []), ListView(sort="size", given={"sort": "newest"}), {})

    def first(**more: str) -> str:
        opening = index(root, tmp_path / "cache", state=state, **more).all[0]
        assert isinstance(opening, FirstRows)
        return Path(opening.summaries[0].path).name

    assert first(sort="newest") == "1.jsonl"
    # Settings that were changed since come before what is remembered.
    assert first(sort="name") == "0.jsonl"


def test_what_changed_since_the_index_replaces_its_rows(tmp_path: Path) -> None:
    root = store(tmp_path)
    index(root, tmp_path / "cache")
    append(session(root), answer("b", "a", "new"))
    session(root, "1.jsonl").unlink()
    written(session(root).parent, header(id="s-9"), user("a", None, "later"), name="9.jsonl")
    events = index(root, tmp_path / "cache")
    assert events.names() == {"0.jsonl", "2.jsonl", "9.jsonl"}
    assert events.rows[str(session(root))].message_count == 2
    assert SessionsGone((str(session(root, "1.jsonl")),)) in events.all


def test_more_rows_than_the_first_screen_come_in_slices(tmp_path: Path) -> None:
    root = store(tmp_path, FIRST_ROWS + 5)
    index(root, tmp_path / "cache")
    events = index(root, tmp_path / "cache")
    opening = events.all[0]
    assert isinstance(opening, FirstRows)
    assert len(opening.summaries) == FIRST_ROWS
    assert len(events.rows) == FIRST_ROWS + 5


def test_an_appended_line_a_new_file_and_a_deleted_one_are_reported(tmp_path: Path) -> None:
    root = store(tmp_path)
    made, events = live(root, tmp_path / "cache")
    path = session(root)
    append(path, answer("b", "a", "new"))
    step_until(made, lambda: events.rows[str(path)].message_count == 2)
    written(path.parent, header(id="s-9"), user("a", None, "later"), name="9.jsonl")
    step_until(made, lambda: "9.jsonl" in events.names())
    path.unlink()
    step_until(made, lambda: "0.jsonl" not in events.names())
    made.end()


def test_changes_before_the_watcher_starts_are_found_by_a_second_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without an index the first rows are read before the watching begins.
    monkeypatch.setattr(Watcher, "watch", lambda self, roots: None)
    root = store(tmp_path)
    made, events = live(root, tmp_path / "cache")
    append(session(root), answer("b", "a", "new"))
    written(session(root).parent, header(id="s-9"), user("a", None, "later"), name="9.jsonl")
    step_until(made, lambda: "9.jsonl" in events.names())
    assert events.rows[str(session(root))].message_count == 2
    made.end()


def test_a_new_directory_and_one_that_goes_are_reported(tmp_path: Path) -> None:
    root = store(tmp_path)
    made, events = live(root, tmp_path / "cache")
    folder = root / "sessions" / "--home-dev-infra--"
    folder.mkdir()
    written(folder, header(id="s-8", cwd="/home/dev/infra"), user("a", None, "x"), name="8.jsonl")
    step_until(made, lambda: "8.jsonl" in events.names())
    shutil.rmtree(folder)
    step_until(made, lambda: "8.jsonl" not in events.names())
    made.end()


def test_a_machine_that_came_while_the_browser_is_open_is_watched_too(tmp_path: Path, own_home: Path) -> None:
    made, events = live(own_home / "nothing", tmp_path / "cache", roots=())
    mirror("mini")
    mirrored("mini", f"{STORE}/--a--/1.jsonl", header(id="s-1"), user("a", None, "x"))
    made.take(Rescan(hidden=False))
    step_until(made, lambda: "1.jsonl" in events.names())
    mirrored("mini", f"{STORE}/--a--/2.jsonl", header(id="s-2"), user("a", None, "x"))
    step_until(made, lambda: "2.jsonl" in events.names())
    made.end()


def test_a_file_that_was_rewritten_is_read_anew(tmp_path: Path) -> None:
    root = store(tmp_path)
    made, events = live(root, tmp_path / "cache")
    path = session(root)
    fresh = written(path.parent, header(), user("a", None, "quite another"), user("c", "a", "more"), name="new.tmp")
    os.replace(fresh, path)
    step_until(made, lambda: events.rows[str(path)].first_message == "quite another")
    assert events.rows[str(path)].message_count == 2
    made.end()


def test_an_unchanged_file_is_sent_once_however_often_it_is_reported(tmp_path: Path) -> None:
    root = store(tmp_path)
    made, events = live(root, tmp_path / "cache")
    before = len(events.all)
    made.take(frozenset([str(session(root)), str(tmp_path / "nothing.jsonl")]))
    made.take(Rescan())
    step_until(made, lambda: len(events.all) > before)
    assert {type(event) for event in events.all[before:]} <= {ScanComplete, SessionsInUse}
    made.end()


def test_a_fork_keeps_its_parent_when_it_grows(tmp_path: Path) -> None:
    root = store(tmp_path, 1)
    path = session(root)
    fork = written(path.parent, header(id="s-f", parentSession=str(path)), user("a", None, "forked"), name="fork.jsonl")
    made, events = live(root, tmp_path / "cache")
    assert events.rows[str(fork)].parent_path == str(path)
    append(fork, answer("b", "a", "new"))
    step_until(made, lambda: events.rows[str(fork)].message_count == 2)
    assert events.rows[str(fork)].parent_path == str(path)
    made.end()


def test_subagents_are_sent_only_on_request(tmp_path: Path) -> None:
    root = store(tmp_path, 1)
    below = session(root).with_suffix("")
    below.mkdir()
    written(below, header(id="s-sub"), user("a", None, "sub"), name="sub.jsonl")
    made, events = live(root, tmp_path / "cache")
    assert events.names() == {"0.jsonl"}
    made.take(Rescan(True))
    step_until(made, lambda: "sub.jsonl" in events.names())
    made.take(Rescan(False))
    step_until(made, lambda: "sub.jsonl" not in events.names())
    made.end()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_cache_is_said_and_nothing_else_differs(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(stat.S_IRUSR | stat.S_IXUSR)
    events = index(store(tmp_path), cache)
    assert sum(isinstance(event, Notice) for event in events.all) == 1
    assert len(events.rows) == 3


def test_a_cache_that_can_be_no_directory_is_said_and_nothing_else_differs(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.write_text("in the way")
    made, events = live(store(tmp_path), cache)
    assert sum(isinstance(event, Notice) for event in events.all) == 1
    assert len(events.rows) == 3
    append(session(tmp_path / "store"), answer("b", "a", "new"))
    step_until(made, lambda: events.rows[str(session(tmp_path / "store"))].message_count == 2)
    made.end()


def test_two_at_once_share_one_index(tmp_path: Path) -> None:
    root = store(tmp_path)
    one, events_of_one = live(root, tmp_path / "cache")
    other, events_of_other = live(root, tmp_path / "cache")
    path = str(session(root))
    append(Path(path), answer("b", "a", "new"))
    step_until(one, lambda: events_of_one.rows[path].message_count == 2)
    step_until(other, lambda: events_of_other.rows[path].message_count == 2)
    assert events_of_one.rows == events_of_other.rows
    one.end()
    other.end()


def test_the_progress_of_reading_many_files_is_sent_and_nothing_is_forked_beside_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_processes, "MIN_BYTES", 0)
    forks = counted_forks(monkeypatch)
    events = index(store(tmp_path, AT_ONCE_FILES + 30), tmp_path / "cache")
    sent = [(event.done, event.total) for event in events.all if isinstance(event, SessionsFound) and event.total]
    assert sent == sorted(sent)
    assert sent[-1] == (AT_ONCE_FILES + 30, AT_ONCE_FILES + 30)
    assert forks == []


def test_the_first_rows_come_as_a_screen_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # However long a file takes here.
    monkeypatch.setattr("sessionbrowse.services.background.disk_monitor.BATCH_SECONDS", 60)
    events = index(store(tmp_path, AT_ONCE_FILES + 30), tmp_path / "cache")
    first = events.all[0]
    assert isinstance(first, SessionsFound)
    assert len(first.summaries) == AT_ONCE_FILES + 30


def test_a_row_does_not_wait_for_a_long_file_behind_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = store(tmp_path, AT_ONCE_FILES + 30)
    long = max(root.rglob("*.jsonl"), key=lambda path: path.name)
    newest = min(root.rglob("*.jsonl"), key=lambda path: path.name)
    long.write_bytes(long.read_bytes() + b" " * 100_000 + b"\n")
    os.utime(long, (2_000_000_000, 2_000_000_000))
    os.utime(newest, (2_000_000_100, 2_000_000_100))
    monkeypatch.setattr("sessionbrowse.services.background.disk_monitor.LONG_BYTES", 50_000)
    first = index(root, tmp_path / "cache").all[0]
    assert isinstance(first, SessionsFound)
    assert [summary.path for summary in first.summaries] == [str(newest)]


def test_a_file_that_vanishes_while_many_are_read_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = store(tmp_path, AT_ONCE_FILES + 30)
    gone = [session(root, f"{number}.jsonl") for number in range(0, 80, 9)]
    read = summaries_of

    def late(files: list[FoundFile], *rest: Any, **more: Any) -> Iterator[Summary | None]:
        for path in gone:
            path.unlink(missing_ok=True)
        return read(files, *rest, **more)

    monkeypatch.setattr("sessionbrowse.services.list.summary_cache.summaries_of", late)
    made, events = live(root, tmp_path / "cache")
    made.end()
    assert len(events.rows) == AT_ONCE_FILES + 30 - len(gone)
    assert not events.names() & {path.name for path in gone}


def test_many_files_are_shown_first_and_indexed_beside(tmp_path: Path) -> None:
    root = store(tmp_path, AT_ONCE_FILES + 10)
    made, events = live(root, tmp_path / "cache")
    assert len(events.rows) == AT_ONCE_FILES + 10
    made.end()
    first = index(root, tmp_path / "other cache")
    again = index(root, tmp_path / "other cache")
    assert isinstance(again.all[0], FirstRows)
    assert again.rows == first.rows


def test_polling_finds_a_file_that_grew(tmp_path: Path) -> None:
    root = store(tmp_path)
    reported: set[str] = set()
    watcher = Watcher(reported.update, polls_all=True)
    watcher.watch([str(root / "sessions"), str(tmp_path / "missing")])
    before = times_and_sizes([str(root / "sessions")])
    append(session(root), answer("b", "a", "new"))
    now = times_and_sizes([str(root / "sessions")])
    assert {path for path in now if now[path] != before.get(path)} == {str(session(root))}
    assert not watcher.has_appeared()
    (tmp_path / "missing").mkdir()
    assert watcher.has_appeared()
    watcher.stop()


def test_a_disk_without_notifications_is_polled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Iterator[object]:
        raise OSError(28, "the limit of watches is reached")

    monkeypatch.setattr(watch, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(watch, "WHOLE_POLL_SECONDS", 0.05)
    monkeypatch.setattr("watchfiles.watch", refuse)
    root = store(tmp_path)
    reported: queue.Queue[frozenset[str]] = queue.Queue()
    watcher = Watcher(reported.put)
    watcher.watch([str(root / "sessions")])
    assert reported.get(timeout=PATIENCE_SECONDS) == {str(root / "sessions")}
    seen: set[str] = set()
    end = time.monotonic() + PATIENCE_SECONDS
    while not seen >= {str(session(root)), str(root / "sessions")}:
        assert time.monotonic() < end
        # The first line may come before the first look.
        append(session(root), answer("b", "a", "new"))
        seen |= reported.get(timeout=PATIENCE_SECONDS)
    watcher.stop()


def test_a_root_that_goes_while_it_is_browsed_is_named_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = store(tmp_path)
    made, events = live(root, tmp_path / "cache")
    # It has begun already.
    monkeypatch.setattr(made, "begin", lambda: None)
    root.rename(tmp_path / "elsewhere")
    made.take(Rescan())
    made.run()
    made.end()
    assert events.all[-1] == MonitorFailed(f"--root {root} does not exist.")


@pytest.mark.parametrize(
    ("error", "is_polled"),
    [(OSError("OS file watch limit reached."), True), (PermissionError("Permission denied"), False)],
)
def test_directories_are_polled_if_the_system_has_reached_its_limit_and_not_if_one_is_forbidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, is_polled: bool
) -> None:
    reported: queue.Queue[frozenset[str]] = queue.Queue()
    changed = str(tmp_path / "changed")

    def watch(*roots: str, ignore_permission_denied: bool, stop_event: threading.Event, **_: Any) -> Iterator[Any]:
        if not ignore_permission_denied:
            raise error
        yield {(1, changed)}
        stop_event.wait(timeout=60)

    monkeypatch.setattr("watchfiles.watch", watch)
    watcher = Watcher(reported.put)
    watcher.watch([str(tmp_path)])
    assert reported.get(timeout=PATIENCE_SECONDS) == {str(tmp_path) if is_polled else changed}
    watcher.stop()


def test_a_network_disk_is_known_by_its_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nhost:/home {tmp_path}/far nfs4 rw 0 0\n")
    assert is_remote(f"{tmp_path}/far/sessions", str(mounts))
    assert not is_remote(f"{tmp_path}/near", str(mounts))
    assert not is_remote(f"{tmp_path}/far", str(tmp_path / "no such file"))
