"""A pattern without end, typed anywhere in the browser, is stopped in its own process: keys never wait for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.services.background.pattern_worker import PatternWorker
from tests.support.index_support import append, entry, folder, header, user, write
from tests.support.live_support import until
from tests.support.search_support import searched_source
from tests.support.tui_support import Driven, browsing
from tests.tui.shell.test_live import live_browser

ENDLESS = "re:(a+)+x"
KEY_SECONDS = 0.1
"""How long a key may take until everything it changes in the interface is painted."""
ATTEMPTS = 20
"""How often keys are tried while the machine is busy with something else."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a session in whose first message, label and entries the pattern finds no end."""
    long = "a" * 5_000
    path = folder(tmp_path / "store") / "long.jsonl"
    write(path, header(), user("1", None, f"first {long}"), user("2", "1", "axe in hand"))
    append(path, entry("label", "3", "2", targetId="1", label=long))
    return tmp_path / "store"


def options_for(store: Path) -> dict[str, Any]:
    options: dict[str, Any] = {"roots": [str(store)], "home": str(store.parent)}
    return {**options, "source": searched_source(options, store, store.parent / "cache")}


async def slowest(browser: Driven, *keys: str) -> float:
    """Press keys without waiting for the background; return the seconds that the slowest one took."""
    took = 0.0
    for key in keys:
        began = time.monotonic()
        await browser.press_now(key)
        took = max(took, time.monotonic() - began)
    return took


async def assert_quick(browser: Driven, *keys: str) -> None:
    """Press keys, several times if the machine is busy, and see that none waits."""
    took: list[float] = []
    while not took or (took[-1] > KEY_SECONDS and len(took) < ATTEMPTS):
        took.append(await slowest(browser, *keys))
    assert took[-1] <= KEY_SECONDS, took


@contextmanager
def held(worker: PatternWorker) -> Iterator[None]:
    """Let no question be asked."""
    with worker._asking:
        yield


async def test_the_list_filter(store: Path) -> None:
    async with browsing(**options_for(store)) as browser:
        browser.app.pattern_worker = PatternWorker(limit_seconds=3.0)
        await browser.press("slash")
        for letter in ENDLESS:
            await browser.press_now(letter)
        await assert_quick(browser, "b", "backspace", "left", "right")
        await browser.press("escape", "escape", "escape")
        assert browser.row_list("#sessions").count == 1


async def test_the_disk_is_watched_while_a_list_and_a_search_look_for_the_pattern(tmp_path: Path) -> None:
    sessions = folder(tmp_path / "store")
    write(sessions / "0.jsonl", header(), user("1", None, "a" * 5_000))
    async with live_browser(tmp_path / "store") as browser:

        def is_listed(path: Path) -> bool:
            return browser.app.library.get(str(path)) is not None

        await browser.press_now("slash")
        for letter in ENDLESS:
            await browser.press_now(letter)
        path = sessions / "1.jsonl"
        write(path, header("s1"), user("1", None, "new"))
        await until(partial(is_listed, path))
        await browser.press_now("escape", "escape", "escape")


async def test_the_search_its_marks_and_the_tree(store: Path) -> None:
    async with browsing(**options_for(store)) as browser:
        browser.app.pattern_worker = PatternWorker(limit_seconds=3.0)
        await browser.press("slash")
        for letter in f"axe {ENDLESS}|axe":
            await browser.press_now(letter)
        await assert_quick(browser, "b", "backspace", "left", "right")
        await browser.settle()
        await browser.press("enter")
        assert browser.screen_name == "session"
        await assert_quick(browser, "down", "up")
        await browser.press("slash")
        for letter in ENDLESS:
            await browser.press_now(letter)
        await assert_quick(browser, "b", "backspace", "left", "right")
        await browser.press("escape")
        assert browser.row_list("#tree").count >= 2
