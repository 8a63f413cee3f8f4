"""One project by several spellings of its directory, and directories of another system, on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from tests.support.story_support import StoryHome

WINDOWS = "C:\\Users\\u\\Study\\ELM"


@pytest.fixture
def story(own_home: Path) -> StoryHome:
    return StoryHome(own_home)


def at(story: StoryHome, cwd: str, text: str = "topic") -> Path:
    """Write a session whose header has exactly this directory."""
    path = story.session(story.project("some"), [text, "Yes."])
    path.write_text(path.read_text().replace(json.dumps(str(story.home / "dev/some")), json.dumps(cwd)))
    return path


def linked(story: StoryHome) -> list[str]:
    """Make a project, a link to it and sessions by five spellings; return the spellings, the real path first."""
    (story.home / "repos/proj").mkdir(parents=True)
    (story.home / "agents").symlink_to("repos")
    home = str(story.home)
    spellings = [
        f"{home}/repos/proj",
        f"{home}/agents/proj",
        f"{home}/repos/proj/",
        f"{home}//repos/./proj",
        f"{home}/agents/../repos/proj",
    ]
    for spelling in spellings:
        at(story, spelling)
    at(story, f"{home}/repos/project")
    return spellings


def printed(capfd: pytest.CaptureFixture[str], *command: str) -> Any:
    assert main([*command, "--json"]) == 0, capfd.readouterr().err
    return json.loads(capfd.readouterr().out)


def test_all_spellings_of_a_directory_are_one_project(
    story: StoryHome, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spellings = linked(story)
    for _ in range(2):
        found = {row["cwd"]: row["sessions"] for row in printed(capfd, "projects")}
        assert found == {spellings[0]: 5, f"{story.home}/repos/project": 1}
        rows = {row["key"]: row["sessions"] for row in printed(capfd, "stats")["rows"]}
        assert rows == found
        assert main(["index"]) == 0
        capfd.readouterr()
    for spelling in spellings:
        for command in (["list"], ["labels"], ["projects"], ["list", "topic"]):
            rows = printed(capfd, *command, "--cwd", spelling)
            assert len(rows) == {"list": 5, "labels": 0, "projects": 1}[command[0]], (command, spelling)
        assert [row["sessions"] for row in printed(capfd, "stats", "--cwd", spelling)["rows"]] == [5]
        assert len(printed(capfd, "list", f"project:{spelling.rstrip('/')}")) >= 5 or "//" in spelling
    (story.home / "elsewhere").symlink_to("repos/proj")
    assert len(printed(capfd, "list", f"project:{story.home}/elsewhere")) == 5, "a link that no session names"
    assert len(printed(capfd, "list", "project:~/elsewhere")) == 5
    monkeypatch.chdir(story.home / "agents/proj")
    assert len(printed(capfd, "list", "--cwd", ".")) == 5
    assert len(printed(capfd, "list", "--under", "--cwd", f"{story.home}/agents")) == 6


def test_a_directory_of_another_system_is_found_by_exactly_its_text(
    story: StoryHome, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    at(story, WINDOWS)
    at(story, f"{WINDOWS}\\sub")
    at(story, "\\\\server\\share\\p")
    (story.home / WINDOWS).mkdir()
    monkeypatch.chdir(story.home)
    assert {row["cwd"]: row["exists"] for row in printed(capfd, "projects")} == {
        WINDOWS: False,
        f"{WINDOWS}\\sub": False,
        "\\\\server\\share\\p": False,
    }
    assert [row["cwd"] for row in printed(capfd, "list", "--cwd", WINDOWS)] == [WINDOWS]
    assert len(printed(capfd, "list", "--cwd", "C:/Users/u/Study/", "--under")) == 2
    assert [row["cwd"] for row in printed(capfd, "list", "--cwd", "\\\\server\\share\\p")] == ["\\\\server\\share\\p"]
    assert main(["projects"]) == 0
    assert capfd.readouterr().out.count("other system") == 3
    assert main(["list", "--cwd", "D:\\nothing"]) == 1
    assert "The directory D:\\nothing does not exist" in capfd.readouterr().err


def test_sessions_of_another_system_are_relocated_to_a_directory_of_this_one(
    story: StoryHome, capfd: pytest.CaptureFixture[str]
) -> None:
    at(story, WINDOWS)
    at(story, f"{WINDOWS}\\sub\\deep")
    new = story.project("ELM")
    at(story, f"{story.home}/dev/other")
    story.project("other")
    assert main(["relocate", WINDOWS]) == 0, "a directory of the same name is offered"
    assert str(new) in capfd.readouterr().out
    assert main(["relocate", str(new), WINDOWS]) == 1
    assert "is of another system (Windows). Nothing was changed." in capfd.readouterr().err
    assert main(["relocate", WINDOWS, str(new), "--force"]) == 0
    capfd.readouterr()
    other = f"{story.home}/dev/other"
    assert {row["cwd"] for row in printed(capfd, "list")} == {str(new), str(new / "sub/deep"), other}
    assert main(["undo", "--force"]) == 0
    capfd.readouterr()
    assert {row["cwd"] for row in printed(capfd, "list")} == {WINDOWS, f"{WINDOWS}\\sub\\deep", other}


def test_all_spellings_of_a_directory_are_relocated(story: StoryHome, capfd: pytest.CaptureFixture[str]) -> None:
    spellings = linked(story)
    new = story.home / "new"
    (story.home / "repos/proj").rename(new)
    assert main(["relocate", spellings[1], str(new), "--force"]) == 0
    capfd.readouterr()
    assert {row["cwd"]: row["sessions"] for row in printed(capfd, "projects")} == {
        str(new): 5,
        f"{story.home}/repos/project": 1,
    }


def test_a_link_left_at_the_old_path_moves_only_what_names_the_old_path(
    story: StoryHome, capfd: pytest.CaptureFixture[str]
) -> None:
    old, new = story.project("old"), story.home / "dev/new"
    stays, moves = at(story, f"{story.home}/dev/new"), at(story, f"{story.home}/dev/old/sub")
    os.rename(old, new)
    old.symlink_to(new)
    assert main(["relocate", str(old), str(new), "--force", "--json"]) == 0
    assert [one["source"] for one in json.loads(capfd.readouterr().out)["sessions"]] == [str(moves)]
    assert stays.exists()
