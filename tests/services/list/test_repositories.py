"""Which repository a directory belongs to, by its files alone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sessionbrowse.store.find.repositories import moved, note, repositories_of, repository_of


def git(*words: str, cwd: Path) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *words], cwd=cwd, check=True, capture_output=True, timeout=60)


def test_a_folder_of_a_repository_belongs_to_its_top(tmp_path: Path) -> None:
    (tmp_path / "web/.git").mkdir(parents=True)
    (tmp_path / "web/src/deep").mkdir(parents=True)
    assert repository_of(str(tmp_path / "web/src/deep")) == str(tmp_path / "web")
    assert repository_of(str(tmp_path / "web")) == str(tmp_path / "web")


def test_a_folder_of_none_a_missing_one_and_a_relative_one_belong_to_none(tmp_path: Path) -> None:
    for directory in (str(tmp_path), str(tmp_path / "gone"), "web", ""):
        assert repository_of(directory) is None


@pytest.mark.parametrize("git_file", ["", "gitdir:", "gitdir: /nowhere/at/all", "\x00\xff"])
def test_a_git_file_that_leads_nowhere_makes_a_repository_of_its_own(tmp_path: Path, git_file: str) -> None:
    (tmp_path / ".git").write_bytes(git_file.encode("latin-1"))
    assert repository_of(str(tmp_path)) == str(tmp_path)


def test_a_home_directory_under_version_control_is_nobodys_project(own_home: Path) -> None:
    (own_home / ".git").mkdir()
    (own_home / "notes").mkdir()
    assert repository_of(str(own_home / "notes")) is None
    assert repository_of(str(own_home)) == str(own_home)


@pytest.mark.skipif(shutil.which("git") is None, reason="git makes the worktrees")
def test_worktrees_that_git_makes_belong_to_their_repository(tmp_path: Path) -> None:
    web = tmp_path / "web"
    web.mkdir()
    git("init", cwd=web)
    git("commit", "--allow-empty", "-m", "begin", cwd=web)
    git("worktree", "add", "../web-fix", cwd=web)
    git("clone", "--bare", "web", "web.git", cwd=tmp_path)
    git("worktree", "add", "../bare-fix", "main", cwd=tmp_path / "web.git")
    assert repositories_of([str(web), str(tmp_path / "web-fix"), str(tmp_path / "bare-fix"), str(tmp_path)]) == {
        str(web): str(web),
        str(tmp_path / "web-fix"): str(web),
        str(tmp_path / "bare-fix"): str(tmp_path / "web.git"),
    }


@pytest.mark.skipif(shutil.which("git") is None, reason="git makes the repository")
def test_a_directory_that_was_moved_is_found_again_by_its_repository(tmp_path: Path) -> None:
    old, new, state = tmp_path / "web", tmp_path / "shop", str(tmp_path / "state")
    old.mkdir()
    git("init", cwd=old)
    git("commit", "--allow-empty", "-m", "begin", cwd=old)
    note([str(old)], state)
    old.rename(new)
    assert moved([str(old), str(tmp_path / "never noted")], [], state) == {str(old): str(new)}
