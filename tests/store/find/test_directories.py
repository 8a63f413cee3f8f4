"""Directories with links resolved on disk: macOS' `/tmp`, a project by two ways, and a disk that does not answer."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from sessionbrowse.store.find import directories, slow_disks
from sessionbrowse.store.find.directories import given, resolved, same_spelling, spellings_of, within


def test_spellings_of_one_directory_on_disk_are_one(tmp_path: Path) -> None:
    (tmp_path / "private/tmp/proj").mkdir(parents=True)
    (tmp_path / "tmp").symlink_to("private/tmp")  # As on macOS.
    real = str(tmp_path / "private/tmp/proj")
    link = str(tmp_path / "tmp/proj")
    stored = [link, real, f"{link}/", f"{tmp_path}//tmp/./proj", f"{link}/../proj", str(tmp_path / "tmp/gone")]
    assert {same_spelling(stored)[each] for each in stored[:5]} == {real}
    assert resolved(stored)[stored[5]] == str(tmp_path / "private/tmp/gone"), "a directory need not exist"
    for spelling in stored[:5]:
        assert within([*stored, str(tmp_path)], spellings_of(spelling, "/")) == set(stored[:5])
    assert within(stored, spellings_of(str(tmp_path / "tmp"), "/"), below=True) == set(stored)


def test_a_path_that_is_not_absolute_here_is_never_joined_to_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = ["C:\\Users\\u\\ELM", "proj", "~/proj", ".", ""]
    for name in ("C:\\Users\\u\\ELM", "proj", "~/proj"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert set(resolved(stored).values()) == set(stored)
    assert slow_disks.exists_many(stored) == dict.fromkeys(stored, False)
    assert slow_disks.exists_many(["file:///home/u"]) == {"file:///home/u": False}
    assert given("C:\\Users\\u", str(tmp_path)) == "C:\\Users\\u"
    assert within(stored, spellings_of("C:/Users/u", str(tmp_path)), below=True) == {stored[0]}
    assert within([*stored, str(tmp_path / "proj")], spellings_of("proj", str(tmp_path))) == {
        "proj",
        str(tmp_path / "proj"),
    }
    assert within([*stored, str(tmp_path)], spellings_of(".", str(tmp_path))) == {str(tmp_path)}


def test_a_disk_that_does_not_answer_leaves_the_normal_form(monkeypatch: pytest.MonkeyPatch) -> None:
    back = threading.Event()

    def hang(path: str) -> str:
        back.wait(10)
        return path

    monkeypatch.setattr(slow_disks, "_REAL", slow_disks.TimedReads(hang))
    assert directories.resolved(["/dead//p/", "/dead/q"], timeout_s=0.05) == {
        "/dead//p/": "/dead/p",
        "/dead/q": "/dead/q",
    }
    back.set()
