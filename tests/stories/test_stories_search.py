"""Searching in a real terminal, narrow, usual and wide: from a word to an entry, on to the next session, and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.story_support import SIZES, StoryHome, quit_browser
from tests.support.terminal import DOWN, ENTER, ESCAPE

SEARCH_ALL, ORDER = "\x06", "\x13"


@pytest.fixture
def story(tmp_path: Path) -> StoryHome:
    """A home with two sessions about okapis, and the newest about something else."""
    home = StoryHome(tmp_path / "home")
    zoo, farm = home.project("zoo"), home.project("farm")
    home.session(zoo, ["Where do okapis live?", "An okapi lives in a forest.", "And the okapi eats?", "Leaves."])
    long = "The barn needs a roof. " * 40
    home.session(farm, [f"{long} An okapi came by. {long}", "Good."], days_ago=-0.001)
    home.session(farm, ["Count the sheep", "There are 31 sheep."], days_ago=-0.002)
    return home


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_from_a_word_to_its_entries_in_two_sessions_and_back(story: StoryHome, columns: int, rows: int) -> None:
    with story.browser(columns=columns, rows=rows) as browser:
        browser.wait("Count the sheep")
        browser.press(SEARCH_ALL)
        browser.wait("Results")
        browser.press(*"okapi")
        browser.wait(lambda screen: "2 sessions" in screen.text() and "best first" in screen.text())
        browser.wait(lambda screen: any("Where do okapis" in line and "3 hits" in line for line in screen.lines()))
        browser.wait(lambda screen: any("user" in line and "An okapi came by" in line for line in screen.lines()))
        browser.press(DOWN, ENTER)
        browser.wait('"okapi"')
        browser.press("n", "n", "n")
        browser.wait("The barn needs")
        browser.press("n")
        browser.wait("last result")
        browser.press(ESCAPE)
        browser.wait("Results")
        browser.wait(
            lambda screen: any(line.startswith("│▌") and "An okapi came by" in line for line in screen.lines())
        )
        browser.press(ORDER)
        browser.wait("newest first")
        browser.press(ESCAPE)
        browser.wait("Count the sheep")
        browser.press("/", *"forest")
        browser.wait("0 matches · said in 1")
        browser.press(ESCAPE)
        browser.wait("Count the sheep")
        quit_browser(browser)
