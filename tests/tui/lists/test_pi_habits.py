"""`habits = "pi"`: letters type, Enter resumes, and the other commands have keys that type nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sessionbrowse.config import Settings, parse_settings
from sessionbrowse.tui.commands.command import CONTEXT_STACKS, key_label
from sessionbrowse.tui.commands.keymap import Keys
from sessionbrowse.tui.commands.table import BY_ID
from tests.support.tui_support import Driven, browsing, demo_options


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict:
    settings, problems = parse_settings('habits = "pi"')
    assert not problems
    options = demo_options(tmp_path_factory.mktemp("store") / "demo")
    return {**options, "settings": settings}


def filter_text(browser: Driven) -> str:
    text: str = browser.app.screen.search.text  # type: ignore[attr-defined]
    return text


def test_habits_are_other_defaults_that_single_settings_change() -> None:
    pi, _ = parse_settings('habits = "pi"')
    assert (pi.sort, pi.scope, pi.enter, pi.restore) == ("threaded", "project", "resume", False)
    mixed, _ = parse_settings('habits = "pi"\nenter = "open"\nsort = "size"')
    assert (mixed.sort, mixed.scope, mixed.enter) == ("size", "project", "open")
    assert parse_settings('enter = "resume"')[0] == Settings(enter="resume")
    assert parse_settings("habits = []")[1] == ['"habits" must be one of default, pi; the default is used.']


def test_no_key_of_pis_habits_means_two_things() -> None:
    keys = Keys(habits="pi")
    assert keys.clashes == ()
    for contexts in CONTEXT_STACKS:
        for command in keys.at(contexts):
            for key in keys.of(command):
                found = keys.find(key, contexts)
                same = found is command or not set(contexts[:1]) & set(command.where)
                assert same, (contexts, key, command.id, found and found.id)


def test_no_command_of_lists_and_tree_has_a_key_that_types() -> None:
    keys = Keys(habits="pi")
    for command in keys.at(("sessions", "projects", "lists", "tree", "session", "everywhere")):
        typed = {key for key in keys.of(command) if len(key_label(key)) == 1 and key_label(key).isascii()}
        assert typed <= {"L", "T"}, command.id
    assert keys.shown(BY_ID["resume_as"]) == "alt+R"
    assert keys.shown(BY_ID["palette"]) == "^\\"


async def test_letters_filter_and_alt_letters_run_commands(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.type("jwt q/")
        assert filter_text(browser) == "jwt q/"
        assert "⏎ resume" in browser.footer()
        assert "filter" not in browser.footer()
        await browser.press("escape", "alt+v")
        assert filter_text(browser) == ""
        assert not browser.app.screen.has_class("-preview-shown")
        assert "⏎ resume" in browser.footer()
        assert "alt+s browse" in browser.footer()


async def test_commands_work_while_the_query_is_typed(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.type("a")
        await browser.press("tab", "ctrl+s", "down", "alt+s")
        await browser.until(lambda: browser.screen_name == "session")


async def test_the_order_goes_round_as_in_pi(demo: dict) -> None:
    async with browsing(**demo) as browser:
        seen = [browser.app.screen.state.sort]  # type: ignore[attr-defined]
        for _ in range(3):
            await browser.press("ctrl+s")
            seen.append(browser.app.screen.state.sort)  # type: ignore[attr-defined]
        assert seen == ["threaded", "name", "size", "cost"]


async def test_escape_leaves_the_first_screen(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.type("jwt")
        await browser.press("escape")
        assert browser.app.is_running
        await browser.press_now("escape")
        assert browser.app.return_code == 0


async def test_enter_in_the_tree_asks_before_it_goes_there(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("down", "alt+s")
        await browser.until(lambda: browser.screen_name == "session")
        tree = browser.row_list("#tree")
        await browser.press("up", "enter")
        assert "From this entry" in browser.screen_text()
        await browser.press("escape")
        assert browser.row_list("#tree").cursor == tree.cursor
        await browser.type("user")
        assert browser.app.screen.tree_pane.state.query == "user"  # type: ignore[attr-defined]


async def test_the_tree_opens_at_the_leaf_each_time(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("down", "alt+s")
        await browser.until(lambda: browser.screen_name == "session")
        at_leaf = browser.row_list("#tree").cursor
        await browser.press("up", "up", "escape", "alt+s")
        await browser.until(lambda: browser.screen_name == "session")
        assert browser.row_list("#tree").cursor == at_leaf


async def test_enter_alone_can_be_set_to_resume(tmp_path: Path) -> None:
    async with browsing(**demo_options(tmp_path / "demo", enter="resume")) as browser:
        assert "⏎ resume" in browser.footer()
        assert "b browse" in browser.footer()
        await browser.press("question_mark")
        assert re.search("⏎ +Resume the session in its agent", browser.screen_text())
        await browser.press("escape", "exclamation_mark")
        assert "⏎ open" in browser.footer(), "there Enter opens the damaged entry"


async def test_tab_before_the_folder_was_read_shows_all_folders(demo: dict) -> None:
    async with browsing(**demo) as browser:
        state = browser.app.screen.state  # type: ignore[attr-defined]
        state.choose_project(None)
        state.wanted_project = "/its/row/comes/later"
        await browser.press("tab")
        assert (state.project, state.wanted_project) == (None, None)


async def test_a_refresh_right_after_a_key_leaves_the_cursor_where_the_key_put_it(demo: dict) -> None:
    async with browsing(**demo) as browser:
        screen = browser.app.screen
        folder = screen.state.projects[2].cwd  # type: ignore[attr-defined]
        screen.projects_list.go_to_key(("project", folder))  # type: ignore[attr-defined]
        await browser.until(lambda: screen.state.project == folder)  # type: ignore[attr-defined]
        await browser.press("tab")
        assert screen.state.project is None  # type: ignore[attr-defined]
        await browser.press("tab")
        assert screen.state.project == folder  # type: ignore[attr-defined]
        screen.projects_list.go_to_key(("project", None))  # type: ignore[attr-defined]
        screen.refresh_projects()  # type: ignore[attr-defined]
        await browser.until(lambda: screen.state.project is None)  # type: ignore[attr-defined]
