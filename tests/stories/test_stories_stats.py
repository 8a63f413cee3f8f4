"""Statistics in a real terminal: from the key to the dearest abandoned branch of last month, and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.story_support import SIZES, StoryHome, message, quit_browser
from tests.support.terminal import DOWN, ENTER, ESCAPE

SORT = "\x13"


def choose(browser: Any, words: str, number: int) -> None:
    """Choose an answer in the dialog of a command that is found by words in the palette."""
    browser.press(":")
    browser.wait("What do you want to do?")
    browser.press(*words, ENTER)
    browser.wait("shown now")
    browser.press(*[DOWN] * number, ENTER)


def side_branch(text: str, moment: datetime, cost: float) -> list[dict[str, Any]]:
    """Return an answer that was abandoned for another one; both have the first question above them."""
    left = message("left", "e01", text, moment, answers=True)
    left["message"]["usage"]["cost"]["total"] = cost
    return [left, message("kept", "e01", "The answer that was kept.", moment + timedelta(seconds=1), answers=True)]


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_the_dearest_abandoned_branch_of_last_month_opens(tmp_path: Path, columns: int, rows: int) -> None:
    home = StoryHome(tmp_path / "home")
    today = datetime.now(UTC)
    # Five days before this month began, in any time zone.
    days = today.day + 5
    last_month = today - timedelta(days=days)
    farm = home.project("farm")
    home.session(farm, ["Ask the sheep"], days_ago=days, more=side_branch("Cheap shears", last_month, 0.5))
    home.session(
        farm,
        ["Ask the okapi"],
        days_ago=days,
        more=side_branch("Golden shears", last_month + timedelta(minutes=1), 3.25),
    )
    home.session(farm, ["Ask the lion"], more=side_branch("Diamond shears", today, 7.5))
    with home.browser(columns=columns, rows=rows) as browser:
        browser.wait("Ask the lion")
        browser.press("$")
        browser.wait("$11.28")
        choose(browser, "span", 4)
        browser.wait("last month")
        browser.wait("$3.77")
        choose(browser, "tables", 4)
        browser.press(SORT)
        browser.wait("abandoned first")
        browser.wait(lambda screen: any(line.startswith("│▌") and "okapi" in line for line in screen.lines()))
        browser.press(ENTER)
        browser.wait("Golden shears")
        browser.press(ESCAPE)
        browser.wait("abandoned first")
        browser.press(ESCAPE)
        browser.wait("Ask the lion")
        quit_browser(browser)
