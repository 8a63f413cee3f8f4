"""What people do in a session's tree, in a real terminal of each width, by both habits, with few keys.

The number of keys stands in each story before what they do; letters of a text that is typed do not count.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.story_support import StoryHome, entries, message, quit_browser
from tests.support.terminal import DOWN, ENTER, UP, Terminal

WIDTHS = [
    (60, 20),
    (80, 24),
    (120, 40),
    (200, 50),
]
ALT_M, ALT_S, F3, SHIFT_RIGHT = "\x1bm", "\x1bs", "\x1bOR", "\x1b[1;2C"


class Hands:
    """A person's hands, which count the keys that they press."""

    def __init__(self, browser: Terminal) -> None:
        self._browser = browser
        self.keys = 0

    def press(self, *keys: str) -> None:
        """Press keys."""
        self._browser.press(*keys)
        self.keys += len(keys)

    def type(self, text: str) -> None:
        """Type a text, whose letters do not count."""
        self._browser.press(text)
        self._browser.wait(text)


@pytest.fixture(params=["default", "pi"])
def habits(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def story(tmp_path: Path, habits: str) -> StoryHome:
    """A home with a session in which a long way was abandoned for a short one; pi only writes down its arguments."""
    home = StoryHome(tmp_path / "home")
    settings = home.home / ".config/sessionbrowse/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'habits = "{habits}"\n')
    home.agent("pi", f'printf "%s\\n" "$@" > {home.home}/resumed; echo AGENT RUNS; read answer')
    texts = ["Make the login faster", "Two ways: a cache or an index.", "Try a cache", "It is stale at times."]
    texts += ["Invalidate it then", "That costs more than it saves."]
    now = datetime.now(UTC)
    more = [message("e07", "e02", "Try an index", now), message("e08", "e07", "Ten times faster.", now, answers=True)]
    home.session(home.project("webshop"), texts, more=more)
    return home


def session_file(story: StoryHome) -> Path:
    return next(story.sessions_of(story.project("webshop")).glob("*000001.jsonl"))


def in_tree(story: StoryHome, browser: Terminal, habits: str) -> Hands:
    """Open the only session with one key; the cursor is on the leaf."""
    browser.wait("Make the login faster")
    hands = Hands(browser)
    hands.press(ENTER if habits == "default" else ALT_S)
    browser.wait(lambda screen: any("▌" in line and "← leaf" in line for line in screen.lines()))
    return hands


def cursor_row(browser: Terminal) -> str:
    return next((line for line in browser.screen.lines() if "▌" in line), "")


@pytest.mark.parametrize(("columns", "rows"), WIDTHS)
def test_what_did_the_abandoned_branch_cost(story: StoryHome, habits: str, columns: int, rows: int) -> None:
    # Two keys: into the tree, to the other branch.
    with story.browser(cwd=story.project("webshop"), rows=rows, columns=columns) as browser:
        hands = in_tree(story, browser, habits)
        hands.press("]" if habits == "default" else SHIFT_RIGHT)
        browser.wait(lambda screen: "Try a cache" in cursor_row(browser) and "$0.02" in cursor_row(browser))
        assert hands.keys <= 2
        browser.press("q" if habits == "default" else "\x03")
        browser.wait_end()


@pytest.mark.parametrize(("columns", "rows"), WIDTHS)
def test_go_on_from_an_earlier_answer_in_a_fork(story: StoryHome, habits: str, columns: int, rows: int) -> None:
    # Seven keys: into the tree, up to the answer, resume, choose the fork, accept.
    path, home = session_file(story), story.home
    before = path.read_bytes()
    with story.browser(cwd=story.project("webshop"), rows=rows, columns=columns) as browser:
        hands = in_tree(story, browser, habits)
        hands.press(UP, UP)
        browser.wait(lambda screen: "Two ways" in cursor_row(browser))
        hands.press("r" if habits == "default" else ENTER)
        browser.wait("In a fork from this entry")
        hands.press(DOWN, DOWN, ENTER)
        browser.wait("AGENT RUNS")
        assert hands.keys <= 7
    forked = [each for each in path.parent.glob("*.jsonl") if each != path]
    assert len(forked) == 1
    assert str(forked[0]) in (home / "resumed").read_text()
    assert entries(forked[0])[-1]["message"]["content"][0]["text"] == "Two ways: a cache or an index."
    assert path.read_bytes() == before


@pytest.mark.parametrize(("columns", "rows"), WIDTHS)
def test_label_an_answer_and_find_it_again(story: StoryHome, habits: str, columns: int, rows: int) -> None:
    # Seven keys: into the tree, up to the answer, label, accept its text; the labels, go there.
    with story.browser(cwd=story.project("webshop"), rows=rows, columns=columns) as browser:
        hands = in_tree(story, browser, habits)
        hands.press(UP, UP, "L" if habits == "default" else ALT_M)
        browser.wait("Label")
        hands.type("crossroads")
        hands.press(ENTER)
        browser.wait("⚑ crossroads")
        assert (entries(session_file(story))[-1]["type"], entries(session_file(story))[-1]["targetId"]) == (
            "label",
            "e02",
        )
        hands.press("'" if habits == "default" else F3)
        browser.wait(lambda screen: any("/label:" in line and "1 session" in line for line in screen.lines()))
        hands.press(ENTER if habits == "default" else ALT_S)
        browser.wait(lambda screen: "Two ways" in cursor_row(browser))
        assert hands.keys <= 7
        if habits == "default":
            quit_browser(browser)
