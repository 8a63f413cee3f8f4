"""Messages: one line above the footer, one at a time, and all of them again in a window."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from sessionbrowse.tui.app import BrowseApp
from tests.support.tui_support import Driven, browsing, fixed_source, summary


def bottom(browser: Driven) -> list[str]:
    return [line.strip() for line in browser.screen_text().split("\n")]


async def test_a_message_has_a_row_of_its_own_above_the_footer_and_hides_nothing() -> None:
    listed = [summary(f"/{number:02}.jsonl", name=f"row {number:02}") for number in range(40)]
    async with browsing(fixed_source(listed), size=(80, 24)) as browser:
        before = browser.row_list("#sessions").size.height
        await browser.press("G", "u")
        *_, message, footer = bottom(browser)
        assert message == "▌There is nothing to undo."
        assert footer.startswith("⏎ open")
        assert browser.row_list("#sessions").size.height == before - 1
        assert any("row 00" in row or "row 39" in row for row in browser.rows("#sessions"))


async def test_an_equal_message_is_not_told_again_and_the_next_one_replaces_it() -> None:
    async with browsing(fixed_source([summary("/a.jsonl")])) as browser:
        await browser.press("u", "u", "u")
        assert browser.toasts() == ["There is nothing to undo."]
        await browser.press("escape")
        assert "nothing to undo" not in browser.screen_text()
        assert bottom(browser)[-2].startswith("▌This is the first screen.")


async def test_a_message_goes_by_itself() -> None:
    with patch.object(BrowseApp, "MESSAGE_SECONDS", 0.05):
        async with browsing(fixed_source([summary("/a.jsonl")])) as browser:
            await browser.press("u")
            await browser.until(lambda: not browser.app.message.sentence)
            await browser.settle()
            assert "nothing to undo" not in browser.screen_text()


async def test_the_palette_shows_what_was_said(tmp_path: Path) -> None:
    async with browsing(fixed_source([summary("/a.jsonl")])) as browser:
        await browser.press("u", "escape", "colon")
        await browser.type("messages")
        await browser.press("enter")
        said = browser.words("#window-text")
        assert said.index("This is the first screen") < said.index("There is nothing to undo.")
        await browser.press("q")
        assert browser.screen_name == "browse"


@pytest.mark.parametrize("width", [30, 60])
async def test_a_long_message_is_wrapped_and_whole_in_the_window(width: int) -> None:
    words = " ".join([f"word{number}" for number in range(60)])
    async with browsing(fixed_source([summary("/a.jsonl")]), size=(width, 24)) as browser:
        browser.app.say(words)
        await browser.settle()
        assert browser.app.screen.query_one("#footer").size.height == 4
        assert bottom(browser)[-2].endswith("…")
        await browser.run("messages")
        await browser.press("G")
        assert "word59" in browser.words("#window-text")


async def test_the_settings_are_found_in_the_palette_and_created_after_a_question(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "ed"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = tmp_path / "config.toml"
    environ = {"PATH": str(tmp_path / "bin"), "EDITOR": "ed", "SESSIONBROWSE_CONFIG": str(path)}
    async with browsing(fixed_source([summary("/a.jsonl")]), environ=environ, home=str(tmp_path)) as browser:
        await browser.press("colon")
        await browser.type("setting")
        await browser.press("enter")
        assert "~/config.toml" in browser.screen_text()
        await browser.press("escape")
        assert not path.exists()
        await browser.run("settings")
        await browser.press("enter")
        assert path.read_text().startswith("# All settings of sessionbrowse.")
