"""Searching in a real terminal of each size: from half-remembered words to an entry, on from there, and back.

Keys, counted before it was built: `/`, the words, Enter (the tree at the hit), `r` and the answer: four besides the
words. With the habits of pi: the words, Alt+S (the tree at the hit), Enter and the answer: three.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.story_support import StoryHome, entries, quit_browser
from tests.support.terminal import DOWN, ENTER, ESCAPE, Terminal

ORDER, TAB = "\x13", "\t"
SIZES = [
    (60, 20),
    (80, 24),
    (120, 36),
    (200, 50),
]
WORDS = "okap forest eats"
"""Half-remembered: a beginning, and words of two entries."""


@pytest.fixture
def story(tmp_path: Path) -> StoryHome:
    """A home with two sessions about okapis, and the newest about something else; a stand-in for pi."""
    home = StoryHome(tmp_path / "home")
    zoo, farm = home.project("zoo"), home.project("farm")
    home.session(zoo, ["Where do okapis live?", "An okapi lives in a forest; it eats leaves.", "And zebras?", "Grass."])
    long = "The barn needs a roof. " * 40
    home.session(farm, [f"{long} An okapi came by. {long}", "Good."], days_ago=-0.001)
    home.session(farm, ["Count the sheep", "There are 31 sheep."], days_ago=-0.002)
    home.agent("pi", f'printf "%s\\n" "$@" > {home.home}/resumed')
    return home


def row_with_cursor(text: str, browser: Terminal) -> None:
    browser.wait(lambda screen: any("▌" in line and text in line for line in screen.lines()))


def resumed_at(story: StoryHome, browser: Terminal) -> tuple[str, str]:
    """Wait until pi was started; return its session's file and the parent of the last line."""
    path = story.home / "resumed"
    browser.wait(lambda _: path.exists() and path.read_text().endswith("\n"))
    file = next(word for word in path.read_text().split() if word.endswith(".jsonl"))
    return Path(file).name, str(entries(Path(file))[-1].get("parentId"))


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_by_three_half_remembered_words_to_the_entry_and_on_from_there(
    story: StoryHome, columns: int, rows: int
) -> None:
    with story.browser(columns=columns, rows=rows) as browser:
        browser.wait("Count the sheep")
        keys = ["/", *WORDS, ENTER, "r", "c"]
        assert len(keys) - len(WORDS) <= 4
        browser.press(*keys[:-3])
        browser.wait(lambda screen: "2 sessions" in screen.text() and "· best" in screen.text())
        browser.press(keys[-3])
        row_with_cursor("okapi lives", browser)
        browser.press(keys[-2])
        browser.wait("From this entry")
        browser.press(keys[-1])
        name, parent = resumed_at(story, browser)
        assert "000001.jsonl" in name
        assert parent == "e02"


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_the_same_with_the_habits_of_pi(story: StoryHome, columns: int, rows: int) -> None:
    settings = story.home / ".config/sessionbrowse/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('habits = "pi"\n')
    with story.browser(columns=columns, rows=rows) as browser:
        browser.wait("Count the sheep")
        keys = [*WORDS, "\x1bs", ENTER, "c"]
        assert len(keys) - len(WORDS) <= 3
        browser.press(*keys[:-3])
        browser.wait(lambda screen: "2 sessions" in screen.text() and "· best" in screen.text())
        browser.press(keys[-3])
        row_with_cursor("okapi lives", browser)
        browser.press(keys[-2])
        browser.wait("From this entry")
        browser.press(keys[-1])
        name, parent = resumed_at(story, browser)
        assert "000001.jsonl" in name
        assert parent == "e02"


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_from_a_word_to_its_entries_in_two_sessions_and_back(story: StoryHome, columns: int, rows: int) -> None:
    with story.browser(columns=columns, rows=rows) as browser:
        browser.wait("Count the sheep")
        browser.press("/", *"okapi")
        browser.wait(lambda screen: "2 sessions" in screen.text() and "· best" in screen.text())
        browser.wait("An okapi came")
        browser.press(ENTER)
        browser.wait('"okapi"')
        browser.press("n", "n")
        browser.wait("The barn needs")
        browser.press(ESCAPE)
        browser.wait("· best")
        row_with_cursor("The barn needs", browser)
        browser.press(DOWN)
        row_with_cursor("okapi came", browser)
        browser.press(ORDER)
        browser.wait("· newest ·")
        browser.press(ESCAPE)
        browser.wait("Count the sheep")
        browser.press("/", *"zzqqzz")
        browser.wait("was found nowhere")
        browser.press(ESCAPE, ESCAPE)
        browser.wait("Count the sheep")
        quit_browser(browser)
