"""The texts of a tree's rows: read in the background, there at the first paint, and never waited for while painting."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual import events

from sessionbrowse.store.read.content import read_at
from sessionbrowse.tui.session.tree_pane import NOT_READ_YET
from tests.support.index_support import folder, header, user, write
from tests.support.tui_support import Driven, browsing, fixed_source, summary

ENTRIES = 400
LIMIT_SECONDS = 20.0


@asynccontextmanager
async def in_long_session(tmp_path: Path) -> AsyncIterator[Driven]:
    lines = [user(str(n), str(n - 1) if n else None, f"message {n}") for n in range(ENTRIES)]
    path = write(folder(tmp_path) / "a.jsonl", header(), *lines)
    source = fixed_source([summary(str(path), id="a", cwd="/p", first_message="message 0")])
    async with browsing(source, home=str(tmp_path)) as browser:
        yield browser


class HungDisk:
    """A disk that answers no read of an entry until it is let go."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._goes_on = threading.Event()
        patch.setattr("sessionbrowse.store.read.session_file.read_at", self.read_at)

    def read_at(self, *place: Any) -> bytes:
        self._goes_on.wait(LIMIT_SECONDS)
        return read_at(*place)

    def let_go(self) -> None:
        self._goes_on.set()


async def test_keys_and_painting_go_on_while_the_disk_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with in_long_session(tmp_path) as browser:
        disk = HungDisk(monkeypatch)
        started = time.monotonic()
        for key in ("enter", "up", "up", "pageup", "home", "down", "end", "up"):
            browser.app.post_message(events.Key(key, None))
            await browser.settle(background=False)
        await browser.until(lambda: browser.app.screen.name == "session" and browser.row_list("#tree").count)
        await browser.settle(background=False)
        assert time.monotonic() - started < LIMIT_SECONDS / 2
        assert NOT_READ_YET.text in browser.rows("#tree")[0]
        assert "message" not in browser.words("#tree")
        disk.let_go()
        await browser.settle()
        assert NOT_READ_YET.text not in browser.words("#tree")
        assert f"message {ENTRIES - 1}" in browser.rows("#tree")[-1]


async def test_every_frame_has_the_texts_of_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("shell.command_screen", "session.tree_pane"):
        monkeypatch.setattr(f"sessionbrowse.tui.{module}.ANSWER_SECONDS", 60.0)
    async with in_long_session(tmp_path) as browser:
        await browser.press("enter")
        screen = browser.app.screen
        frames: list[str] = []
        paint = screen._compositor_refresh

        def noted() -> None:
            paint()
            frames.append(browser.words("#tree"))

        screen._compositor_refresh = noted  # type: ignore[method-assign]
        await browser.press("home", "end", "pageup", "pageup", "pageup", "home", "pagedown", "slash")
        await browser.type("39")
        await browser.press("escape", "home")
        assert len(frames) > 10
        assert not [frame for frame in frames if NOT_READ_YET.text in frame]


async def test_texts_that_are_far_from_the_cursor_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessionbrowse.tui.session.tree_rows.MOST_KEPT", 150)
    async with in_long_session(tmp_path) as browser:
        await browser.press("enter", "home", *["pagedown"] * 8)
        texts = browser.app.screen.tree_pane._texts._texts  # type: ignore[attr-defined]
        assert 40 < len(texts) < 300
        assert NOT_READ_YET.text not in browser.words("#tree")
