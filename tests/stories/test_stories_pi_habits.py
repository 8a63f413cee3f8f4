"""A pi user's session picker and tree, by the setting `habits = "pi"`, in a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.story_support import StoryHome, entries
from tests.support.terminal import ENTER, ESCAPE, Terminal

UP, TAB = "\x1b[A", "\t"


@pytest.fixture
def story(tmp_path: Path) -> StoryHome:
    """A home with two projects and a stand-in for pi that writes down its arguments."""
    home = StoryHome(tmp_path / "home")
    settings = home.home / ".config/sessionbrowse/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('habits = "pi"\n')
    home.agent("pi", f'printf "%s\\n" "$@" > {home.home}/resumed')
    home.session(home.project("webshop"), ["Add a cart page", "Done.", "Now the tests", "They pass."], days_ago=1)
    home.session(home.project("webshop"), ["Move prices to integers", "In cents now."], days_ago=7)
    home.session(home.project("infra"), ["Renew the certificates", "Until March."], days_ago=0.1)
    return home


def resumed(story: StoryHome, browser: Terminal) -> str:
    """Wait until the stand-in for pi was started; return its arguments."""
    path = story.home / "resumed"
    browser.wait(lambda _: path.exists() and path.read_text().endswith("\n"))
    return path.read_text()


def test_type_and_enter_resume_the_session_that_was_found(story: StoryHome) -> None:
    with story.browser(cwd=story.project("webshop")) as browser:
        browser.wait("threaded · webshop")
        browser.wait(lambda screen: "They pass." in screen.text() and "Renew" not in screen.text())
        browser.press("rices")
        browser.wait("1 session")
        browser.press(ENTER)
        assert "000002.jsonl" in resumed(story, browser)


def test_enter_in_the_tree_goes_there_after_a_question(story: StoryHome) -> None:
    path = next(story.sessions_of(story.project("webshop")).glob("*000001.jsonl"))
    before = path.read_bytes()
    with story.browser(cwd=story.project("webshop")) as browser:
        browser.wait("Add a cart page")
        browser.press("\x1bs")
        browser.wait("← leaf")
        browser.press(UP, UP, ENTER)
        browser.wait("In a fork from this entry")
        browser.press(ESCAPE)
        browser.wait(lambda screen: "In a fork" not in screen.text())
        assert path.read_bytes() == before
        browser.press(ENTER)
        browser.wait("From this entry")
        browser.press("c")
        assert "000001.jsonl" in resumed(story, browser)
        assert entries(path)[-1]["parentId"] == "e02"
        assert path.read_bytes().startswith(before)


def test_escape_leaves_and_tab_shows_all_folders(story: StoryHome) -> None:
    with story.browser(cwd=story.project("webshop")) as browser:
        browser.wait("Add a cart page")
        browser.press(TAB)
        browser.wait("Renew the certificates")
        browser.press(ESCAPE)
        browser.wait_end()
        assert browser.process.returncode == 0
