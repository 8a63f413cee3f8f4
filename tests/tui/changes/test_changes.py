"""Changing sessions in the interface, on real files: naming, taking back, what is asked and what is said."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key

from sessionbrowse.config import Settings
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.archive import Archived, archive, unarchive
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.resume.plan import ResumeCommand
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.tui.app import BrowseApp
from sessionbrowse.tui.dialogs.dialogs import PromptScreen
from sessionbrowse.tui.dialogs.text_window import ProgressScreen
from sessionbrowse.tui.shell.change_plan import ChangeRun, session_parts
from sessionbrowse.tui.widgets.filter_line import FilterLine
from tests.files_run import files_entered
from tests.support.change_helpers import CONVERSATION, NOW_MS, Store, assistant, entry, header, line, lines_of, user
from tests.support.tui_support import Driven, browsing, demo_options

MOST_FILES_OF_A_RENAME = 60
"""Number of files of which a function runs; a larger one asks which of them are entered for trifles."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@asynccontextmanager
async def hands_on(store: Store, **options: Any) -> AsyncIterator[Driven]:
    """Browse a store with a change context of its own."""
    options.setdefault("context", store.context)
    roots = [str(store.home / f".{agent}") for agent in ("pi", "omp", "atomic", "indusagi")]
    roots = [root for root in roots if Path(root).is_dir()]
    home = str(store.home)
    async with browsing(roots=roots, home=home, here="/nowhere", now_ms=lambda: NOW_MS, **options) as browser:
        yield browser


def names_in(path: Path) -> list[Any]:
    return [line.get("name") for line in lines_of(path) if line["type"] == "session_info"]


@pytest.mark.parametrize("time_ms", [8.64e15, 253_402_300_800_000, -62_135_596_800_001, -8.64e15])
def test_sessions_of_one_title_are_told_apart_whatever_their_times_are(time_ms: float) -> None:
    sessions = [
        Summary(agent="pi", path=f"/s/{number}.jsonl", first_message="same", modified=time_ms, bytes=number)
        for number in range(2)
    ]
    rows = ["".join([piece for piece, _ in part.rows(80)[0]]) for part in session_parts(sessions, "/h")[:2]]
    assert [row.split()[-1] for row in rows] == ["0B", "1B"]


def test_a_fork_is_told_from_its_original_however_long_their_title_is() -> None:
    sessions = [
        Summary(agent="pi", path="/s/1.jsonl", first_message="same " * 20, cwd="/h/shop"),
        Summary(agent="pi", path="/s/2.jsonl", first_message="same " * 20, cwd="/h/shop", parent_session="/s/1.jsonl"),
    ]
    alone = [session_parts([one], "/h")[0].rows(40)[0] for one in sessions]
    assert ["↳" in "".join([piece for piece, _ in row]) for row in alone] == [False, True]


async def test_the_browser_goes_on_at_its_start_with_a_change_that_was_cut_off(store: Store) -> None:
    path = store.session()
    archived = path.parent / "archive" / path.name
    moves = [[str(path), str(archived)]]
    plan = {"kind": "moves", "moves": moves, "inode": path.stat().st_ino}
    store.context.journal.begin("archive", "pi", str(archived), before={"path": str(path)}, plan=plan)
    archived.parent.mkdir()
    path.rename(archived)
    async with hands_on(store) as browser:
        await browser.until(lambda: not store.context.journal.pending())
    (change,) = store.context.journal.changes().values()
    assert (change.state, change.after) == ("done", {"path": str(archived)})


async def test_rename_from_the_list_appends_the_name_shows_it_and_u_takes_it_back(store: Store) -> None:
    path = store.session()
    before = path.read_bytes()
    async with hands_on(store) as browser:
        await browser.press("ctrl+r")
        assert browser.screen_name == "dialog"
        await browser.type("port to uv")
        await browser.press("enter")
        assert names_in(path) == ["port to uv"]
        assert path.read_bytes().startswith(before)
        assert "port to uv" in browser.rows("#sessions")[0]
        assert 'Renamed to "port to uv". u undoes.' in browser.toasts()[-1]
        await browser.press("u")
        assert "Undid the rename of" in browser.toasts()[-1]
        assert "first question" in browser.rows("#sessions")[0]
        assert path.read_bytes().startswith(before)


async def test_few_files_take_part_from_enter_until_the_new_name_is_painted(store: Store) -> None:
    store.session()
    async with hands_on(store) as browser:
        await browser.press("ctrl+r")
        await browser.type("port to uv")
        with files_entered() as entered:
            await browser.press("enter")
        assert "port to uv" in browser.rows("#sessions")[0]
    assert len(entered) <= MOST_FILES_OF_A_RENAME, sorted(entered)


