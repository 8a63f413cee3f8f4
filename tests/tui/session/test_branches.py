"""The branches of a tree: going to the one beside, and folding them all at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.change_helpers import CONVERSATION, NOW_MS, Store, assistant, user
from tests.support.tui_support import Driven, browsing, demo_options


def cursor_row(browser: Driven) -> str:
    return next(row for row in browser.rows("#tree") if row.startswith("▌"))


async def test_the_branch_beside_is_gone_to(tmp_path: Path) -> None:
    async with browsing(**demo_options(tmp_path / "demo")) as browser:
        await browser.go_into("Refactor auth")
        await browser.run("branch_right")
        assert "╰⊟" in cursor_row(browser)
        await browser.press("down")
        await browser.run("branch_left")
        assert "├⊟" in cursor_row(browser)
        await browser.run("branch_right")
        assert "╰⊟" in cursor_row(browser)
        await browser.press("g")
        await browser.run("branch_right")
        assert browser.toasts()[-1] == "No other branch begins where this branch begins."


async def test_one_command_folds_and_unfolds_all_branches(tmp_path: Path) -> None:
    async with browsing(**demo_options(tmp_path / "demo")) as browser:
        await browser.go_into("Refactor auth")
        before = browser.rows("#tree")
        await browser.run("fold_all")
        assert "⊟" not in "".join(browser.rows("#tree"))
        assert "⊞" in "".join(browser.rows("#tree"))
        await browser.run("fold_all")
        assert sorted(row.lstrip("▌▏ ") for row in browser.rows("#tree")) == sorted(row.lstrip("▌▏ ") for row in before)


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
async def test_the_commands_of_branches_work_for_every_agent(tmp_path: Path, agent: str) -> None:
    store = Store(tmp_path)
    other = [user("0000000a", "00000006", "another question"), assistant("0000000b", "0000000a", "another answer")]
    store.session(agent, [*CONVERSATION, *other])
    async with browsing(
        roots=[str(store.home)], home=str(store.home), here="/nowhere", now_ms=lambda: NOW_MS
    ) as browser:
        await browser.press("enter")
        await browser.run("branch_left")
        assert "second question" in cursor_row(browser)
        await browser.run("branch_right")
        assert "another question" in cursor_row(browser)
        await browser.run("fold_all")
        assert "another answer" not in "".join(browser.rows("#tree"))
        await browser.run("fold_all")
        assert "another answer" in "".join(browser.rows("#tree"))
