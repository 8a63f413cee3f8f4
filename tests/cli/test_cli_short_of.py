"""Empty and repeated arguments, a full disk for output, no home directory, no threads: an answer or one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.config import cache_dir
from sessionbrowse.errors import NotFound
from sessionbrowse.store.find.slow_disks import TimedReads
from tests.support.story_support import StoryHome

PATIENCE_SECONDS = 60.0


@pytest.fixture
def session(own_home: Path) -> Path:
    home = StoryHome(own_home)
    return home.session(home.project("shop"), ["Mend the sink", "Done"])


def test_a_session_that_is_named_twice_is_deleted_once(session: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["delete", str(session), str(session), "--yes", "--json"]) == 0
    out, err = capfd.readouterr()
    assert [document["path"] for document in json.loads(out)] == [str(session)]
    assert err == ""


@pytest.mark.parametrize("words", [["list", "--root", ""], ["list", "--cwd", ""], ["fork", "x", "--cwd", ""]])
def test_an_empty_directory_is_wrong_usage(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "the directory's name is empty" in capfd.readouterr().err


@pytest.mark.parametrize("query", ["", " "])
def test_an_empty_query_is_refused(query: str, session: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["search", query]) == 1
    assert capfd.readouterr() == ("", "sessionbrowse: The query is empty: add a search word.\n")


def test_a_fork_into_a_missing_directory_says_so(session: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["fork", str(session), "--cwd", "/nonexistent/here"]) == 0
    assert "The directory /nonexistent/here does not exist" in capfd.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_help_that_cannot_be_printed_is_a_failure(own_home: Path) -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "sessionbrowse", "--help"],
            env=dict(os.environ),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
    assert ended.returncode == 1
    assert ended.stderr.startswith("sessionbrowse: ")
    assert "No space left on device" in ended.stderr


def test_a_user_without_a_home_directory_reads_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    with pytest.raises(NotFound, match="set HOME"):
        cache_dir({})


def test_paths_are_asked_without_threads_where_none_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    reads = TimedReads(len)
    assert reads.read(["a", "bb"]) == {"a": 1, "bb": 2}
    assert reads.read(["ccc"]) == {"ccc": 3}
