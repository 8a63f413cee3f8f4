"""`shell`: the key binding in the real shells."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.story_support import StoryHome
from tests.support.terminal import ENTER, Terminal

START = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"], "fish": ["--no-config", "-i"]}


@pytest.fixture
def story(tmp_path: Path) -> StoryHome:
    home = StoryHome(tmp_path / "home")
    home.session(home.project("it's a shop"), ["Add a cart page", "Done."])
    home.session(home.project("infra"), ["Renew the certificates", "Renewed."])
    return home


def binding(story: StoryHome, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sessionbrowse", "shell", *words]
    return subprocess.run(command, env=story.env(), capture_output=True, text=True, timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize(("key", "typed"), [("ctrl+x s", "\x18s"), ("alt+s", "\x1bs")])
@pytest.mark.parametrize("shell", START)
def test_the_key_leaves_the_resume_command_on_the_line(story: StoryHome, shell: str, key: str, typed: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    script = story.home / "binding"
    script.write_text(binding(story, shell, "--key", key).stdout)
    story.agent("pi", 'printf "%s\\n" "$2" "$(pwd)" > "$HOME/ran"')
    (path,) = story.sessions_of(story.project("it's a shop")).glob("*.jsonl")
    with Terminal([program, *START[shell]], story.env(PS1="ready> "), story.home, columns=240) as terminal:
        terminal.press(f". {script}; echo sour''ced", ENTER)
        terminal.wait("sourced")
        terminal.until_quiet(0.5)
        terminal.press("half a line", typed)
        terminal.wait("2 sessions")
        terminal.press("/cart", ENTER, ENTER)
        terminal.wait("--session ")
        terminal.until_quiet(0.5)
        assert not (story.home / "ran").exists(), "nothing runs before Enter"
        terminal.press(ENTER)
        terminal.wait(lambda screen: (story.home / "ran").exists() and (story.home / "ran").read_text().count("\n") > 1)
        assert (story.home / "ran").read_text().splitlines() == [str(path), str(story.project("it's a shop"))]


def test_a_key_that_no_shell_knows_is_wrong_usage(story: StoryHome) -> None:
    for key in ("", "s", "ctrl+", "hyper+x", "ctrl+x '"):
        assert binding(story, "bash", "--key", key).returncode == 2, key
