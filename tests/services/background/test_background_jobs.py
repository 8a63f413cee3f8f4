"""The jobs beside the browser: each as a program of its own, and each once more in this process, where it is seen."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.services.background.disk_monitor import (
    DiskMonitor,
    IndexFiles,
    run_indexer,
    run_monitor,
    start_indexing,
)
from sessionbrowse.services.background.monitor_messages import (
    IndexProgress,
    MonitorEvent,
    MonitorFailed,
    MonitorRequest,
    Painted,
    Rescan,
    ScanComplete,
    SessionsFound,
)
from sessionbrowse.services.background.programs import MONITOR_ENDED, listen_to_monitor, start_job, start_monitor
from sessionbrowse.store.find.discover import FoundFile, discover
from sessionbrowse.store.find.roots import places_of
from sessionbrowse.store.index.index import open_index
from tests.support.channels import channel_pair
from tests.support.index_support import folder, scope_of
from tests.support.live_support import request_of
from tests.support.session_files import three_questions

PATIENCE = 30
# A thread of a job ends where its process would.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


@pytest.fixture(autouse=True)
def process_end(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Keep this process alive, at its own priority; return what is set when a job would have ended its process."""
    ended = threading.Event()

    def end(status: int) -> None:
        ended.set()
        raise SystemExit(status)

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr(os, "nice", lambda _: 0)
    return ended


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A store with three sessions."""
    three_questions(folder(tmp_path / "s"))
    return tmp_path / "s"


def run_until(end: threading.Event) -> Callable[[DiskMonitor], None]:
    """Return a `run` for the monitor that returns at the end."""

    def run(monitor: DiskMonitor) -> None:
        monitor.begin()
        while not end.is_set():
            monitor.step(0.02)
        monitor.end()

    return run


def files_of(root: Path) -> list[FoundFile]:
    return list(discover(places_of(scope_of(root))))


def indexed(cache: Path) -> set[str]:
    index = open_index(cache, pytest.fail)
    assert index is not None
    try:
        return {Path(row.path).name for row in index.rows()}
    finally:
        index.close()


def test_a_program_indexes_the_files_and_says_how_far_it_is(root: Path, tmp_path: Path) -> None:
    steps: queue.Queue[IndexProgress] = queue.Queue()
    files = files_of(root)
    assert start_indexing(IndexFiles(cache=str(tmp_path / "cache"), files=files, tools=False), steps.put)
    seen = [steps.get(timeout=PATIENCE)]
    while seen[-1].done < len(files):
        seen.append(steps.get(timeout=PATIENCE))
    assert {step.total for step in seen} == {len(files)}
    assert [step.done for step in seen] == sorted(step.done for step in seen)


def test_the_job_of_indexing_reads_every_file(root: Path, tmp_path: Path) -> None:
    ours, theirs = channel_pair(IndexProgress, IndexFiles)
    ours.send(IndexFiles(cache=str(tmp_path / "cache"), files=files_of(root), tools=True))
    run_indexer(theirs)
    assert indexed(tmp_path / "cache") == {"0.jsonl", "1.jsonl", "2.jsonl"}
    assert ours.receive(PATIENCE) is not None


def test_indexing_stops_when_the_browser_has_gone(root: Path, tmp_path: Path) -> None:
    ours, theirs = channel_pair(IndexProgress, IndexFiles)
    ours.send(IndexFiles(cache=str(tmp_path / "cache"), files=files_of(root), tools=False))
    request = theirs.receive()
    theirs.receive = lambda *_: request  # type: ignore[method-assign]
    ours.kill()
    with pytest.raises(SystemExit):
        run_indexer(theirs)


def test_a_job_without_a_request_does_nothing(tmp_path: Path) -> None:
    for run, receives in ((run_indexer, IndexFiles), (run_monitor, MonitorRequest)):
        ours, theirs = channel_pair(Any, receives)
        ours.kill()
        run(theirs)
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_cannot_be_started_is_no_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    request = IndexFiles(cache=str(tmp_path), files=(), tools=False)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/no/such/python")
        assert start_job("index", request, IndexProgress) is None
        assert not start_indexing(request, lambda _: None)
    monkeypatch.setattr(os, "name", "nt")
    assert start_job("index", request, IndexProgress) is None


def test_the_monitor_reports_sessions_and_ends_with_its_browser(
    root: Path, tmp_path: Path, process_end: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In this process nothing else would end the monitor's thread.
    monkeypatch.setattr(DiskMonitor, "run", run_until(process_end))
    ours, theirs = channel_pair(MonitorEvent, MonitorRequest)
    events: queue.Queue[Any] = queue.Queue()
    ours.listen(events.put, lambda: None)
    ours.send(request_of(root, tmp_path / "cache"))
    ours.send(Painted())
    monitor = threading.Thread(target=run_monitor, args=[theirs], daemon=True)
    monitor.start()
    seen = [events.get(timeout=PATIENCE)]
    while not isinstance(seen[-1], ScanComplete):
        seen.append(events.get(timeout=PATIENCE))
    names = {Path(each.path).name for event in seen if isinstance(event, SessionsFound) for each in event.summaries}
    assert names == {"0.jsonl", "1.jsonl", "2.jsonl"}
    ours.send(Rescan(hidden=False))
    while not isinstance(events.get(timeout=PATIENCE), ScanComplete):
        pass
    ours.kill()
    assert process_end.wait(PATIENCE)
    monitor.join(PATIENCE)


def test_a_monitor_that_fails_says_so(
    root: Path, tmp_path: Path, process_end: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise ValueError("a torn disk")

    monkeypatch.setattr(DiskMonitor, "run", fail)
    ours, theirs = channel_pair(MonitorEvent, MonitorRequest)
    ours.send(request_of(root, tmp_path / "cache"))
    run_monitor(theirs)
    failed = ours.receive(PATIENCE)
    assert isinstance(failed, MonitorFailed)
    assert "a torn disk" in failed.sentence
    ours.kill()
    assert process_end.wait(PATIENCE)


@pytest.mark.parametrize("is_killed", [True, False])
def test_the_browser_is_told_that_its_monitor_ended_unless_it_ended_it(
    root: Path, tmp_path: Path, is_killed: bool
) -> None:
    channel = start_monitor(request_of(root, tmp_path / "cache"))
    assert channel is not None
    events: queue.Queue[Any] = queue.Queue()
    listen_to_monitor(channel, events.put)
    if is_killed:
        channel.kill()
    else:
        os.kill(channel.process_id, 9)
    seen: list[Any] = []
    while not seen or not isinstance(seen[-1], MonitorFailed):
        try:
            seen.append(events.get(timeout=2 if is_killed else PATIENCE))
        except queue.Empty:
            break
    failures = [event for event in seen if isinstance(event, MonitorFailed)]
    assert failures == ([] if is_killed else [MonitorFailed(MONITOR_ENDED)])
    channel.kill()
