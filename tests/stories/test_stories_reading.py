"""Reading and comparing in a real terminal: two branches, a copy in the user's editor."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.story_support import StoryHome, message, quit_browser
from tests.support.terminal import ENTER

MOMENT = datetime.now(UTC) - timedelta(minutes=1)


@pytest.fixture
def story(tmp_path: Path) -> StoryHome:
    """A home with one session that was tried in two ways."""
    home = StoryHome(tmp_path / "home")
    other = [
        message("f03", "e02", "Use server sessions", MOMENT),
        message("f04", "f03", "Migrated: **all tests** pass.", MOMENT, answers=True),
    ]
    home.session(home.project("webshop"), ["Refactor auth", "Two ways.", "Try JWT first", "JWT works."], more=other)
    return home


def the_file(story: StoryHome) -> Path:
    return next(story.sessions_of(story.project("webshop")).glob("*.jsonl"))


def test_compare_two_branches(story: StoryHome) -> None:
    before = the_file(story).read_bytes()
    with story.browser(columns=140, rows=40) as browser:
        browser.wait("Refactor auth")
        browser.press(ENTER)
        browser.wait("← leaf")
        browser.press(" ")
        browser.wait("1 selected")
        browser.press("G", " ", "d")
        browser.wait("2 shared entries")
        browser.wait(
            lambda screen: any("Use server sessions" in line and "Try JWT first" in line for line in screen.lines())
        )
        browser.wait("Migrated: all tests pass.")
        quit_browser(browser)
    assert the_file(story).read_bytes() == before


def test_an_entry_is_read_in_the_users_editor_and_the_screen_comes_back(story: StoryHome, tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    editor = story.programs / "my-editor"
    editor.write_text(
        "#!/bin/sh\n"
        f'printf \'{{"mode":"%s","text":"%s","name":"%s"}}\' "$(stat -c %a "$2")" "$(cat "$2")" "$2" > {seen}\n'
        "printf 'in the editor'; read line; exit 3\n"
    )
    editor.chmod(0o755)
    before = the_file(story).read_bytes()
    with story.browser(EDITOR="my-editor --quiet", TMPDIR=str(tmp_path)) as browser:
        browser.wait("Refactor auth")
        browser.press(ENTER)
        browser.wait("← leaf")
        browser.press("x", "e")
        browser.wait("in the editor")
        browser.press(ENTER)
        browser.wait("my-editor ended with status 3.")
        browser.wait("← leaf")
        quit_browser(browser)
    handed = json.loads(seen.read_text())
    assert handed["mode"] == "400"
    assert handed["text"] == "Migrated: **all tests** pass."
    assert not Path(handed["name"]).parent.exists()
    assert the_file(story).read_bytes() == before
