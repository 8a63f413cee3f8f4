"""Patterns that would search for ever are stopped, by the next letter or after a while."""

from __future__ import annotations

import os
import queue
import re
import threading
import time
from pathlib import Path

import pytest

from sessionbrowse.model.search.patterns import TooSlow, compiled, search, within
from sessionbrowse.services.background.search_link import SearchProcess
from sessionbrowse.services.background.search_messages import Answer, Find, Page, Start, Stop
from tests.support.index_support import folder, header, user, write
from tests.support.tui_support import browsing

ENDLESS = r"(a+)+!"
TEXT = "a" * 5_000


def test_a_pattern_that_finds_no_end_is_stopped():
    began = time.monotonic()
    with pytest.raises(TooSlow), within(0.1):
        search(re.compile(ENDLESS), TEXT)
    assert time.monotonic() - began < 5


def test_other_threads_run_while_a_pattern_searches_and_can_end_it():
    over = threading.Event()
    ending = threading.Timer(0.02, over.set)
    ending.start()
    with pytest.raises(TooSlow), within(60, over.is_set):
        search(re.compile(ENDLESS), TEXT)


def test_what_is_no_pattern_s_search_is_never_broken_off():
    over = threading.Event()
    with within(0):
        assert not over.wait(0.2)
        assert search(re.compile("b"), "abc") is not None


async def test_a_filter_s_pattern_that_finds_no_end_is_named_and_the_keys_go_on(tmp_path: Path) -> None:
    write(folder(tmp_path) / "long.jsonl", header(), user("1", None, TEXT))
    async with browsing(roots=[str(tmp_path)], agents=["pi"], home=str(tmp_path)) as browser:
        await browser.press("slash")
        await browser.type(f"re:{ENDLESS}")
        assert "takes too long" in browser.screen_text()
        await browser.press("backspace", "escape")
        assert browser.row_list("#sessions").count == 1


def await_page(answers: queue.Queue[Answer | None], stamp: int) -> None:
    """Wait for the first hits of a search."""
    while not (isinstance(answer := answers.get(timeout=30), Page) and answer.stamp == stamp and answer.hits):
        assert answer is not None, "the process ended"


@pytest.mark.parametrize("end", [Find(2, "short"), Stop(1)], ids=["another question", "stop"])
def test_a_search_that_finds_no_end_gives_way(tmp_path: Path, end: Find | Stop) -> None:
    store = tmp_path / "store"
    write(folder(store) / "old.jsonl", header(), user("1", None, TEXT, ms=1), user("2", "1", "short", ms=1))
    write(folder(store) / "new.jsonl", header("s2"), *[user(str(number), None, "a!") for number in range(50)])
    answers: queue.Queue[Answer | None] = queue.Queue()
    environ = {"PATH": os.environ.get("PATH", "")}
    start = Start(index_directory=str(tmp_path / "cache"), home=str(tmp_path), environ=environ, roots=(str(store),))
    process = SearchProcess(start, answers.put)
    try:
        process.ask(Find(1, f"re:{ENDLESS}"))
        await_page(answers, 1)
        process.ask(end)
        process.ask(Find(3, "short"))
        await_page(answers, 3)
    finally:
        process.close()


def test_a_pattern_that_python_warns_of_is_compiled_in_silence(recwarn: pytest.WarningsRecorder) -> None:
    assert compiled("[[a]").search("A") is not None
    assert not [warning for warning in recwarn if issubclass(warning.category, FutureWarning)]
