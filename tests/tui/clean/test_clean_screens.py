"""The doctor and the clean-up as a user meets them: found, marked, mended or moved, and brought back."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.clean.doctor import examine
from sessionbrowse.tui.clean.doctor_screen import Finding, findings_of
from sessionbrowse.tui.data.options import BrowseOptions
from sessionbrowse.tui.data.sources import source_of
from tests.support.change_helpers import CONVERSATION, NOW_MS, Store, assistant, entry, header, lines_of, user
from tests.support.tui_support import Driven, browsing

LONG_AGO = 19 * 24 * 3600 * 1000


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@asynccontextmanager
async def browsed(store: Store, make_detector: Callable[[], Any] | None = None) -> AsyncIterator[Driven]:
    """Browse a store at 80 columns with a change context of its own; what is deleted goes to its home."""
    roots = [str(store.home / ".pi")]
    home, environ = str(store.home), {"HOME": str(store.home), "XDG_DATA_HOME": str(store.home / "share")}
    store.environ.update(environ)
    options: dict[str, Any] = {"roots": roots, "home": home, "here": "/nowhere", "context": store.context}
    source = source_of(BrowseOptions(**options))
    if make_detector is not None:
        source = replace(source, make_detector=make_detector)
    async with browsing(source, now_ms=lambda: NOW_MS, size=(80, 24), **options) as browser:
        yield browser


def made(store: Store, short: str, *values: Any, parent: Path | None = None, torn: bool = False) -> Path:
    head = header(id=short * 4, cwd=str(store.folder), parentSession=str(parent) if parent is not None else None)
    path = store.session(head=[head], entries=values, name=f"{short}.jsonl", end=b'{"type":"mess' if torn else b"")
    moment = int((NOW_MS - LONG_AGO) * 1e6)
    os.utime(path, ns=(moment, moment))
    return path


@pytest.fixture
def messy(store: Store) -> Store:
    """A store with a session, an unfinished fork of it, and two empty ones."""
    whole = made(store, "a", *CONVERSATION)
    made(store, "b", *CONVERSATION[:6], parent=whole)
    made(store, "c")
    made(store, "d")
    return store


def names(store: Store) -> list[str]:
    return sorted(path.name for path in (store.home / ".pi").rglob("*.jsonl"))


async def test_what_is_marked_goes_to_the_trash_and_one_undo_brings_it_back(messy: Store) -> None:
    async with browsed(messy) as browser:
        await browser.run("cleanup")
        assert browser.screen_name == "cleanup"
        assert browser.words("#findings").count("empty") == 2
        assert "3 sessions" in browser.screen_text()
        await browser.press("space", "space")
        assert "2 sessions selected" in browser.screen_text()
        await browser.press("ctrl+d")
        assert "Clean up 2 sessions?" in browser.screen_text()
        assert "2 empty" in browser.screen_text()
        await browser.press("enter")
        assert len(names(messy)) == 2
        assert "Moved 2 sessions to trash. u undoes." in browser.toasts()[-1]
        assert browser.row_list("#findings").count == 1
        await browser.press("u")
        assert len(names(messy)) == 4
        assert browser.row_list("#findings").count == 3


async def test_the_reason_of_the_row_is_told_in_full(messy: Store) -> None:
    async with browsed(messy) as browser:
        await browser.run("cleanup")
        await browser.press("G")
        assert "every entry is also in the session a.jsonl" in browser.words("#finding")
        assert "kept:" in browser.words("#finding")
        await browser.press("enter")
        assert browser.screen_name == "session"
        await browser.press("escape", "escape")
        assert browser.screen_name == "browse"


async def test_a_session_that_is_in_use_by_now_stays_without_a_question(messy: Store) -> None:
    async with browsed(messy) as browser:
        await browser.run("cleanup")
        empty = next(path for path in (messy.home / ".pi").rglob("c.jsonl"))
        messy.process(11, ["pi"], cwd="/elsewhere", holds=empty)
        await browser.press("A", "ctrl+d", "enter")
        assert browser.screen_name == "cleanup"
        assert names(messy) == ["a.jsonl", "c.jsonl"]
        assert any("1 of 3 sessions were not changed" in toast for toast in browser.toasts())


async def test_a_tidy_store_says_so(store: Store) -> None:
    made(store, "a", *CONVERSATION)
    async with browsed(store) as browser:
        await browser.run("cleanup")
        assert "No session to clean up" in browser.words("#findings")
        await browser.press("escape", "exclamation_mark")
        assert "No damage in 1 session. tab shows what could go." in browser.words("#findings")
        await browser.press("escape", "enter", "exclamation_mark")
        assert "No damage found in this session." in browser.toasts()[-1]


async def test_tab_goes_from_the_damage_to_what_could_go_and_back(store: Store) -> None:
    made(store, "a", *CONVERSATION, torn=True)
    made(store, "b")
    async with browsed(store) as browser:
        await browser.press("exclamation_mark")
        assert browser.screen_name == "doctor"
        await browser.press("tab")
        assert browser.screen_name == "cleanup"
        await browser.press("tab")
        assert browser.screen_name == "doctor"
        await browser.press("escape")
        assert browser.screen_name == "browse"


async def test_mistakes_of_one_kind_in_a_session_are_one_row_and_a_gone_directory_is_none(store: Store) -> None:
    lost = [user(f"0000000{number}", "gone", "who knows") for number in (9, 8)]
    made(store, "a", *CONVERSATION[:3], *lost)
    path = made(store, "b", *CONVERSATION)
    path.write_text(path.read_text().replace(str(store.folder), "/nowhere/at/all"))
    async with browsed(store) as browser:
        await browser.press("exclamation_mark")
        rows = [row for row in browser.rows("#findings") if row.strip("│ ")]
        assert "×2" in "".join(rows)
        assert "missing-directory" not in browser.screen_text()


async def test_all_that_is_torn_is_repaired_in_place_and_comes_back_with_one_undo(store: Store) -> None:
    paths = [made(store, short, *CONVERSATION, torn=True) for short in "ab"]
    made(store, "c", *CONVERSATION)
    was = [path.read_bytes() for path in paths]
    async with browsed(store) as browser:
        await browser.press("exclamation_mark")
        assert browser.screen_name == "doctor"
        assert "2 findings in 2 sessions" in browser.screen_text()
        assert "torn-line" in browser.rows("#findings")[1]
        assert "skips the unfinished line" in browser.words("#finding")
        await browser.press("A", "x", "w")
        assert "Repair in place" in browser.screen_text()
        await browser.press("enter")
        assert all(not examine(str(path), "pi").is_damaged for path in paths)
        assert "Repaired 2 sessions; the original is in the trash." in browser.toasts()[-1]
        assert "No damage in" in browser.words("#findings")
        await browser.press("u")
        assert [path.read_bytes() for path in paths] == was
        assert "2 findings in 2 sessions" in browser.screen_text()


async def test_a_repaired_copy_is_written_and_the_original_stays(store: Store) -> None:
    path, to = made(store, "a", *CONVERSATION, torn=True), store.folder / "mended.jsonl"
    was = path.read_bytes()
    async with browsed(store) as browser:
        await browser.press("enter", "exclamation_mark", "x", "w", "down", "enter")
        await browser.type(str(to))
        await browser.press("enter")
        assert "Wrote a repaired copy" in browser.toasts()[-1]
        assert lines_of(to)[-1]["id"] == "00000008"
        assert path.read_bytes() == was


async def test_a_hidden_newest_message_is_checked_out(store: Store) -> None:
    newest = assistant("00000009", "00000008", "newest")
    later = entry("session_info", "00000010", "00000003", name="x")
    path = made(store, "a", *CONVERSATION, newest, later)
    async with browsed(store) as browser:
        await browser.press("exclamation_mark")
        assert "hidden-messages" in browser.words("#findings")
        await browser.press("x", "w", "enter")
        assert lines_of(path)[-1]["parentId"] == "00000009"
        assert "No damage in" in browser.words("#findings")


async def test_enter_opens_the_damaged_entry(store: Store) -> None:
    lost = user("00000009", "gone", "who knows")
    made(store, "a", *CONVERSATION, lost, assistant("00000010", "00000009", "me"))
    async with browsed(store) as browser:
        await browser.press("exclamation_mark")
        assert "missing-parent" in browser.words("#findings")
        await browser.press("enter")
        assert browser.screen_name == "session"
        assert "who knows" in browser.words("#tree")
        await browser.press("escape")
        assert browser.screen_name == "doctor"


async def test_what_was_found_is_listed_while_other_sessions_are_read_and_keys_work(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(store, "a", *CONVERSATION, torn=True)
    made(store, "b", *CONVERSATION, torn=True)
    goes_on = threading.Event()

    def read(summary: Summary, *, is_one: bool) -> list[Finding]:
        if asked:
            assert goes_on.wait(30)
        asked.append(summary)
        return findings_of(summary, is_one=is_one)

    asked: list[Summary] = []
    monkeypatch.setattr("sessionbrowse.tui.clean.doctor_screen.findings_of", read)
    monkeypatch.setattr("sessionbrowse.tui.clean.findings_screen.REPORT_STEP_S", 0)
    async with browsed(store) as browser:
        await browser.press_now("exclamation_mark")
        await browser.until(lambda: "1/2" in browser.screen_text() and browser.row_list("#findings").count == 1)
        assert browser.screen_name == "doctor", "no window stands before the list"
        await browser.press_now("question_mark")
        assert browser.screen_name == "help"
        await browser.press_now("escape")
        goes_on.set()
        await browser.settle()
        assert browser.row_list("#findings").count == 2
        goes_on.clear()
        await browser.press("escape")
        await browser.press_now("exclamation_mark", "escape")
        assert browser.screen_name == "browse", "leaving stops the search"
        goes_on.set()
