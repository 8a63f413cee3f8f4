"""Work is spread over forked processes only where a fork is safe."""

from __future__ import annotations

import threading

import pytest

from sessionbrowse.store.read import worker_processes
from sessionbrowse.store.read.worker_processes import MIN_BYTES, workers_for


@pytest.fixture(autouse=True)
def linux_with_four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(worker_processes, "_cores", lambda: 4)
    monkeypatch.setattr(threading, "active_count", lambda: 1)


def test_every_core_reads_many_bytes_and_one_reads_few() -> None:
    assert (workers_for(MIN_BYTES), workers_for(MIN_BYTES - 1)) == (4, 1)


def test_nothing_is_forked_beside_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert workers_for(MIN_BYTES) == 1


def test_nothing_is_forked_on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert workers_for(MIN_BYTES) == 1
