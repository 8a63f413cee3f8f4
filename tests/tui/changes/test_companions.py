"""The browser takes subagents' sessions along with their session, and shows so at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.change_helpers import CONVERSATION, Store, header, line
from tests.support.file_helpers import own_system_trash
from tests.support.tui_support import browsing

pytestmark = pytest.mark.slow


async def test_the_question_counts_the_files_and_the_rows_of_subagents_go_and_come_back(
    tmp_path: Path, own_home: Path
) -> None:
    own_system_trash()
    store = Store(tmp_path)
    store.environ = {"XDG_DATA_HOME": str(own_home / ".local" / "share")}
    path = store.session()
    child = path.with_suffix("") / "run1" / "run-0" / "session.jsonl"
    child.parent.mkdir(parents=True)
    child.write_bytes(b"".join(line(value) for value in [header(id="bb"), *CONVERSATION]))
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
        await browser.until(child.exists)
        await browser.press("f5")
        await browser.until(lambda: browser.row_list("#sessions").count == 2)
