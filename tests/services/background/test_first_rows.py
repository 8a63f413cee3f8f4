"""The first rows of the next start: saved beside the index, and shown again only for the same scope and order."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.first_rows import (
    FILE,
    FIRST_ROWS,
    make_first_rows,
    save_first_rows,
    saved_first_rows,
)
from sessionbrowse.services.background.monitor_messages import MonitorDisk
from sessionbrowse.store.index.index import open_index
from sessionbrowse.store.index.schema import remove_files
from sessionbrowse.store.own.remembered_views import ListView, remember, scope_key
from tests.support.tui_support import summary


@pytest.fixture
def request_of_all(tmp_path: Path) -> MonitorDisk:
    """The request of a browser of all sessions, with an index."""
    assert open_index(tmp_path / "cache", create=True) is not None
    return MonitorDisk(home="/home/dev", environ={"HOME": "/home/dev", "LANG": "C"}, cache=str(tmp_path / "cache"))


def sessions(count: int) -> list[Summary]:
    """Sessions in two directories; the last is the newest."""
    return [
        summary(f"/s/{number}.jsonl", cwd=f"/project/{number % 2}", modified=float(number)) for number in range(count)
    ]


def test_the_newest_rows_and_the_counts_of_all_come_back(request_of_all: MonitorDisk) -> None:
    save_first_rows(request_of_all, make_first_rows(sessions(1000), "newest"))
    rows = saved_first_rows(request_of_all)
    assert rows is not None
    assert [each.path for each in rows.summaries[:2]] == ["/s/999.jsonl", "/s/998.jsonl"]
    assert (len(rows.summaries), rows.sessions) == (FIRST_ROWS, 1000)
    assert {each.cwd: each.sessions for each in rows.directories} == {"/project/0": 500, "/project/1": 500}


def test_the_rows_are_only_for_the_same_places_and_the_same_order(request_of_all: MonitorDisk, tmp_path: Path) -> None:
    save_first_rows(request_of_all, make_first_rows(sessions(3), "newest"))
    assert saved_first_rows(replace(request_of_all, environ={"HOME": "/home/dev", "LANG": "de"})) is not None
    others: tuple[dict[str, Any], ...] = (
        {"agents": ("pi",)},
        {"roots": ("/elsewhere",)},
        {"sort": "size"},
        {"environ": {"HOME": "/home/dev", "PI_CODING_AGENT_DIR": "/elsewhere"}},
    )
    for other in others:
        assert saved_first_rows(replace(request_of_all, **other)) is None
    remember(str(tmp_path / "state"), scope_key([], []), ListView(sort="size", given={"sort": "newest"}), {})
    assert saved_first_rows(replace(request_of_all, state=str(tmp_path / "state"))) is None


def test_the_rows_are_deleted_with_the_index_and_never_saved_without_one(request_of_all: MonitorDisk) -> None:
    save_first_rows(request_of_all, make_first_rows(sessions(3), "newest"))
    remove_files(Path(request_of_all.cache))
    assert not (Path(request_of_all.cache) / FILE).exists()
    save_first_rows(request_of_all, make_first_rows(sessions(3), "newest"))
    assert not (Path(request_of_all.cache) / FILE).exists()


def test_rows_of_a_relative_directory_are_only_for_the_directory_the_browser_starts_in(
    request_of_all: MonitorDisk,
) -> None:
    relative = {"PI_CODING_AGENT_SESSION_DIR": "sessions", "PWD": "/here"}
    save_first_rows(replace(request_of_all, environ=relative), make_first_rows(sessions(3), "newest"))
    assert saved_first_rows(replace(request_of_all, environ={**relative, "PWD": "/there"})) is None
    assert saved_first_rows(replace(request_of_all, environ=relative)) is not None


def test_rows_of_an_agent_that_only_a_newer_version_knows_are_not_shown(request_of_all: MonitorDisk) -> None:
    save_first_rows(request_of_all, make_first_rows([summary("/s/1.jsonl", agent="newcomer")], "newest"))
    assert saved_first_rows(request_of_all) is None


def test_only_the_user_can_read_the_file(request_of_all: MonitorDisk) -> None:
    save_first_rows(request_of_all, make_first_rows(sessions(3), "newest"))
    assert (Path(request_of_all.cache) / FILE).stat().st_mode & 0o777 == 0o600


def test_a_fifo_or_a_directory_in_place_of_the_file_stops_neither_start_nor_end(request_of_all: MonitorDisk) -> None:
    file = Path(request_of_all.cache) / FILE
    os.mkfifo(file)
    assert saved_first_rows(request_of_all) is None
    file.unlink()
    file.mkdir()
    assert saved_first_rows(request_of_all) is None
    save_first_rows(request_of_all, make_first_rows(sessions(3), "newest"))
    assert [path.name for path in file.parent.iterdir() if path.name.startswith(FILE)] == [FILE]
    assert saved_first_rows(request_of_all) is not None


def test_a_damaged_file_and_a_path_that_is_not_unicode_only_mean_a_slower_start(request_of_all: MonitorDisk) -> None:
    save_first_rows(request_of_all, make_first_rows(sessions(3), "newest"))
    save_first_rows(request_of_all, make_first_rows([summary("/s/\udcff.jsonl")], "newest"))
    assert saved_first_rows(request_of_all) is None
    for damaged in (b"\x93damaged", b"\x81\xa1x" + b"\x91" * 100_000):
        (Path(request_of_all.cache) / FILE).write_bytes(damaged)
        assert saved_first_rows(request_of_all) is None
