"""A key that does nothing says why, and Escape stops at the list of sessions."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events

from sessionbrowse.config import CustomCommand
from tests.support.tui_support import browsing, demo_options


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict:
    return demo_options(tmp_path_factory.mktemp("store") / "demo")


async def test_a_letter_of_the_actions_menu_says_where_it_works(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("a")
        assert browser.toasts() == ["Archive is in the actions menu: x a."]


@pytest.mark.parametrize("key", ["space", "ctrl+d", "f", "p", "ctrl+r", "y", "r"])
async def test_a_key_for_sessions_says_in_the_folders_where_it_works(demo: dict, key: str) -> None:
    async with browsing(**demo) as browser:
        await browser.press("left", key)
        assert browser.toasts()[-1].endswith("works in the list of sessions; → goes there.")


async def test_a_key_of_the_tree_says_so_in_the_entry(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("down", "enter", "enter", "3")
        assert browser.toasts()[-1] == "User only: this command works in the tree; ← goes there."


async def test_escape_stops_at_the_list_of_sessions(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("escape", "down")
        assert browser.app.screen.pane == "sessions"  # type: ignore[attr-defined]
        assert browser.row_list("#projects").cursor == 0
        assert "q leaves" in browser.toasts()[-1]
        await browser.press("left", "escape")
        assert browser.app.screen.pane == "sessions"  # type: ignore[attr-defined]


async def test_v_opens_the_preview_where_there_is_no_room_beside_the_lists(demo: dict) -> None:
    async with browsing(**demo, size=(80, 24)) as browser:
        await browser.press("down", "v")
        assert "Preview" in browser.screen_text()
        await browser.press("v")
        assert "Preview" not in browser.screen_text()


async def test_keys_work_after_the_terminal_said_that_it_lost_the_focus(demo: dict) -> None:
    async with browsing(**demo) as browser:
        browser.app.post_message(events.AppBlur())
        await browser.settle()
        await browser.press("down")
        assert browser.row_list("#sessions").cursor == 1
        assert "▌" in "".join(browser.rows("#sessions"))


@pytest.mark.parametrize("key", ["space", "V", "*", "shift+down", "shift+up"])
async def test_a_key_that_selects_does_nothing_while_no_pane_has_the_focus(demo: dict, key: str) -> None:
    async with browsing(**demo) as browser:
        browser.app.screen.set_focus(None)
        await browser.press(key)
        assert not browser.row_list("#sessions").marks
        assert browser.app.return_code is None


async def test_a_key_that_another_command_has_is_shown_at_one_of_them(tmp_path: Path) -> None:
    async with browsing(**demo_options(tmp_path / "demo", keys={"select": "r"})) as browser:
        assert " r select " in browser.footer()
        assert " r resume " not in browser.footer()


async def test_settings_without_effect_are_named(tmp_path: Path) -> None:
    own = CustomCommand(name="Mine", key="#", run="echo {nope} ${shell}", output="toast")
    async with browsing(**demo_options(tmp_path / "demo", theme="darkk", commands=(own,))) as browser:
        said = " ".join(browser.toasts())
        assert 'There is no theme named "darkk"' in said
        assert 'The command "Mine" uses the unknown placeholder {nope}' in said
        assert "{shell}" not in said
        browser.app.post_message(events.Key("number_sign", "#"))
        await browser.until(lambda: any("{nope}" in toast for toast in browser.toasts()[2:]))
