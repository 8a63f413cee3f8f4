"""The preview tells what a session cost together with its forks, copies and subagents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sessionbrowse.services.background.monitor_messages import BrowserScope
from sessionbrowse.services.background.usage_program import CountingFailed, answer
from sessionbrowse.services.usage.question import UsageAnswer, UsageQuestion
from sessionbrowse.tui.data.source import SessionUpdates
from sessionbrowse.tui.lists import preview
from tests.support.index_support import folder
from tests.support.search_support import index_of
from tests.support.session_files import answer as paid
from tests.support.session_files import header, user
from tests.support.tui_support import browsing, fixed_source, summary

Count = Callable[[UsageQuestion], UsageAnswer]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """One session with a fork of it, and one that stands alone."""
    shop = folder(tmp_path)
    lines = user("a", None) + paid("b", "a", second=2)
    (shop / "shop.jsonl").write_bytes(header(id="shop") + lines)
    fork = header(id="fork", parentSession=str(shop / "shop.jsonl")) + lines
    (shop / "fork.jsonl").write_bytes(fork + paid("c", "b", second=5))
    (shop / "alone.jsonl").write_bytes(header(id="alone") + paid("d", None, second=9))
    index_of(tmp_path, tmp_path / "cache")
    return shop


def options(store: Path, count: Count | None = None) -> dict[str, Any]:
    root = store.parents[1]
    scope = BrowserScope(cache=str(root / "cache"), home=str(root), environ={}, roots=(str(root),))
    shop, fork = (str(store / name) for name in ("shop.jsonl", "fork.jsonl"))
    listed = [
        summary(shop, id="shop", message_count=2, modified=3.0),
        summary(fork, id="fork", message_count=3, modified=2.0, parent_session=shop, parent_path=shop),
        summary(str(store / "alone.jsonl"), id="alone", message_count=2, modified=1.0),
    ]
    return {"source": replace(fixed_source(listed), count_usage=count or (lambda asked: answer(scope, asked)))}


async def test_the_preview_tells_the_total_of_a_family_and_none_of_a_session_alone(store: Path) -> None:
    async with browsing(**options(store), size=(120, 30)) as browser:
        assert "⊞ family total $0.50" in browser.screen_text()
        await browser.press("j")
        assert "family total" not in browser.screen_text()


async def test_a_total_that_cannot_be_counted_is_left_out(store: Path) -> None:
    def fail(question: UsageQuestion) -> UsageAnswer:
        raise CountingFailed("The sessions' cost could not be counted.")

    async with browsing(**options(store, fail), size=(120, 30)) as browser:
        assert "Preview" in browser.screen_text()
        assert "family total" not in browser.screen_text()


async def test_a_total_is_counted_again_once_the_disk_is_quiet(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "QUIET_SECONDS", 0.01)
    async with browsing(**options(store), size=(120, 30)) as browser:
        assert "family total $0.50" in browser.screen_text()
        with (store / "fork.jsonl").open("ab") as fork:
            fork.write(paid("e", "c", second=20))
        browser.app.publish(SessionUpdates(gone=frozenset(["/gone.jsonl"])))
        await browser.until(lambda: "family total $0.75" in browser.screen_text())