async def test_the_prompt_holds_the_present_name_and_an_empty_one_clears_it(store: Store) -> None:
    path = store.session(entries=[*CONVERSATION, entry("session_info", "00000009", "00000008", name="old [name]")])
    async with hands_on(store) as browser:
        await browser.press("ctrl+r")
        assert "old [name]" in browser.screen_text()
        await browser.press("ctrl+u")
        assert "An empty text clears the name. Lists show an unnamed session's first message." in browser.words(
            "#dialog-hint"
        )
        await browser.press("enter")
        assert names_in(path)[-1] == ""
        assert "Cleared the name." in browser.toasts()[-1]


async def test_escape_leaves_the_name_as_it_was(store: Store) -> None:
    path = store.session()
    before = path.read_bytes()
    async with hands_on(store) as browser:
        await browser.press("ctrl+r")
        await browser.type("never mind")
        await browser.press("escape")
        assert browser.screen_name == "browse"
        assert path.read_bytes() == before
        await browser.press("ctrl+r", "enter")
        assert path.read_bytes() == before
        assert "did not change" in browser.toasts()[-1]


async def test_indusagi_says_before_and_after_that_it_cannot_clear_a_name(store: Store) -> None:
    path = store.session("indusagi", [*CONVERSATION, entry("session_info", "00000009", "00000008", name="kept")])
    before = path.read_bytes()
    async with hands_on(store) as browser:
        await browser.press("ctrl+r", "ctrl+u")
        assert "indusagi cannot clear a name" in browser.words("#dialog-hint")
        await browser.press("enter")
        assert "indusagi cannot clear a name" in browser.toasts()[-1]
        assert path.read_bytes() == before


async def test_a_rename_in_the_session_screen_shows_in_its_header_and_in_the_list(store: Store) -> None:
    store.session()
    async with hands_on(store) as browser:
        await browser.press("enter", "ctrl+r")
        await browser.type("from inside")
        await browser.press("enter")
        assert "from inside" in browser.screen_text().split("\n")[0]
        await browser.press("escape")
        assert "from inside" in browser.rows("#sessions")[0]


async def test_a_rename_beside_a_running_pi_goes_ahead_with_a_note(store: Store) -> None:
    path = store.session()
    store.process(
        4242, ["node", "/usr/lib/node_modules/@earendil-works/pi-coding-agent/dist/pi.js"], cwd="/projects/webshop"
    )
    store.process(4243, ["pi"], cwd="/projects/webshop")
    project = "/projects/webshop"
    async with hands_on(store) as browser:
        await browser.press("ctrl+r")
        await browser.type("in flight")
        await browser.press("enter")
        assert names_in(path) == ["in flight"]
        assert "seems to be open" in browser.toasts()[-1]
        assert project in browser.toasts()[-1]


async def test_a_suggestion_looks_chosen_only_while_it_stands_in_the_line(tmp_path: Path) -> None:
    async with browsing(**demo_options(tmp_path)) as browser:
        await browser.press("f")
        assert browser.row_list("#dialog-rows").looks_focused
        await browser.type("/nowhere")
        assert not browser.row_list("#dialog-rows").looks_focused
        await browser.press("down")
        assert browser.row_list("#dialog-rows").looks_focused


async def test_the_list_of_changes_takes_back_the_chosen_one(store: Store) -> None:
    path = store.session()
    other = store.session(name="2026-08-14T08-00-00-000Z_019beea6.jsonl", head=[header(id="019beea6")])
    async with hands_on(store) as browser:
        for name in ("first name", "second name"):
            await browser.press("ctrl+r")
            await browser.type(name)
            await browser.press("enter", "down")
        renamed = sorted([path, other], key=lambda one: names_in(one) != ["first name"])
        await browser.press("U")
        assert "Undo and trash" in browser.screen_text()
        assert '"second name"' in browser.rows("#dialog-rows")[0]
        await browser.press("down", "enter")
        assert names_in(renamed[0])[-1] == ""
        assert names_in(renamed[1]) == ["second name"]


async def test_the_list_of_changes_names_a_session_that_is_back_where_it_was(store: Store) -> None:
    path = store.session()
    rename(Target(str(path), "pi"), "a name", context=store.context)
    archived = archive(Target(str(path), "pi"), context=store.context)
    unarchive(Target(archived.path, "pi"), context=store.context)
    async with hands_on(store) as browser:
        await browser.press("U")
        assert ["a name" in row for row in browser.rows("#dialog-rows")] == [True] * 3


async def test_the_list_of_changes_shows_the_text_of_entries_instead_of_their_ids(store: Store) -> None:
    store.session()
    async with hands_on(store) as browser:
        await browser.press("enter", "L")
        await browser.type("mine")
        await browser.press("enter", "home", "x", "c", "enter")
        await browser.press("U")
        checked_out, labelled = browser.rows("#dialog-rows")[:2]
        assert "first question" in checked_out
        assert "second answer" in labelled
        assert not re.search("[0-9a-f]{8}", checked_out + labelled), (checked_out, labelled)


