"""Sessions whose names do not match a filter, but in which its words were said: listed below, told apart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.tui.data.picking import Picking
from tests.support.index_support import answer, entry, folder, header, user, write
from tests.support.search_support import index_of, searched_source
from tests.support.tui_support import Driven, browsing


def a_store(tmp_path: Path) -> Path:
    store = tmp_path / "store"
    for name, said, named in (
        ("a", "Where does the okapi live?", "zoo"),
        ("b", "Nothing to see.", "okapi pictures"),
        ("c", "Nothing at all.", None),
    ):
        names = [entry("session_info", "9", "2", name=named)] if named else []
        write(folder(store) / f"{name}.jsonl", header(name), user("1", None, "Hello"), answer("2", "1", said), *names)
    index_of(store, tmp_path / "cache")
    return store


@asynccontextmanager
async def listing(tmp_path: Path, **more: Any) -> AsyncIterator[Driven]:
    store = a_store(tmp_path)
    options: dict[str, Any] = {"roots": [str(store)], "home": str(tmp_path)}
    async with browsing(source=searched_source(options, store, tmp_path / "cache"), **options, **more) as browser:
        yield browser


def listed(browser: Driven) -> list[str]:
    return [row for row in browser.rows("#sessions") if row.strip()]


async def test_names_come_first_then_sessions_in_which_it_was_said_with_the_place(tmp_path: Path) -> None:
    async with listing(tmp_path) as browser:
        await browser.press("slash")
        await browser.type("okapi")
        rows = listed(browser)
        assert len(rows) == 2
        assert "okapi pictures" in rows[0]
        assert "zoo" in rows[1]
        assert "“…re does the okapi live?”" in rows[1]
        assert "1 match · said in 1" in browser.screen_text()
        assert browser.row_list("#sessions").cursor == 0
        await browser.press("enter", "down", "enter")
        assert browser.screen_name == "session"
        await browser.press("escape")
        assert len(listed(browser)) == 2
        await browser.press("escape")
        assert len(listed(browser)) == 3


async def test_a_word_of_two_letters_or_a_pattern_is_not_looked_for_in_what_was_said(tmp_path: Path) -> None:
    async with listing(tmp_path) as browser:
        for text in ("ok", "re:okap[i]"):
            await browser.press("slash")
            await browser.type(text)
            assert [row for row in listed(browser) if "okapi pictures" in row] == listed(browser)
            await browser.press("escape")


async def test_the_scope_of_the_list_holds_for_what_was_said(tmp_path: Path) -> None:
    async with listing(tmp_path) as browser:
        await browser.press("slash")
        await browser.type("hello")
        assert any("Hello" in row for row in listed(browser))
        await browser.press("ctrl+n")
        assert len(listed(browser)) == 2


async def test_a_search_goes_on_where_it_was_after_a_filter_of_the_lists(tmp_path: Path) -> None:
    async with listing(tmp_path) as browser:
        await browser.press("ctrl+f")
        await browser.type("okapi")
        await browser.press("down")
        key, keys = browser.row_list("#found-rows").key, list(browser.row_list("#found-rows").keys)
        await browser.press("escape", "slash")
        await browser.type("nothing")
        await browser.press("escape", "F")
        assert browser.row_list("#found-rows").key == key
        assert list(browser.row_list("#found-rows").keys) == keys


async def test_pick_with_a_query_lists_the_same(tmp_path: Path) -> None:
    chosen: list[Summary] = []

    def choose(summary: Summary, entry_id: str | None) -> None:
        chosen.append(summary)

    async with listing(tmp_path, pick=Picking(choose=choose, query="okapi")) as browser:
        assert len(listed(browser)) == 2
        await browser.press("down", "enter")
    assert [summary.name for summary in chosen] == ["zoo"]
