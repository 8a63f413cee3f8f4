"""The labels of all sessions, as a user meets them: listed, limited, gone to, resumed from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sessionbrowse.model.search.query import parse_search
from sessionbrowse.services.resume.plan import ResumeCommand
from sessionbrowse.services.search.hits import Checkpoint
from sessionbrowse.services.search.session_filters import fits
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.tui.app import BrowseApp
from tests.support.index_support import answer, entry, folder, header, user, write
from tests.support.search_support import searched_source
from tests.support.tui_support import browsing, demo_options


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    target = tmp_path_factory.mktemp("store") / "demo"
    options = demo_options(target)
    return {"source": searched_source(options, target, target.parent / "cache"), **options}


async def test_the_labels_are_the_list_of_labelled_sessions_with_their_labels_below(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("apostrophe")
        assert browser.screen_name == "browse"
        rows = [row for row in browser.rows("#sessions") if row.strip()]
        assert "/label:" in browser.screen_text()
        row = next(row for row in rows if "jwt-works" in row)
        assert "⚑" in row
        assert "⌥" in row, "the label stands on an abandoned branch"
        labels = [key for key in browser.row_list("#sessions").keys if isinstance(key, tuple)]
        sessions = [key for key in browser.row_list("#sessions").keys if isinstance(key, str)]
        assert {key[2] for key in labels} == {"label"}
        assert {key[0] for key in labels} == set(sessions)
        assert set(sessions) == {each.path for each in browser.app.library.all() if each.labels and not each.hidden}


async def test_typing_goes_on_to_a_label_and_enter_to_its_entry_and_escape_back(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("apostrophe")
        await browser.type("two-ways")
        assert {key[2] for key in browser.row_list("#sessions").keys if isinstance(key, tuple)} == {"label"}
        assert "jwt-works" not in browser.words("#sessions")
        await browser.press("enter")
        assert browser.screen_name == "session"
        assert "⚑ two-ways" in next(row for row in browser.rows("#tree") if row.startswith("▌"))
        await browser.press("escape")
        assert "two-ways" in browser.words("#sessions")
        await browser.press("escape")
        assert browser.row_list("#sessions").count > 20


async def test_a_state_limits_the_labels(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("apostrophe")
        await browser.type(" branch:abandoned")
        assert "jwt-works" in browser.words("#sessions")
        assert "two-ways" not in browser.words("#sessions")


async def test_from_a_tree_the_labels_are_listed_and_leaving_comes_back(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("enter", "apostrophe")
        assert browser.screen_name == "browse"
        await browser.press("escape", "escape")
        assert browser.screen_name == "session"


async def test_resuming_at_a_label_asks_where_and_checks_it_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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

    def lend_terminal(_: BrowseApp, command: ResumeCommand) -> None:
        session = open_session(path, "pi")
        resumed.extend(session.envelopes[index].id or "" for index in session.active_branch())

    command = ResumeCommand("pi", ("pi",), str(tmp_path))
    source = replace(searched_source(options, store, tmp_path / "cache"), plan_resume=lambda *_: command)
    monkeypatch.setattr(BrowseApp, "lend_terminal", lend_terminal)
    async with browsing(source=source, **options) as browser:
        await browser.press("apostrophe", "down", "escape", "R")
        assert "From this entry" in browser.screen_text()
        await browser.press("enter")
        assert resumed[:2] == ["1", "2"]
        assert "3" not in resumed
    assert path.read_bytes().count(b"\n") == 7


async def test_without_any_label_the_list_says_so(tmp_path: Path) -> None:
    write(folder(tmp_path / "store") / "a.jsonl", header(), user("1", None, "one"))
    options: dict[str, Any] = {"roots": [str(tmp_path / "store")], "home": str(tmp_path)}
    async with browsing(source=searched_source(options, tmp_path / "store", tmp_path / "cache"), **options) as browser:
        await browser.press("apostrophe")
        assert "No entry of any session has a label" in browser.words("#sessions")


@pytest.mark.parametrize(
    ("query", "is_fitting"),
    [
        ("works", True),
        ("auth", True),
        ("label:work", True),
        ("label:auth", False),
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
