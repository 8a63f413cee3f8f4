"""The room of a tree: branch lines at 80 columns, one pane below 100, its rows in full on a wide screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sessionbrowse.tui.paint.spans import one_line
from sessionbrowse.tui.widgets.text_view import TextView
from tests.support.index_support import answer, folder, header, result, user, write
from tests.support.tui_support import Driven, browsing, demo_options, fixed_source, summary


def is_shown(browser: Driven, selector: str) -> bool:
    return bool(browser.app.screen.query_one(selector).display)


def branches(depth: int) -> list[dict]:
    """Return entries in which each question has two answers, and the second one leads on."""
    entries: list[dict] = []
    parent: str | None = None
    for number in range(depth):
        entries += [user(f"q{number}", parent, f"question {number}")]
        entries += [answer(f"a{number}", f"q{number}", f"left {number}")]
        entries += [answer(f"b{number}", f"q{number}", f"right {number}")]
        parent = f"b{number}"
    return entries


@pytest.mark.parametrize("width", [60, 80])
async def test_a_tree_shows_its_branch_lines_at_first_sight(tmp_path: Path, width: int) -> None:
    async with browsing(**demo_options(tmp_path / "demo"), size=(width, 24)) as browser:
        await browser.go_into("Refactor auth")
        rows = browser.rows("#tree")
        assert not [row for row in rows if row.lstrip("▌▏ ").startswith("…")]
        assert any("├⊟• user: Ask before" in row for row in rows)
        assert any(row.lstrip("▌▏ ").startswith("│   ╰⊟") for row in rows)
        assert browser.row_list("#tree").size.width >= width - 2


async def test_each_row_keeps_its_own_connector_however_deep_it_is(tmp_path: Path) -> None:
    path = write(folder(tmp_path) / "a.jsonl", header(), *branches(40))
    async with browsing(fixed_source([summary(str(path), name="deep")]), size=(80, 24)) as browser:
        await browser.press("enter")
        tree = browser.app.screen.tree_pane  # type: ignore[attr-defined]
        for _ in range(4):
            top = browser.row_list("#tree").scroll_offset.y
            for y, text in enumerate(browser.rows("#tree")):
                row = tree.rows[top + y]
                if row.connector is not None:
                    assert ("├" if row.connector == "mid" else "╰") in text, text
            await browser.press("pageup")


async def test_below_100_columns_the_views_take_the_place_of_the_tree(tmp_path: Path) -> None:
    async with browsing(**demo_options(tmp_path / "demo"), size=(99, 30)) as browser:
        await browser.go_into("Refactor auth")
        view = browser.app.screen.query_one("#view", TextView)
        assert not is_shown(browser, "#view")
        await browser.press("tab")
        assert view.size.width > 90
        assert "Migrated. The dialog lists every device" in browser.words("#view")
        await browser.press("tab")
        assert "tokens of 200k" in browser.words("#view")
        await browser.press("escape")
        assert not is_shown(browser, "#view")
        await browser.press("enter")
        assert is_shown(browser, "#view")
        # With more room both stand side by side.
        await browser.pilot.resize_terminal(100, 30)
        await browser.settle()
        assert is_shown(browser, "#view")
        assert is_shown(browser, "#tree")


async def test_a_wide_screen_shows_the_rows_of_the_tree_in_full(tmp_path: Path) -> None:
    async with browsing(**demo_options(tmp_path / "demo"), size=(200, 50)) as browser:
        await browser.go_into("Refactor auth")
        assert 100 < browser.row_list("#tree").size.width <= 120
        assert any(
            "1,183 requests a second, 1.4 % faster than before. Not worth" in row for row in browser.rows("#tree")
        )


async def test_a_tree_of_short_rows_leaves_the_room_to_the_views(tmp_path: Path) -> None:
    path = write(folder(tmp_path) / "a.jsonl", header(), user("1", None, "Hello"), answer("2", "1", "Hi"))
    async with browsing(fixed_source([summary(str(path), name="short")]), size=(200, 50)) as browser:
        await browser.press("enter")
        assert browser.row_list("#tree").size.width < 45


async def test_a_failed_tool_has_another_colour_and_a_sign(tmp_path: Path) -> None:
    failed = result("3", "2", "Permission denied")
    failed["message"]["isError"] = True
    lines = [user("1", None, "List it"), answer("2", "1", "", command="ls /root"), failed]
    lines += [answer("4", "3", "", command="ls /tmp"), result("5", "4", "a b")]
    path = write(folder(tmp_path) / "a.jsonl", header(), *lines)
    async with browsing(fixed_source([summary(str(path), name="failing")])) as browser:
        await browser.press("enter")
        tree = browser.row_list("#tree")
        colours = {}
        for y, row in enumerate(browser.rows("#tree")):
            if "[bash" in row:
                segment = next(part for part in tree.render_line(y) if "[bash" in part.text)
                assert segment.style is not None
                colours["✗ [bash" in row] = segment.style.color
        assert colours[True] == tree._role_style("error").color
        assert colours[False] == tree._role_style("tool").color


async def test_tab_in_the_search_line_searches_all_sessions_for_the_same_words(tmp_path: Path) -> None:
    async with browsing(**demo_options(tmp_path / "demo")) as browser:
        await browser.go_into("Refactor auth")
        await browser.press("slash")
        await browser.type("cookie role:user")
        assert "tab all sessions" in browser.footer()
        await browser.press("tab")
        assert browser.screen_name == "browse"
        assert browser.app.screen.search.text == "cookie role:user"  # type: ignore[attr-defined]


@pytest.mark.slow
async def test_a_long_title_ends_with_an_ellipsis_and_the_leaf_keeps_its_arrow(tmp_path: Path) -> None:
    title = "Make the whole code base independent of the order in which modules are loaded, for all of them"
    path = write(folder(tmp_path) / "a.jsonl", header(), user("1", None, title), answer("2", "1", "Hi"))
    for width in range(100, 130, 3):
        async with browsing(fixed_source([summary(str(path), first_message=title)]), size=(width, 30)) as browser:
            await browser.press("enter")
            assert re.search("› Make the whole code base independent of the order in which? ?…", browser.screen_text())
            assert not [row for row in browser.rows("#view") if row.rstrip("│ ").endswith("←")]
            assert "…   …" not in browser.screen_text(), "the agent is whole, or left out"


@pytest.mark.parametrize(
    ("text", "characters", "expected"),
    [("abcdef", 6, "abcdef"), ("abcdefg", 6, "abcde…"), ("ab\n\n cd", 6, "ab cd"), ("a" + " " * 90 + "b", 6, "a…")],
)
def test_a_text_that_is_cut_ends_with_an_ellipsis(text: str, characters: int, expected: str) -> None:
    assert one_line(text, characters) == expected


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_the_footer_names_the_key_to_the_next_hit_while_there_are_hits(tmp_path: Path, width: int) -> None:
    async with browsing(**demo_options(tmp_path / "demo"), size=(width, 24)) as browser:
        await browser.press("down", "enter")
        assert "n next hit" not in browser.footer()
        await browser.press("slash")
        await browser.type("cookie")
        await browser.press("enter")
        assert "n next hit" in browser.footer()
        assert "hit " in browser.footer().split("? help")[1]


async def test_the_footer_says_what_escape_clears(tmp_path: Path) -> None:
    async with browsing(**demo_options(tmp_path / "demo"), size=(120, 24)) as browser:
        assert "esc" not in browser.footer()
        await browser.press("slash")
        assert "tab scope" in browser.footer()
        assert "esc keep search" in browser.footer()
        await browser.type("cookie")
        await browser.press("escape")
        assert "esc clear search" in browser.footer()
        await browser.press("enter")
        assert browser.screen_name == "session"
        assert "esc" not in browser.footer(), "it leaves the tree, and the list keeps its search"
        await browser.press("escape", "escape")
        assert "esc" not in browser.footer()
