"""Exports and masked copies from the screen: chosen, reviewed, written, and nothing without a decision."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Input

from sessionbrowse.errors import RefusedWrite
from sessionbrowse.services.clean.secret_detector import INSTALL, SecretAt, detector_with
from tests.support.change_helpers import CONVERSATION, Store, header, lines_of, user
from tests.support.tui_support import Driven
from tests.tui.clean.test_clean_screens import browsed, made

SECRET, OTHER = "glpat-Ab3dEf6hIj9kLm2nOp5q", "glpat-Zz9yEf6hIj9kLm2nOp5q"


class PlainDetector:
    """A detector of GitLab's tokens and of one name, which needs no package."""

    def secrets(self, text: str) -> Iterator[SecretAt]:
        """Yield the tokens in a text."""
        for match in re.finditer(r"glpat-[A-Za-z0-9]{20}", text):
            yield SecretAt("gitlab", match[0], match.start())

    def people(self, text: str) -> Iterator[SecretAt]:
        """Yield the name in a text."""
        for match in re.finditer("zaphod", text):
            yield SecretAt("user-name", match[0], match.start())


def typed(browser: Driven) -> str:
    """Return the text in the focused text line."""
    assert isinstance(browser.app.focused, Input)
    return browser.app.focused.value


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def path(store: Store) -> Path:
    said = [user("00000009", "00000008", f"use {SECRET}, says zaphod"), user("00000010", "00000009", f"not {OTHER}")]
    return made(store, "a", *CONVERSATION, *said)


