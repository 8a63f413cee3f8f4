"""The search of the session list, as a user meets it: hits while typing, the preview at the match, there and back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.widgets import Input

from sessionbrowse.model.search.query import parse_search
from sessionbrowse.services.background.search_messages import HitPage, SearchProgress, SearchStatus
from sessionbrowse.services.search.ranked_page import RankedSession
from sessionbrowse.tui.changes.change_runner import read_again
from sessionbrowse.tui.data.search_client import SearchClient
from sessionbrowse.tui.lists.list_commands import HINT
from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.paint.spans import line_width
from sessionbrowse.tui.search.found_rows import hit_row, snippet_spans
from sessionbrowse.tui.search.sentences import EXAMPLES
from sessionbrowse.tui.shell.match_spans import words_in
from sessionbrowse.tui.widgets.text_view import TextView
from tests.support.index_support import append, folder, header, user, write
from tests.support.live_support import until
from tests.support.search_support import ThreadSearch, index_of, searched_source
from tests.support.tui_support import NOW_MS, Driven, browsing, demo_options, fixed_source, summary


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    target = tmp_path_factory.mktemp("store") / "demo"
    options = demo_options(target)
    index_of(target, target.parent / "cache")
    return {"source": searched_source(options, target, target.parent / "cache"), **options}


@asynccontextmanager
async def searching(demo: dict[str, Any], text: str = "", size: tuple[int, int] = (120, 40)) -> AsyncIterator[Driven]:
    async with browsing(size=size, **demo) as browser:
        await browser.press("slash")
        await browser.type(text)
        yield browser


async def paste(browser: Driven, text: str) -> None:
    """Add a text that ends in blanks or begins with them to the line, all at once."""
    field = browser.app.focused
    assert isinstance(field, Input)
    field.insert_text_at_cursor(text)
    await browser.settle()


def status(browser: Driven) -> str:
    lines = browser.screen_text().split("\n")
    return next((" ".join(line.split()) for line in reversed(lines) if line.startswith(" /")), "")


async def test_the_preview_shows_examples_while_the_line_is_empty(demo: dict[str, Any]) -> None:
    async with searching(demo, size=(120, 60)) as browser:
        assert all(example in browser.words("#preview") for example in EXAMPLES)
        await browser.press("x")
        assert "branch:abandoned" not in browser.words("#preview")
        await browser.press("backspace", "escape")
        assert "branch:abandoned" not in browser.words("#preview")


async def test_hits_appear_while_typing_with_role_session_and_the_match_marked(demo: dict[str, Any]) -> None:
    async with searching(demo, "cookie") as browser:
        head, *rows = [row for row in browser.rows("#sessions") if row.strip()]
        assert "Refactor auth mo" in head
        assert "2h" in head
        assert all("cookie" in row.lower() for row in rows)
        assert any("assistant" in row for row in rows)
        assert any("⌥" in row for row in rows)
        assert "1 session" in status(browser)
        line = browser.row_list("#sessions")
        strip = line.render_line(1)
        marked = {segment.text.lower() for segment in strip if segment.style and segment.style.bgcolor is not None}
        assert "cookie" in marked


async def test_each_letter_searches_anew(demo: dict[str, Any]) -> None:
    async with searching(demo, "qqqq") as browser:
        assert '"qqqq" was found nowhere.' in browser.words("#sessions")
        await browser.press("ctrl+u")
        await browser.type("cooki")
        assert "cookie" in browser.words("#sessions")
        await browser.press("ctrl+u")
        await browser.type("fired")
        assert "Alert noise" in browser.words("#sessions")
        assert "cookie" not in browser.words("#sessions")


async def test_enter_that_comes_before_the_answer_opens_what_is_found_for_the_words(demo: dict[str, Any]) -> None:
    async with searching(demo, "deploy") as browser:
        assert browser.row_list("#sessions").count
        for words, opened in (("fired", "Alert noise"), ("cookie", "Refactor auth"), ("nothingsuch", "")):
            await browser.press("slash")
            await browser.press_at_once(*words, "enter")
            await browser.settle()
            assert browser.screen_name == ("session" if opened else "browse")
            if opened:
                assert opened in browser.screen_text().splitlines()[0]
                await browser.press("escape")


async def test_keys_that_come_before_the_answer_act_on_what_is_found(demo: dict[str, Any]) -> None:
    async with searching(demo, "deploy") as browser:
        await browser.press("down")
        hit = browser.row_list("#sessions").key
        assert isinstance(hit, tuple), "the second row is a hit"
        await browser.press("escape", "escape", "end", "slash")
        await browser.press_at_once(*"deploy", "down")
        assert browser.row_list("#sessions").key == hit
        await browser.press("ctrl+u")
        await browser.press_at_once(*"deploy", "down", "down", "up", "enter")
        assert browser.screen_name == "session"
        assert browser.app.screen.index == hit[1]  # type: ignore[attr-defined]


async def test_keys_that_come_at_once_are_all_kept(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press_at_once("slash", *"cookie")
        assert "cookie" in status(browser)
        assert "cookie" in "\n".join(browser.rows("#sessions")).lower()


async def test_the_preview_stands_at_the_match(demo: dict[str, Any]) -> None:
    async with searching(demo, "cookie", size=(200, 50)) as browser:
        assert "cookie" in browser.words("#preview").lower()


async def test_the_best_hit_is_previewed_at_once_another_row_after_a_pause(
    demo: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with searching(demo, size=(120, 24)) as browser:
        for name in ("lists.preview.PREVIEW_DELAY", "shell.paned_screen.PAUSE_SECONDS"):
            monkeypatch.setattr(f"sessionbrowse.tui.{name}", 60.0)
        await browser.press_now(*"stored", "space", *"token")
        await browser.until(lambda: "Tokens are stored as SHA-256" in browser.words("#preview"))
        await browser.press_now("down", "down")
        screen = browser.app.screen
        assert isinstance(screen, BrowseScreen)
        await browser.until(lambda: screen.preview.due)


async def test_the_preview_stands_at_what_was_said_not_at_a_fact_with_the_same_word(demo: dict[str, Any]) -> None:
    async with searching(demo, "stored token", size=(120, 24)) as browser:
        # The compaction's heading says how many tokens there were before it.
        assert "Tokens are stored as SHA-256" in browser.words("#preview")


async def test_the_entry_that_enter_lands_on_stands_at_the_match_until_another_is_looked_at(
    demo: dict[str, Any],
) -> None:
    async with searching(demo, "stored token", size=(100, 14)) as browser:
        await browser.press("enter")
        assert browser.screen_name == "session"
        assert "Tokens are stored as SHA-256" in browser.words("#view")
        await browser.press("tab", "tab", "tab", "tab")
        assert "Tokens are stored as SHA-256" in browser.words("#view")
        await browser.press("up")
        assert browser.rows("#view")[1].startswith("───"), "another entry shows from its top"


async def test_enter_lands_on_the_entry_and_escape_comes_back_to_the_same_hit(demo: dict[str, Any]) -> None:
    async with searching(demo, "cookie") as browser:
        await browser.press("down")
        key = browser.row_list("#sessions").key
        assert isinstance(key, tuple)
        await browser.press("enter")
        assert browser.screen_name == "session"
        assert browser.row_list("#tree").key == key[1]
        await browser.press("escape")
        assert browser.screen_name == "browse"
        assert browser.row_list("#sessions").key == key
        assert "cookie" in status(browser)
        assert browser.app.focused is browser.row_list("#sessions")
        await browser.press("escape")
        assert browser.row_list("#sessions").key == key[0]
        assert browser.row_list("#sessions").count == 31


async def test_rows_that_the_tree_hides_are_shown_when_a_hit_is_one(demo: dict[str, Any], tmp_path: Path) -> None:
    store = tmp_path / "store"
    labelled = [
        header(),
        user("1", None, "one"),
        {"type": "custom_message", "id": "2", "parentId": "1", "customType": "x", "content": "zebra", "display": False},
        user("3", "2", "three"),
    ]
    write(folder(store) / "a.jsonl", *labelled)
    options: dict[str, Any] = {"roots": [str(store)], "home": str(tmp_path)}
    source = searched_source(options, store, tmp_path / "cache")
    async with browsing(source=source, **options) as browser:
        await browser.press("slash")
        await browser.type("zebra")
        await browser.press("enter")
        assert browser.row_list("#tree").key == 1


async def test_escape_leaves_the_line_for_the_found_rows_and_then_ends_the_search(demo: dict[str, Any]) -> None:
    async with searching(demo, "cookie") as browser:
        await browser.press("escape", "j")
        assert browser.row_list("#sessions").cursor == 1
        assert "cookie" in status(browser)
        await browser.press("slash", "right")
        await browser.type("s")
        assert "cookies" in status(browser)
        await browser.press("escape", "escape")
        assert browser.row_list("#sessions").count == 31
        assert not browser.app.screen.query_one("#filter").display


async def test_tab_in_a_trees_search_widens_its_words_to_all_sessions_and_leaving_comes_back(
    demo: dict[str, Any],
) -> None:
    async with browsing(**demo) as browser:
        await browser.press("enter", "slash")
        await browser.type("cookie")
        title = browser.screen_text().splitlines()[0].split("  ")[0]
        await browser.press("tab")
        assert browser.screen_name == "browse"
        assert "Refactor auth mo" in browser.rows("#sessions")[0]
        assert "/cookie" in status(browser)
        await browser.press("escape", "escape")
        assert browser.screen_name == "session"
        assert browser.screen_text().startswith(title)


@pytest.mark.parametrize("end", [' "fired', " re:", " re:(fir", " after:", " after:yes", " after:2026-", " branch:a"])
async def test_what_is_not_yet_complete_waits_quietly_with_what_was_found(demo: dict[str, Any], end: str) -> None:
    async with searching(demo, "cookie") as browser:
        keys = list(browser.row_list("#sessions").keys)
        await paste(browser, end)
        assert "1 session" in status(browser)
        assert list(browser.row_list("#sessions").keys) == keys


async def test_enter_on_what_is_not_yet_complete_says_why_at_the_line_and_opens_nothing(demo: dict[str, Any]) -> None:
    async with searching(demo, "cookie", size=(160, 40)) as browser:
        await paste(browser, " after:2026-")
        await browser.press("enter")
        assert browser.screen_name == "browse"
        assert "after: needs a date" in status(browser)
        await browser.press(*["backspace"] * len(" after:2026-"), "enter")
        assert browser.screen_name == "session"


@pytest.mark.parametrize(
    ("end", "sentence"),
    [(" after:", "after: needs a date such as 2026-08-13"), (" agent:", "agent: takes pi, omp"), (" re:", "after re:")],
)
async def test_an_unfinished_filter_says_at_the_line_what_it_waits_for(
    demo: dict[str, Any], end: str, sentence: str
) -> None:
    async with searching(demo, "cookie", size=(160, 40)) as browser:
        await paste(browser, end)
        assert "1 session" in status(browser)
        assert sentence in status(browser)


@pytest.mark.parametrize("width", [80, 100, 160])
async def test_the_empty_search_line_names_its_filters_in_all_the_room_it_has(demo: dict[str, Any], width: int) -> None:
    async with searching(demo, size=(width, 24)) as browser:
        assert HINT in status(browser)
        await browser.type("cookie")
        assert "1 session" in status(browser)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("cookie newer:99d", "newer: is no filter. Did you mean after:99d or before:99d?"),
        ("cookie befor:99d", "befor: is no filter. Did you mean before:99d?"),
        ("agnt:zzqqzz", "agnt: is no filter. Did you mean agent:zzqqzz?"),
        ("foo:zzqqzz", "foo: is no filter. The filters are agent: project: name: label: role:"),
        ("re:zzqqzz after:7d", "re: takes the rest of the query; put after:7d before it."),
    ],
)
async def test_a_filter_that_there_is_not_is_answered_with_those_that_there_are(
    demo: dict[str, Any], query: str, sentence: str
) -> None:
    async with searching(demo, query, size=(200, 40)) as browser:
        assert sentence in f"{browser.words('#sessions')} {status(browser)}"


@pytest.mark.parametrize("query", ["http://zzqqzz", "std::zzqqzz", "C:\\zzqqzz", "zzqqzz: cookie"])
async def test_text_with_a_colon_is_no_filter(demo: dict[str, Any], query: str) -> None:
    async with searching(demo, query, size=(200, 40)) as browser:
        assert "is no filter" not in browser.screen_text()


async def test_text_with_a_colon_that_is_found_is_text(tmp_path: Path) -> None:
    store = tmp_path / "store"
    write(folder(store) / "a.jsonl", header(), user("aaaaaaaa", None, "set foo:barbar for cookie"))
    options: dict[str, Any] = {"roots": [str(store)], "home": str(tmp_path)}
    source = searched_source(options, store, tmp_path / "cache")
    async with browsing(size=(160, 40), source=source, **options) as browser:
        await browser.press("slash")
        await browser.type("foo:barbar cookie")
        assert "1 session" in status(browser)
        assert "is no filter" not in browser.screen_text()


async def test_an_answer_that_comes_late_is_named_by_its_own_query(demo: dict[str, Any]) -> None:
    async with searching(demo, size=(220, 40)) as browser:
        await browser.press_at_once(*"cookie", "space", *"re", "colon", "left_parenthesis")
        await browser.settle()
        assert '· "cookie re"' in browser.screen_text()
        browse = browser.app.screen
        assert isinstance(browse, BrowseScreen)
        browse.search.ask()
        await browser.settle()
        assert browse.search.problem is None
        assert browse.search.searched == "cookie re"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (" role:boss", "role: takes user"),
        (" branch:xyz", "branch: takes active"),
        (" after:never", "after: needs a date"),
        (" after:2026- x", "after: needs a date"),
        (" re:*", "The pattern is not valid"),
    ],
)
async def test_an_error_is_said_once_at_the_line_and_what_was_found_stays(
    demo: dict[str, Any], text: str, sentence: str
) -> None:
    async with searching(demo, "cookie", size=(160, 40)) as browser:
        keys = list(browser.row_list("#sessions").keys)
        await paste(browser, text)
        assert browser.screen_text().count(sentence) == 1
        assert sentence in status(browser)
        assert not browser.toasts()
        assert list(browser.row_list("#sessions").keys) == keys


async def test_a_filter_value_that_fits_nothing_is_answered_with_the_nearest_one(demo: dict[str, Any]) -> None:
    async with searching(demo, "project:webshp") as browser:
        assert "Did you mean webshop?" in browser.words("#sessions")
        await browser.type(" cookie")
        assert "Did you mean webshop?" in browser.words("#sessions")


async def test_what_was_found_nowhere_is_named_with_what_to_try(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("tab", "slash")
        await browser.type("zzqqzz")
        said = browser.words("#sessions")
        assert said.startswith('"zzqqzz" was found nowhere.')
        assert "tab searches all projects, ^t also searches tool calls and results." in said


@pytest.mark.parametrize(
    ("query", "agent", "project"),
    [("agent:omp", "omp", ""), ("project:webshop", "", "webshop"), ("agent:omp project:infra", "omp", "infra")],
)
async def test_the_documented_filters_work_in_the_list(
    demo: dict[str, Any], query: str, agent: str, project: str
) -> None:
    async with searching(demo, query) as browser:
        listed = [each for each in browser.app.library.all() if not each.hidden]
        wanted = {each.path for each in listed if each.agent.startswith(agent) and each.cwd.endswith(project)}
        assert set(browser.row_list("#sessions").keys) == wanted
        assert 0 < len(wanted) < len(listed)
        assert f"{len(wanted)} session" in status(browser)


@pytest.mark.slow
async def test_earlier_queries_come_back_with_up_in_an_empty_line_also_after_a_restart(tmp_path: Path) -> None:
    options = demo_options(tmp_path / "demo")
    options["environ"] = {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    source = searched_source(options, tmp_path / "demo", tmp_path / "cache")
    async with browsing(source=source, **options) as browser:
        for text in ("cookie", "deploy"):
            await browser.press("slash")
            await browser.type(text)
            await browser.press("escape", "escape")
        await browser.press("slash", "up", "up")
        assert "/cookie" in status(browser)
        await browser.press("down")
        assert "/deploy" in status(browser)
        await browser.press("down")
        assert browser.app.screen.search.text == ""  # type: ignore[attr-defined]
        await browser.press("escape", "q")
    source = searched_source(options, tmp_path / "demo", tmp_path / "cache")
    async with browsing(source=source, **options) as browser:
        assert "deploy" not in status(browser)
        await browser.press("slash", "up")
        assert "/deploy" in status(browser)


def found_in(browser: Driven, path: str) -> str:
    found: str = browser.app.screen.search.summary_at(path).cwd  # type: ignore[attr-defined]
    return found


async def test_tab_searches_only_the_project_and_a_project_chosen_later(demo: dict[str, Any]) -> None:
    async with searching(demo, "the") as browser:
        paths = {key for key in browser.row_list("#sessions").keys if isinstance(key, str)}
        assert len({found_in(browser, path) for path in paths}) > 1
        await browser.press("tab")
        paths = {key for key in browser.row_list("#sessions").keys if isinstance(key, str)}
        assert {found_in(browser, path).rpartition("/")[2] for path in paths} == {"webshop"}


async def test_o_shows_all_hits_of_a_session_and_folds_them_again(tmp_path: Path) -> None:
    store = tmp_path / "store"
    said = [user(str(n), str(n - 1) if n else None, f"zebra number {n}") for n in range(9)]
    write(folder(store) / "a.jsonl", header(), *said)
    async with searching_a_store(store, "zebra") as browser:
        rows = browser.row_list("#sessions")
        assert rows.count == 4
        assert "+6 more: o" in kept_rows(browser)[-1]
        before = kept_rows(browser)[1:3]
        await browser.press("escape", "o")
        await browser.until(lambda: rows.count == 10)
        assert kept_rows(browser)[1:3] == before
        await browser.press("end", "o")
        assert rows.count == 4
        await browser.press("A")
        assert rows.marks == {rows.keys[0]}, "a session is selected, not its hits"


async def test_tools_are_searched_on_request_and_their_absence_from_the_index_is_said(demo: dict[str, Any]) -> None:
    async with searching(demo, '"replaced 1 block"') as browser:
        assert "found nowhere" in browser.words("#sessions")
        await browser.press("ctrl+t")
        assert "replaced 1 block" in browser.words("#sessions")
        assert "with tools" in status(browser)
        assert any("--tools" in toast for toast in browser.toasts())


async def test_without_an_index_the_screen_says_so_and_finds_the_same(demo: dict[str, Any], tmp_path: Path) -> None:
    source = searched_source({key: demo[key] for key in ("roots", "home")}, Path(demo["roots"][0]), tmp_path / "none")
    async with searching({**demo, "source": source}, "cookie") as browser:
        assert "not in the index: every file is read" in browser.screen_text()
        assert "cookie" in browser.words("#sessions").lower()


async def test_where_nothing_can_be_searched_names_are_and_the_line_says_so() -> None:
    async with browsing(
        fixed_source([summary("/x/a.jsonl", name="one"), summary("/x/b.jsonl", name="two")])
    ) as browser:
        await browser.press("slash")
        await browser.type("two")
        assert list(browser.row_list("#sessions").keys) == ["/x/b.jsonl"]
        assert "names only: the search does not run" in status(browser)


def end_search(browser: Driven) -> None:
    search = browser.app.search_client._channel
    assert isinstance(search, ThreadSearch)
    search.far_end.kill()


async def test_a_search_program_that_ended_is_started_again_at_once(demo: dict[str, Any]) -> None:
    async with searching(demo, "cookie") as browser:
        before = list(browser.row_list("#sessions").keys)
        client = browser.app.search_client
        ended = client._channel
        end_search(browser)
        await until(lambda: client._channel not in (None, ended))
        await browser.press("backspace")
        assert "names only" not in status(browser)
        await browser.press("e")
        assert list(browser.row_list("#sessions").keys) == before


async def test_a_search_program_that_ends_twice_without_an_answer_waits_for_f5(
    demo: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with searching(demo) as browser:
        monkeypatch.setattr(SearchClient, "send", lambda client, _: client._channel and client._ended(client._channel))
        await browser.type("cookie")
        assert "names only" in status(browser)
        monkeypatch.undo()
        await browser.press("escape", "f5")
        assert "names only" not in status(browser)
        assert browser.row_list("#sessions").count > 1


@pytest.mark.slow
async def test_a_label_set_after_the_last_search_is_found_and_an_undone_one_is_not(tmp_path: Path) -> None:
    store = demo_options(tmp_path / "demo")
    index_of(tmp_path / "demo", tmp_path / "cache")
    async with browsing(**store, source=searched_source(store, tmp_path / "demo", tmp_path / "cache")) as browser:
        await browser.press("tab", "apostrophe")
        before = list(browser.row_list("#sessions").keys)
        assert before
        await browser.press("escape", "escape", "end", "enter", "L")
        await browser.type("fastapi done")
        await browser.press("enter", "escape", "apostrophe")
        await browser.type("fastapi")
        await until(lambda: "fastapi done" in browser.words("#sessions"))
        await browser.press("escape", "escape", "u", "apostrophe")
        await until(lambda: list(browser.row_list("#sessions").keys) == before)


def kept_rows(browser: Driven) -> list[str]:
    return [row for row in browser.rows("#sessions") if row.strip()]


async def test_a_misspelt_word_is_forgiven_and_the_sentence_says_so(demo: dict[str, Any]) -> None:
    async with searching(demo, "cokie") as browser:
        assert "cookie" in browser.words("#sessions")
        assert '"cokie" not found; searched cookie' in status(browser)
        await browser.press("enter")
        marked = [segment.text.lower() for segment in marked_in(browser, "#view")]
        assert "cookie" in marked


def marked_in(browser: Driven, selector: str) -> list[Any]:
    view = browser.app.screen.query_one(selector, TextView)
    lines = [view.render_line(y) for y in range(view.size.height)]
    return [segment for line in lines for segment in line if segment.style and segment.style.bgcolor is not None]


async def test_one_key_changes_the_order_and_the_next_start_has_it_still(tmp_path: Path) -> None:
    store = tmp_path / "store"
    write(folder(store) / "a.jsonl", header("a"), user("1", None, "zebra zebra zebra crossing", ms=1_000))
    write(folder(store) / "b.jsonl", header("b"), user("1", None, "a zebra. " + "Other words. " * 300, ms=900_000))
    options: dict[str, Any] = {"roots": [str(store)], "home": str(tmp_path), "environ": {"HOME": str(tmp_path)}}

    def first() -> str:
        return kept_rows(browser)[0]

    async with browsing(source=searched_source(options, store, tmp_path / "cache"), **options) as browser:
        await browser.press("slash")
        await browser.type("zebra")
        assert "· best" in browser.screen_text()
        assert "zebra zebra zebra" in first()
        await browser.press("ctrl+s")
        assert "· newest ·" in browser.screen_text()
        assert "a zebra." in first()
        await browser.press("escape", "q")
    async with browsing(source=searched_source(options, store, tmp_path / "cache"), **options) as browser:
        await browser.press("slash")
        await browser.type("zebra")
        assert "· newest ·" in browser.screen_text()
        assert "a zebra." in first()


def found_session(name: str, hits: int, more: int = 0, first: int = 0) -> RankedSession:
    made = [replace(made_hit(f"zebra {n}", ((0, 5),)), path=name, entry_index=n) for n in range(first, first + hits)]
    return RankedSession(summary(name, name=name), made, "exact", 1.0, more)


async def test_rows_above_a_cursor_that_was_moved_stay_until_the_next_letter(demo: dict[str, Any]) -> None:
    async with searching(demo, "zzzz") as browser:
        screen = browser.app.screen
        assert isinstance(screen, BrowseScreen)
        stamp = screen.search._stamp
        screen.search.receive(HitPage(stamp, 0, [found_session("/a", 2), found_session("/b", 2)], ranking_follows=True))
        await browser.press("down", "down", "down", "down")
        before = browser.row_list("#sessions").keys[:5]
        best = [found_session("/c", 1), found_session("/b", 1, 5, first=7), found_session("/a", 3)]
        screen.search.receive(HitPage(stamp, 0, best, ranked=True))
        await browser.settle()
        keys = browser.row_list("#sessions").keys
        assert keys[:5] == before
        assert keys[-2:] == ["/c", ("/c", 0, "user")]
        assert browser.row_list("#sessions").key == ("/b", 0, "user")
        # Nothing was moved since this letter: the best stand where they belong.
        await browser.press("backspace")
        screen.search.receive(HitPage(screen.search._stamp, 0, best, ranked=True))
        await browser.settle()
        assert browser.row_list("#sessions").keys[0] == "/c"
        assert browser.row_list("#sessions").cursor == 0


async def test_n_goes_to_the_next_result_in_this_session_then_to_the_next_session(tmp_path: Path) -> None:
    store = tmp_path / "store"
    said = [user(str(n), str(n - 1) if n else None, f"zebra number {n}") for n in range(5)]
    write(folder(store) / "a.jsonl", header("a"), *said)
    write(folder(store) / "b.jsonl", header("b"), user("1", None, "Here a zebra stands among many more other words."))
    async with searching_a_store(store, "zebra") as browser:
        await browser.press("enter")
        seen = [browser.row_list("#tree").key]
        await browser.settle()
        for _ in range(4):
            await browser.press("N")
            seen.append(browser.row_list("#tree").key)
        assert set(seen) == {0, 1, 2, 3, 4}
        assert "zebra" in [segment.text for segment in marked_in(browser, "#view")]
        await browser.press(*["n"] * 5)
        assert "Here a zebra stands" in browser.words("#view")
        assert '"zebra"' in browser.footer()
        await browser.press("escape")
        assert browser.screen_name == "browse"
        assert browser.row_list("#sessions").key == str(folder(store) / "b.jsonl")


async def test_answers_to_older_questions_are_dropped(demo: dict[str, Any]) -> None:
    async with searching(demo, "cookie") as browser:
        screen = browser.app.screen
        assert isinstance(screen, BrowseScreen)
        before = browser.row_list("#sessions").keys
        screen.search.receive(HitPage(screen.search._stamp - 1, 0, []))
        screen.search.receive(SearchProgress(screen.search._stamp - 1, 0, 0))
        assert browser.row_list("#sessions").keys == before


async def test_nothing_is_said_to_match_before_the_disk_is_read(demo: dict[str, Any]) -> None:
    async with searching(demo, "qqqq") as browser:
        screen = browser.app.screen
        assert isinstance(screen, BrowseScreen)
        client = browser.app.search_client
        for reading, sentence in ((True, "the disk is still being read"), (False, '"qqqq" was found nowhere')):
            client._receive(SearchStatus(sessions=7, has_index=True, has_tools=False, reading=reading))
            for _ in range(20):
                await asyncio.sleep(0)
            assert sentence in browser.words("#sessions")


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 36), (200, 50)])
async def test_every_size_shows_hits_and_their_session(demo: dict[str, Any], size: tuple[int, int]) -> None:
    async with searching(demo, "cookie", size=size) as browser:
        lines = browser.screen_text().split("\n")
        assert all(len(line.rstrip()) <= size[0] for line in lines)
        assert sum("cookie" in line.lower() for line in lines[2:-2]) >= 2
        assert "Refactor auth" in browser.screen_text()


async def test_a_hit_of_a_hostile_text_is_shown_clean(tmp_path: Path) -> None:
    store = tmp_path / "store"
    write(folder(store) / "a.jsonl", header(), user("1", None, "[red]zebra\x1b]52;c;x\x07 \u202ez[/] \ud800"))
    options: dict[str, Any] = {"roots": [str(store)], "home": str(tmp_path)}
    async with browsing(source=searched_source(options, store, tmp_path / "cache"), **options) as browser:
        await browser.press("slash")
        await browser.type("zebra")
        shown = browser.screen_text()
        assert "[red]zebra" in shown
        assert not {"\x1b", "\x07", "\u202e", "\ud800"} & set(shown)


def made_hit(snippet: str, marks: tuple[tuple[int, int], ...]) -> Any:
    from sessionbrowse.services.search.hits import Hit

    return Hit(
        path="/x", id="x", agent="pi", cwd="/w", name="n", entry_index=0, entry_id="1", role="user", state="abandoned",
        snippet=snippet, marks=marks, score=1.0, time_ms=float(NOW_MS),
    )  # fmt: skip


def test_a_row_keeps_the_match_in_view_and_its_width() -> None:
    hit = made_hit("a" * 90 + " needle " + "b" * 90, ((91, 97),))
    for width in range(30, 200):
        line = hit_row(hit, width)
        assert line_width(line) == width
        if width >= 40:
            assert ("needle", "dim match") in line, width
    assert snippet_spans(made_hit("\x1bneedle", ((1, 7),)), 40)


def test_the_words_and_phrases_of_a_query_are_marked_wherever_they_stand() -> None:
    query = parse_search('cat "two words"')
    assert sorted(words_in(query, "cat concat Cats two  words")) == [(0, 3), (11, 15), (16, 26)]
    assert words_in(parse_search("role:user"), "user") == []
    assert words_in(parse_search("naïve stored"), "a NAIVE store") == [(2, 7), (8, 13)]


async def test_the_matches_of_a_pattern_are_marked_in_the_preview(demo: dict[str, Any]) -> None:
    async with searching(demo, "re:coo.ie") as browser:
        await browser.settle()
        view = browser.app.screen.query_one("#preview", TextView)
        rows = [list(view.render_line(y)) for y in range(view.size.height)]
        marked = [segment.text for row in rows for segment in row if segment.text.lower() == "cookie"]
        assert marked, browser.rows("#preview")


async def test_the_preview_scrolls_to_what_a_pattern_finds_unless_the_user_scrolled_meanwhile(tmp_path: Path) -> None:
    long = "\n\n".join([*[f"paragraph {number}" for number in range(200)], "wombat"])
    write(folder(tmp_path / "store") / "a.jsonl", header(), user("1", None, long))
    async with searching_a_store(tmp_path / "store", "re:w.mbat") as browser:
        await browser.until(lambda: "wombat" in browser.screen_text())
        view = browser.app.screen.query_one("#preview", TextView)
        assert view.scroll_offset.y > 100
        with browser.app.pattern_worker._asking:
            await browser.press_now("?")
            await browser.until(lambda: view.scroll_offset.y == 0)
            view.go_down()
        await browser.settle()
        assert view.scroll_offset.y == 1


@asynccontextmanager
async def searching_a_store(store: Path, text: str) -> AsyncIterator[Driven]:
    index_of(store, store.parent / "cache")
    options: dict[str, Any] = {"roots": [str(store)], "home": str(store.parent)}
    source = searched_source(options, store, store.parent / "cache")
    async with searching({"source": source, **options}, text) as browser:
        yield browser


async def test_what_is_written_while_the_search_stands_there_is_found_and_the_cursor_stays(tmp_path: Path) -> None:
    store = tmp_path / "store"
    path = folder(store) / "a.jsonl"
    write(path, header(), user("1", None, "a zebra"), user("2", "1", "a zebra too"))
    async with searching_a_store(store, "zebra") as browser:
        await browser.press("down")
        key = browser.row_list("#sessions").key
        append(path, user("3", "2", "one more zebra"))
        browser.app.publish(read_again([str(path)], browser.app.library.get))
        await browser.until(lambda: browser.row_list("#sessions").count == 3)
        assert browser.row_list("#sessions").key == key


async def test_a_hit_whose_entry_is_gone_says_so_beside_the_list_and_in_the_tree(tmp_path: Path) -> None:
    store = tmp_path / "store"
    path = folder(store) / "a.jsonl"
    write(path, header(), user("1", None, "one"), user("2", "1", "zebra one"), user("3", "2", "zebra two"))
    async with searching_a_store(store, "zebra") as browser:
        write(path, header(), user("7", None, "quite another"))
        await browser.press("down", "down")
        assert "The entry is gone" in browser.words("#preview")
        assert "quite another" not in browser.words("#preview")
        await browser.press("enter")
        assert browser.row_list("#tree").key == 0
        assert [said for said in browser.toasts() if "The entry is gone" in said]


def test_a_text_begins_at_its_beginning_if_its_match_fits_behind_it() -> None:
    def shown(text: str, begin: int, room: int) -> str:
        return "".join(part for part, _ in snippet_spans(made_hit(text, ((begin, begin + 4),)), room))

    assert shown("Refactor auth module", 9, 18).startswith("Refactor auth")
    assert shown("Refactor the module of auth", 23, 18).endswith("module of auth")


async def test_before_the_first_answer_no_session_is_counted(
    demo: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with browsing(**demo) as browser:
        await browser.press("slash")
        await browser.until(lambda: browser.app.search_client.status is not None)
        monkeypatch.setattr(SearchClient, "send", lambda client, request: None)
        await browser.press_now("a", "u")
        assert "searching …" in browser.screen_text().split("\n")[-2]
        assert "0 sessions" not in browser.screen_text()


async def test_a_query_about_sessions_alone_marks_no_entries_as_hits(demo: dict[str, Any]) -> None:
    async with searching(demo, "agent:om") as browser:
        await browser.type("p")
        assert '· "agent:omp"' in browser.screen_text()
        await browser.press("enter")
        assert browser.screen_name == "session"
        assert "hit" not in browser.footer()
