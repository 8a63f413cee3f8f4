"""Every label of every session, as a user meets them: listed, filtered, gone to, resumed from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sessionbrowse.errors import CannotResume
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.query import parse_search
from sessionbrowse.services.background.search_messages import CheckpointPage, SearchStatus
from sessionbrowse.services.search.checkpoints import fits
from sessionbrowse.services.search.hits import Checkpoint
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.tui.search.checkpoints import CheckpointsScreen
from tests.support.index_support import answer, entry, folder, header, user, write
from tests.support.search_support import searched_source
from tests.support.tui_support import browsing, demo_options


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    target = tmp_path_factory.mktemp("store") / "demo"
    options = demo_options(target)
    return {"source": searched_source(options, target, target.parent / "cache"), **options}


async def test_every_label_is_listed_with_its_session_and_project(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("apostrophe")
        assert browser.screen_name == "checkpoints"
        rows = [row for row in browser.rows("#found-rows") if row.strip()]
        assert all("⚑" in row for row in rows)
        row = next(row for row in rows if "jwt-works" in row and "abandoned" in row)
        assert "auth" in row
        assert "webshop" in row
        assert "abandoned" in row
        assert f"{len(rows)} labels" in browser.screen_text()


async def test_the_filter_looks_at_label_session_entry_and_state(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("apostrophe", "slash")
        await browser.type("jwt branch:aband")
        assert browser.row_list("#found-rows").count == 1
        await browser.type("x")
        assert "branch: takes" in browser.screen_text()
        await browser.press("backspace", "enter", "escape")
        assert browser.screen_name == "checkpoints"
        assert browser.row_list("#found-rows").count > 1
        await browser.press("escape")
        assert browser.screen_name == "browse"


async def test_enter_goes_to_the_entry_and_escape_back_to_the_list(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("apostrophe", "slash")
        await browser.type("two-ways")
        await browser.press("enter", "enter")
        assert browser.screen_name == "session"
        assert "⚑ two-ways" in next(row for row in browser.rows("#tree") if row.startswith("▌"))
        await browser.press("escape")
        assert browser.screen_name == "checkpoints"
        assert "two-ways" in browser.rows("#found-rows")[0]


async def test_the_preview_shows_the_labelled_entry(demo: dict[str, Any]) -> None:
    async with browsing(size=(200, 50), **demo) as browser:
        await browser.press("apostrophe")
        assert browser.words("#found-view")


async def test_resuming_from_a_checkpoint_checks_it_out_first(tmp_path: Path) -> None:
    store = tmp_path / "store"
    path = write(
        folder(store) / "a.jsonl",
        header(),
        user("1", None, "one"),
        answer("2", "1", "two"),
        user("3", "2", "three"),
        answer("4", "3", "four"),
        entry("label", "5", "4", targetId="2", label="here"),
    )
    options: dict[str, Any] = {
        "roots": [str(store)],
        "home": str(tmp_path),
        "environ": {"XDG_STATE_HOME": str(tmp_path / "state")},
    }
    resumed: list[str] = []

    def plan_resume(summary: Summary, directory: str | None) -> Any:
        session = open_session(summary.path, summary.agent)
        resumed.extend(session.envelopes[index].id or "" for index in session.active_branch())
        raise CannotResume("Nothing is started in a test.")

    source = replace(searched_source(options, store, tmp_path / "cache"), plan_resume=plan_resume)
    async with browsing(source=source, **options) as browser:
        await browser.press("apostrophe")
        await browser.press("r")
        assert resumed[:2] == ["1", "2"]
        assert "3" not in resumed
    assert path.read_bytes().count(b"\n") == 7


async def test_labels_show_while_sessions_are_still_being_read(
    demo: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with browsing(**demo) as browser:
        await browser.press("apostrophe")
        screen = browser.app.screen
        assert isinstance(screen, CheckpointsScreen)
        asked: list[Any] = []
        monkeypatch.setattr(browser.app.search_client, "send", asked.append)
        screen.do_search_again()
        first = asked[-1]
        screen.take_answer(SearchStatus(sessions=100, has_index=False, has_tools=False, reading=True))
        assert asked[-1] is first, "what is under way is waited for"
        screen.take_answer(CheckpointPage(first.stamp, [], [], 0, 0, finished=True))
        screen.take_answer(SearchStatus(sessions=200, has_index=False, has_tools=False, reading=True))
        again = asked[-1]
        assert again is not first
        screen.take_answer(SearchStatus(sessions=300, has_index=False, has_tools=False, reading=False))
        last = asked[-1]
        assert last is not again
        screen.take_answer(CheckpointPage(last.stamp, [], [], 0, 0, finished=True))
        screen.take_answer(SearchStatus(sessions=300, has_index=False, has_tools=False, reading=False))
        assert asked[-1] is last, "nothing is asked without need"


async def test_without_any_label_the_list_says_how_to_make_one(tmp_path: Path) -> None:
    write(folder(tmp_path / "store") / "a.jsonl", header(), user("1", None, "one"))
    options: dict[str, Any] = {"roots": [str(tmp_path / "store")], "home": str(tmp_path)}
    async with browsing(source=searched_source(options, tmp_path / "store", tmp_path / "cache"), **options) as browser:
        await browser.press("apostrophe")
        assert "No entry of any session has a label" in browser.words("#found-rows")


@pytest.mark.parametrize(
    ("query", "is_fitting"),
    [
        ("works", True),
        ("auth", True),
        ("agent:pi project:shop name:auth label:work", True),
        ("agent:omp", False),
        ("project:blog", False),
        ("branch:active", False),
        ("after:2026-08", True),
        ("before:2026-08", False),
        ("re:done$", True),
        ("missing", False),
    ],
)
def test_a_checkpoint_fits_a_query(query: str, is_fitting: bool) -> None:
    mark = Checkpoint(
        path="/x", id="x", agent="pi", cwd="/home/dev/shop", session="Auth", entry_index=1, entry_id="2",
        label="works", time_ms=1786608001000.0, state="abandoned", preview="assistant: done",
    )  # fmt: skip
    assert fits(parse_search(query), mark) is is_fitting
