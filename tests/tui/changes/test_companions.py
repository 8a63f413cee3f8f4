"""The browser takes subagents' sessions along with their session, and shows so at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessionbrowse.services.change.relocate import relocate
from sessionbrowse.store.find.roots import Scope
from tests.support.change_helpers import CONVERSATION, PROJECT, Store, header, line
from tests.support.tui_support import Driven, browsing

pytestmark = pytest.mark.slow


def delegating(store: Store) -> tuple[Path, Path]:
    """A session and the session of its subagent."""
    path = store.session()
    child = path.with_suffix("") / "run1" / "run-0" / "session.jsonl"
    child.parent.mkdir(parents=True)
    child.write_bytes(b"".join(line(value) for value in [header(id="bb"), *CONVERSATION]))
    return path, child


def paths(browser: Driven) -> set[str]:
    return {session.path for session in browser.app.library.all()}


async def test_the_question_counts_the_files_and_the_rows_of_subagents_go_and_come_back(store: Store) -> None:
    path, child = delegating(store)
    root = str(store.home / ".pi")
    async with browsing(roots=[root], home=str(store.home), context=store.context) as browser:
        await browser.run("hidden", "families")
        await browser.until(lambda: browser.row_list("#sessions").count == 2)
        await browser.press("ctrl+d")
        assert f"Also deleted: {path.stem} (1 file)." in " ".join(browser.screen_text().split())
        await browser.press("enter")
        await browser.until(lambda: not path.exists())
        await browser.until(lambda: browser.row_list("#sessions").count == 0)
        await browser.press("u")
        await browser.until(lambda: browser.row_list("#sessions").count == 2)
        await browser.run("archive")
        await browser.press("enter")
        archived = path.parent / "archive" / path.name
        below = archived.with_suffix("") / child.relative_to(path.with_suffix(""))
        await browser.until(lambda: paths(browser) == {str(archived), str(below)})
        assert all(session.archived for session in browser.app.library.all())
        assert browser.row_list("#sessions").count == 0
        await browser.press("u")
        await browser.until(lambda: browser.row_list("#sessions").count == 2)


async def test_sessions_of_subagents_stay_listed_when_their_project_is_moved_back(store: Store) -> None:
    path, child = delegating(store)
    scope = Scope(around=store.context.around)
    relocate(PROJECT, "/srv/shop", scope, context=store.context)
    root = str(store.home / ".pi")
    async with browsing(roots=[root], home=str(store.home), context=store.context) as browser:
        await browser.run("hidden", "families")
        await browser.until(lambda: browser.row_list("#sessions").count == 2)
        await browser.press("u")
        await browser.until(lambda: "Undo change?" in browser.screen_text())
        await browser.press("enter")
        await browser.until(lambda: paths(browser) == {str(path), str(child)})
        assert browser.row_list("#sessions").count == 2
