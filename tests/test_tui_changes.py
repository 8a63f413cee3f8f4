"""Changing sessions in the interface, on real files: naming, taking back, what is asked and what is said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.change_helpers import CONVERSATION, NOW_MS, Store, entry, header, lines_of
from tests.tui_support import Driven, browsing


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@asynccontextmanager
async def hands_on(store: Store, **options: Any) -> AsyncIterator[Driven]:
    """Browse a store with a bench of its own."""
    options.setdefault("bench", store.bench)
    roots = [str(store.home / f".{agent}") for agent in ("pi", "omp", "atomic", "indusagi")]
    roots = [root for root in roots if Path(root).is_dir()]
    home = str(store.home)
    async with browsing(roots=roots, home=home, here="/nowhere", now_ms=lambda: NOW_MS, **options) as browser:
        yield browser


def names_in(path: Path) -> list[Any]:
    return [line.get("name") for line in lines_of(path) if line["type"] == "session_info"]


async def test_rename_from_the_list_appends_the_name_shows_it_and_u_takes_it_back(store: Store) -> None:
    path = store.session()
    before = path.read_bytes()
    async with hands_on(store) as browser:
        await browser.press("ctrl+r")
        assert browser.screen_name == "dialog"
        await browser.type("port to uv")
        await browser.press("enter")
        assert names_in(path) == ["port to uv"]
        assert path.read_bytes().startswith(before)
        assert "port to uv" in browser.rows("#sessions")[0]
        assert "Named “port to uv”. u undoes." in browser.toasts()[-1]
        await browser.press("u")
        assert "Undone: the new name of" in browser.toasts()[-1]
        assert "first question" in browser.rows("#sessions")[0]
        assert path.read_bytes().startswith(before)


async def test_the_prompt_holds_the_present_name_and_an_empty_one_clears_it(store: Store) -> None:
    path = store.session(entries=[*CONVERSATION, entry("session_info", "00000009", "00000008", name="old [name]")])
    async with hands_on(store) as browser:
        await browser.press("ctrl+r")
        assert "old [name]" in browser.screen_text()
        await browser.press("ctrl+u")
        assert "Empty: the name is taken away. Lists show its first message then." in browser.words("#dialog-hint")
        await browser.press("enter")
        assert names_in(path)[-1] == ""
        assert "The session has no name now." in browser.toasts()[-1]


async def test_escape_leaves_the_name_as_it_was(store: Store) -> None:
    path = store.session()
    before = path.read_bytes()
    async with hands_on(store) as browser:
        await browser.press("ctrl+r")
        await browser.type("never mind")
        await browser.press("escape")
        assert browser.screen_name == "browse"
        assert path.read_bytes() == before
        await browser.press("ctrl+r", "enter")
        assert path.read_bytes() == before
        assert "as it was" in browser.toasts()[-1]


async def test_indusagi_says_before_and_after_that_it_cannot_clear_a_name(store: Store) -> None:
    path = store.session("indusagi", [*CONVERSATION, entry("session_info", "00000009", "00000008", name="kept")])
    before = path.read_bytes()
    async with hands_on(store) as browser:
        await browser.press("ctrl+r", "ctrl+u")
        assert "indusagi cannot clear a name" in browser.words("#dialog-hint")
        await browser.press("enter")
        assert "indusagi cannot clear a name" in browser.toasts()[-1]
        assert path.read_bytes() == before


async def test_a_rename_in_the_session_screen_shows_in_its_header_and_in_the_list(store: Store) -> None:
    store.session()
    async with hands_on(store) as browser:
        await browser.press("enter", "ctrl+r")
        await browser.type("from inside")
        await browser.press("enter")
        assert "from inside" in browser.screen_text().split("\n")[0]
        await browser.press("escape")
        assert "from inside" in browser.rows("#sessions")[0]


async def test_a_rename_beside_a_running_pi_goes_ahead_with_a_note(store: Store) -> None:
    path = store.session()
    store.process(
        4242, ["node", "/usr/lib/node_modules/@earendil-works/pi-coding-agent/dist/pi.js"], cwd="/projects/webshop"
    )
    store.process(4243, ["pi"], cwd="/projects/webshop")
    project = "/projects/webshop"
    async with hands_on(store) as browser:
        await browser.press("ctrl+r")
        await browser.type("in flight")
        await browser.press("enter")
        assert names_in(path) == ["in flight"]
        assert "In use, it seems" in browser.toasts()[-1]
        assert project in browser.toasts()[-1]


async def test_the_list_of_changes_takes_back_the_chosen_one(store: Store) -> None:
    path = store.session()
    other = store.session(name="2026-08-14T08-00-00-000Z_019beea6.jsonl", head=[header(id="019beea6")])
    async with hands_on(store) as browser:
        for name in ("first name", "second name"):
            await browser.press("ctrl+r")
            await browser.type(name)
            await browser.press("enter", "down")
        renamed = sorted([path, other], key=lambda one: names_in(one) != ["first name"])
        await browser.press("U")
        assert "Changes that can be taken back" in browser.screen_text()
        assert '"second name"' in browser.rows("#dialog-rows")[0]
        await browser.press("down", "enter")
        assert names_in(renamed[0])[-1] == ""
        assert names_in(renamed[1]) == ["second name"]


async def test_with_nothing_to_take_back_u_says_so(store: Store) -> None:
    store.session()
    async with hands_on(store) as browser:
        await browser.press("u")
        assert browser.toasts() == ["There is nothing to undo."]
        await browser.press("U")
        assert "sessionbrowse has changed nothing that could be taken back." in browser.words("#dialog-rows")


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 50)])
async def test_dialogs_fit_on_every_screen(store: Store, size: tuple[int, int]) -> None:
    store.session(entries=[*CONVERSATION, entry("session_info", "00000009", "00000008", name="name " * 60)])
    async with hands_on(store, size=size) as browser:
        await browser.press("ctrl+r")
        lines = browser.screen_text().split("\n")
        assert all(len(line) <= size[0] for line in lines)
        assert any("⏎ rename · esc cancel" in line for line in lines)
        assert any("Rename" in line for line in lines)