async def test_the_window_names_the_search_for_secrets_while_the_rules_load(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessionbrowse.tui.changes.change_runner.PROGRESS_DELAY_S", 0.01)
    go_on = threading.Event()

    def load() -> PlainDetector:
        go_on.wait(timeout=60)
        return PlainDetector()

    async with browsed(store, load) as browser:
        await browser.press_now("x", "i")
        await browser.until(lambda: browser.screen_name == "progress")
        await browser.until(lambda: "Loading the rules, and searching for secrets" in browser.screen_text())
        assert " of 1" not in browser.screen_text()
        go_on.set()
        await browser.until(lambda: browser.screen_name == "review")


async def test_secrets_are_reviewed_and_what_is_unmarked_stays(store: Store, path: Path) -> None:
    to, was = store.folder / "masked.jsonl", path.read_bytes()
    async with browsed(store, PlainDetector) as browser:
        await browser.press("x", "i")
        await browser.until(lambda: browser.screen_name == "review")
        await browser.settle()
        assert "3 findings in first question" in browser.screen_text()
        assert "3 masked" in browser.screen_text()
        assert SECRET not in browser.screen_text()
        assert "use »glpa…(26 characters)«, says" in browser.words("#findings")
        rows = browser.rows("#findings")
        await browser.press(*["down"] * next(at for at, row in enumerate(rows) if "not »glpa" in row), "space")
        assert "2 masked, 1 kept" in browser.screen_text()
        await browser.press("enter", "enter")
        await browser.type(str(to))
        await browser.press("enter")
        assert "Masked 2 secrets and names" in browser.toasts()[-1]
    copy = to.read_text()
    assert (SECRET in copy, "zaphod" in copy, OTHER in copy) == (False, False, True)
    assert path.read_bytes() == was


async def test_leaving_the_review_writes_nothing(store: Store, path: Path) -> None:
    before = sorted(store.folder.rglob("*.jsonl"))
    async with browsed(store, PlainDetector) as browser:
        await browser.press("x", "i", "escape")
        assert browser.screen_name == "browse"
        assert "Nothing was written." in browser.toasts()[-1]
    assert sorted(store.folder.rglob("*.jsonl")) == before


async def test_without_the_package_the_way_to_it_is_told(store: Store, path: Path) -> None:
    def missing() -> PlainDetector:
        raise RefusedWrite(f"Finding secrets needs an optional package; install it: {INSTALL}")

    async with browsed(store, missing) as browser:
        await browser.press("x", "i")
        assert browser.screen_name == "browse"
        assert "install it: pip install" in browser.toasts()[-1]


async def test_a_session_without_secrets_says_so(store: Store) -> None:
    made(store, "a", *CONVERSATION)
    async with browsed(store, PlainDetector) as browser:
        await browser.press("x", "i")
        assert "No secret, home directory or user name was found." in browser.toasts()[-1]


def test_problems_with_the_settings_stop_the_search_for_secrets(tmp_path: Path) -> None:
    with pytest.raises(RefusedWrite, match="Patterns of your own may be missing"):
        detector_with((), ("line 3 is wrong.",), str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("downs", "name", "begins"),
    [(0, "a.html", "<!doctype html>"), (1, "a.md", "# "), (2, "b.jsonl", '{"type":"session"'), (3, "a.json", "{")],
)
async def test_each_format_is_written_to_a_new_file(
    store: Store, path: Path, downs: int, name: str, begins: str
) -> None:
    to = store.folder / name
    async with browsed(store) as browser:
        await browser.press("x", "t", *["down"] * downs, "enter", "p")
        await browser.type(str(to))
        await browser.press("enter")
        assert "Wrote" in browser.toasts()[-1]
        written = to.read_text()
        assert written.lower().startswith(begins.lower())
        await browser.press("escape", "x", "t", *["down"] * downs, "enter", "p")
        await browser.type(str(to))
        await browser.press("enter")
        assert "already exists" in browser.toasts()[-1]
        assert to.read_text() == written


async def test_the_path_to_an_entry_is_exported_masked(store: Store, path: Path) -> None:
    to = store.folder / "part.json"
    async with browsed(store, PlainDetector) as browser:
        await browser.press("enter", "G", "up", "x", "t", "down", "down", "down", "enter", "down", "down", "enter")
        assert browser.screen_name == "review"
        await browser.press("enter")
        await browser.type(str(to))
        await browser.press("enter")
    document = json.loads(to.read_text())
    assert document["entries"][-1]["id"] == "00000009"
    assert SECRET not in to.read_text()
    assert SECRET in path.read_text()
    assert lines_of(path)[-1]["id"] == "00000010"


async def test_markdown_goes_to_the_clipboard(store: Store, path: Path) -> None:
    async with browsed(store) as browser:
        await browser.press("x", "t", "up", "enter", "p")
        assert "the session as Markdown" in browser.toasts()[-1]
        assert "first question" in browser.app.clipboard


async def test_the_export_menu_says_of_each_format_that_secrets_can_be_masked(store: Store, path: Path) -> None:
    async with browsed(store) as browser:
        await browser.press("x", "t")
        rows = [row for row in browser.rows("#dialog-rows") if row.strip()]
        assert len(rows) == 5
        assert all("masked if wanted" in row for row in rows)


async def test_a_masked_copy_takes_no_name_of_another_format_and_names_the_way_to_that_format(
    store: Store, path: Path
) -> None:
    async with browsed(store, PlainDetector) as browser:
        await browser.press("x", "i", "enter", "enter")
        await browser.type("shared.html")
        assert "x t writes an HTML page, with secrets masked" in browser.words("#dialog-hint")
        await browser.press("enter")
        assert "its name cannot end in .html" in browser.toasts()[-1]
        assert typed(browser) == "shared.html"
        await browser.press("end", *["backspace"] * len("html"))
        await browser.type("jsonl")
        await browser.press("enter")
        assert "Masked" in browser.toasts()[-1]
    assert sorted(each.name for each in store.folder.glob("shared*")) == ["shared.jsonl"]


async def test_a_page_takes_no_name_of_another_format_either(store: Store, path: Path) -> None:
    async with browsed(store) as browser:
        await browser.press("x", "t", "h", "p")
        await browser.type("page.md")
        await browser.press("enter")
        assert "its name cannot end in .md" in browser.toasts()[-1]
    assert not (store.folder / "page.md").exists()


async def test_a_file_is_proposed_in_the_sessions_directory_and_a_typed_name_goes_there(
    store: Store, path: Path
) -> None:
    (store.folder / "inner").mkdir()
    async with browsed(store) as browser:
        await browser.press("x", "t", "m", "p")
        assert typed(browser).endswith(f"/{store.folder.name}/first-question.md")
        await browser.type("inn")
        await browser.press("tab")
        assert typed(browser) == "inner/"
        await browser.type("said.md")
        await browser.press("enter")
        assert "Wrote" in browser.toasts()[-1]
    assert (store.folder / "inner" / "said.md").read_text().startswith("# ")


async def test_a_file_of_a_session_whose_directory_is_gone_is_proposed_in_the_current_one(store: Store) -> None:
    store.session(head=[{**header(), "cwd": "/gone/for/ever"}], entries=CONVERSATION, name="a.jsonl")
    async with browsed(store) as browser:
        await browser.press("x", "t", "m", "p")
        assert typed(browser) == "/nowhere/first-question.md"


@pytest.mark.parametrize("letter", ["i", "t", "e"])
async def test_a_verb_for_one_session_says_so_if_several_are_selected(store: Store, path: Path, letter: str) -> None:
    made(store, "b", *CONVERSATION)
    async with browsed(store) as browser:
        await browser.press("A", "x", letter)
        assert browser.toasts()[-1] == "It works on one session, and 2 are selected."
        assert browser.screen_name == "browse"


async def test_the_review_names_the_way_out(store: Store, path: Path) -> None:
    async with browsed(store, PlainDetector) as browser:
        await browser.press("x", "i")
        assert "esc back" in browser.screen_text().splitlines()[-1]


async def test_selected_rows_bring_the_key_that_deletes_and_sessions_of_one_title_are_told_apart(
    store: Store, path: Path
) -> None:
    made(store, "b", *CONVERSATION)
    async with browsed(store) as browser:
        assert "^d delete" not in browser.screen_text().splitlines()[-1]
        await browser.press("A")
        assert "^d delete" in browser.screen_text().splitlines()[-1]
        await browser.press("ctrl+d")
        rows = [row for row in browser.words("#dialog-text").split("π") if "first question" in row]
        assert len(set(rows)) == 2
        assert all("messages" in row for row in rows)


async def test_the_actions_menu_says_of_a_verb_that_cannot_work_what_it_does_and_where(
    store: Store, path: Path
) -> None:
    async with browsed(store) as browser:
        await browser.press("x")
        assert "In a tree only: Drop branches, after a preview" in browser.words("#dialog-rows")


async def test_an_undo_is_promised_by_the_keys_that_work_in_a_text_line(store: Store, path: Path) -> None:
    async with browsed(store) as browser:
        await browser.press("slash")
        await browser.type("question")
        await browser.press("ctrl+r")
        await browser.type("renamed")
        await browser.press("enter")
        assert "esc u undoes." in browser.toasts()[-1]


async def test_a_search_without_hits_in_the_tree_counts_none(store: Store, path: Path) -> None:
    async with browsed(store) as browser:
        await browser.press("enter", "slash")
        await browser.type("zzqqzz")
        assert "hit –" not in browser.screen_text()
