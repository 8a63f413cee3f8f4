"""Looking for a directory that moved: what cannot be read or asked is no candidate."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sessionbrowse.store.find.repositories import _first_commit, _folders, candidates, mark_of


def test_a_folder_that_cannot_be_read_has_none_below(tmp_path: Path) -> None:
    assert _folders(str(tmp_path / "gone")) == []
    (tmp_path / "a").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "file").touch()
    assert _folders(str(tmp_path)) == [str(tmp_path / "a")]


def test_a_repository_is_known_by_its_first_commit_only_if_git_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _first_commit(str(tmp_path)) is None
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "shallow").touch()
    assert _first_commit(str(tmp_path)) is None
    os.unlink(tmp_path / ".git" / "shallow")

    def late(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("git", 1)

    monkeypatch.setattr(subprocess, "run", late)
    assert _first_commit(str(tmp_path)) is None


def test_a_directory_that_is_not_absolute_is_not_joined_to_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("-x", "near"):
        (tmp_path / name / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for name in ("-x", "near", "./near"):
        assert mark_of(name, lambda directory: "commit") is None
        assert all(os.path.isabs(found.path) for found in candidates("/gone/near", str(tmp_path), [name]))
    assert mark_of(str(tmp_path / "near"), lambda directory: "commit") is not None
