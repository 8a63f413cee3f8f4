"""The first screen, as a user meets it: folders, sessions, preview, filter, order, resume."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.geometry import Size
from textual.widgets import Input

from sessionbrowse.config import Settings
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.archive import archive
from sessionbrowse.services.list.gather import Batch
from sessionbrowse.store.write.write_checks import Target
from tests.support import live_support
from tests.support.change_helpers import Store
from tests.support.foreign import CLAUDE_ID, Claude, jsonl, said
from tests.support.tui_support import NOW_MS, browsing, demo_options, fixed_source, summary


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict:
    return demo_options(tmp_path_factory.mktemp("store") / "demo")


async def test_all_sessions_are_listed_newest_first_beside_their_folders(demo: dict) -> None:
    async with browsing(**demo) as browser:
        sessions = browser.rows("#sessions")
        assert "deploy script" in sessions[0]
        assert "Refactor auth" in sessions[1]
        folders = browser.rows("#projects")
        assert folders[0].split() == ["▏", "All", "projects", "34"]
        assert "webshop ← here" in folders[1]
        assert any("legacy-crm" in row and "missing" in row for row in folders)
        assert "34 sessions · 7 projects" in browser.screen_text().split("\n")[0]


async def test_a_row_shows_agent_age_messages_and_signs(demo: dict) -> None:
    async with browsing(**demo) as browser:
        row = browser.rows("#sessions")[1]
        assert "π" in row
        assert "2h" in row
        assert "⌥3" in row
        assert "⚑3" in row
        assert any("↳" in row for row in browser.rows("#sessions"))
        assert any("✗" in row for row in browser.rows("#sessions"))


async def test_the_preview_shows_what_was_said(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("down")
        text = "\n".join(browser.rows("#preview"))
        assert "Refactor auth module" in text
        assert "● user" in text
        assert "Refactor the auth module" in text


async def test_the_preview_begins_with_the_end_of_a_long_conversation(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("down")
        end, beginning = browser.words("#preview").split("from the beginning")
        assert "the end" in end
        assert "user Ask before signing out, with a dialog that names the devices" in end
        assert "assistant Migrated. The dialog lists every device" in end
        assert "more lines" in end, "a long answer is cut"
        assert "Refactor the auth module" in beginning
        await browser.press("down")
        assert "the end" not in browser.words("#preview"), "a short one stands there whole"


async def test_the_end_in_the_preview_is_the_last_answer_and_not_a_note_of_a_command(tmp_path: Path) -> None:
    file = Claude()
    for number in range(5):
        file.user(f"question {number}")
        file.answer(f"a{number}", said(f"answer {number}"), stop="end_turn")
    file.user("<command-name>/exit</command-name>")
    file.user("<local-command-stdout>See ya!</local-command-stdout>")
    path = tmp_path / ".claude" / "projects" / "-p" / f"{CLAUDE_ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(file.records))
    async with browsing(roots=[str(tmp_path)], home=str(tmp_path)) as browser:
        end, _ = browser.words("#preview").split("from the beginning")
        assert "user question 4 ● assistant answer 4" in end
        assert "See ya!" not in end


async def test_choosing_a_folder_shows_its_sessions_and_enter_goes_in(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("left", "down", "down")
        assert "Sessions · newest · infra" in browser.screen_text()
        assert browser.row_list("#sessions").count == 7
        await browser.press("enter")
        assert browser.app.focused is browser.row_list("#sessions")
        await browser.press("enter")
        assert browser.screen_name == "session"
        await browser.press("escape")
        assert browser.screen_name == "browse"
        assert "Sessions · newest · infra" in browser.screen_text()


async def test_tab_switches_between_this_folder_and_all(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("tab")
        assert "Sessions · newest · webshop" in browser.screen_text()
        await browser.press("tab")
        assert "Sessions · newest · all" in browser.screen_text()


async def test_typing_a_filter_narrows_the_list_and_escape_shows_all_again(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("slash")
        await browser.type("name:flaky")
        assert browser.row_list("#sessions").count == 1
        assert "1 session" in browser.screen_text().splitlines()[-2]
        assert "fix flaky test" in browser.rows("#sessions")[0]
        await browser.press("escape", "escape")
        # The fork was folded under its parent: what was found stays in sight.
        assert browser.row_list("#sessions").count == 32
        assert any("▌ ╰─fix flaky test" in row for row in browser.rows("#sessions"))


async def test_a_filter_that_is_opened_again_is_replaced_by_what_is_typed_and_kept_by_the_arrows(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("slash")
        await browser.type("auth")
        await browser.press("escape")
        assert '· "auth"' in browser.screen_text()
        await browser.press("slash", "right")
        await browser.type(" x")
        assert '· "auth x"' in browser.screen_text()
        await browser.press("escape", "slash")
        await browser.type("fl")
        assert '· "fl"' in browser.screen_text()
        await browser.press("escape", "escape")
        assert "Sessions · newest · all" in browser.screen_text()


async def test_letters_are_text_while_a_filter_is_typed_and_arrows_still_move(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("slash")
        await browser.type("q r")
        assert browser.screen_name == "browse"
        await browser.press("escape", "escape", "slash")
        await browser.type("a")
        first = browser.row_list("#sessions").key
        await browser.press("down")
        assert browser.row_list("#sessions").key != first


async def test_what_is_pasted_into_a_line_stands_there_once(demo: dict) -> None:
    async with browsing(**demo) as browser:
        for keys in (["slash"], ["escape", "ctrl+r", "ctrl+u"]):
            await browser.press(*keys)
            browser.app.post_message(events.Paste("two\nwords "))
            await browser.settle()
            field = browser.app.focused
            assert isinstance(field, Input)
            assert field.value == "two words"


async def test_folders_can_be_filtered_too(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("left", "slash")
        await browser.type("notes")
        assert browser.words("#projects") == "▌ All projects 34 notes-app 6"
        await browser.press("enter")
        assert browser.words("#projects") == "All projects 34 ▌ notes-app 6", "what was found is what was looked for"
        assert "Sessions · newest · notes-app" in browser.screen_text()


async def test_the_sessions_follow_when_a_filter_takes_their_folder_away(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("left", "down", "down")
        assert "Sessions · newest · infra" in browser.screen_text()
        await browser.press("slash", *"webshop")
        chosen = browser.rows("#projects")[1]
        assert "webshop" in chosen
        assert "▌" in chosen
        assert "Sessions · newest · webshop" in browser.screen_text()
        assert "1 match" in browser.screen_text()


async def test_ctrl_s_goes_through_the_orders_and_threads_hang_forks_on_their_parent(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("ctrl+s")
        assert "· threaded" in browser.screen_text()
        rows = browser.rows("#sessions")
        at = next(number for number, row in enumerate(rows) if "Refactor auth" in row)
        assert "╰─fix flaky test" in rows[at + 1]
        seen = []
        for _ in range(4):
            await browser.press("ctrl+s")
            seen.append(browser.screen_text().split("\n")[1])
        assert [title.split("─ Sessions · ")[1].split()[0] for title in seen] == [
            "name",
            "size",
            "cost",
            "newest",
        ]


async def test_the_cursor_stays_on_its_session_when_the_order_changes(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("down", "down", "down")
        key = browser.row_list("#sessions").key
        await browser.press("ctrl+s", "ctrl+s")
        assert browser.row_list("#sessions").key == key


async def test_curly_brackets_move_by_half_a_page(demo: dict) -> None:
    async with browsing(**demo, size=(100, 24)) as browser:
        rows = browser.row_list("#sessions")
        half = rows.size.height // 2
        await browser.press("g", "right_curly_bracket", "right_curly_bracket")
        assert abs(rows.cursor - 2 * half) <= 2
        await browser.press("left_curly_bracket")
        assert abs(rows.cursor - half) <= 1


async def test_ctrl_n_shows_named_sessions_only(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("ctrl+n")
        assert "named only" in browser.screen_text()
        assert not any("Explain the checkout" in row for row in browser.rows("#sessions"))
        await browser.press("ctrl+n")
        assert any("Explain the checkout" in row for row in browser.rows("#sessions"))


async def test_ctrl_p_shows_the_paths_of_the_files(demo: dict) -> None:
    async with browsing(**demo) as browser:
        path_begins = demo["roots"][0][:8]
        await browser.press("ctrl+p")
        assert path_begins in browser.rows("#sessions")[0]
        await browser.press("ctrl+p")
        assert path_begins not in browser.rows("#sessions")[0]


async def test_hidden_sessions_are_shown_on_request(demo: dict) -> None:
    async with browsing(**demo) as browser:
        before = browser.row_list("#sessions").count
        await browser.run("hidden")
        assert browser.row_list("#sessions").count > before
        assert any("hidden" in row for row in browser.rows("#sessions"))
        await browser.run("hidden")
        assert browser.row_list("#sessions").count == before


async def test_the_preview_can_be_hidden_and_a_pane_zoomed(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("v")
        assert not browser.app.screen.query_one("#preview").display
        await browser.press("v", "z")
        assert browser.row_list("#sessions").size.width > 110
        await browser.press("z")
        assert browser.row_list("#sessions").size.width < 80


async def test_copying_says_what_was_copied(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("y", "p")
        assert browser.app.clipboard == browser.row_list("#sessions").key
        assert browser.toasts()[0].startswith("Copied the path of the session's file")


async def test_two_sizes_that_wait_at_once_do_not_lay_out_each_other_for_ever(demo: dict) -> None:
    """As at the start in a terminal that is no kind of terminal for Rich, which guesses 80 × 25."""
    async with browsing(size=(80, 25), **demo) as browser:
        now = Size(80, 24)
        browser.app._size = now
        for size in (Size(80, 26), now):
            browser.app.screen.post_message(events.Resize(size, size))
            browser.app.screen.call_later(
                lambda: None
            )  # A message between two sizes, which Textual would else make one.
        await browser.settle()
        assert browser.app.screen.size == now


async def test_every_size_shows_the_list_and_a_way_to_the_other_panes(demo: dict) -> None:
    async with browsing(**demo) as browser:
        for width, height in ((60, 20), (80, 24), (120, 40), (200, 50)):
            await browser.pilot.resize_terminal(width, height)
            await browser.settle()
            assert "deploy script" in "\n".join(browser.rows("#sessions"))
            assert "? help" in browser.footer()
            assert all(len(line) <= width for line in browser.screen_text().split("\n"))
            await browser.press("right")
            assert browser.app.screen.query_one("#preview").size.width > 20
            await browser.press("left", "left")
            assert browser.row_list("#projects").size.width > 15
            await browser.press("right")


# ---- while sessions are being read ------------------------------------------------------------------------------


class SlowScan:
    """A scan that yields a batch whenever the test lets it."""

    def __init__(self, batches: list[list[Summary]]) -> None:
        self.batches = batches
        self.stopped = threading.Event()
        self._next = threading.Semaphore(0)

    def let_one_through(self) -> None:
        self._next.release()

    def __call__(self, cancelled: Callable[[], bool], include_hidden: bool) -> Iterator[Batch]:
        done = 0
        total = sum([len(batch) for batch in self.batches])
        for batch in self.batches:
            while not self._next.acquire(timeout=0.01):
                if cancelled():
                    self.stopped.set()
                    return
            done += len(batch)
            yield Batch(batch, done, total)


def some(first: int, last: int) -> list[Summary]:
    return [
        summary(f"/{number:04d}.jsonl", first_message=f"session {number}", modified=float(NOW_MS - number), cwd="/p")
        for number in range(first, last)
    ]


async def test_rows_stream_in_and_the_cursor_stays_on_its_session() -> None:
    scan = SlowScan([some(100, 200), some(0, 100), some(200, 300)])
    async with browsing(fixed_source(scan=scan), settle=False) as browser:
        assert "Reading sessions …" in browser.screen_text()
        scan.let_one_through()
        await browser.until(lambda: browser.row_list("#sessions").count == 100)
        assert "reading" in browser.screen_text().split("\n")[0]
        assert "100/300" in browser.screen_text().split("\n")[0]
        await browser.pilot.press("down", "down")
        assert browser.row_list("#sessions").key == "/0102.jsonl"
        scan.let_one_through()
        await browser.until(lambda: browser.row_list("#sessions").count == 200)
        assert browser.row_list("#sessions").key == "/0102.jsonl"
        scan.let_one_through()
        await browser.until(lambda: browser.row_list("#sessions").count == 300)
        assert browser.row_list("#sessions").key == "/0102.jsonl"
        await browser.until(lambda: "reading" not in browser.screen_text().split("\n")[0])


@pytest.mark.parametrize("has_sessions", [True, False])
async def test_keys_pressed_before_the_folder_is_found_act_on_its_rows(has_sessions: bool) -> None:
    others = [summary(f"/other/{number}.jsonl", cwd="/other", modified=float(NOW_MS - number)) for number in range(3)]
    here = [summary(f"/here/{number}.jsonl", cwd="/here", modified=NOW_MS - 9.0 - number) for number in range(3)]
    scan = SlowScan([others, here if has_sessions else []])
    options: dict[str, Any] = {"here": "/here", "settings": Settings(scope="project"), "settle": False}
    async with browsing(fixed_source(scan=scan), **options) as browser:
        scan.let_one_through()
        await browser.until(lambda: "3 sessions" in browser.screen_text())
        await browser.press_now("down", "space", "down")
        assert browser.row_list("#sessions").count == 0
        assert browser.toasts() == []
        scan.let_one_through()
        await browser.until(lambda: browser.row_list("#sessions").cursor == 2)
        await browser.settle()
        assert browser.row_list("#sessions").marks == {"/here/1.jsonl" if has_sessions else "/other/1.jsonl"}


async def test_a_folder_that_is_not_among_the_first_sessions_is_waited_for_only_shortly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sessionbrowse.tui.lists.scan_updates.PROJECT_SECONDS", 0.01)
    scan = SlowScan([some(0, 3), some(3, 6)])
    options: dict[str, Any] = {"here": "/here", "settings": Settings(scope="project"), "settle": False}
    async with browsing(fixed_source(scan=scan), **options) as browser:
        scan.let_one_through()
        await browser.until(lambda: browser.row_list("#sessions").count == 3)
        scan.let_one_through()
        await browser.until(lambda: browser.row_list("#sessions").count == 6)


async def test_tab_before_the_folder_is_found_lists_all_sessions_at_once() -> None:
    scan = SlowScan([[summary("/other/a.jsonl", cwd="/other")], [summary("/here/a.jsonl", cwd="/here")]])
    options: dict[str, Any] = {"here": "/here", "settings": Settings(scope="project"), "settle": False}
    async with browsing(fixed_source(scan=scan), **options) as browser:
        scan.let_one_through()
        await browser.until(lambda: "1 session" in browser.screen_text())
        assert browser.row_list("#sessions").count == 0
        await browser.press_now("tab")
        assert list(browser.row_list("#sessions").keys) == ["/other/a.jsonl"]
        scan.let_one_through()
        await browser.until(lambda: browser.row_list("#sessions").count == 2)


async def test_a_folder_that_is_found_late_leaves_the_rows_under_a_moved_cursor() -> None:
    scan = SlowScan([some(0, 3), [summary("/here/a.jsonl", cwd="/here")]])
    options: dict[str, Any] = {"here": "/here", "settings": Settings(scope="project"), "settle": False}
    async with browsing(fixed_source(scan=scan), **options) as browser:
        scan.let_one_through()
        await browser.until(lambda: "3 sessions" in browser.screen_text())
        browser.app.screen.updates.stop_waiting()  # type: ignore[attr-defined]
        await browser.press_now("down")
        assert browser.row_list("#sessions").key == "/0001.jsonl"
        scan.let_one_through()
        await browser.until(lambda: browser.row_list("#sessions").count == 4)
        assert browser.row_list("#sessions").key == "/0001.jsonl"


async def test_typing_works_while_sessions_are_being_read() -> None:
    scan = SlowScan([some(0, 100), some(100, 200)])
    async with browsing(fixed_source(scan=scan), settle=False) as browser:
        scan.let_one_through()
        await browser.until(lambda: browser.row_list("#sessions").count == 100)
        await browser.pilot.press("slash", *"session", "space", "1", "5")
        await browser.until(lambda: browser.row_list("#sessions").count == 1)
        scan.let_one_through()
        await browser.until(lambda: browser.row_list("#sessions").count == 11)
        assert list(browser.row_list("#sessions").keys)[:2] == ["/0015.jsonl", "/0150.jsonl"]


async def test_leaving_while_sessions_are_being_read_does_not_wait() -> None:
    scan = SlowScan([some(0, 10)] * 1000)
    async with browsing(fixed_source(scan=scan), settle=False) as browser:
        scan.let_one_through()
        await browser.pilot.press("q")
        await browser.pilot.pause()
    assert scan.stopped.wait(60)
    assert browser.app.return_value == 0


async def test_a_scan_that_fails_says_why_and_shows_what_it_found() -> None:
    def scan(cancelled: Callable[[], bool], include_hidden: bool) -> Iterator[Batch]:
        yield Batch(some(0, 3), 3, 9)
        raise OSError("the disk is [on fire]")

    async with browsing(fixed_source(scan=scan)) as browser:
        assert browser.row_list("#sessions").count == 3
        assert "the disk is [on fire]" in browser.screen_text()


async def test_a_session_that_vanished_is_gone_after_a_reload() -> None:
    listed = some(0, 5)

    def scan(cancelled: Callable[[], bool], include_hidden: bool) -> Iterator[Batch]:
        yield Batch(list(listed), len(listed), len(listed))

    async with browsing(fixed_source(scan=scan)) as browser:
        assert browser.row_list("#sessions").count == 5
        del listed[2]
        await browser.press("f5")
        assert browser.row_list("#sessions").count == 4


# ---- nothing, and what cannot be done ---------------------------------------------------------------------------


async def test_a_machine_without_sessions_is_offered_the_demo(own_home: Path) -> None:
    async with browsing(home=str(own_home), environ={"HOME": str(own_home)}) as browser:
        assert browser.screen_name == "welcome"
        text = "\n".join(browser.rows("#welcome-text"))
        assert "No sessions yet" in text
        assert ".pi/agent/sessions" in text
        assert "missing" in text
        await browser.press("enter")
        assert browser.screen_name == "browse"
        assert browser.row_list("#sessions").count == 31
        assert browser.app.demo_directory is not None
        made = browser.app.demo_directory
        assert made.is_dir()
        browser.app.remove_demo()
        assert not made.exists()


async def test_the_last_session_can_be_taken_back_after_a_restart(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.session()
    archive(Target(str(path), "pi"), context=store.context)
    home = str(store.home)
    async with browsing(home=home, environ={"HOME": home}, context=store.context) as browser:
        assert browser.screen_name == "welcome"
        await browser.press("escape", "U")
        assert "archive" in browser.screen_text()
        await browser.press("enter")
        assert browser.row_list("#sessions").keys == [str(path)]


async def test_on_a_small_screen_every_place_that_was_looked_at_can_be_reached(own_home: Path) -> None:
    async with browsing(home=str(own_home), environ={"HOME": str(own_home)}, size=(60, 20)) as browser:
        assert ".pindusagi" not in browser.screen_text()
        await browser.press("G")
        assert "~/.pindusagi/sessions  missing" in browser.screen_text()


async def test_a_sentence_of_three_lines_stands_whole_above_the_keys(tmp_path: Path) -> None:
    async with browsing(roots=[str(tmp_path)], size=(60, 20)) as browser:
        browser.app.say(
            "Archived the session about the Terraform drift after the mail incident; hidden from pi. u undoes."
        )
        await browser.settle()
        assert "undoes." in browser.screen_text()


async def test_an_empty_root_says_that_there_is_nothing(tmp_path: Path) -> None:
    async with browsing(roots=[str(tmp_path)]) as browser:
        assert browser.screen_name == "browse"
        assert "No sessions yet. F5 scans the disk again." in browser.screen_text()
        await browser.press("r")
        assert browser.toasts() == ["There is no session under the cursor."]
        await browser.press("enter")
        assert browser.toasts()[-1] == "This list has no rows."


async def test_why_a_session_cannot_be_resumed_is_said_and_never_read_as_markup() -> None:
    async with browsing(fixed_source(some(0, 2))) as browser:
        await browser.press("r")
        assert browser.toasts() == ["/0000.jsonl cannot be resumed [here]."]
        assert browser.screen_name == "browse"


async def test_help_and_palette_know_the_same_commands(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("question_mark")
        assert browser.screen_name == "help"
        assert "Show only named sessions" in "\n".join(browser.rows("#window-text"))
        await browser.press("escape", "colon")
        offered = browser.row_list("#palette-rows").keys
        assert (offered[0], offered[-1]) == ("open", "pane_right"), "moves come last"
        await browser.type("named")
        assert "Named only" in browser.rows("#palette-rows")[0]
        await browser.press("enter")
        assert browser.screen_name == "browse"
        assert "named only" in browser.screen_text()


async def test_a_click_on_a_key_in_the_footer_gives_the_command(demo: dict) -> None:
    async with browsing(**demo) as browser:
        at = browser.footer().index("? help")
        await browser.pilot.click("#footer", offset=(at, 0))
        await browser.settle()
        assert browser.screen_name == "help"


async def test_keys_from_the_settings_are_used_and_shown(tmp_path: Path) -> None:
    options = demo_options(tmp_path / "demo", keys={"scope": "w", "filter": "r"})
    async with browsing(**options) as browser:
        assert any("means both" in toast for toast in browser.toasts())
        assert "w scope" in browser.footer()
        await browser.press("w")
        assert "· webshop" in browser.screen_text()


async def test_every_theme_draws_the_same_text(demo: dict) -> None:
    async with browsing(**demo) as browser:
        before = browser.screen_text()
        names = set()
        for _ in range(4):
            names.add(browser.app.theme)
            await browser.press("f2")
            browser.forget_toasts()
            await browser.settle()
            assert browser.screen_text() == before
        assert len(names) == 4


# ---- keys that come faster than the screen ----------------------------------------------------------------------


async def test_keys_sent_at_once_mean_what_they_mean_one_by_one(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press_at_once("slash", *"name:flaky", "enter", "5", "tab", "tab", "tab")
        assert browser.screen_name == "session"
        assert "fix flaky test" in browser.screen_text().split("\n")[0]
        assert "· all" in browser.screen_text()
        assert '"parentId"' in browser.words("#view")
        await browser.press_at_once(
            "escape", "escape", "escape", "question_mark", "question_mark", "colon", *"named", "enter"
        )
        assert browser.screen_name == "browse"
        assert "named only" in browser.screen_text()


async def test_a_key_acts_on_the_project_that_was_chosen_however_busy_the_screen_is(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press("tab", "down")
        chosen = browser.row_list("#sessions").key
        await browser.press("tab", "home")
        may_go_on = asyncio.Event()
        browser.app.screen.call_later(may_go_on.wait)
        for key in ("tab", "down"):
            browser.app.post_message(events.Key(key, None))
        await live_support.until(lambda: browser.row_list("#sessions").cursor == 1)
        may_go_on.set()
        await browser.settle()
        assert browser.row_list("#sessions").key == chosen


async def test_two_hundred_keys_at_once_are_all_counted(demo: dict) -> None:
    async with browsing(fixed_source(some(0, 1000))) as browser:
        await browser.press_at_once(*["j"] * 200)
        assert browser.row_list("#sessions").cursor == 200


async def test_a_line_can_be_edited_while_it_is_typed(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.press_at_once("slash", *"atuh", "backspace", "backspace", "left", "right", *"uth")
        await browser.press_at_once("left", "left", "left", "left", "delete", "end")
        assert browser.app.screen.query_one("#filter-input").value == "auth"  # type: ignore[attr-defined]
        assert browser.app.screen.search.text == "auth"  # type: ignore[attr-defined]


async def test_many_problems_of_the_settings_do_not_hide_the_lists(demo: dict) -> None:
    async with browsing(**demo, problems=[f"Problem {number}." for number in range(20)]) as browser:
        await browser.until(lambda: len(browser.toasts()) == 20)
        assert "Problem 0. And 19 more problems." in browser.screen_text()
        assert "Problem 19." in browser.toasts()


async def test_a_sentence_that_is_shown_already_is_not_shown_twice(demo: dict) -> None:
    async with browsing(**demo) as browser:
        await browser.run("copy_text", "copy_text", "copy_text")
        copied = "Copied the path of the session's file."
        assert browser.toasts().count(copied) == 1
        assert browser.toasts()[-1] == copied