async def test_a_refused_undo_names_the_key_of_the_list_where_another_is_chosen(store: Store) -> None:
    path = store.session()
    async with hands_on(store) as browser:
        for name in ("first name", "second name"):
            await browser.press("ctrl+r", "ctrl+u")
            await browser.type(name)
            await browser.press("enter")
        with path.open("ab") as file:
            file.write(line(entry("session_info", "0000000f", "00000008", name="theirs")))
        await browser.press("u")
        assert 'its name is "theirs" now' in browser.toasts()[-1]
        assert browser.toasts()[-1].endswith(" To undo another change: U.")


async def test_u_asks_before_it_undoes_a_change_of_another_run(store: Store) -> None:
    path = store.session()
    store.now_ms -= 86_400_000
    rename(Target(str(path), "pi"), "of yesterday", context=store.context)
    store.now_ms += 86_400_000
    async with hands_on(store) as browser:
        await browser.press("u")
        asked = browser.words("#dialog-text")
        assert "rename" in asked
        assert "of yesterday" in asked
        assert "Another run of sessionbrowse made this change." in asked
        assert "Made 1d ago." in asked
        assert "does not list" not in asked
        await browser.press("escape")
        assert names_in(path) == ["of yesterday"]
        await browser.press("u", "down", "enter")
        assert "Undo and trash" in browser.screen_text()
        await browser.press("escape", "u", "enter")
        assert names_in(path) == ["of yesterday", ""]
        assert "Undid the rename of" in browser.toasts()[-1]


async def test_one_change_is_one_row(store: Store) -> None:
    store.session()
    async with hands_on(store) as browser:
        await browser.press("ctrl+r")
        await browser.type("a name")
        await browser.press("enter", "U")
        assert len(browser.rows("#dialog-rows")) == 1
        assert browser.row_list("#dialog-rows").size.height == 1


async def test_an_own_undo_of_a_fork_whose_tree_is_open_is_no_alarm(store: Store) -> None:
    store.session()
    async with hands_on(store) as browser:
        await browser.press("enter", "f", "enter")
        assert browser.screen_name == "session"
        await browser.press("u")
        assert browser.toasts()[-1].startswith("Removed the fork")
        assert not any("is gone" in said for said in browser.toasts())


async def test_u_asks_if_its_change_is_not_on_the_screen(store: Store) -> None:
    first = store.session(name="here.jsonl", head=[header(cwd="/here", id="here")])
    store.session(name="there.jsonl", head=[header(cwd="/there", id="there")])
    async with hands_on(store) as browser:
        browser.app.screen.reveal(str(first))  # type: ignore[attr-defined]
        await browser.press("ctrl+r", "ctrl+u", *"new", "enter")
        assert names_in(first) == ["new"]
        await browser.press("left")
        folders = [key for key in browser.row_list("#projects").keys if key[1] == "/there"]  # type: ignore[index]
        browser.row_list("#projects").go_to_key(folders[0])
        await browser.settle()
        await browser.press("u")
        assert "It is not on the screen." in browser.screen_text()
        await browser.press("escape")
        assert names_in(first) == ["new"]


async def test_with_nothing_to_take_back_u_says_so(store: Store) -> None:
    store.session()
    async with hands_on(store) as browser:
        await browser.press("u")
        assert browser.toasts() == ["There is nothing to undo."]
        await browser.press("U")
        assert "There is no change to undo" in browser.words("#dialog-rows")


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 50)])
async def test_dialogs_fit_on_every_screen(store: Store, size: tuple[int, int]) -> None:
    store.session(entries=[*CONVERSATION, entry("session_info", "00000009", "00000008", name="name " * 60)])
    async with hands_on(store, size=size) as browser:
        await browser.press("ctrl+r")
        lines = browser.screen_text().split("\n")
        assert all(len(line) <= size[0] for line in lines)
        assert any("⏎ rename · esc cancel" in line for line in lines)
        assert any("Rename" in line for line in lines)


# ---- at an entry of the tree -------------------------------------------------------------------------------


async def go_to(browser: Driven, text: str) -> None:
    """Move the tree's cursor to the row that holds a text."""
    await browser.press("slash")
    await browser.type(text)
    await browser.press("enter")
    if text not in browser.rows("#tree")[browser.row_list("#tree").cursor]:
        await browser.press("n")
    await browser.press("escape")


async def test_an_entry_is_labelled_where_its_text_has_the_keys(store: Store) -> None:
    store.session()
    async with hands_on(store) as browser:
        await browser.press("enter")
        await go_to(browser, "first answer")
        await browser.press("enter", "L", *"here", "enter")
        assert "⚑ here" in browser.rows("#view")[0]
        assert any("first answer" in row and "⚑ here" in row for row in browser.rows("#tree"))


