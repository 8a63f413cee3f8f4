"""What people do with sessions of Claude Code and Codex: find, read, continue in pi or omp, delete and take back."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from tests.support.foreign import CLAUDE_ID, CODEX_ID, Claude, Codex, call, jsonl, said
from tests.support.story_support import StoryHome, entries, quit_browser
from tests.support.terminal import ENTER, TAB, Screen, Terminal

pytestmark = pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 40), marks=pytest.mark.slow)])

CTRL_D = "\x04"
LONG_AGO = 1_780_000_000


@pytest.fixture
def story(tmp_path: Path) -> StoryHome:
    """A home with a session of Claude Code and its subagent, and one of Codex, beside one of pi."""
    home = StoryHome(tmp_path / "home")
    shop = home.project("webshop")
    home.session(shop, ["Add a cart page", "Done."], days_ago=1)
    home.agent("pi", f'pwd > "{home.home}/ran"; echo "$@" >> "{home.home}/ran"')
    home.agent("omp", f'pwd > "{home.home}/ran"; echo "$@" >> "{home.home}/ran"')
    file = Claude(cwd=str(shop))
    file.user([said("<ide_opened_file>The user opened /app/a.py.</ide_opened_file>"), said("draw a walrus")])
    file.answer("a", said("Here it is, with tusks."), call("x", "Task", prompt="look at the whiskers"))
    file.result("x", "The whiskers are fine.")
    file.answer("b", said("The walrus is ready."), stop="end_turn")
    file.user("and a seal")
    file.answer("c", said("Here is the seal."), stop="end_turn")
    folder = home.home / ".claude/projects" / str(shop).replace("/", "-")
    write(folder / f"{CLAUDE_ID}.jsonl", jsonl(file.records))
    child = Claude(cwd=str(shop))
    child.user("look at the whiskers", isSidechain=True, parent=None, agentId="a1")
    child.answer("d", said("The whiskers are fine."), isSidechain=True, agentId="a1", stop="end_turn")
    write(folder / CLAUDE_ID / "subagents/agent-a1.jsonl", jsonl(child.records))
    rollout = Codex(cwd=str(shop))
    rollout.prompt("paint a giraffe")
    rollout.call("c")
    rollout.answer("It has a long neck.")
    name = f"rollout-2026-05-01T10-00-00-{CODEX_ID}.jsonl"
    write(home.home / ".codex/sessions/2026/05/01" / name, jsonl(rollout.records))
    return home


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (LONG_AGO, LONG_AGO))


def sums(story: StoryHome) -> dict[str, str]:
    """Return the checksums of all files of Claude Code and Codex."""
    files = [path for name in (".claude", ".codex") for path in (story.home / name).rglob("*") if path.is_file()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def started(story: StoryHome, size: tuple[int, int]) -> Terminal:
    browser = story.browser(columns=size[0], rows=size[1], cwd=story.project("webshop"))
    browser.wait("draw a walrus")
    return browser


def at_cursor(screen: Screen, text: str) -> bool:
    return any("▌" in line and text in line for line in screen.lines())


def search(browser: Terminal, words: str, found: str) -> None:
    """Find what was said, and open the entry in its tree."""
    browser.press(f"/{words}")
    browser.wait(lambda screen: found in screen.text() and "searching" not in screen.text())
    browser.press(ENTER)
    browser.until_quiet(0.3)
    browser.press("DEBUG")


def test_a_session_of_claude_code_is_found_read_and_continued_in_pi_at_an_earlier_prompt(
    story: StoryHome, size: tuple[int, int]
) -> None:
    before = sums(story)
    with started(story, size) as browser:
        search(browser, "tusks", "Here it is, with tusks.")
        print(browser.screen.text())
        assert False
    assert sums(story) == before
