"""Changing sessions from the first key to the last, in a real terminal and on real files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.story_support import StoryHome, entries, quit_browser
from tests.support.terminal import DOWN, ENTER, ESCAPE, LEFT

CTRL_D, CTRL_U = "\x04", "\x15"


@pytest.fixture
def story(tmp_path: Path) -> StoryHome:
    return StoryHome(tmp_path / "home")


def test_delete_thirty_stale_sessions_and_undo(story: StoryHome) -> None:
    shop = story.project("webshop")
    kept = story.session(shop, ["Keep this one", "Kept."], days_ago=1)
    stale = [story.session(shop, [f"Wobbly try {n}", "No."], days_ago=30 + n) for n in range(30)]
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in stale}
    with story.browser() as browser:
        browser.wait("31 sessions")
        browser.press("/wobbly")
        browser.wait("30 sessions")
        browser.press(ESCAPE)
        browser.wait("esc clear search")
        browser.press("A")
        browser.wait("✓ 30 selected")
        browser.press(CTRL_D)
        browser.wait("Delete 30 sessions?")
        browser.press(ENTER)
        browser.wait("Moved 30 sessions to trash")
        assert not any(path.exists() for path in stale)
        assert kept.exists()
        assert len(os.listdir(story.home / ".local/share/Trash/files")) == 30
        browser.press("u")
        browser.wait("Restored 30 sessions")
        browser.press(ESCAPE)
        browser.wait("Keep this one")
        quit_browser(browser)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in stale} == before


def test_fork_from_an_entry_into_another_directory(story: StoryHome) -> None:
    shop, infra = story.project("webshop"), story.project("infra")
    source = story.session(shop, ["Plan the move", "Two ways.", "Take the first", "Taken."], days_ago=3)
    before = source.read_bytes()
    with story.browser() as browser:
        browser.wait("Plan the move")
        browser.press(ENTER)
        browser.wait("assistant: Two ways.")
        browser.press("/two", ENTER)
        browser.wait("1 match")
        browser.press("n", "f")
        browser.wait("Fork up to here")
        browser.press(CTRL_U, "~/dev/infra", ENTER)
        browser.wait("Forked into infra")
        quit_browser(browser)
    (made,) = story.sessions_of(infra).glob("*.jsonl")
    assert [one["id"] for one in entries(made)] == ["e01", "e02"]
    header = json.loads(made.read_bytes().split(b"\n")[0])
    assert (header["cwd"], header["parentSession"]) == (str(infra), str(source))
    assert source.read_bytes() == before


def test_move_a_project(story: StoryHome) -> None:
    old = story.project("webshop")
    paths = [story.session(old, [f"Part {n}", "Done."], days_ago=n + 1) for n in range(2)]
    new = story.home / "dev" / "clients" / "webshop"
    new.parent.mkdir()
    old.rename(new)
    with story.browser() as browser:
        browser.wait("missing")
        browser.press(LEFT, DOWN, "x", "m")
        browser.wait("~/dev/clients/webshop")
        browser.press(ENTER)
        browser.wait("2 sessions of ~/dev/webshop")
        browser.press(ENTER)
        browser.wait("2 sessions now point to")
        quit_browser(browser)
    assert not any(path.exists() for path in paths)
    moved = sorted(story.sessions_of(new).glob("*.jsonl"))
    assert [json.loads(path.read_bytes().split(b"\n")[0])["cwd"] for path in moved] == [str(new)] * 2