async def test_a_label_is_set_changed_and_taken_away_in_the_tree(store: Store) -> None:
    path = store.session()
    async with hands_on(store) as browser:
        await browser.press("enter")
        await go_to(browser, "first answer")
        await browser.press("L")
        assert "first answer" in browser.words("#dialog-text")
        await browser.type("two ways")
        await browser.press("enter")
        assert any("first answer" in row and "⚑ two ways" in row for row in browser.rows("#tree"))
        assert 'Labelled "two ways". u undoes.' in browser.toasts()[-1]
        await browser.press("L", "ctrl+u", "enter")
        assert "Cleared the label. u undoes." in browser.toasts()[-1]
        assert not any("⚑" in row for row in browser.rows("#tree"))
        await browser.press("u")
        assert any("⚑ two ways" in row for row in browser.rows("#tree"))
        labels = [line.get("label") for line in lines_of(path) if line["type"] == "label"]
        assert labels == ["two ways", None, "two ways"]


async def test_check_out_of_what_the_user_said_resumes_before_it_and_hands_the_text_over(store: Store) -> None:
    path = store.session()
    async with hands_on(store) as browser:
        await browser.press("enter")
        await go_to(browser, "second question")
        await browser.press("x", "c", "enter")
        assert lines_of(path)[-1]["parentId"] == "00000006"
        assert browser.app.clipboard == "second question"
        assert "Copied the entry's text. u undoes." in browser.toasts()[-1]
        await browser.press("u")
        assert lines_of(path)[-1]["parentId"] == "00000008"


async def test_check_out_between_a_call_and_its_result_offers_the_nearest_entry(store: Store) -> None:
    path = store.session()
    async with hands_on(store) as browser:
        await browser.press("enter")
        await go_to(browser, "I look")
        await browser.press("x", "c", "enter")
        assert "is between a tool call and its result" in browser.words("#dialog-text")
        await browser.press("enter")
        assert lines_of(path)[-1]["parentId"] in ("00000001", "00000005")


async def test_check_out_beside_a_running_pi_asks_first(store: Store) -> None:
    path = store.session()
    before = path.read_bytes()
    store.process(4243, ["pi"], cwd="/projects/webshop")
    async with hands_on(store) as browser:
        await browser.press("enter")
        await go_to(browser, "first answer")
        await browser.press("x", "c", "enter")
        assert "may be in use: pi (process 4243) runs in its directory" in browser.words("#dialog-text")
        await browser.press("enter")
        assert path.read_bytes() == before
        await browser.press("x", "c", "enter", "down", "enter")
        assert lines_of(path)[-1]["parentId"] == "00000006"


async def test_a_fork_at_an_entry_goes_into_the_directory_that_is_typed_and_is_shown(store: Store) -> None:
    path = store.session()
    before = path.read_bytes()
    (store.home / "elsewhere").mkdir()
    async with hands_on(store) as browser:
        await browser.press("enter")
        await go_to(browser, "first answer")
        await browser.press("f", "ctrl+u")
        await browser.type("~/elsewhere")
        await browser.press("enter")
        forks = [one for one in (store.home / ".pi").rglob("*.jsonl") if one != path]
        assert len(forks) == 1
        first, *entries = lines_of(forks[0])
        assert first["cwd"] == str(store.home / "elsewhere")
        assert first["parentSession"] == str(path)
        assert [one["id"] for one in entries][-1] == "00000006"
        assert path.read_bytes() == before
        assert "Forked into elsewhere. This is the new session. u undoes." in browser.toasts()[-1]
        assert "elsewhere" in browser.screen_text().split("\n")[0]
        await browser.press("escape", "escape")
        await browser.run("families")
        assert browser.row_list("#sessions").count == 2
        await browser.press("u")
        assert not forks[0].exists()
        assert browser.toasts()[-1].startswith('Removed the fork "')


async def test_dialogs_at_a_user_message_say_that_it_is_not_kept_but_copied(store: Store) -> None:
    store.session()
    async with hands_on(store) as browser:
        await browser.press("enter")
        for entry, copied, resumed in (
            ("second question", "before this message, and its text;", "before this message, whose text is copied"),
            ("first answer", "up to this entry;", "there"),
        ):
            await go_to(browser, entry)
            await browser.press("f")
            assert f"Copies the branch {copied}" in " ".join(browser.screen_text().split())
            await browser.press("escape", "x", "c")
            assert f"pi will resume {resumed}" in browser.words("#dialog-text")
            await browser.press("escape")


async def test_a_fork_at_an_entry_is_named_as_the_session_was_there_and_the_dialog_says_so(store: Store) -> None:
    talk = [user("00000002", "00000001", "Which way?"), assistant("00000003", "00000002", "first answer")]
    names = [entry("session_info", *ids, name=name) for *ids, name in (("1", None, "Old"), ("4", "00000003", "New"))]
    talk[0]["parentId"] = "1"
    store.session(entries=[names[0], *talk, names[1]])
    async with hands_on(store) as browser:
        await browser.press("enter")
        await go_to(browser, "first answer")
        await browser.press("f")
        assert 'The fork is named "Old", as the session was at this entry.' in browser.words("#dialog-text")
        await browser.press("enter")
        assert "Old" in browser.screen_text().split("\n")[0]
        await browser.press("escape", "escape", "f")
        assert "The fork is" not in browser.words("#dialog-text"), "all of a session has its name"


