"""Continuing a session in another agent from the browser: the agent, what is lost, the new session, undo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.services.resume.plan import ResumeCommand
from sessionbrowse.tui.app import BrowseApp
from tests.support.change_helpers import CONVERSATION, Store, assistant
from tests.support.tui_support import Driven, browsing

pytestmark = pytest.mark.slow


@pytest.fixture
def store(store: Store) -> Store:
    store.session("pi", [*CONVERSATION, assistant("0000000a", "00000008", "no", stopReason="aborted")])
    for agent in ("omp", "atomic"):
        (store.home / f".{agent}/agent/sessions").mkdir(parents=True)
    return store


def options(store: Store) -> dict[str, Any]:
    return {"roots": [str(store.home)], "home": str(store.home), "context": store.context}


def made(store: Store) -> list[Path]:
    return list((store.home / ".omp").rglob("*.jsonl"))


def words(browser: Driven) -> str:
    return " ".join(browser.screen_text().replace("│", " ").split())


async def test_the_actions_menu_carries_a_session_over_after_a_preview(store: Store) -> None:
    async with browsing(**options(store)) as browser:
        await browser.press("x", "n")
        await browser.until(lambda: "Continue in omp" in words(browser))
        await browser.press("o")
        await browser.until(lambda: "Changes what the model sees:" in words(browser))
        assert "9 entries in a new session of omp." in words(browser)
        assert "aborted or failed answers" in words(browser)
        assert made(store) == []
        await browser.press("o")
        await browser.until(lambda: browser.app.screen.name == "session")
        (path,) = made(store)
        subject = getattr(browser.app.screen, "subject", None)
        assert subject is not None
        assert subject.path == str(path)
        await browser.press("escape", "u")
        await browser.until(lambda: browser.app.screen.name == "dialog" or not path.exists())
        if path.exists():
            await browser.press("enter")
        await browser.until(lambda: not path.exists())


async def test_a_session_that_was_carried_over_opens_at_the_entry_under_the_cursor(store: Store) -> None:
    async with browsing(**options(store)) as browser:
        await browser.press("enter", "home", "down")
        entry_id = browser.app.screen.entry_id  # type: ignore[attr-defined]
        await browser.press("x", "n", "o")
        await browser.until(lambda: "and open it" in words(browser))
        assert "at this entry" in words(browser)
        await browser.press("o")
        await browser.until(lambda: len(made(store)) == 1)
        await browser.settle()
        subject = getattr(browser.app.screen, "subject", None)
        assert subject is not None
        assert subject.agent == "omp"
        assert browser.app.screen.entry_id == entry_id  # type: ignore[attr-defined]


async def test_nothing_is_written_if_the_preview_is_cancelled(store: Store) -> None:
    async with browsing(**options(store)) as browser:
        await browser.press("x", "n", "o")
        await browser.until(lambda: "Changes what the model sees:" in words(browser))
        await browser.press("escape")
    assert made(store) == []


async def test_where_resume_is_chosen_a_session_can_go_on_in_another_agent(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[ResumeCommand] = []
    monkeypatch.setattr(BrowseApp, "lend_terminal", lambda app, command: commands.append(command))
    async with browsing(**options(store), environ=store.programs("omp")) as browser:
        await browser.press("R")
        await browser.until(lambda: "In another agent" in words(browser))
        await browser.press("a")
        await browser.until(lambda: "Continue in omp" in words(browser))
        await browser.press("o")
        await browser.until(lambda: "and resume in omp" in words(browser))
        await browser.press("r")
        await browser.until(lambda: made(store))
