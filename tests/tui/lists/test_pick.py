"""`pick`: the interface on standard error, the chosen path on standard output."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessionbrowse.demo import make_demo
from tests.support.terminal import ENTER, ESCAPE
from tests.support.tui_support import browsing, demo_options
from tests.tui.outside.test_terminal import browser_in_terminal


def test_enter_prints_the_path_of_the_session_and_draws_none_of_it(tmp_path: Path) -> None:
    root = make_demo(tmp_path / "demo")
    with browser_in_terminal(["pick", "--root", str(root)], tmp_path, tmp_path, captured=True) as browser:
        browser.wait("chooses a session")
        browser.wait("32 sessions ·")
        browser.press("/auth", ENTER, ENTER)
        browser.wait_end()
        path = Path(browser.output().decode().removesuffix("\n"))
        assert browser.process.returncode == 0
    assert path.is_file()
    assert "Refactor the auth module" in path.read_text()


@pytest.mark.parametrize("keys", ["q", ESCAPE * 3])
def test_leaving_without_a_choice_is_a_failure_without_output(keys: str, tmp_path: Path) -> None:
    root = make_demo(tmp_path / "demo")
    with browser_in_terminal(["pick", "--root", str(root)], tmp_path, tmp_path, captured=True) as browser:
        browser.wait("32 sessions ·")
        browser.press(keys)
        browser.wait_end()
        assert (browser.process.returncode, browser.output()) == (1, b"")


async def test_a_double_click_picks_too_and_a_project_is_only_gone_into(tmp_path: Path) -> None:
    picked: list[str] = []
    async with browsing(**demo_options(tmp_path), pick=picked.append) as browser:
        await browser.press("left", "down", "enter")
        assert picked == []
        assert browser.row_list("#sessions").has_focus
        await browser.press("enter")
    assert len(picked) == 1
    assert picked[0].endswith(".jsonl")
