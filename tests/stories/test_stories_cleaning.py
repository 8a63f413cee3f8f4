"""What people do to tidy up, in a real terminal of each width, by both habits, with few keys.

The number of keys stands in each story before what they do; letters of a text that is typed do not count.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.stories.test_stories_tree import ALT_S, WIDTHS, Hands
from tests.support.story_support import StoryHome, entries, message
from tests.support.terminal import DOWN, ENTER, Terminal

CTRL_D, SHIFT_DOWN, ALT_U, ALT_X = "\x04", "\x1b[1;2B", "\x1bu", "\x1bx"


@pytest.fixture(params=["default", "pi"])
def habits(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def story(tmp_path: Path, habits: str) -> StoryHome:
    home = StoryHome(tmp_path / "home")
    settings = home.home / ".config/sessionbrowse/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'habits = "{habits}"\n')
    return home


def leave(browser: Terminal, habits: str) -> None:
    browser.press("q" if habits == "default" else "\x03")
    browser.wait_end()


@pytest.mark.parametrize(("columns", "rows"), WIDTHS)
def test_delete_five_sessions_and_take_it_back(story: StoryHome, habits: str, columns: int, rows: int) -> None:
    # Seven keys: four times down with Shift, delete, accept, undo.
    shop = story.project("webshop")
    paths = [story.session(shop, [f"Attempt {n}", "No."], days_ago=n + 1) for n in range(6)]
    before = {path: path.read_bytes() for path in paths}
    with story.browser(cwd=shop, rows=rows, columns=columns) as browser:
        browser.wait("Attempt 5")
        hands = Hands(browser)
        hands.press(*[SHIFT_DOWN] * 4)
        browser.wait("5 selected")
        hands.press(CTRL_D)
        browser.wait("Delete 5 sessions?")
        hands.press(ENTER)
        browser.wait("Moved 5 sessions to trash")
        assert [path for path in paths if path.exists()] == [paths[5]]
        hands.press("u" if habits == "default" else ALT_U)
        browser.wait("Restored 5 sessions")
        assert hands.keys <= 7
        leave(browser, habits)
    assert {path: path.read_bytes() for path in paths} == before


@pytest.mark.parametrize(("columns", "rows"), WIDTHS)
def test_clean_a_session_and_share_it(story: StoryHome, habits: str, columns: int, rows: int) -> None:
    # Fifteen keys: into the tree; actions, prune, all abandoned branches, in place of the session; actions, export, as
    # HTML, as it is, under the proposed name.
    now = datetime.now(UTC)
    shop = story.project("webshop")
    texts = ["Write the readme", "# Readme\n\nIt is **short**.", "Make it funny", "Ha ha."]
    more = [message("e05", "e02", "Add a licence", now), message("e06", "e05", "Added.", now, answers=True)]
    path = story.session(shop, texts, days_ago=2, more=more)
    actions = "x" if habits == "default" else ALT_X
    with story.browser(cwd=shop, rows=rows, columns=columns) as browser:
        browser.wait("Write the readme")
        hands = Hands(browser)
        hands.press(ENTER if habits == "default" else ALT_S)
        browser.wait("← leaf")
        hands.press(actions, "b")
        browser.wait("Drop all abandoned branches")
        hands.press(DOWN, ENTER)
        browser.wait("Goes: 2 entries")
        hands.press(DOWN, DOWN, ENTER)
        browser.wait("Pruned:")
        assert [one["id"] for one in entries(path)] == ["e01", "e02", "e05", "e06"]
        hands.press(actions, "t")
        browser.wait("HTML page")
        hands.press(ENTER)
        browser.wait("As it is")
        hands.press("p")
        browser.wait("Export to file")
        hands.press(ENTER)
        browser.wait("Wrote")
        assert hands.keys <= 15
    (page,) = [each for each in story.home.rglob("*.html") if each.is_file()]
    shown = page.read_text()
    assert "It is <strong>short</strong>." in shown
    assert "Make it funny" not in shown
