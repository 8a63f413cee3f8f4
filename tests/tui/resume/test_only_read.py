"""Sessions of Claude Code and Codex in the browser: what cannot be done with them is said before a question."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.tui.commands.command import key_name
from tests.support.tui_support import Driven, browsing, demo_options

FIND = {"Claude Code": "keep both edits", "Codex": "wildcard certificate"}
SAID = 'Only read; "Continue in" carries it to pi.'


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return demo_options(tmp_path_factory.mktemp("store") / "demo")


async def find(browser: Driven, program: str) -> None:
    """Search for the session of a program, and open its tree."""
    await browser.press("slash")
    await browser.type(FIND[program])
    await browser.until(lambda: FIND[program] in browser.screen_text())
    await browser.press("enter")


def answers(browser: Driven) -> list[str]:
    """Return the answers of the dialog, without their letters and explanations."""
    return [re.split("  +", row.lstrip("▌ "))[1] for row in browser.rows("#dialog-rows")]


@pytest.mark.parametrize("program", list(FIND))
async def test_a_verb_that_would_write_is_refused_before_its_question(store: dict[str, Any], program: str) -> None:
    async with browsing(**store) as browser:
        await find(browser, program)
        for keys in ("^r", "f", "L", "x c", "x a", "x b", "x s"):
            browser.forget_toasts()
            await browser.press(*map(key_name, keys.split()))
            assert (browser.screen_name, browser.toasts()) == ("session", [SAID]), keys


async def test_of_several_selected_sessions_those_of_pi_are_changed(store: dict[str, Any]) -> None:
    async with browsing(**store) as browser:
        await browser.press("A", "ctrl+r")
        assert browser.screen_name == "dialog"


@pytest.mark.parametrize("program", list(FIND))
async def test_an_earlier_entry_goes_on_in_another_agent_only(store: dict[str, Any], program: str) -> None:
    async with browsing(**store) as browser:
        await find(browser, program)
        await browser.press("g", "r")
        assert answers(browser) == ["At the leaf", "In another agent …"]
        await browser.press("escape", "R")
        assert "From this entry" not in browser.screen_text()
        await browser.press("a")
        assert answers(browser) == ["Continue in pi", "Continue in omp", "Continue in atomic"]


@pytest.mark.parametrize(
    ("program", "offered"),
    [("Claude Code", ["In another agent …"]), ("Codex", ["Resume in another directory …", "In another agent …"])],
)
async def test_where_the_directory_is_gone_only_what_is_possible_is_offered(
    tmp_path: Path, program: str, offered: list[str]
) -> None:
    store = demo_options(tmp_path / "demo")
    for project in ("notes-app", "infra"):
        shutil.rmtree(Path(store["home"]) / project)
    async with browsing(**store) as browser:
        await find(browser, program)
        await browser.press("escape", "escape", "r")
        await browser.until(lambda: "Directory missing" in browser.screen_text())
        assert answers(browser) == offered
