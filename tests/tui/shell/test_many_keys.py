"""No key is lost, however many come at once; nothing moves by itself; without colours when asked."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from textual.events import Key, Paste

from tests.support.change_helpers import Store
from tests.support.terminal import Terminal
from tests.support.tui_support import Driven, browsing, demo_options, fixed_source
from tests.tui.changes.test_changes import hands_on, names_in
from tests.tui.outside.test_terminal import PROJECT, leave, surroundings

pytestmark = pytest.mark.slow

TIME = "2026-11-18T09:00:00.000Z"
COLOUR = re.compile(rb"[34]8;2;(\d+);(\d+);(\d+)")


def many_sessions(folder: Path, count: int) -> Path:
    """Write sessions that are no stubs, so that each has its row."""
    folder.mkdir(parents=True)
    for number in range(count):
        header = {"type": "session", "version": 3, "id": f"s{number}", "timestamp": TIME, "cwd": "/work"}
        lines = [header]
        for place, role in enumerate(("user", "assistant")):
            message = {"role": role, "content": [{"type": "text", "text": f"{role} {number}"}], "timestamp": place}
            entry = {"id": f"e{place}", "parentId": "e0" if place else None, "timestamp": TIME}
            lines.append({"type": "message", **entry, "message": message})
        (folder / f"2026-11-18T09-00-00-000Z_{number}.jsonl").write_text(
            "".join([json.dumps(line) + "\n" for line in lines])
        )
    return folder.parent


def browser_of(root: Path, home: Path, columns: int = 240, **more: str) -> Terminal:
    """Start the browser in a wide terminal."""
    command = [sys.executable, "-m", "sessionbrowse", "--root", str(root)]
    return Terminal(command, surroundings(home, home, **more), PROJECT, columns=columns)


def test_two_hundred_keys_sent_at_once_are_all_taken(tmp_path: Path, own_home: Path) -> None:
    root = many_sessions(tmp_path / "sessions" / "--work--", 260)
    letters = "no session has these words " * 4
    with browser_of(root, own_home) as browser:
        browser.wait("1/260")
        browser.press("j" * 200)
        browser.wait("201/260")
        browser.press("k" * (200 - len(letters) - 1) + "/" + letters)
        browser.wait(f"/{letters}".rstrip())
        browser.wait("0 sessions")
        browser.press("\x1b")
        browser.wait("esc clear search")
        browser.press("\x1b")
        browser.wait(lambda screen: "· best" not in screen.text() and "/260" in screen.text())
        assert leave(browser)[0] == 0


@pytest.mark.parametrize(("asked", "has_colours"), [({"NO_COLOR": "1"}, False), ({}, True)])
def test_a_terminal_gets_no_colour_when_asked(
    tmp_path: Path, own_home: Path, asked: dict[str, str], has_colours: bool
) -> None:
    root = many_sessions(tmp_path / "sessions" / "--work--", 3)
    with browser_of(root, own_home, 120, **asked) as browser:
        browser.wait("3 sessions")
        browser.until_quiet()
        browser.press("?")
        browser.until_quiet()
        seen = [set(found.groups()) for found in COLOUR.finditer(browser.seen)]
    assert any(len(parts) > 1 for parts in seen) == has_colours


@pytest.mark.parametrize("first", ["n", "enter"])
async def test_the_keys_after_an_answer_are_for_what_the_answer_opens(tmp_path: Path, first: str) -> None:
    """The menu opens a question, and that, after some work in the background, another one."""
    async with browsing(**demo_options(tmp_path / "demo")) as browser:
        to_it = [] if first == "n" else await keys_down_to(browser, "Continue in")
        await browser.press_at_once("g", "x", *to_it, first, "o", "o")
        assert browser.toasts() == ["Carried 12 entries to omp. u undoes."]
        assert browser.screen_name == "session"


async def test_what_is_pasted_stands_there_before_the_next_key(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.session()
    async with hands_on(store) as browser:
        await browser.press("ctrl+r")
        for event in (Paste("a name\x1b[31m"), Key("s", "s"), Key("enter", None)):
            browser.app.post_message(event)
        await browser.settle()
        assert names_in(path) == ["a names"]
        for event in (Key("slash", "/"), Paste("first"), Key("space", " "), Key("q", "q")):
            browser.app.post_message(event)
        await browser.settle()
        assert "/first q" in browser.screen_text()


async def keys_down_to(browser: Driven, verb: str) -> list[str]:
    """Return the keys that move from the first row of the actions menu to a verb; the menu is closed again."""
    await browser.press("g", "x")
    keys: list[str] = []
    while not any(row.startswith("▌") and verb in row for row in browser.rows("#dialog-rows")):
        keys.append("down")
        await browser.press("down")
    await browser.press("escape")
    return keys


async def test_nothing_is_animated() -> None:
    async with browsing(fixed_source()) as browser:
        assert browser.app.animation_level == "none"
