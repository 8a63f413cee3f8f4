"""Text that attacks: in every field a session has, on every screen, none of it reaches the terminal raw."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.transaction.change_context import ChangeContext
from tests.support.file_helpers import own_system_trash
from tests.support.tui_support import Driven, browsing, fixed_source

ATTACK = (
    "\x1b]52;c;aGFjaw==\x07\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\\x1b[2J\x1b[31m\x9b5n\x9d0;t\x9c"
    "\u202egnp.exe\u2066\u2069\u200b\u2028\u2029\x00\x7f\x85\r\v\f"
    "[red]markup[/red] [/] [@click=app.quit]x[/] [bold"
)
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def hostile(path: Path) -> Path:
    """Write a session in which every text attacks."""
    time = "2026-11-18T09:00:00.000Z"
    parent: str | None = None
    lines: list[dict] = [
        {
            "type": "session",
            "version": 3,
            "id": ATTACK,
            "timestamp": time,
            "cwd": f"/p/{ATTACK}",
            "parentSession": ATTACK,
        }
    ]

    def add(kind: str, **fields: object) -> None:
        nonlocal parent
        entry_id = f"{len(lines):02d}{ATTACK}"
        lines.append({"type": kind, "id": entry_id, "parentId": parent, "timestamp": time, **fields})
        parent = entry_id

    call = {
        "type": "toolCall",
        "id": "c1",
        "name": ATTACK,
        "arguments": {ATTACK: ATTACK, "long": ATTACK + "\n" + ATTACK},
    }
    usage = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": {"total": 0.1}}
    blocks = [
        {"type": "text", "text": ATTACK},
        {"type": "thinking", "thinking": ATTACK},
        {"type": "image", "data": "aGk=", "mimeType": ATTACK},
        {"type": ATTACK, "x": ATTACK},
        call,
    ]
    answer = {"provider": ATTACK, "model": ATTACK, "stopReason": ATTACK, "errorMessage": ATTACK, "usage": usage}
    add("message", message={"role": "user", "content": ATTACK, "timestamp": 1})
    add("message", message={"role": "assistant", "content": blocks, "api": ATTACK, "timestamp": 2, **answer})
    result = {"toolCallId": "c1", "toolName": ATTACK, "isError": True, "content": [{"type": "text", "text": ATTACK}]}
    add("message", message={"role": "toolResult", "details": {ATTACK: ATTACK}, "timestamp": 3, **result})
    add(
        "message", message={"role": "bashExecution", "command": ATTACK, "output": ATTACK, "exitCode": 1, "timestamp": 4}
    )
    add("message", message={"role": ATTACK, "content": ATTACK, "timestamp": 5})
    add("compaction", summary=ATTACK, firstKeptEntryId=ATTACK, tokensBefore=5, details={ATTACK: ATTACK})
    add("branch_summary", fromId=ATTACK, summary=ATTACK)
    add("custom", customType=ATTACK, data={ATTACK: ATTACK})
    add("custom_message", customType=ATTACK, content=ATTACK, display=True)
    add("model_change", provider=ATTACK, modelId=ATTACK)
    add("thinking_level_change", thinkingLevel=ATTACK)
    add("session_info", name=ATTACK)
    add(ATTACK, anything=ATTACK)
    target = lines[1]["id"]
    add("label", targetId=target, label=ATTACK)
    add("label", targetId=lines[2]["id"], label="x\u0301" * 10_000)
    add("message", message={"role": "user", "content": "y" * 1_000_000 + ATTACK, "timestamp": 6})
    path.write_text("".join([json.dumps(line) + "\n" for line in lines]) + ATTACK.replace("\n", " "))
    return path


def check(browser: Driven) -> None:
    """Fail if a foreign control character stands on the screen, in a title or in a toast."""
    found = RAW.search(browser.screen_text())
    assert found is None, repr(found[0])


async def test_no_screen_draws_what_a_session_says_raw(tmp_path: Path) -> None:
    path = hostile(tmp_path / "hostile.jsonl")
    listed = Summary(
        agent="pi",
        path=str(path),
        id=ATTACK,
        cwd=f"/p/{ATTACK}",
        name=ATTACK,
        first_message=ATTACK,
        parent_session=ATTACK,
        model=ATTACK,
        problem=ATTACK,
        modified=1.0,
    )
    unnamed = Summary(agent="pi", path=str(path) + ATTACK, cwd=ATTACK, first_message=ATTACK, modified=0.0)
    async with browsing(fixed_source([listed, unnamed]), environ={"PATH": ""}, painted=True) as browser:
        check(browser)
        await browser.press("ctrl+p")
        check(browser)
        await browser.press("ctrl+s", "right")
        check(browser)
        await browser.press("G", "left", "r")
        check(browser)
        await browser.press("slash")
        await browser.type("gnp")
        check(browser)
        await browser.press("escape", "down", "question_mark")
        check(browser)
        await browser.press("escape", "up", "enter")
        assert browser.screen_name == "session"
        await browser.press("5")
        await browser.run("label_times", "open_all")
        await browser.press("g", "space")
        count = browser.row_list("#tree").count
        assert count > 12
        for _ in range(count):
            for _ in range(4):
                check(browser)
                await browser.press("tab")
            await browser.press("enter", "G")
            check(browser)
            await browser.press("escape", "down")
        await browser.press("y")
        check(browser)
        await browser.press("escape", "x")
        check(browser)
        await browser.press("e")
        await browser.run("open_image", "copy_text")
        check(browser)
        await browser.press("slash")
        await browser.type("gnp")
        check(browser)


async def test_no_question_shows_what_a_session_says_raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_home = str(tmp_path / ".local" / "share")
    monkeypatch.setenv("XDG_DATA_HOME", data_home)
    own_system_trash()
    folder = tmp_path / ".pi" / "agent" / "sessions" / "--p--"
    folder.mkdir(parents=True)
    path = hostile(folder / "hostile.jsonl")
    state = Surroundings(home=str(tmp_path), environ={"XDG_DATA_HOME": data_home}, cwd=str(tmp_path))
    (tmp_path / "proc").mkdir()
    context = ChangeContext.at(state, str(tmp_path / "state"), lambda: 1.8e12, proc=str(tmp_path / "proc"))
    async with browsing(roots=[str(tmp_path / ".pi")], home=str(tmp_path), context=context, painted=True) as browser:
        for keys in (["ctrl+r"], ["ctrl+d"], ["f"], ["x", "m"], ["x"], ["U"]):
            await browser.press(*keys)
            assert browser.screen_name == "dialog", keys
            check(browser)
            await browser.press("down", "down")
            check(browser)
            await browser.press("escape")
        await browser.press("exclamation_mark")
        assert browser.screen_name == "doctor"
        check(browser)
        await browser.press("A", "x", "w")
        check(browser)
        await browser.press("escape", "escape", "escape", "x", "t")
        check(browser)
        await browser.press("escape", "enter", "x", "b", "enter")
        check(browser)
        await browser.press("escape", "escape")
        await browser.press("ctrl+r", "enter", "ctrl+r")
        await browser.type("calm")
        await browser.press("enter", "U")
        await browser.until(lambda: "calm" in browser.screen_text())
        check(browser)
        await browser.press("escape", "ctrl+d", "enter", "U")
        assert not path.exists(), browser.screen_text()
        check(browser)
        await browser.press("end", "enter")
        check(browser)
        await browser.until(path.exists)
        await browser.press("enter", "5", "g")
        for _ in range(browser.row_list("#tree").count):
            for key in ("m", "f"):
                await browser.press(key)
                check(browser)
                await browser.press("escape")
            await browser.press("down")


async def test_pasted_control_characters_do_not_reach_the_filter_line() -> None:
    from textual import events

    async with browsing(fixed_source([]), painted=True) as browser:
        await browser.press("slash")
        browser.app.post_message(events.Paste(ATTACK))
        await browser.settle()
        check(browser)


async def test_toasts_show_markup_as_it_stands(tmp_path: Path) -> None:
    async with browsing(fixed_source([]), painted=True) as browser:
        browser.app.say(f"cannot [/tmp/{ATTACK}]", "error")
        await browser.settle()
        check(browser)
        assert "cannot [/tmp/" in browser.toasts()[0]
