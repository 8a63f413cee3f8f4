"""A release sets version, changelog and tag together, or refuses and changes nothing."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path

import pytest

from tests import release as real
from tests.release import CHANGELOG, VERSION_FILE, Refused, release

TODAY = date(2026, 1, 2)
NOTES = "# Changelog\n\n## Unreleased\n\n- Colours.\n\n## 0.1.0\n\n- First.\n"


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ("git", *arguments), cwd=root, text=True, capture_output=True, check=True, timeout=60
    ).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / VERSION_FILE).parent.mkdir()
    (tmp_path / VERSION_FILE).write_text('"""The version."""\n\n__version__ = "0.9.0"\n')
    (tmp_path / CHANGELOG).write_text(NOTES)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "config", "user.name", "Somebody")
    git(tmp_path, "config", "user.email", "somebody@example.org")
    git(tmp_path, "config", "commit.gpgsign", "false")
    git(tmp_path, "config", "tag.gpgsign", "false")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    return tmp_path


def test_a_release_sets_version_changelog_and_tag_in_one_commit(checkout: Path):
    assert release(checkout, "0.10.0", TODAY) == "v0.10.0"
    assert (checkout / VERSION_FILE).read_text().endswith('\n__version__ = "0.10.0"\n')
    assert (checkout / CHANGELOG).read_text() == NOTES.replace(
        "## Unreleased\n", "## Unreleased\n\n## 0.10.0 (2026-01-02)\n"
    )
    assert git(checkout, "rev-parse", "v0.10.0^{commit}") == git(checkout, "rev-parse", "HEAD")
    assert git(checkout, "log", "-1", "--format=%s") == "Release 0.10.0"
    assert git(checkout, "status", "--porcelain") == ""


@pytest.mark.parametrize("version", ["0.9.0", "0.8.9", "0.10", "v1.0.0", "1.0.0rc1", "01.0.0", ""])
def test_a_version_that_is_not_newer_is_refused(checkout: Path, version: str):
    refused(checkout, version, "is not")


def test_changes_that_are_not_committed_are_refused(checkout: Path):
    (checkout / "new.txt").write_text("new")
    refused(checkout, "1.0.0", "The checkout has changes")


@pytest.mark.parametrize("notes", ["# Changelog\n\n## Unreleased\n\n## 0.9.0\n\n- Old.\n", "# Changelog\n"])
def test_an_empty_changelog_is_refused(checkout: Path, notes: str):
    (checkout / CHANGELOG).write_text(notes)
    git(checkout, "commit", "--quiet", "--all", "--message", "Empty the changelog")
    refused(checkout, "1.0.0", "nothing under Unreleased")


def test_a_tag_that_exists_is_refused(checkout: Path):
    git(checkout, "tag", "v1.0.0")
    refused(checkout, "1.0.0", "The tag v1.0.0 exists")


def test_this_checkout_has_what_a_release_needs():
    assert real._STATED.search((real.ROOT / VERSION_FILE).read_text())
    assert real._UNRELEASED.search((real.ROOT / CHANGELOG).read_text())


def refused(root: Path, version: str, reason: str) -> None:
    before = git(root, "rev-parse", "HEAD"), git(root, "tag"), git(root, "diff"), git(root, "status", "--porcelain")
    with pytest.raises(Refused, match=reason):
        release(root, version, TODAY)
    after = git(root, "rev-parse", "HEAD"), git(root, "tag"), git(root, "diff"), git(root, "status", "--porcelain")
    assert before == after
