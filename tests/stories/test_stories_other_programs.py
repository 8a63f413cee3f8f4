"""Everyday work with sessions of Claude Code and Codex: find, read, continue in pi or omp, delete and take back."""

from __future__ import annotations

import hashlib
import os
from functools import partial
from pathlib import Path

import pytest

from tests.support.foreign import CLAUDE_ID, CODEX_ID, Claude, Codex, call, jsonl, said
from tests.support.story_support import StoryHome, entries, quit_browser
from tests.support.terminal import DOWN, ENTER, ESCAPE, UP, Screen, Terminal

pytestmark = pytest.mark.parametrize("size", [(80, 24), ((120, 40))])

CTRL_D = "\x04"
LONG_AGO = 1_780_000_000


@pytest.fixture
def story(tmp_path: Path) -> StoryHome:
    """A home with a session of Claude Code and its subagent, and one of Codex, beside one of pi."""
    home = StoryHome(tmp_path / "home")
    shop = home.project("webshop")
    home.session(shop, ["Add a cart page", "Done."], days_ago=1)
    for agent in ("pi", "omp"):
        # The file is there only when it is complete.
        home.agent(agent, f'cd "{home.home}" && {{ echo "$OLDPWD"; echo "$@"; }} > writing && mv writing ran')
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


def marked(screen: Screen, text: str) -> bool:
    """Return True if the row with a text is the one under the cursor of a dialog."""
    return any(("▌" in line or "❯" in line or "▏" in line) and text in line for line in screen.lines())


def search(browser: Terminal, words: str, found: str) -> None:
    """Find what was said, and open the entry in its tree."""
    browser.press(f"/{words}")
    browser.wait(lambda screen: found in screen.text() and "searching" not in screen.text())
    browser.press(ENTER)
    browser.wait(lambda screen: "Tree" in screen.text() and at_cursor(screen, found))


def carry(browser: Terminal, to: str, answer: str) -> None:
    """Continue the session in another agent, from the actions menu."""
    browser.press("x")
    browser.wait("Continue")
    browser.press("n")
    browser.wait(f"Continue in {to}")
    browser.press({"pi": "p", "omp": "o"}[to])
    browser.wait(lambda screen: "Carry over" in screen.text() and f"new session of {to}" in screen.text())
    browser.press(answer)


def test_a_session_of_claude_code_is_found_read_and_continued_in_pi_at_an_earlier_prompt(
    story: StoryHome, size: tuple[int, int]
) -> None:
    before = sums(story)
    with started(story, size) as browser:
        search(browser, "tusks", "Here it is, with tusks.")
        browser.press(ESCAPE)
        browser.wait("best")
        browser.press(ESCAPE)
        browser.wait(lambda screen: "newest" in screen.text() and at_cursor(screen, "draw a walrus"))
        browser.press(":show hidden", ENTER)
        browser.wait("⊞1")
        browser.press("o")
        browser.wait("look at the")
        browser.press(DOWN)
        browser.wait(lambda screen: at_cursor(screen, "look at the"))
        browser.press(ENTER)
        browser.wait(lambda screen: at_cursor(screen, "The whiskers are fine."))
        browser.press(ESCAPE)
        browser.wait("Projects")
        browser.press(UP)
        browser.wait(lambda screen: at_cursor(screen, "draw a walrus"))
        browser.press(ENTER)
        browser.wait(lambda screen: "Tree" in screen.text() and "the seal" in screen.text())
        browser.press("G")
        browser.wait(lambda screen: at_cursor(screen, "Here is the seal."))
        browser.press(UP)
        browser.wait(lambda screen: at_cursor(screen, "and a seal"))
        carry(browser, "pi", ENTER)
        browser.wait(lambda screen: "Carried 7 entries to pi." in screen.text() and "Tree" in screen.text())
        (made,) = [one for one in (story.home / ".pi").rglob("*.jsonl") if b"walrus" in one.read_bytes()]
        assert len(entries(made)) == 7
        browser.wait(lambda screen: at_cursor(screen, "and a seal"))
        browser.press("r")
        browser.wait("In a fork from this entry")
        browser.press(DOWN)
        browser.wait(lambda screen: marked(screen, "From this entry"))
        browser.press(ENTER)
        browser.wait(lambda screen: (story.home / "ran").exists() and "Tree" in screen.text())
        assert (story.home / "ran").read_text().split() == [str(story.project("webshop")), "--session", str(made)]
        assert b"checkout" in made.read_bytes() or entries(made)[-1]["parentId"] == entries(made)[4]["id"]
        quit_browser(browser)
    assert sums(story) == before


def test_a_session_of_codex_is_continued_in_omp(story: StoryHome, size: tuple[int, int]) -> None:
    before = sums(story)
    with started(story, size) as browser:
        search(browser, "neck", "It has a long neck.")
        carry(browser, "omp", DOWN + ENTER)
        browser.wait(lambda screen: (story.home / "ran").exists() and "Tree" in screen.text())
        (made,) = (story.home / ".omp").rglob("*.jsonl")
        where, *words = (story.home / "ran").read_text().split()
        assert where == str(story.project("webshop"))
        assert str(made) in words
        assert b"paint a giraffe" in made.read_bytes()
        quit_browser(browser)
    assert sums(story) == before


@pytest.mark.parametrize(("title", "left"), [("draw a walrus", ".codex"), ("paint a giraffe", ".claude")])
def test_a_session_is_deleted_and_taken_back(story: StoryHome, size: tuple[int, int], title: str, left: str) -> None:
    before = sums(story)
    with started(story, size) as browser:
        for row in ("paint a giraffe", "draw a walrus"):
            if not at_cursor(browser.screen, title):
                browser.press(DOWN)
                browser.wait(partial(at_cursor, text=row))
        browser.press(CTRL_D)
        browser.wait("Delete")
        browser.press(ENTER)
        browser.wait(lambda screen: "undoes" in screen.text() and "Moved" in screen.text())
        assert sums(story) == {path: there for path, there in before.items() if f"/{left}/" in path}
        browser.press("u")
        browser.wait(lambda screen: sums(story) == before)
        browser.wait(title)
        quit_browser(browser)