async def test_a_fork_into_a_directory_that_is_not_there_is_refused_in_a_sentence(store: Store) -> None:
    store.session()
    async with hands_on(store) as browser:
        await browser.press("f", "ctrl+u")
        await browser.type("/nowhere/at/all")
        await browser.press("enter")
        assert browser.toasts() == ["There is no directory /nowhere/at/all; nothing was forked."]
        # The dialog stands there again, with what was typed.
        assert isinstance(browser.app.screen, PromptScreen)
        assert browser.app.screen.line.value == "/nowhere/at/all"
        await browser.press("ctrl+u")
        await browser.type(str(store.home))
        await browser.press("enter")
        assert browser.toasts()[-1].startswith("Forked into")


# ---- whole files -------------------------------------------------------------------------------------------


def many(store: Store, count: int) -> list[Path]:
    return [
        store.session(name=f"2026-08-{day:02d}T08-00-00-000Z_{day:08x}.jsonl", head=[header(id=f"{day:08x}")])
        for day in range(1, count + 1)
    ]


async def test_delete_asks_naming_size_children_and_companions_and_restore_brings_it_back(store: Store) -> None:
    path = store.session("omp")
    (path.with_suffix("")).mkdir()
    (path.with_suffix("") / "0.bash.log").write_text("output")
    child = store.session("omp", name="child.jsonl", head=[header(id="child", parentSession=header()["id"])])
    before = path.read_bytes()
    async with hands_on(store) as browser:
        await browser.run("families")
        browser.row_list("#sessions").go_to_key(str(path))
        await browser.press("ctrl+d")
        text = browser.words("#dialog-text")
        assert "old title" in text
        assert f"Also deleted: {path.stem}" in text
        assert "1 session was forked from it; the fork stays." in text
        await browser.press("escape")
        assert path.read_bytes() == before
        await browser.press("ctrl+d", "enter")
        assert not path.exists()
        assert not path.with_suffix("").exists()
        assert child.exists()
        assert list(browser.row_list("#sessions").keys) == [str(child)]
        assert 'Moved "old title" to trash. u undoes.' in browser.toasts()[-1]
        await browser.press("U")
        assert "ω old title" in browser.rows("#dialog-rows")[0]
        await browser.press("enter")
        assert path.read_bytes() == before
        assert (path.with_suffix("") / "0.bash.log").read_text() == "output"
        assert browser.row_list("#sessions").key == str(path)
        assert browser.toasts()[-1] == 'Restored "old title".'


async def test_the_keys_of_pi_and_omp_delete_and_in_a_filter_delete_edits(store: Store) -> None:
    many(store, 2)
    async with hands_on(store, settings=Settings(habits="pi")) as browser:
        for key in ("ctrl+d", "delete", "ctrl+backspace"):
            await browser.press(key)
            assert "Delete session?" in browser.screen_text()
            await browser.press("ctrl+c")
            assert browser.screen_name == "browse"
        await browser.press(*"ab", "left", "delete")
        assert "Delete session?" not in browser.screen_text()
        assert browser.app.screen.query_one(FilterLine).input.value == "a"
        await browser.press("backspace", "ctrl+d")
        assert "Delete session?" in browser.screen_text()


async def test_thirty_deleted_sessions_come_back_by_one_undo(store: Store) -> None:
    paths = many(store, 30)
    contents = [path.read_bytes() for path in paths]
    async with hands_on(store) as browser:
        await browser.press("A")
        assert "✓ 30 selected" in browser.screen_text()
        await browser.press("ctrl+d")
        assert "Delete 30 sessions?" in browser.screen_text()
        await browser.press("enter")
        assert not any(path.exists() for path in paths)
        assert "Moved 30 sessions to trash. u undoes." in browser.toasts()[-1]
        await browser.press("u")
        assert [path.read_bytes() for path in paths] == contents
        assert browser.row_list("#sessions").count == 30
        assert browser.toasts()[-1] == "Restored 30 sessions."


async def test_for_good_needs_the_word(store: Store) -> None:
    path = store.session()
    async with hands_on(store) as browser:
        await browser.press("ctrl+d", "down", "down", "enter")
        assert "Delete permanently" in browser.screen_text()
        await browser.type("yes")
        await browser.press("enter")
        assert path.exists()
        assert "Nothing was deleted" in browser.toasts()[-1]
        await browser.press("ctrl+d", "up", "enter")
        await browser.type("permanent")
        await browser.press("enter")
        assert not path.exists()
        assert "permanently." in browser.toasts()[-1]
        assert "undoes" not in browser.toasts()[-1]


