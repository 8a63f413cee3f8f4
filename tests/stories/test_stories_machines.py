"""Sessions of another machine from adding to forgetting it, in a real terminal, by a stand-in for ssh and by sshd."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.services.machines.other_machine import OtherMachine
from tests.services.machines.ssh_machine import SshMachine, no_sshd
from tests.support.story_support import StoryHome, quit_browser
from tests.support.terminal import ENTER

CTRL_L, CTRL_R = "\x0c", "\x12"
TAKES_TERMINAL = b"\x1b[?1049h"


@pytest.fixture
def story(tmp_path: Path) -> StoryHome:
    return StoryHome(tmp_path / "home")


@pytest.fixture(params=["stand-in", "sshd"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OtherMachine]:
    """Make a machine that a stand-in for ssh leads to, or the real ssh and sshd."""
    if request.param == "stand-in":
        yield OtherMachine(tmp_path / "machine")
    elif (why := no_sshd()) is not None:
        pytest.skip(why)
    else:
        real = SshMachine(tmp_path / "machine")
        with real.running_sshd():
            yield real


def test_the_sessions_of_another_machine_are_found_read_resumed_taken_here_and_forgotten(
    story: StoryHome, machine: OtherMachine, tmp_path: Path
) -> None:
    there = StoryHome(machine.home)
    shop = there.project("it's a shop")
    session = there.session(shop, ["Why does the invoice round up", "By the tax table."], days_ago=2)
    told = tmp_path / "told"
    there.agent("pi", f'{{ pwd -P; printf "%s\\n" "$@"; }} >{told}')
    (machine.home / ".profile").write_text('PATH="$HOME/bin:$PATH"\n')
    story.session(story.project("webshop"), ["Keep this one", "Kept."], days_ago=1)
    before = {path: content for path, content in machine.files().items() if path.endswith(".jsonl")}
    path: dict[str, Any] = {"PATH": f"{story.programs}:{machine.search_path.partition(os.pathsep)[0]}:{os.defpath}"}

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "sessionbrowse", *words]
        done = subprocess.run(
            command, env=story.env(**path), cwd=story.home, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert "Added mini" in run("machines", "add", "mini", "mini.local")
    with story.browser(**path) as browser:
        browser.wait("1 session ")
        browser.press(CTRL_L)
        browser.wait("mini: 1 session file, 1 new.")
        browser.press("/tax machine:mini")
        browser.wait("@mini  π")
        browser.press(ENTER, ENTER)
        browser.wait("it's a shop @mini ›")
        browser.wait("assistant: By the tax table.")
        browser.press(CTRL_R)
        browser.wait("Rename")
        browser.press("other name", ENTER)
        browser.wait("lies on mini; open it there")
        begun = browser.seen.count(TAKES_TERMINAL)
        browser.press("r")
        told_words = [str(shop.resolve()), "--session", str(session)]
        browser.wait(lambda _: told.exists() and told.read_text().splitlines() == told_words)
        # A key that is pressed before ssh has ended is for the other machine.
        browser.wait(lambda _: browser.seen.count(TAKES_TERMINAL) > begun)
        browser.wait("assistant: By the tax table.")
        browser.press("f")
        browser.wait("Fork")
        browser.press(ENTER)
        browser.wait("The work tree does not come along")
        quit_browser(browser)
    taken = [one for one in json.loads(run("list", "--json")) if one["machine"] is None and one["parent_session"]]
    assert [(one["cwd"], Path(one["parent_session"]).name) for one in taken] == [(str(story.home), session.name)]
    assert {path: content for path, content in machine.files().items() if path.endswith(".jsonl")} == before
    assert "Forgot mini" in run("machines", "forget", "mini")
    assert {one["machine"] for one in json.loads(run("list", "--json"))} == {None}
    assert not list(story.home.rglob("machines/mini"))
