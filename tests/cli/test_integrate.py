"""`integrate`: folders of our own in an agent's directory, and nothing else changes there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.story_support import StoryHome
from tests.support.terminal import ENTER, Terminal


@pytest.fixture
def story(tmp_path: Path) -> StoryHome:
    home = StoryHome(tmp_path / "home")
    home.session(home.project("webshop"), ["Add a cart page", "Done."])
    (home.home / ".pi/agent/settings.json").write_text('{"theme": "dark"}')
    return home


def integrate(story: StoryHome, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sessionbrowse", "integrate", *words]
    return subprocess.run(
        command, env=story.env(), cwd=story.home, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )


def files(story: StoryHome) -> dict[str, bytes]:
    return {str(path.relative_to(story.home)): path.read_bytes() for path in story.home.rglob("*") if path.is_file()}


FOLDER = ".pi/agent/extensions/sessionbrowse"


def test_installing_asks_first_and_removing_leaves_every_other_file_as_it_was(story: StoryHome) -> None:
    before = files(story)
    command = [sys.executable, "-m", "sessionbrowse", "integrate", "pi"]
    with Terminal(command, story.env(), story.home, columns=200) as terminal:
        terminal.wait(f"makes {story.home / FOLDER}")
        terminal.press("n", ENTER)
        assert terminal.wait_status() == 1
    assert files(story) == before
    with Terminal(command, story.env(), story.home, columns=200) as terminal:
        terminal.wait("Go on?")
        terminal.press("y", ENTER)
        assert terminal.wait_status() == 0
    after = files(story)
    assert after.items() > before.items()
    assert {name for name in after if name not in before} >= {f"{FOLDER}/index.js"}
    assert integrate(story, "pi", "--yes").returncode == 0, "an upgrade replaces it"
    assert integrate(story, "pi", "--remove", "--yes").returncode == 0
    assert files(story) == before
    again = integrate(story, "pi", "--remove", "--yes")
    assert (again.returncode, again.stdout) == (0, "")


def test_without_a_terminal_nothing_is_installed(story: StoryHome) -> None:
    before = files(story)
    refused = integrate(story, "pi")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "--yes" in refused.stderr
    assert files(story) == before


@pytest.mark.parametrize("name", ["index.js", "index.ts", "README.md"])
def test_a_folder_that_is_not_ours_is_not_touched(story: StoryHome, name: str) -> None:
    folder = story.home / FOLDER
    if name != "index.js":
        assert integrate(story, "pi", "--yes").returncode == 0
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("// somebody's own\n")
    before = files(story)
    for options in ((), ("--remove",)):
        refused = integrate(story, "pi", "--yes", *options)
        assert refused.returncode == 1
        assert "was not made by sessionbrowse" in refused.stderr
    assert files(story) == before


def test_a_link_is_not_followed(story: StoryHome) -> None:
    assert integrate(story, "pi", "--yes").returncode == 0
    folder, elsewhere = story.home / FOLDER, story.home / "dotfiles"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    assert integrate(story, "pi", "--remove", "--yes").returncode == 1
    assert (elsewhere / "index.js").exists()


def test_the_copy_names_this_program_and_this_agent(story: StoryHome) -> None:
    printed = integrate(story, "pi", "--print")
    assert (printed.returncode, files(story).get(f"{FOLDER}/index.js")) == (0, None)
    assert 'const AGENT = "pi";' in printed.stdout
    assert sys.executable in printed.stdout
    assert '"@' not in printed.stdout


def test_an_agent_that_was_not_tried_is_refused_with_what_to_try(story: StoryHome) -> None:
    refused = integrate(story, "atomic", "--yes")
    assert refused.returncode == 1
    assert "integrate atomic --print" in refused.stderr
    assert "index.js" in refused.stderr
    inside = (Path(__file__).parents[2] / "docs/inside.md").read_text()
    assert "`sessionbrowse integrate atomic --print`" in inside.partition("\n## ")[0]


def test_an_agent_that_never_ran_here_is_refused(story: StoryHome) -> None:
    refused = integrate(story, "omp", "--yes")
    assert (refused.returncode, "start omp once" in refused.stderr) == (1, True)
    assert not (story.home / ".omp").exists()