async def test_where_no_trash_takes_it_our_own_is_offered(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.session()
    before = path.read_bytes()

    def refuse(_: str) -> None:
        raise OSError("no trash on this disk")

    monkeypatch.setattr("send2trash.send2trash", refuse)
    async with hands_on(store) as browser:
        await browser.press("ctrl+d", "enter")
        assert path.exists()
        assert "The trash refused the file" in browser.screen_text()
        await browser.press("enter")
        assert not path.exists()
        assert "to sessionbrowse's own trash. u undoes." in browser.toasts()[-1]
        await browser.press("u")
        assert path.read_bytes() == before


async def test_archived_sessions_leave_the_list_and_one_undo_brings_all_back(store: Store) -> None:
    paths = many(store, 3)
    async with hands_on(store) as browser:
        await browser.press("A", "x", "a", "enter")
        assert all((path.parent / "archive" / path.name).exists() for path in paths)
        assert browser.row_list("#sessions").count == 0
        assert "Archived 3 sessions; hidden from pi. u undoes." in browser.toasts()[-1]
        await browser.run("archived")
        assert browser.row_list("#sessions").count == 3
        await browser.press("escape")
        assert browser.row_list("#sessions").count == 0
        await browser.press("u")
        assert all(path.exists() for path in paths)
        assert browser.row_list("#sessions").count == 3


async def test_the_cursor_goes_back_to_a_session_whose_archiving_is_undone(store: Store) -> None:
    many(store, 3)
    async with hands_on(store) as browser:
        sessions = browser.row_list("#sessions")
        await browser.press("down")
        key = sessions.key
        await browser.press("x", "a", "enter")
        assert sessions.key != key
        await browser.press("home", "u")
        assert sessions.key == key


async def test_a_moved_project_is_found_again_with_what_would_change_shown_first(store: Store) -> None:
    old, new = store.home / "before" / "shop", store.home / "moved" / "shop"
    new.mkdir(parents=True)
    path = store.session(head=[header(cwd=str(old))])
    async with hands_on(store) as browser:
        await browser.press("left", "down", "x", "m")
        assert "~/moved/shop" in browser.screen_text()
        await browser.press("enter")
        assert "1 session of ~/before/shop → ~/moved/shop" in browser.words("#dialog-text")
        assert path.exists()
        await browser.press("enter")
        assert not path.exists()
        (moved,) = (store.home / ".pi").rglob("*.jsonl")
        assert lines_of(moved)[0]["cwd"] == str(new)
        assert "1 session now points to ~/moved/shop. u undoes." in browser.toasts()[-1]
        assert list(browser.row_list("#sessions").keys) == [str(moved)]
        await browser.press("g", "u", "enter")
        assert path.exists()
        assert list(browser.row_list("#sessions").keys) == [str(path)]
        assert browser.row_list("#projects").key == ("project", str(old)), "not another project"


async def test_a_project_that_would_move_to_where_nothing_is_is_warned_of(tmp_path: Path) -> None:
    options = demo_options(tmp_path / "demo")
    async with browsing(**options, demo=str(tmp_path / "demo")) as browser:
        await browser.press("left", "G", "x", "m", "enter")
        assert "The new directory does not exist." not in browser.screen_text()
        await browser.press("escape", "x", "m", "ctrl+u")
        await browser.type("~/nowhere")
        await browser.press("enter")
        assert "~/legacy-crm → ~/nowhere" in browser.screen_text()
        assert "The new directory does not exist." in browser.screen_text()


# ---- selecting ---------------------------------------------------------------------------------------------


async def test_rows_are_selected_one_by_one_by_ranges_and_all_shown(store: Store) -> None:
    paths = [str(path) for path in many(store, 9)]
    async with hands_on(store) as browser:
        rows = browser.row_list("#sessions")
        await browser.press("space", "down", "space")
        assert rows.marks == {rows.keys[0], rows.keys[2]}
        assert [row[1] for row in browser.rows("#sessions")[:4]] == ["✓", " ", "✓", " "]
        assert browser.footer().split()[-2] == "✓2"
        await browser.press("escape")
        assert rows.marks == set()
        await browser.press("g", "shift+down", "shift+down", "shift+up")
        assert rows.marks == set(rows.keys[:2])
        await browser.press("escape", "g", "V", "down", "down", "V", "down")
        assert rows.marks == set(rows.keys[:3])
        await browser.press("A")
        assert rows.marks == set(paths)
        await browser.press("A")
        assert rows.marks == set()


async def test_a_range_ends_with_the_rows_it_began_on_and_what_comes_back_is_not_selected(store: Store) -> None:
    paths = many(store, 5)
    async with hands_on(store) as browser:
        await browser.press("V", "j", "ctrl+d", "enter")
        assert sum(path.exists() for path in paths) == 3
        await browser.press("j")
        assert "selected" not in browser.screen_text()
        await browser.press("U", "down", "enter")
        assert sum(path.exists() for path in paths) == 4
        assert "selected" not in browser.screen_text()


async def test_what_is_selected_but_not_shown_is_said_and_left_alone(store: Store) -> None:
    first, second = many(store, 2)
    with_name = [*CONVERSATION, entry("session_info", "00000009", "00000008", name="zebra")]
    third = store.session(entries=with_name, name="third.jsonl", head=[header(id="third")])
    async with hands_on(store) as browser:
        await browser.press("A", "slash")
        await browser.type("zebra")
        await browser.press("escape")
        assert "✓ 1 selected, 2 not shown" in browser.screen_text()
        await browser.press("x", "a", "enter")
        assert not third.exists()
        assert first.exists()
        assert second.exists()


async def test_several_sessions_get_one_name_with_their_number(store: Store) -> None:
    paths = many(store, 3)
    async with hands_on(store) as browser:
        await browser.press("A", "ctrl+r")
        await browser.type("part {n}")
        assert "{n} in it becomes 1, 2, 3" in browser.words("#dialog-hint")
        await browser.press("enter")
        assert sorted(names_in(path)[0] for path in paths) == ["part 1", "part 2", "part 3"]
        assert "Renamed 3 sessions. u undoes." in browser.toasts()[-1]
        await browser.press("u")
        assert [names_in(path)[-1] for path in paths] == ["", "", ""]


# ---- before an agent is started ----------------------------------------------------------------------------


def stale(store: Store) -> Path:
    """Write a session whose last entry hangs on an early one: its newest message would be left behind."""
    last = entry("session_info", "00000009", "00000002", name="stale")
    return store.session(head=[header(cwd=str(store.home))], entries=[*CONVERSATION, last])


async def test_a_session_that_would_resume_without_its_newest_message_is_marked_and_asked_about(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stale(store)
    commands: list[ResumeCommand] = []
    monkeypatch.setattr(BrowseApp, "lend_terminal", lambda app, command: commands.append(command))
    async with hands_on(store, environ=store.programs("pi")) as browser:
        await browser.until(lambda: "↯" in browser.rows("#sessions")[0])
        await browser.press("r")
        assert "not on the branch where the session resumes" in browser.words("#dialog-text")
        assert "Check out the newest message, then resume" in browser.rows("#dialog-rows")[0]
        await browser.press("escape")
        assert len(lines_of(path)) == 10
        await browser.press("r", "enter")
        assert lines_of(path)[-1]["parentId"] == "00000008"
        assert "Checked out the entry where pi will resume. u undoes." in browser.toasts()
        assert len(commands) == 1


async def test_resume_beside_a_running_agent_warns_first(store: Store, tmp_path: Path) -> None:
    project = tmp_path / "webshop"
    project.mkdir()
    store.session(head=[header(cwd=str(project))])
    store.process(4243, ["pi"], cwd=str(project))
    async with hands_on(store) as browser:
        await browser.press("r")
        assert "Two programs on one session lose each other's messages." in browser.words("#dialog-text")
        await browser.press("enter")
        assert browser.toasts() == []
        await browser.press("r", "down", "enter")
        assert len(browser.toasts()) == 1


# ---- while it runs -----------------------------------------------------------------------------------------


class Slow:
    """An archiving that waits, in the background, until the test lets it go on."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def archive(self, target: Target, **options: Any) -> Archived:
        self.begun.set()
        assert self.go_on.wait(30)
        return archive(target, **options)


async def until(true: Callable[[], bool]) -> None:
    """Wait, as long as a slow machine may need, until something is true."""
    for _ in range(6000):
        if true():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it does not come true")


async def test_progress_is_shown_and_stopping_leaves_the_rest_as_it_was(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = many(store, 5)
    slow = Slow()
    monkeypatch.setattr("sessionbrowse.tui.changes.archive.archive", slow.archive)
    monkeypatch.setattr("sessionbrowse.tui.changes.change_runner.PROGRESS_DELAY_S", 0.01)
    async with hands_on(store) as browser:
        await browser.press("A")
        post = browser.app.post_message
        await browser.press("x", "a")
        post(Key("enter", None))
        await until(lambda: browser.screen_name == "progress" and "0 of 5" in browser.screen_text())
        assert "Archiving" in browser.screen_text()
        assert "esc stop" in browser.screen_text()
        post(Key("escape", None))
        await until(lambda: "Stopping after the current item" in browser.screen_text())
        slow.go_on.set()
        await browser.settle()
        assert browser.screen_name == "browse"
        assert sum(path.exists() for path in paths) == 4
        said = " ".join(browser.toasts())
        assert "Archived 1 session; hidden from pi. u undoes." in said
        assert "Stopped: 4 of 5 sessions were not changed." in said
        await browser.press("u")
        assert all(path.exists() for path in paths)


async def test_leaving_waits_for_the_change_that_is_being_made(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.session()
    slow = Slow()
    monkeypatch.setattr("sessionbrowse.tui.changes.archive.archive", slow.archive)
    async with hands_on(store) as browser:
        await browser.press("x", "a")
        browser.app.post_message(Key("enter", None))
        await until(slow.begun.is_set)
        browser.app.post_message(Key("q", "q"))
        await until(lambda: any("Leaving after the running change" in toast for toast in browser.toasts()))
        assert path.exists()
        slow.go_on.set()
        await until(lambda: browser.app.return_code is not None)
        assert not path.exists()


async def test_changes_asked_for_at_once_are_all_made_in_order(store: Store) -> None:
    path = store.session()
    async with hands_on(store) as browser:
        for name in ("one", "two", "three"):
            await browser.press_at_once("ctrl+r", "ctrl+u", *name, "enter")
        assert names_in(path) == ["one", "two", "three"]
        await browser.press_at_once("u", "u", "u")
        assert names_in(path)[-1] == ""
        assert browser.toasts()[-1] == 'Undid the rename of "first question".'


async def test_a_session_whose_file_goes_away_by_a_change_is_left(store: Store) -> None:
    store.session()
    async with hands_on(store) as browser:
        await browser.press("enter")
        await go_to(browser, "first answer")
        await browser.press("f", "enter")
        assert browser.row_list("#tree").count < 6
        await browser.press("u")
        assert "Moved the fork to the trash." in browser.toasts()[-1]
        assert "second answer" in browser.words("#tree")


async def test_in_the_demo_nothing_leaves_the_demo(tmp_path: Path) -> None:
    options = demo_options(tmp_path / "demo")
    async with browsing(demo=str(tmp_path / "demo"), **options) as browser:
        await browser.press("ctrl+d")
        assert "Move to the demo's trash" in browser.rows("#dialog-rows")[0]
        await browser.press("enter")
        assert browser.row_list("#sessions").count == 30
        await browser.press("u")
        assert browser.row_list("#sessions").count == 31
    assert (tmp_path / "demo" / "sessionbrowse" / "state").is_dir()
    assert not (Path.home() / ".local" / "state" / "sessionbrowse" / "journal.jsonl").exists()


async def test_work_that_is_done_before_its_window_stands_takes_the_window_away(tmp_path: Path) -> None:
    async with browsing(**demo_options(tmp_path)) as browser:
        for steps in range(8):
            window = ProgressScreen("Work", lambda: None)
            browser.app.push_screen(window)
            for _ in range(steps):
                await asyncio.sleep(0)
            window.finish()
            await browser.until(lambda: browser.screen_name == "browse")


async def test_keys_typed_before_a_question_stands_there_answer_it(store: Store) -> None:
    path = store.session()
    async with hands_on(store) as browser:
        await browser.press_at_once("ctrl+d", "escape", "ctrl+r", *"at once", "enter")
        assert names_in(path) == ["at once"]
        assert browser.screen_name == "browse"
        await browser.press_at_once("ctrl+d", "enter")
        assert not path.exists()
        assert browser.screen_name == "browse"


async def test_keys_wait_too_where_an_answer_asks_once_more(store: Store) -> None:
    store.session()
    async with hands_on(store) as browser:
        runner, shown = browser.app.changes, []
        runner.run(
            lambda how: None,
            lambda _: runner.run(lambda how: None, lambda _: shown.append(browser.screen_name)),
        )
        await browser.press_at_once("question_mark")
        assert shown == ["browse"]
        assert browser.screen_name == "help"


async def test_thousands_of_reports_leave_the_interface_time_for_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(ProgressScreen, "report", lambda self, done, total, name: seen.append(done))
    monkeypatch.setattr("sessionbrowse.tui.changes.change_runner.PROGRESS_DELAY_S", 0.01)
    async with browsing(**demo_options(tmp_path / "demo")) as browser:
        done: list[int] = []
        is_shown = threading.Event()

        def work(run: ChangeRun) -> int:
            assert is_shown.wait(30)
            for number in range(20_000):
                run.progress(number, 20_000, "a session")
            return 20_000

        browser.app.changes.run(work, done.append)
        await until(lambda: browser.screen_name == "progress")
        is_shown.set()
        await browser.until(lambda: done == [20_000])
        assert 1 <= len(seen) < 200


async def test_a_directory_that_goes_or_comes_back_is_known_after_the_next_scan(store: Store) -> None:
    project = store.home / "shop"
    project.mkdir()
    store.session(head=[header(cwd=str(project))])
    async with hands_on(store) as browser:
        assert "missing" not in browser.words("#projects")
        project.rename(store.home / "store")
        await browser.press("f5")
        assert "shop missing 1" in browser.words("#projects")
        project.mkdir()
        await browser.press("f5")
        assert "missing" not in browser.words("#projects")
