"""Typed paths: completed with Tab, and a name proposed for a new file."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessionbrowse.tui.clean.ask_for_file import new_file
from sessionbrowse.tui.dialogs.dialogs import complete
from tests.support.tui_support import browsing, demo_options


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("dev/webshop", "dev/website", "dev/other", ".hidden"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "dev" / "notes.md").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "completed", "names"),
    [
        ("~/de", "~/dev/", ["dev/"]),
        ("~/dev/web", "~/dev/webs", ["webshop/", "website/"]),
        ("~/dev/webshop", "~/dev/webshop/", ["webshop/"]),
        ("dev/n", "dev/notes.md", ["notes.md"]),
        ("~/nowhere/x", "~/nowhere/x", []),
        ("~/zzz", "~/zzz", []),
        ("~/", "~/dev/", ["dev/"]),
        ("~/.h", "~/.hidden/", [".hidden/"]),
    ],
)
def test_a_path_is_completed_as_far_as_it_is_clear(home: Path, typed: str, completed: str, names: list[str]) -> None:
    assert complete(typed, str(home), only_directories=False) == (completed, names)


def test_a_directory_is_no_file(home: Path) -> None:
    assert complete("dev/n", str(home), only_directories=True) == ("dev/n", [])


def test_a_new_file_is_named_after_the_session_and_never_one_that_is_there(tmp_path: Path) -> None:
    assert new_file(str(tmp_path), 'Fix "a/b": the über-bug!', ".html") == str(tmp_path / "fix-a-b-the-über-bug.html")
    (tmp_path / "session.md").touch()
    assert new_file(str(tmp_path), "…", ".md") == str(tmp_path / "session-2.md")


async def test_an_export_proposes_a_name_says_where_it_wrote_and_offers_to_open_it(tmp_path: Path) -> None:
    options = demo_options(tmp_path / "demo") | {"environ": {"PATH": ""}}
    async with browsing(**options) as browser:
        await browser.go_into("Refactor")
        await browser.press("x", "t", "h", "p")
        assert "refactor-auth-module.html" in browser.screen_text()
        await browser.press("enter")
        (written,) = tmp_path.rglob("refactor-auth-module.html")
        assert written.parent.name == "webshop"
        assert "refactor-auth-module.html" in browser.words("#dialog-text")
        await browser.press("p")
        assert browser.app.clipboard == str(written)


async def test_tab_completes_in_the_field_and_shows_what_may_follow(home: Path) -> None:
    options = demo_options(home / "demo") | {"home": str(home)}
    async with browsing(**options) as browser:
        await browser.press("down", "f", "ctrl+u", *"dev/we", "tab")
        line = browser.app.screen.line  # type: ignore[attr-defined]
        assert line.value == "dev/webs"
        await browser.press("tab")
        assert "webshop/ website/" in browser.words("#dialog-hint")
        await browser.press("h", "tab")
        assert line.value == "dev/webshop/"
