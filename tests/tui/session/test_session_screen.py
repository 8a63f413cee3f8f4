"""A session's screen, as a user meets it: tree, entry, context, raw, folds, rows, search."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.segment import Segment

from sessionbrowse.model.session.session import Session
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.tui.commands.table import BY_ID
from sessionbrowse.tui.session.tree_rows import compute_rows
from sessionbrowse.tui.widgets.text_view import TextView
from tests.support.tui_support import Driven, browsing, demo_options, fixed_source, summary


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict:
    return demo_options(tmp_path_factory.mktemp("store") / "demo")


AUTH = "Refactor auth"


async def test_the_tree_opens_on_the_leaf_with_the_active_branch_first(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        rows = browser.rows("#tree")
        at = next(number for number, row in enumerate(rows) if row.startswith("▌"))
        assert "← leaf" in rows[at]
        assert "•" in rows[at]
        abandoned = next(number for number, row in enumerate(rows) if "Try JWT first" in row)
        assert abandoned > at
        assert "•" not in rows[abandoned]
        assert "├⊟" in "".join(rows)
        assert "╰⊟" in rows[abandoned]


@pytest.mark.parametrize("width", [80, 120])
async def test_escape_ends_a_comparison_and_then_leaves_the_tree(tmp_path: Path, width: int) -> None:
    async with browsing(**demo_options(tmp_path / "demo"), size=(width, 24)) as browser:
        await browser.press("enter", "d")
        assert "shared entries" in browser.words("#view")
        await browser.press("escape")
        assert "shared entries" not in browser.words("#view")
        await browser.press("escape")
        assert browser.screen_name == "browse"


async def test_cost_says_in_a_tree_where_it_works(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("enter", "dollar_sign")
        assert browser.toasts()[-1] == "Cost: this command works in the list of sessions; esc goes there."


async def test_labels_stand_beside_their_entries_and_their_times_on_request(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        row = next(row for row in browser.rows("#tree") if "⚑ two-ways" in row)
        assert ":" not in row.split("⚑")[1]
        await browser.run("label_times")
        row = next(row for row in browser.rows("#tree") if "⚑ two-ways" in row)
        assert ":" in row.split("⚑")[1]


async def test_the_entry_is_shown_in_full(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        text = browser.words("#view")
        assert "assistant 2h · claude-opus-4-5 · 140 out · $0.01 ← leaf" in text
        assert "Nothing reads SECRET any more" in text


async def test_a_tool_result_is_shown_with_the_call_it_answers(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("slash")
        await browser.type("replaced 1 block")
        await browser.press("enter")
        text = browser.words("#view")
        assert "⚙ edit" in text
        assert "path src/shop" in text
        assert "╰ result" in text
        assert "│ + " in text
        assert "Successfully replaced" in text


async def test_an_answer_is_shown_with_what_its_tools_gave_back(demo: dict) -> None:
    async with browsing(size=(120, 60), **demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("g", "down")
        text = browser.words("#view")
        assert "⚙ read path src/shop/auth.py" in text
        assert "╰ result" in text


async def test_tab_goes_through_entry_context_diff_and_raw(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("tab")
        text = browser.words("#view")
        assert re.search(r"[0-9.]+k tokens of 200k \([0-9]+%\) · [0-9.]+k by the last answer", text)
        assert "∑ compaction summary" in text
        assert "largest items (sizes are estimates)" in text
        await browser.press("tab")
        assert "34 shared entries" in browser.words("#view")
        await browser.press("tab")
        assert '"parentId"' in browser.words("#view")
        await browser.press("tab")
        assert "claude-opus-4-5 · 140 out" in browser.words("#view")
        await browser.run("previous_view")
        assert '"parentId"' in browser.words("#view")


async def test_the_context_follows_the_cursor(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("tab", "g")
        text = browser.words("#view")
        assert "1 message sent" in text
        assert "compaction" not in text


async def test_folding_a_branch_hides_what_is_below_and_the_cursor_stays(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        before = browser.row_list("#tree").count
        await browser.press("right_square_bracket")
        await browser.run("toggle_fold")
        key = browser.row_list("#tree").key
        assert browser.row_list("#tree").count < before
        assert any("⊞" in row and row.startswith("▌") for row in browser.rows("#tree"))
        await browser.press("right")
        assert browser.row_list("#tree").count == before
        assert browser.row_list("#tree").key == key


async def test_the_key_that_folds_a_row_unfolds_it_again(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        before = browser.row_list("#tree").count
        for way in ("g", "right_square_bracket"):
            await browser.press(way)
            await browser.run("toggle_fold")
            assert browser.row_list("#tree").count < before
            await browser.run("toggle_fold")
            assert browser.row_list("#tree").count == before


async def test_in_60_columns_a_view_that_is_not_seen_is_shown_before_it_is_switched(demo: dict) -> None:
    async with browsing(size=(60, 20), **demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("tab")
        assert "Migrated. The dialog lists every device" in browser.words("#view")
        await browser.press("tab")
        assert "tokens of 200k" in browser.words("#view")
        await browser.press("escape", "G", "d")
        assert "shared entries" in browser.screen_text()


async def test_in_60_columns_the_header_tells_of_damage_before_it_counts(demo: dict) -> None:
    async with browsing(size=(60, 20), **demo) as browser:
        await browser.go_into("Import the product feed")
        assert "✗ 4 problems (!)" in browser.screen_text().split("\n")[0]


async def test_the_header_fits_a_new_width_before_the_cursor_moves(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        assert "entries" in browser.screen_text().split("\n")[0]
        await browser.pilot.resize_terminal(70, 24)
        await browser.settle()
        assert "entries" not in browser.screen_text().split("\n")[0]


async def test_fold_keys_jump_where_there_is_nothing_to_fold(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("left")
        rows = browser.rows("#tree")
        assert "├⊟" in next(row for row in rows if row.startswith("▌"))
        await browser.press("left")
        assert any("├⊞" in row and row.startswith("▌") for row in browser.rows("#tree"))
        await browser.run("unfold", "unfold")
        assert "← leaf" in next(row for row in browser.rows("#tree") if row.startswith("▌"))


async def test_a_row_without_a_branch_says_why_it_cannot_be_folded(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await browser.run("toggle_fold")
        assert browser.toasts() == ["Nothing to fold here: only branch points and root entries can be folded."]


CHOICES = [
    (("2",), "no-tools", "user:", "[read:"),
    (("3",), "user-only", "user:", "assistant:"),
    (("4",), "labeled-only", "⚑", "[read:"),
    (("5",), "all", "[label:", "nothing like this"),
    (("1", "next_filter", "next_filter"), "user-only", "user:", "assistant:"),
    (("1", "previous_filter"), "all", "[label:", "nothing like this"),
]


async def test_the_five_choices_of_rows(demo: dict) -> None:
    async with browsing(size=(140, 70), **demo) as browser:
        await browser.go_into(AUTH)
        for keys, name, present, absent in CHOICES:
            for key in keys:
                await (browser.run(key) if key in BY_ID else browser.press(key))
            rows = "\n".join(browser.rows("#tree"))
            assert f"· {name}" in browser.screen_text()
            assert present in rows
            assert absent not in rows
            await browser.press("1")
            assert f"· {name}" not in browser.screen_text()


async def test_choosing_the_same_rows_again_goes_back_to_the_usual_ones(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("2", "2")
        assert "· no-tools" not in browser.screen_text()


async def test_the_cursor_goes_to_the_nearest_row_above_when_its_own_is_hidden(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("3")
        assert "Ask before signing" in next(row for row in browser.rows("#tree") if row.startswith("▌"))


def cursor_row(browser: Driven) -> str:
    return next(row for row in browser.rows("#tree") if row.startswith("▌"))


async def search(browser: Driven, text: str) -> None:
    """Type a search in the tree; it is not accepted yet."""
    await browser.press("slash")
    await browser.type(text)


async def test_a_search_keeps_the_branch_points_above_its_hits_dim(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await search(browser, "hey -n")
        assert "1 match" in browser.screen_text()
        rows = [row for row in browser.rows("#tree") if row.strip()]
        assert len(rows) == 2
        tree = browser.row_list("#tree")
        faint = tree._style("faint", "").color
        context = next(y for y, row in enumerate(rows) if "two ways" in row)
        # Nothing of a row that is only kept for its hits is bright, not even its label.
        assert {
            segment.style.color for segment in tree.render_line(context) if segment.style and segment.text.strip()
        } == {faint}
        await browser.press("escape")
        assert tree.count > 20


async def test_the_cursor_stands_on_a_hit_while_typing_and_the_next_key_acts_on_it(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await search(browser, "hey")
        assert "[bash: hey -n" in cursor_row(browser)
        await browser.type(" -n")
        assert "[bash: hey -n" in cursor_row(browser)
        await browser.press("enter", "L")
        assert "bash: hey -n 2000" in browser.screen_text()
        await browser.press("escape")
        # There is no other hit, so every way to move stays on it.
        for key in ("j", "k", "down", "up", "pageup", "pagedown", "g", "G", "left", "right_square_bracket", "n", "N"):
            await browser.press(key)
            assert "[bash: hey -n" in cursor_row(browser), key


async def test_the_cursor_stays_on_the_hit_that_a_key_went_to_while_more_hits_are_found(
    demo: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()

    def in_two_steps(*arguments: Any) -> Any:
        made = compute_rows(*arguments)
        arguments[3].emit(made)
        assert may_go_on.wait(60)
        return made

    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        monkeypatch.setattr("sessionbrowse.tui.session.tree_pane.compute_rows", in_two_steps)
        await browser.press_now("slash", *"JWT")
        await browser.until(lambda: "match" in browser.screen_text())
        first = browser.row_list("#tree").key
        await browser.press_now("up")
        hit = browser.row_list("#tree").key
        assert hit != first
        may_go_on.set()
        await browser.settle()
        assert browser.row_list("#tree").key == hit


async def test_the_leaf_is_marked_on_no_other_row(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        for query in ("hey -n", "idempotency", "JWT"):
            await search(browser, query)
            assert "← leaf" not in "".join(browser.rows("#tree")), query
            await browser.press("escape")
        await browser.press("3")
        assert "← leaf" not in "".join(browser.rows("#tree"))
        await browser.press("1", "full_stop")
        assert "← leaf" in cursor_row(browser)


async def test_escape_comes_back_to_the_row_where_the_search_began(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        stood = browser.row_list("#tree").key
        await search(browser, "JWT")
        assert browser.row_list("#tree").key != stood
        await browser.press("escape")
        assert browser.row_list("#tree").key == stood
        # When the search was accepted, what was found is looked at among all rows.
        await search(browser, "JWT")
        await browser.press("enter", "n")
        found = browser.row_list("#tree").key
        await browser.press("escape")
        assert browser.row_list("#tree").key == found
        assert browser.row_list("#tree").count > 20


async def test_an_unfinished_query_waits_with_the_last_rows(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        for query, letter in (("JWT", '"'), ("JWT re", ":"), ("JWT after:", "2")):
            await search(browser, query)
            rows = browser.rows("#tree")
            await browser.type(letter)
            assert browser.rows("#tree") == rows
            assert len(rows) > 2
            if letter == "2":
                assert "after: needs a date" in browser.screen_text()
            await browser.press("escape")


async def test_words_that_no_entry_has_together_find_the_entries_with_some(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await search(browser, "JWT zebra")
        assert "of some words, none has all" in browser.screen_text()
        assert "hit " in browser.footer()


async def frames_of_a_letter(browser: Driven, meanwhile: threading.Event) -> list[tuple[bool, bool]]:
    """Search for `zq`, and say of each frame whether it shows the letters, and whether it shows what is found: nothing.

    `meanwhile` is set when there was a first frame.
    """
    frames: list[tuple[bool, bool]] = []
    screen = browser.app.screen
    paint = screen._compositor_refresh

    def noted() -> None:
        paint()
        text = browser.screen_text()
        frames.append((" /zq " in text, "No entry matches" in text))
        meanwhile.set()

    await browser.press("slash", "z")
    screen._compositor_refresh = noted  # type: ignore[method-assign]
    await browser.type("q")
    return frames


async def test_a_letter_and_the_rows_it_finds_are_one_frame(demo: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sessionbrowse.tui.shell.command_screen.ANSWER_SECONDS", 60.0)
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        frames = await frames_of_a_letter(browser, threading.Event())
        assert frames[0] == (True, True)


async def test_a_letter_does_not_wait_long_for_its_rows(demo: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    was_painted = threading.Event()

    def late(*arguments: Any) -> Any:
        was_painted.wait(60)
        return compute_rows(*arguments)

    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        monkeypatch.setattr("sessionbrowse.tui.session.tree_pane.compute_rows", late)
        frames = await frames_of_a_letter(browser, was_painted)
        assert frames[0] == (True, False)
        assert frames[-1] == (True, True)


async def test_the_cursor_is_back_on_its_row_when_a_search_that_found_nothing_is_cleared(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("home", "down", "down", "down")
        stood = browser.row_list("#tree").key
        await browser.press("slash")
        await browser.type("zzzz")
        assert browser.row_list("#tree").count == 0
        await browser.press("escape")
        assert browser.row_list("#tree").key == stood


async def test_a_search_finds_what_tools_gave_back_and_shows_it_marked(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("slash")
        await browser.type("replaced 1 block")
        await browser.press("enter")
        await browser.until(lambda: "hit " in browser.footer())
        assert "[edit:" in next(row for row in browser.rows("#tree") if row.startswith("▌"))
        view = browser.app.screen.query_one("#view", TextView)
        marked = [
            segment.text for y in range(view.size.height) for segment in view.render_line(y) if is_marked(segment)
        ]
        assert "replaced" in marked
        await browser.press("n")
        assert "hit 4/4" in browser.footer()


def is_marked(segment: Segment) -> bool:
    plain = segment.style is None or segment.style.bgcolor is None
    return not plain and bool(segment.text.strip())


@pytest.mark.slow
async def test_n_goes_from_hit_to_hit_and_around(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("n")
        assert browser.toasts() == ["No search or filter is active."]
        await browser.press("slash")
        await browser.type("cookie")
        await browser.press("enter")
        seen = []
        for _ in range(12):
            await browser.press("n")
            seen.append(browser.row_list("#tree").key)
        assert len(set(seen)) > 1
        assert seen[0] in seen[1:]
        await browser.press("N")
        assert browser.row_list("#tree").key == seen[-2]


async def test_arrows_wrap_around_the_tree_as_in_pi(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("g", "up")
        assert browser.row_list("#tree").cursor == browser.row_list("#tree").count - 1
        await browser.press("down")
        assert browser.row_list("#tree").cursor == 0


async def test_moving_by_turns_branches_and_to_the_leaf(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("g")
        await browser.run("next_turn")
        assert "assistant: I look at" in next(row for row in browser.rows("#tree") if row.startswith("▌"))
        await browser.run("previous_turn")
        assert browser.row_list("#tree").cursor == 0
        await browser.press("right_square_bracket")
        assert "├⊟" in next(row for row in browser.rows("#tree") if row.startswith("▌"))
        await browser.press("full_stop")
        assert "← leaf" in next(row for row in browser.rows("#tree") if row.startswith("▌"))


async def test_enter_goes_to_the_entry_and_escape_back_to_tree_and_list(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("enter")
        assert browser.app.focused is browser.app.screen.query_one("#view")
        await browser.press("escape")
        assert browser.app.focused is browser.row_list("#tree")
        await browser.press("escape")
        assert browser.screen_name == "browse"


async def test_every_size_shows_tree_and_entry(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        for width, height in ((60, 20), (80, 24), (120, 40), (200, 50)):
            await browser.pilot.resize_terminal(width, height)
            await browser.settle()
            assert "← leaf" in "\n".join(browser.rows("#tree"))
            await browser.press("enter")
            assert "← leaf" in browser.words("#view")
            await browser.press("escape")
            assert browser.row_list("#tree").size.width > 30


async def test_copying_takes_the_text_of_the_entry(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        await browser.press("y", "enter")
        assert "Nothing reads `SECRET` any more" in browser.app.clipboard


# ---- odd files --------------------------------------------------------------------------------------------------


def write_session(path: Path, *entries: dict, header: dict | None = None) -> Path:
    lines = [
        header or {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-18T09:00:00.000Z", "cwd": "/p"}
    ]
    lines += list(entries)
    path.write_text("".join([json.dumps(line) + "\n" for line in lines]))
    return path


def user(number: int, parent: str | None, text: str) -> dict:
    return {
        "type": "message",
        "id": f"{number:08x}",
        "parentId": parent,
        "timestamp": "2026-11-18T09:00:00.000Z",
        "message": {"role": "user", "content": text, "timestamp": 1},
    }


def opened_after(event: threading.Event) -> Callable[[str, str | None], Session]:
    """Return a function that reads a session, but only after an event."""

    def late(path: str, agent: str | None) -> Session:
        assert event.wait(60)
        return open_session(path, agent)

    return late


async def open_file(browser: Driven) -> None:
    await browser.press("enter")
    assert browser.screen_name == "session"


@pytest.mark.parametrize(("keys", "row"), [(["up"], "user: two"), (["home"], "user: one"), (["up", "up"], "user: one")])
async def test_keys_that_come_before_the_session_is_read_move_in_its_rows(
    tmp_path: Path, keys: list[str], row: str
) -> None:
    may_read = threading.Event()
    lines = [user(1, None, "one"), user(2, "00000001", "two"), user(3, "00000002", "three")]
    path = write_session(tmp_path / "a.jsonl", *lines)
    source = fixed_source([summary(str(path), name="slow")], sessions=opened_after(may_read))
    async with browsing(source, settle=False) as browser:
        await browser.until(lambda: browser.row_list("#sessions").count)
        await browser.press_now("enter", *keys)
        assert browser.screen_name == "session"
        may_read.set()
        await browser.settle()
        assert row in next(row for row in browser.rows("#tree") if row.startswith("▌"))


async def test_escape_leaves_a_session_that_is_never_read_also_after_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessionbrowse.tui.session.screen.SessionScreen.HOLD_SECONDS", 0.05)
    never = threading.Event()
    path = write_session(tmp_path / "a.jsonl", user(1, None, "one"))
    source = fixed_source([summary(str(path), name="hung")], sessions=opened_after(never))
    async with browsing(source, settle=False) as browser:
        await browser.until(lambda: browser.row_list("#sessions").count)
        await browser.press_now("enter", "up", "escape")
        await browser.until(lambda: browser.screen_name == "browse")
        never.set()


async def test_a_damaged_file_opens_and_says_where_it_is_damaged(tmp_path: Path) -> None:
    path = write_session(tmp_path / "a.jsonl", user(1, None, "one"), user(2, "00000001", "two"))
    path.write_bytes(path.read_bytes() + b'{"type":"message","id":"torn')
    async with browsing(fixed_source([summary(str(path), name="torn", problem_count=1)])) as browser:
        assert "✗" in browser.rows("#sessions")[0]
        assert "✗ line 4" in browser.words("#preview")
        await open_file(browser)
        assert "✗ 1 problem" in browser.screen_text()
        assert "user: two" in browser.words("#tree")


async def test_a_session_without_entries_says_so(tmp_path: Path) -> None:
    path = write_session(tmp_path / "a.jsonl")
    async with browsing(fixed_source([summary(str(path), name="empty")])) as browser:
        await open_file(browser)
        assert "This session has no entries." in browser.words("#tree")
        await browser.press("enter")
        assert browser.toasts() == ["This list has no rows."]


async def test_a_file_that_is_gone_says_so(tmp_path: Path) -> None:
    async with browsing(fixed_source([summary(str(tmp_path / "gone.jsonl"), name="gone")])) as browser:
        assert "cannot be read" in browser.words("#preview")
        await open_file(browser)
        assert "cannot be read" in browser.words("#tree")


async def test_a_file_that_vanishes_while_it_is_read_ends_nothing(tmp_path: Path) -> None:
    path = write_session(tmp_path / "a.jsonl", user(1, None, "one"), user(2, "00000001", "two"))
    async with browsing(fixed_source([summary(str(path), name="vanishing")])) as browser:
        await open_file(browser)
        path.unlink()
        await browser.press("up", "tab", "tab", "tab")
        assert "cannot be read" in browser.words("#view")
        assert browser.screen_name == "session"


async def test_a_file_that_grew_is_read_again_on_request(tmp_path: Path) -> None:
    path = write_session(tmp_path / "a.jsonl", user(1, None, "one"), user(2, "00000001", "two"))
    async with browsing(fixed_source([summary(str(path), name="growing")])) as browser:
        await open_file(browser)
        await browser.press("up")
        with path.open("a") as file:
            file.write(json.dumps(user(3, "00000002", "three")) + "\n")
        await browser.press("f5")
        assert "user: three" in browser.words("#tree")
        assert "user: one" in next(row for row in browser.rows("#tree") if row.startswith("▌"))


@pytest.mark.parametrize("key", ["up", "home"])
async def test_the_cursor_stays_where_a_key_put_it_while_a_grown_file_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    was_read, may_go_on = threading.Event(), threading.Event()

    def late(*arguments: Any) -> Any:
        was_read.set()
        may_go_on.wait(60)
        return compute_rows(*arguments)

    path = write_session(tmp_path / "a.jsonl", user(1, None, "one"), user(2, "00000001", "two"))
    async with browsing(fixed_source([summary(str(path), name="growing")])) as browser:
        await open_file(browser)
        with path.open("a") as file:
            file.write(json.dumps(user(3, "00000002", "three")) + "\n")
        monkeypatch.setattr("sessionbrowse.tui.session.tree_pane.compute_rows", late)
        await browser.press_now("f5")
        await browser.until(was_read.is_set)
        await browser.press_now(key)
        may_go_on.set()
        await browser.settle()
        assert "user: three" in browser.words("#tree")
        assert "user: one" in next(row for row in browser.rows("#tree") if row.startswith("▌"))


async def test_deep_branches_scroll_sideways_so_that_the_text_can_be_read(tmp_path: Path) -> None:
    entries: list[dict] = []
    parent: str | None = None
    for number in range(1, 121, 2):
        entries += [user(number, parent, f"left {number}"), user(number + 1, parent, f"right {number + 1}")]
        parent = f"{number + 1:08x}"
    path = write_session(tmp_path / "deep.jsonl", *entries)
    async with browsing(fixed_source([summary(str(path), name="deep")]), size=(80, 24)) as browser:
        await open_file(browser)
        row = next(row for row in browser.rows("#tree") if row.startswith("▌"))
        assert "user: right 120" in row
        assert "…" in row


async def test_a_chain_of_twenty_thousand_entries_opens(tmp_path: Path) -> None:
    entries = [user(n, f"{n - 1:08x}" if n > 1 else None, f"message {n}") for n in range(1, 20_001)]
    path = write_session(tmp_path / "chain.jsonl", *entries)
    async with browsing(fixed_source([summary(str(path), name="chain")])) as browser:
        await open_file(browser)
        assert "message 20000" in next(row for row in browser.rows("#tree") if row.startswith("▌"))
        await browser.press("g", "G", "pageup")
        assert browser.row_list("#tree").count == 20_000


async def test_unknown_types_are_shown_by_their_name(tmp_path: Path) -> None:
    entry = {
        "type": "hologram",
        "id": "0000000a",
        "parentId": None,
        "timestamp": "2026-11-18T09:00:00.000Z",
        "depth": 3,
    }
    path = write_session(tmp_path / "a.jsonl", entry)
    async with browsing(fixed_source([summary(str(path), name="new")])) as browser:
        await open_file(browser)
        assert "hologram" in browser.words("#tree")
        assert '"depth": 3' in browser.words("#view")


# ---- the real files ---------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_every_real_session_can_be_walked_through_in_every_view(corpus: Path) -> None:
    roots = [str(path) for path in sorted(corpus.iterdir()) if path.is_dir()]
    async with browsing(roots=roots) as browser:
        count = browser.row_list("#sessions").count
        assert count > 10
        for _ in range(count):
            await browser.press("enter")
            assert browser.screen_name == "session"
            await browser.press("5", "tab", "tab", "tab", "G", "escape", "down")
            assert browser.screen_name == "browse"


async def test_a_click_on_the_name_of_a_view_shows_it(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.go_into(AUTH)
        titles = next(line for line in browser.screen_text().split("\n") if "Context" in line)
        row = browser.screen_text().split("\n").index(titles)
        await browser.pilot.click(offset=(titles.index("Raw") + 1, row))
        await browser.settle()
        assert '"type": "message"' in browser.words("#view")
