"""No frame shows what is not true: every frame from the first paint to rest is looked at."""

from __future__ import annotations

import asyncio
import itertools
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from textual._compositor import Compositor

from sessionbrowse.config import Settings
from sessionbrowse.services.background.first_rows import make_first_rows
from sessionbrowse.services.list.gather import Batch
from sessionbrowse.tui.paint.lean_compositor import LeanCompositor
from tests.support.tui_support import NOW_MS, browsing, demo_options, fixed_source, summary

HOUR = 3_600_000


@contextmanager
def frames() -> Iterator[list[str]]:
    """Collect the text of every frame that is painted."""
    seen: list[str] = []
    paint = LeanCompositor.render_update

    def painted(self: Compositor, *arguments: object, **options: object) -> object:
        seen.append("\n".join([strip.text for strip in self.render_strips()]))
        return paint(self, *arguments, **options)  # type: ignore[arg-type]

    with patch.object(LeanCompositor, "render_update", painted):
        yield seen


async def test_the_demo_never_says_that_there_are_no_sessions(own_home: Path) -> None:
    with frames() as seen:
        async with browsing(home=str(own_home), environ={}) as browser:
            assert browser.screen_name == "welcome"
            seen.clear()
            await browser.press("enter")
            await browser.until(lambda: "webshop" in browser.screen_text())
            assert seen
            assert not [frame for frame in seen if "scans the disk again" in frame]


async def test_the_preview_never_asks_for_a_session_while_one_is_under_the_cursor() -> None:
    with frames() as seen:
        async with browsing(fixed_source([summary("/a", name="only"), summary("/b", name="other")])) as browser:
            await browser.press("down", "up")
        assert seen
        assert not [frame for frame in seen if "Choose a session" in frame]


async def test_the_first_frames_name_the_folder_that_is_opened(tmp_path: Path) -> None:
    options = demo_options(tmp_path / "demo", scope="project")
    with frames() as seen:
        async with browsing(**options) as browser:
            assert "webshop" in browser.screen_text()
    before_any = [frame for frame in seen if "Sessions · newest" in frame and "Reading sessions" in frame]
    assert before_any
    assert all("Sessions · newest · webshop" in frame for frame in before_any)


def test_the_first_rows_hold_whole_families() -> None:
    """Else families would fold after the first paint, and all rows below them would move."""
    head = summary("/head", id="h", name="head", modified=NOW_MS - 1.0)
    others = [summary(f"/{number}", id=str(number), modified=NOW_MS - HOUR - number) for number in range(200)]
    fork = summary("/fork", id="f", parent_session="/head", parent_path="/head", modified=NOW_MS - 9.0 * HOUR)
    rows = make_first_rows([head, *others, fork], "newest")
    assert [row.path for row in rows.summaries][-1] == "/fork"
    assert len(rows.summaries) == 121


@pytest.mark.parametrize("delay", [0.01, 0.0])
@pytest.mark.parametrize("owner", ["app", "screen"])
async def test_a_timer_whose_moment_passed_while_the_process_stood_still_is_late_but_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: str, delay: float
) -> None:
    async with browsing(**demo_options(tmp_path / "demo")) as browser:
        seconds = itertools.count()
        monkeypatch.setattr("textual._time.get_time", lambda: float(next(seconds)))
        called: list[bool] = []
        # In a terminal Textual starts tasks at once from Python 3.12 on.
        eager = getattr(asyncio, "eager_task_factory", None)
        asyncio.get_running_loop().set_task_factory(eager)
        pump = browser.app if owner == "app" else browser.app.screen
        pump.set_timer(delay, lambda: called.append(True))
        await browser.until(lambda: called)
        monkeypatch.undo()


@pytest.mark.parametrize("has_sessions", [True, False])
async def test_the_sessions_of_other_folders_are_not_shown_before_those_of_the_folder_that_is_opened(
    has_sessions: bool,
) -> None:
    """A first start reads other folders first; their rows would stand there for a moment, then vanish."""
    others = [summary(f"/other/{number}.jsonl", cwd="/other", name="not wanted") for number in range(3)]
    wanted = [summary("/here/a.jsonl", cwd="/here", name="wanted")] if has_sessions else []
    first_read, go_on = threading.Event(), threading.Event()

    def scan(cancelled: Callable[[], bool], hidden: bool) -> Iterator[Batch]:
        yield Batch(others, 3, 4)
        first_read.set()
        assert go_on.wait(60)
        yield Batch(wanted, 4, 4)

    with frames() as seen:
        async with browsing(
            fixed_source(scan=scan), here="/here", settings=Settings(scope="project"), settle=False
        ) as browser:
            await browser.until(lambda: first_read.is_set() and "3 sessions" in browser.screen_text())
            assert "Reading sessions" in browser.screen_text()
            assert not [frame for frame in seen if "not wanted" in frame]
            go_on.set()
            await browser.until(lambda: "wanted" in seen[-1] and "Reading" not in seen[-1])
            titles = {re.search(r"Sessions · newest · \w+", frame) for frame in seen}
    named = {found[0].strip() for found in titles if found}
    if has_sessions:
        assert named == {"Sessions · newest · here"}
        assert not [frame for frame in seen if "not wanted" in frame]
    else:
        assert named == {"Sessions · newest · here", "Sessions · newest · all"}
        assert "not wanted" in seen[-1]


async def test_a_second_start_shows_the_folder_of_the_last_run_from_its_first_frame(tmp_path: Path) -> None:
    options, own = demo_options(tmp_path / "demo", scope="project"), str(tmp_path)
    for _ in range(2):
        with frames() as seen:
            async with browsing(**options, environ={"XDG_STATE_HOME": own, "XDG_CACHE_HOME": own}) as browser:
                assert "webshop" in browser.screen_text()
            assert not [frame for frame in seen if "newest · all" in frame or "No sessions" in frame]
