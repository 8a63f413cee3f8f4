"""What people come for, from the first key to the last, in a real terminal and on real files."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.story_support import StoryHome, entries, message, quit_browser
from tests.support.terminal import ENTER, ESCAPE

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


def test_find_last_weeks_session_by_a_word_and_resume_it(story: StoryHome) -> None:
    shop = story.project("webshop")
    wanted = next(story.sessions_of(shop).glob("*000002.jsonl"))
    story.agent("pi", 'printf "%s\\n" "$@" "$(pwd)" > "$HOME/ran"; echo AGENT RUNS; read answer')
    with story.browser() as browser:
        browser.wait("4 sessions")
        browser.press("/cents")
        browser.wait(lambda screen: "Every price is in cents now." in screen.text())
        browser.press(ENTER)
        browser.wait("assistant: Every price is in cents now.")
        browser.press("r")
        browser.wait("AGENT RUNS")
        assert (story.home / "ran").read_text().splitlines() == ["--session", str(wanted), str(shop)]
        browser.press(ENTER)
        browser.wait("assistant: Every price is in cents now.")
        quit_browser(browser)


def test_label_a_checkpoint_and_find_it_a_day_later(story: StoryHome) -> None:
    with story.browser() as browser:
        browser.wait("4 sessions")
        browser.press("/cart", ENTER)
        browser.wait("user: Now the tests")
        browser.press("/tests", ENTER)
        browser.wait("1 match")
        browser.press("n", "L")
        browser.wait("Label")
        browser.press("before-the-tests", ENTER)
        browser.wait("⚑ before-the-tests")
        quit_browser(browser)
    path = next(story.sessions_of(story.project("webshop")).glob("*000001.jsonl"))
    assert (entries(path)[-1]["type"], entries(path)[-1]["targetId"]) == ("label", "e03")
    # The next day: another session was worked on meanwhile.
    story.session(story.project("infra"), ["Something else", "Yes."])
    with story.browser() as browser:
        browser.wait("5 sessions")
        browser.press("'")
        browser.wait("before-the-tests")
        browser.press(ENTER)
        browser.wait(lambda screen: any("▌" in line and "Now the tests" in line for line in screen.lines()))
        quit_browser(browser)


def test_follow_a_growing_session(story: StoryHome) -> None:
    path = next(story.sessions_of(story.project("webshop")).glob("*000001.jsonl"))

    def grow(number: int, text: str) -> None:
        entry = message(f"e{number:02d}", f"e{number - 1:02d}", text, datetime.now(UTC), answers=number % 2 == 0)
        with path.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    with story.browser() as browser:
        browser.wait("4 sessions")
        browser.press("/cart", ENTER)
        browser.wait("← leaf")
        browser.press(".")
        grow(5, "And the checkout page?")
        browser.wait("user: And the checkout page?")
        grow(6, "It is next.")
        browser.wait(lambda screen: any("▌" in line and "It is next." in line for line in screen.lines()))
        # Whoever reads elsewhere stays there.
        browser.press("g")
        browser.wait(lambda screen: any("▌" in line and "Add a cart page" in line for line in screen.lines()))
        grow(7, "Go on")
        browser.wait("user: Go on")
        assert any("▌" in line and "Add a cart page" in line for line in browser.screen.lines())
        quit_browser(browser)
