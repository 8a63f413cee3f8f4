"""Order in the lists, as a user meets it: families, pins, repositories, archived sessions, ages, row fields."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from sessionbrowse.config import Settings
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list.gather import Batch
from sessionbrowse.store.own.pins import Pins
from sessionbrowse.tui.data.library import Library
from sessionbrowse.tui.data.list_state import ListState
from tests.support.tui_support import NOW_MS, Driven, browsing, demo_options, fixed_source, listed, summary

HOUR = 3_600_000


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict:
    return demo_options(tmp_path_factory.mktemp("store") / "demo")


def titles(browser: Driven) -> list[str]:
    return [row[1:].strip() for row in browser.rows("#sessions") if row.strip()]


def family() -> list[Summary]:
    return [
        summary("/main", name="main", modified=NOW_MS - 2.0 * HOUR),
        summary("/fork", name="fork", parent_path="/main", parent_session="/main", modified=NOW_MS - 1.0 * HOUR),
        summary("/other", name="other", modified=NOW_MS - 50.0 * HOUR),
    ]


async def test_a_fork_and_its_parent_are_one_row_that_one_key_opens() -> None:
    async with browsing(fixed_source(family())) as browser:
        assert "⊞1" in titles(browser)[0]
        assert "2 + 1 folded" in browser.screen_text()
        await browser.press("o")
        rows = titles(browser)
        assert rows[0].startswith("fork ↳ ⊟1")
        assert rows[1].startswith("╰─main")
        await browser.press("down", "o")
        assert list(browser.row_list("#sessions").keys) == ["/fork", "/other"]
        assert browser.row_list("#sessions").key == "/fork"


async def test_one_key_opens_all_families_and_folds_them_again() -> None:
    async with browsing(fixed_source(family())) as browser:
        await browser.run("families")
        assert browser.row_list("#sessions").count == 3
        await browser.run("families")
        assert browser.row_list("#sessions").count == 2


async def test_why_there_is_nothing_to_open_is_said() -> None:
    async with browsing(fixed_source(family())) as browser:
        await browser.press("down", "o", "ctrl+s")
        await browser.run("families")
        assert browser.toasts() == [
            'No forks; "Show hidden" lists subagents.',
            "A threaded or filtered list has no folds.",
        ]


async def test_no_session_is_said_to_have_no_subagents_before_they_are_read() -> None:
    async with browsing(fixed_source(family())) as browser:
        await browser.press("down", "o")
        await browser.run("hidden")
        await browser.press("o")
        said = browser.toasts()
        assert (said[0], said[-1]) == (
            'No forks; "Show hidden" lists subagents.',
            "This session has no forks or subagents.",
        )


async def test_no_session_is_said_to_have_no_forks_while_the_disk_is_being_read() -> None:
    may_end = threading.Event()

    def scan(cancelled: Callable[[], bool], include_hidden: bool) -> Iterator[Batch]:
        yield Batch(family()[:1], 1, 2)
        may_end.wait(30)
        yield Batch(family()[1:], 2, 2)

    async with browsing(fixed_source(scan=scan), settle=False) as browser:
        await browser.until(lambda: browser.row_list("#sessions").count)
        await browser.press_now("o")
        assert browser.toasts() == ["The browser has found no forks yet; it is still reading sessions."]
        may_end.set()


async def test_a_filter_finds_what_is_folded_and_clearing_it_leaves_that_open() -> None:
    async with browsing(fixed_source(family())) as browser:
        await browser.press("slash")
        await browser.type("main")
        assert list(browser.row_list("#sessions").keys) == ["/main"]
        await browser.press("escape", "escape")
        assert browser.row_list("#sessions").key == "/main"
        assert browser.row_list("#sessions").count == 3


async def test_families_can_be_open_from_the_start() -> None:
    async with browsing(fixed_source(family()), settings=Settings(fold_families=False)) as browser:
        assert browser.row_list("#sessions").count == 3


async def test_a_pinned_session_is_the_first_row_until_it_is_unpinned(tmp_path: Path) -> None:
    options = demo_options(tmp_path / "demo", fold_families=False)
    environ = {"XDG_STATE_HOME": str(tmp_path / "state")}
    async with browsing(**options, environ=environ) as browser:
        await browser.press("down", "down")
        key = browser.row_list("#sessions").key
        await browser.press("p")
        assert browser.row_list("#sessions").keys[0] == key
        assert "★" in browser.rows("#sessions")[0]
        assert browser.row_list("#sessions").key == key
    async with browsing(**options, environ=environ) as browser:
        assert browser.row_list("#sessions").keys[0] == key
        await browser.press("home", "p")
        assert browser.row_list("#sessions").keys[0] != key
        assert browser.toasts() == ["No longer pinned."]


async def test_a_pin_of_omp_is_shown_and_left_to_omp() -> None:
    pinned = summary("/omp", agent="omp", id="01", name="pinned in omp", modified=NOW_MS - 90.0 * HOUR)
    source = msgspec.structs.replace(
        fixed_source([*family(), pinned]), pins=lambda: Pins(omp=frozenset(["01"])), set_pin=lambda *_: 1 / 0
    )
    async with browsing(source) as browser:
        assert "pinned in omp" in browser.rows("#sessions")[0]
        await browser.press("home", "p")
        assert browser.toasts() == ["This session is pinned in omp. To unpin it, type /pin in omp."]


async def test_a_session_without_id_says_why_it_cannot_be_pinned() -> None:
    async with browsing(fixed_source(family())) as browser:
        await browser.press("p")
        assert browser.toasts() == ["This session has no id, so it cannot be pinned."]


async def test_a_full_disk_says_that_the_pin_is_not_kept() -> None:
    def full(chosen: Summary, pinned: bool) -> None:
        raise OSError(28, "No space left on device")

    source = msgspec.structs.replace(fixed_source([summary("/a", id="1", name="a")]), set_pin=full)
    async with browsing(source) as browser:
        await browser.press("p")
        assert "The pin cannot be saved" in browser.toasts()[-1]


async def test_every_pin_is_kept_however_fast_the_keys_and_slow_the_disk() -> None:
    begun, may_write = threading.Event(), threading.Event()
    pinned: dict[str, bool] = {}

    def slow(chosen: Summary, pin: bool) -> None:
        begun.set()
        assert may_write.wait(60)
        pinned[chosen.name or ""] = pin

    def read() -> Pins:
        return Pins(frozenset([("pi", name) for name, pin in pinned.items() if pin]))

    listed = [summary(f"/{name}", id=name, name=name, modified=NOW_MS - number) for number, name in enumerate("abcd")]
    async with browsing(msgspec.structs.replace(fixed_source(listed), set_pin=slow, pins=read)) as browser:
        await browser.press_now("p")
        await browser.until(begun.is_set)
        await browser.press_now("down", "p", "down", "p", "p")
        may_write.set()
        await browser.settle()
        assert pinned == {"a": True, "b": True, "c": False}
        assert browser.row_list("#sessions").key == "/c"


async def test_projects_by_repository_join_its_worktrees() -> None:
    listed = [summary("/1", cwd="/src/web", name="a"), summary("/2", cwd="/src/web-fix", name="b")]
    source = msgspec.structs.replace(
        fixed_source(listed), repositories=lambda _: {"/src/web": "/src/web", "/src/web-fix": "/src/web"}
    )
    async with browsing(source) as browser:
        assert browser.row_list("#projects").count == 3
        await browser.press("left", "down", "down")
        await browser.run("repositories")
        assert browser.row_list("#projects").count == 2
        assert "web ⑂2" in browser.words("#projects")
        assert browser.row_list("#sessions").count == 2
        assert browser.row_list("#projects").key == ("project", "/src/web")
        await browser.run("repositories")
        assert browser.row_list("#projects").count == 3
        assert browser.toasts()[-1] == "Grouped projects by directory."


async def test_spellings_of_one_directory_are_one_folder_also_where_the_browser_starts_and_ends(tmp_path: Path) -> None:
    real = "/w/repos/proj"
    links = {"/w/agents/proj": real, "/w/repos/proj/": real, real: real, "C:\\Users\\u\\ELM": "C:\\Users\\u\\ELM"}
    listed = [summary(f"/{number}", cwd=cwd, name=cwd) for number, cwd in enumerate(links)]
    source = msgspec.structs.replace(
        fixed_source(listed),
        resolved=lambda paths: {path: links[path] for path in paths},
        exists_many=lambda paths: {path: path.startswith("/") for path in paths},
    )
    async with browsing(source, here=real) as browser:
        assert browser.row_list("#projects").keys == [
            ("project", None),
            ("project", real),
            ("project", "C:\\Users\\u\\ELM"),
        ]
        rows = browser.rows("#projects")
        assert "← here" in rows[1]
        assert "⑂" not in rows[1]
        assert "ELM" in rows[2]
        assert "other system" in rows[2]
        assert browser.row_list("#projects").key == ("project", real)
        assert browser.row_list("#sessions").count == 3


def test_the_folder_of_the_last_run_is_chosen_by_any_of_its_spellings() -> None:
    library = Library(here="/w/repos/proj")
    library.add([summary("/1", cwd="/w/agents/proj/"), summary("/2", cwd="/w/agents/proj")])
    state = ListState(library)
    state.projects = state.project_rows()
    library.know_directories({}, {"/w/agents/proj": "/w/repos/proj", "/w/agents/proj/": "/w/repos/proj"})
    assert state.other_project(None) == "/w/agents/proj", "the current directory, by the spelling that is listed"
    state.wanted_project = "/w/repos/proj"
    state.go_to_wanted_project([("project", "/w/agents/proj")], was_moved=False)
    assert state.project == "/w/agents/proj"
    assert len(listed(library, cwd="/w/repos/proj")) == 2
    saved = library.first_rows_to_save("newest")
    assert saved is None
    library.is_complete = True
    saved = library.first_rows_to_save("newest")
    assert saved is not None
    assert [(row.cwd, row.sessions) for row in saved.directories] == [("/w/agents/proj", 2)]


async def test_a_project_that_was_moved_is_told_from_one_that_is_gone() -> None:
    listed = [summary("/1", cwd="/src/web", name="a"), summary("/2", cwd="/src/old", name="b")]
    source = msgspec.structs.replace(
        fixed_source(listed),
        exists_many=lambda paths: dict.fromkeys(paths, False),
        moved=lambda gone, known: {"/src/web": "/moved/web"},
    )
    async with browsing(source) as browser:
        rows = browser.rows("#projects")
        assert any("web" in row and "moved" in row for row in rows)
        assert any("old" in row and "missing" in row for row in rows)


async def test_archived_sessions_are_a_list_of_their_own(tmp_path: Path) -> None:
    options = demo_options(tmp_path / "demo")
    async with browsing(**options) as browser:
        path = Path(str(browser.row_list("#sessions").key))
    archive = path.parent / "archive"
    archive.mkdir()
    shutil.move(path, archive / path.name)
    async with browsing(**options) as browser:
        assert str(path) not in browser.row_list("#sessions").keys
        await browser.run("archived")
        assert list(browser.row_list("#sessions").keys) == [str(archive / path.name)]
        assert "· archived" in browser.screen_text()
        await browser.run("archived")
        assert browser.row_list("#sessions").count > 20
        assert str(archive / path.name) not in browser.row_list("#sessions").keys


async def test_without_an_archived_session_the_list_says_how_to_get_back(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.run("archived")
        assert browser.words("#sessions") == "No session is archived. esc shows the others."
        await browser.press("escape")
        assert browser.row_list("#sessions").count > 20


async def test_rows_show_the_fields_of_the_settings(tmp_path: Path) -> None:
    options = demo_options(tmp_path / "demo", row_fields=("size", "agent"))
    async with browsing(**options, size=(160, 30)) as browser:
        row = browser.rows("#sessions")[1]
        assert row.endswith("π")
        assert "KB" in row
        assert "msg" not in row


async def test_the_preview_can_be_hidden_from_the_start(tmp_path: Path) -> None:
    async with browsing(**demo_options(tmp_path / "demo", preview=False)) as browser:
        assert not browser.app.screen.query_one("#preview").display


async def test_the_header_tells_the_way_here(demo: dict) -> None:
    async with browsing(**demo) as browser:
        assert browser.screen_text().split("\n")[0].startswith(" sessionbrowse  in ")
        await browser.press("tab")
        assert browser.screen_text().split("\n")[0].startswith(" sessionbrowse › webshop ")
        await browser.press("enter", "home")
        assert " webshop › Refactor auth module " in browser.screen_text().split("\n")[0]
        await browser.press("4", "home")
        assert "Refactor auth module › ⚑ " in browser.screen_text().split("\n")[0]
