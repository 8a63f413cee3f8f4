"""What another process lists ahead is what the walk would find; where it says nothing, the walk asks itself."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest

from sessionbrowse.agents import Place
from sessionbrowse.store.find import discover, prefetch
from sessionbrowse.store.find.discover import FoundFile
from sessionbrowse.store.find.prefetch import Ahead

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def put(path: Path, content: str = "{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with everything that may lie in one."""
    root = tmp_path / "sessions"
    put(root / "--a--" / "1.jsonl")
    put(root / "--a--" / "2.jsonl", "{}\n{}\n")
    put(root / "--a--" / "notes.txt")
    put(root / "--a--" / "1" / "task.jsonl")
    put(root / "--a--" / "archive" / "old.jsonl")
    put(root / "--linked--" / "3.jsonl")
    (root / "--linked--" / "4.jsonl").symlink_to(put(tmp_path / "elsewhere" / "4.jsonl"))
    put(tmp_path / "other" / "5.jsonl")
    (root / "--b--").symlink_to(tmp_path / "other")
    os.mkfifo(put(root / "--pipe--" / "6.jsonl").with_name("7.jsonl"))
    (root / "--empty--").mkdir()
    put(root / "loose.jsonl")
    return root


def started(root: Path) -> Ahead:
    made = Ahead()
    made.start([str(root)])
    return made


def walked(root: Path) -> list[FoundFile]:
    place = Place("pi", str(root), "projects", "default")
    return list(discover.discover([place], include_nested=True, include_archived=True))


def test_the_walk_finds_the_same_with_a_look_ahead_and_without(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = walked(store)
    assert {Path(file.path).stem for file in alone} >= {"1", "2", "3", "4", "5", "6", "task", "old"}
    monkeypatch.setattr(discover, "AHEAD", started(store))
    assert walked(store) == alone
    # The look ahead is used up: this is the disk as it is now.
    put(store / "--a--" / "8.jsonl")
    assert len(walked(store)) == len(alone) + 1


def test_a_look_ahead_at_a_store_of_plain_folders_leaves_nothing_to_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for project in ("--a--", "--b--"):
        put(tmp_path / project / "1.jsonl")
    look = started(tmp_path)
    assert look.take(str(tmp_path / "--a--")) is not None
    monkeypatch.setattr(discover, "AHEAD", look)
    put(tmp_path / "--a--" / "2.jsonl")
    put(tmp_path / "--b--" / "2.jsonl")
    # The first folder's listing was taken, so it is listed again; the second one's is from before.
    assert {os.path.relpath(file.path, tmp_path) for file in walked(tmp_path)} == {
        "--a--/1.jsonl",
        "--a--/2.jsonl",
        "--b--/1.jsonl",
    }


def test_folders_that_take_a_closer_look_and_stores_that_are_not_there_are_not_told(store: Path) -> None:
    look = Ahead()
    look.start([str(store / "--linked--"), str(store / "--pipe--"), str(store / "gone")])
    assert [look.take(str(store / name)) for name in ("--linked--", "--pipe--", "gone")] == [None, None, None]


def test_a_process_that_dies_is_as_if_there_were_none(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> NoReturn:
        os._exit(1)

    monkeypatch.setattr(prefetch, "_work", die)
    look = started(store)
    assert look.take(str(store)) is None


def test_a_process_that_hangs_at_its_disk_is_not_waited_for(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: object) -> NoReturn:
        while True:
            signal.pause()

    monkeypatch.setattr(prefetch, "_work", hang)
    monkeypatch.setattr(prefetch, "STALLED_S", 0.01)
    look = started(store)
    assert look.take(str(store)) is None
    # Killed: it is gone, or can be waited for.
    with suppress(ChildProcessError):
        assert os.waitstatus_to_exitcode(os.waitpid(look.process, 0)[1]) == -signal.SIGKILL
