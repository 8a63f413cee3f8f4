"""Sessions found by their names and by what was said in them: listed, previewed and opened at the place."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.tui.data.options import Picking
from sessionbrowse.tui.widgets.text_view import TextView
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


def marked(pane: TextView) -> set[str]:
    """Return the words that stand on another ground than the rest."""
    strips = [pane.render_line(y) for y in range(pane.size.height)]
    return {segment.text for strip in strips for segment in strip if segment.style and segment.style.bgcolor}


def place(browser: Driven) -> object:
    return browser.row_list("#tree").key


def listed(browser: Driven) -> list[str]:
    return [row for row in browser.rows("#sessions") if row.strip()]


async def test_the_scope_of_the_list_holds_for_what_was_said(tmp_path: Path) -> None:
    async with listing(tmp_path) as browser:
        await browser.press("slash")
        await browser.type("hello")
        assert any("Nothing" in row or "Hello" in row for row in listed(browser))
        await browser.press("ctrl+n")
        assert {Path(str(key)).stem for key in browser.row_list("#sessions").keys if isinstance(key, str)} < {"a", "b"}


async def test_pick_with_a_query_lists_the_same(tmp_path: Path) -> None:
    chosen: list[Summary] = []

    def choose(summary: Summary, entry_id: str | None) -> None:
        chosen.append(summary)

    async with listing(tmp_path, pick=Picking(choose=choose, query="okapi")) as browser:
        assert len(listed(browser)) == 3
        await browser.press("down", "enter")
    assert {summary.name for summary in chosen} <= {"zoo", "okapi pictures"}
    assert len(chosen) == 1


async def test_a_session_opened_from_a_filtered_list_stands_at_what_was_said_and_n_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "store"
    said = ["Hello", "Where does the okapi live?", "In the woods.", "Is an okapi striped?", "Yes."]
    entries = [
        (user if number % 2 == 0 else answer)(str(number + 1), str(number) if number else None, text)
        for number, text in enumerate(said)
    ]
    write(folder(store) / "a.jsonl", header("a"), *entries)
    write(folder(store) / "b.jsonl", header("b"), user("1", None, "okapi pictures"), answer("2", "1", "None."))
    index_of(store, tmp_path / "cache")
    options: dict[str, Any] = {"roots": [str(store)], "home": str(tmp_path)}
    async with browsing(source=searched_source(options, store, tmp_path / "cache"), **options) as browser:
        await browser.press("slash")
        await browser.type("okapi")
        assert len(listed(browser)) == 5
        await browser.press("home", *["down"] * (1 if "Hello" in listed(browser)[0] else 3), "enter")
        assert browser.screen_name == "session"
        first = place(browser)
        assert first in (1, 3)
        pane = browser.app.screen.query_one("#view", TextView)
        assert isinstance(pane, TextView)
        assert "okapi" in marked(pane)
        await browser.press("n" if first == 1 else "N")
        assert {first, place(browser)} == {1, 3}
        await browser.press("escape")
        assert len(listed(browser)) == 5


async def test_n_pressed_fast_skips_no_session(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for name in "abc":
        said = [user("1", None, f"An okapi {name}?"), answer("2", "1", name), user("3", "2", f"The okapi {name}!")]
        write(folder(store) / f"{name}.jsonl", header(name), *said)
    index_of(store, tmp_path / "cache")
    options: dict[str, Any] = {"roots": [str(store)], "home": str(tmp_path)}
    async with browsing(source=searched_source(options, store, tmp_path / "cache"), **options) as browser:
        await browser.press("slash")
        await browser.type("okapi")
        places = []
        for keys in (["n"], ["n"] * 2, ["n"] * 3):
            await browser.press("home", "enter")
            assert browser.screen_name == "session"
            await browser.press(*keys)
            one_by_one = browser.app.place, place(browser)
            await browser.press("escape", "home", "enter")
            await browser.press_at_once(*keys)
            assert (browser.app.place, place(browser)) == one_by_one
            places.append(one_by_one)
            await browser.press("escape")
        assert len({path for path, _ in places}) > 1


async def test_without_a_filter_no_words_are_taken_into_the_tree(tmp_path: Path) -> None:
    async with listing(tmp_path) as browser:
        await browser.press("enter", "n")
        assert "No search or filter is active." in browser.toasts()[-1]


async def test_the_preview_of_a_session_listed_for_what_was_said_stands_at_the_place(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    above = [user("1", None, "Hello"), *[answer(str(n), str(n - 1), f"Line {n}\n" * 30) for n in range(2, 6)]]
    write(folder(store) / "d.jsonl", header("d"), *above, answer("6", "5", "filler\n" * 60 + "A pair of okapis."))
    index_of(store, tmp_path / "cache")
    options: dict[str, Any] = {"roots": [str(store)], "home": str(tmp_path)}
    source = searched_source(options, store, tmp_path / "cache")
    async with browsing(source=source, size=(200, 40), **options) as browser:
        preview = browser.app.screen.query_one("#preview", TextView)
        await browser.press("slash")
        await browser.type("okapis")
        await browser.until(lambda: str(folder(store) / "d.jsonl") in browser.row_list("#sessions").keys)
        await browser.press("escape", "home")
        while browser.row_list("#sessions").key != str(folder(store) / "d.jsonl"):
            await browser.press("down")
        assert "A pair of okapis." in browser.screen_text()
        assert "okapis" in marked(preview)
        # Other words, then none: the conversation is shown again, from its beginning.
        await browser.press("escape")
        while browser.row_list("#sessions").key != str(folder(store) / "d.jsonl"):
            await browser.press("down")
        assert "Hello" in browser.screen_text()
        assert "okapis" not in marked(preview)
