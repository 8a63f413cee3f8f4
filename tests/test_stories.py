"""What people come for, from the first key to the last, in a real terminal and on real files."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.story_support import StoryHome, entries, message, quit_browser
from tests.terminal import ENTER, ESCAPE

CTRL_R = "\x12"


@pytest.fixture
def story(tmp_path: Path) -> StoryHome:
    """A home with two projects and the sessions of three weeks."""
    home = StoryHome(tmp_path / "home")
    shop, infra = home.project("webshop"), home.project("infra")
    home.session(shop, ["Add a cart page", "Done.", "Now the tests", "They pass."], days_ago=0.1)
    home.session(shop, ["Move prices to integers", "Every price is in cents now."], days_ago=7)
    home.session(infra, ["Renew the certificates", "Renewed until March."], days_ago=8)
    home.session(infra, ["Why is the build slow?", "The cache is cold."], days_ago=20)
    return home


def test_rename_from_the_list(story: StoryHome) -> None:
    path = next(story.sessions_of(story.project("webshop")).glob("*000001.jsonl"))
    before, stood = path.read_bytes(), path.stat().st_mtime_ns
    with story.browser() as browser:
        browser.wait("4 sessions")
        browser.wait("Add a cart page")
        browser.press(CTRL_R)
        browser.wait("Rename")
        browser.press("Cart page", ENTER)
        browser.wait(lambda screen: "Cart page" in screen.text() and "undoes" in screen.text())
        assert path.read_bytes().startswith(before)
        assert entries(path)[-1]["type"] == "session_info"
        assert entries(path)[-1]["name"] == "Cart page"
        assert path.stat().st_mtime_ns == stood
        browser.press("u")
        browser.wait(lambda screen: len(entries(path)) == 6)
        assert not entries(path)[-1].get("name")
        quit_browser(browser)


def test_read_a_damaged_file(story: StoryHome) -> None:
    project = story.project("webshop")
    path = story.session(project, ["Before the crash", "Still fine."])
    moment = datetime.now(UTC)
    whole = path.read_bytes()
    torn = b'{"type":"message","id":"e03","parentId":"e02","timest'
    after = message("e04", "e02", "After the crash", moment)
    path.write_bytes(whole + torn + b"\n" + json.dumps(after).encode() + b"\n")
    damaged = path.read_bytes()
    with story.browser() as browser:
        browser.wait("5 sessions")
        browser.press("/crash", ENTER)
        browser.wait("Before the crash")
        browser.press(ENTER)
        browser.wait("leaf")
        browser.wait("After the crash")
        browser.press("!")
        browser.wait("line 4, byte ")
        browser.press(ESCAPE)
        browser.wait(lambda screen: "line 4, byte" not in screen.text())
        browser.press(ESCAPE)
        browser.wait("5 sessions")
        quit_browser(browser)
    assert path.read_bytes() == damaged
