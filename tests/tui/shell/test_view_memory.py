"""The browser opens as it was left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.config import Settings
from sessionbrowse.tui.data.options import Picking
from tests.support.tui_support import browsing, demo_options, fixed_source


@pytest.fixture
def store(tmp_path: Path) -> dict[str, Any]:
    """The demo's sessions as somebody's own: the demo itself is not remembered."""
    return demo_options(tmp_path / "demo")


@pytest.mark.slow
async def test_project_session_order_and_filter_are_as_they_were_left(store: dict[str, Any]) -> None:
    async with browsing(**store) as browser:
        await browser.press("left", "down", "down", "down", "right", "ctrl+s", "ctrl+s", "ctrl+p", "v", "down", "down")
        key = browser.row_list("#sessions").key
        await browser.press("q")
    async with browsing(**store) as browser:
        assert browser.row_list("#projects").key == ("project", None)
        assert browser.row_list("#sessions").key == key
        assert "· name" in browser.screen_text()
        assert "/pytest-of" in browser.rows("#sessions")[0]
        assert not browser.app.screen.query_one("#preview").display
        listed = browser.row_list("#sessions").count
        await browser.press("slash")
        await browser.type('"the month"')
        await browser.press("escape", "ctrl+n", "q")
    async with browsing(**store) as browser:
        assert browser.row_list("#sessions").count == listed, "neither searches nor filters are remembered"
        assert not browser.app.screen.query_one("#filter").display


async def test_families_widths_and_colours_are_as_they_were_left(store: dict[str, Any]) -> None:
    async with browsing(**store) as browser:
        await browser.press("down", "o", "left")
        await browser.run("wider", "wider")
        await browser.press("f2", "right")
        rows = browser.row_list("#sessions").count
        assert browser.app.screen.query_one("#projects").outer_size.width == 34
        theme = browser.app.theme
        await browser.press("q")
    async with browsing(**store) as browser:
        assert browser.row_list("#sessions").count == rows
        assert browser.app.screen.query_one("#projects").outer_size.width == 34
        assert browser.app.theme == theme
        await browser.pilot.resize_terminal(70, 20)
        await browser.settle()
        await browser.press("left")
        await browser.run("narrower")
        assert browser.app.screen.query_one("#projects").outer_size.width == 70
        assert browser.toasts()[-1] == "The screen is too narrow for panes side by side."


async def test_a_tree_opens_with_its_cursor_and_folds_and_without_its_filter(store: dict[str, Any]) -> None:
    async with browsing(**store) as browser:
        await browser.press("down", "enter", "5")
        assert "· all" in browser.screen_text()
        await browser.press("escape", "enter")
        assert "· all" not in browser.screen_text()
        await browser.press("home", "right_square_bracket", "left")
        key = browser.row_list("#tree").key
        rows = browser.row_list("#tree").count
        await browser.press("escape", "enter")
        assert (browser.row_list("#tree").key, browser.row_list("#tree").count) == (key, rows)
        await browser.press("q")
    async with browsing(**store) as browser:
        await browser.press("enter")
        assert (browser.row_list("#tree").key, browser.row_list("#tree").count) == (key, rows)


async def test_who_stood_at_the_leaf_stands_at_the_leaf_of_a_session_that_grew(store: dict[str, Any]) -> None:
    async with browsing(**store) as browser:
        await browser.press("down", "enter")
        path = Path(browser.app.screen.summary.path)  # type: ignore[attr-defined]
        leaf = browser.app.screen.session.leaf_id  # type: ignore[attr-defined]
        await browser.press("q")
    with path.open("a") as file:
        file.write(
            f'{{"type":"message","id":"feedbeef","parentId":"{leaf}","timestamp":"2026-11-18T12:00:00.000Z",'
            '"message":{"role":"user","content":"and now?","timestamp":1795003200000}}\n'
        )
    async with browsing(**store) as browser:
        await browser.press("home", "slash")
        await browser.type("name:refactor")
        await browser.press("enter")
        assert browser.app.screen.entry_id == "feedbeef"  # type: ignore[attr-defined]


async def test_a_setting_that_was_changed_since_comes_before_what_is_remembered(store: dict[str, Any]) -> None:
    async with browsing(**store) as browser:
        await browser.press("ctrl+s", "f2", "v", "q")
    settings = Settings(sort="size", theme="high-contrast")
    async with browsing(**{**store, "settings": settings}) as browser:
        assert "· size" in browser.screen_text()
        assert browser.app.theme == "sessionbrowse-high-contrast"
        assert not browser.app.screen.query_one("#preview").display


async def test_nothing_is_remembered_of_the_demo_nor_against_the_settings(
    store: dict[str, Any], own_home: Path
) -> None:
    for options in (
        {"demo": store["roots"][0]},
        {"settings": Settings(restore=False)},
        {"pick": Picking(choose=print)},
    ):
        async with browsing(**{**store, **options}) as browser:
            await browser.press("ctrl+s", "q")
    assert not list(own_home.rglob("view.json"))


async def test_a_state_that_cannot_be_written_or_read_does_not_keep_anybody(
    store: dict[str, Any], own_home: Path
) -> None:
    (own_home / ".local").write_text("no directory")
    async with browsing(**store) as browser:
        await browser.press("ctrl+s", "q")
    assert browser.app.return_value == 0


async def test_a_session_that_is_gone_leaves_the_cursor_at_the_top(store: dict[str, Any]) -> None:
    async with browsing(**store) as browser:
        await browser.press("down", "down", "down")
        path = Path(str(browser.row_list("#sessions").key))
        await browser.press("q")
    path.unlink()
    async with browsing(**store) as browser:
        assert browser.row_list("#sessions").cursor == 0


async def test_leaving_before_the_rows_have_come_forgets_nothing(store: dict[str, Any], own_home: Path) -> None:
    async with browsing(**store) as browser:
        await browser.press("left", "down", "down", "right", "down", "q")
    [file] = own_home.rglob("view.json")
    left = file.read_text()
    assert '"session"' in left
    async with browsing(fixed_source(), settle=False, **store) as browser:
        await browser.pilot.press("q")
    assert file.read_text() == left


async def test_a_signal_ends_a_browser_whose_view_cannot_be_kept(
    store: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_ready(screen: object) -> None:
        raise LookupError("the screen has no widgets yet")

    async with browsing(**store) as browser:
        monkeypatch.setattr("sessionbrowse.tui.lists.screen.BrowseScreen.keep_view", not_ready)
        with pytest.raises(LookupError):
            browser.app.leave_with_signal(15)
        await browser.until(lambda: browser.app.return_code == 128 + 15)
