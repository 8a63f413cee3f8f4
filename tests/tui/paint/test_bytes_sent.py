"""A key sends the terminal little more than what it changes, through a real terminal with all colours."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessionbrowse.demo import make_demo
from tests.support.terminal import DOWN, ENTER, ESCAPE, UP, Terminal

KB = 1000


@pytest.fixture
def browser(tmp_path: Path, own_home: Path) -> Iterator[Terminal]:
    make_demo(tmp_path / "demo")
    env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    roots = [word for agent in ("pi", "omp", "indusagi") for word in ("--root", tmp_path / "demo" / agent / "agent")]
    command = [sys.executable, "-m", "sessionbrowse", *roots]
    with Terminal(command, env, tmp_path, rows=40, columns=120) as terminal:
        terminal.wait("webshop")
        terminal.until_quiet(0.5)
        yield terminal


def sent(terminal: Terminal, *keys: str, quiet: float = 1.0) -> float:
    """Return the bytes that a key sends, the mean of several: on a busy machine the next one waits for some of them."""
    before = len(terminal.seen)
    for key in keys:
        terminal.press(key)
        terminal.until_quiet(quiet)
    return (len(terminal.seen) - before) / len(keys)


@pytest.mark.slow
def test_a_key_sends_little_more_than_what_it_changes(browser: Terminal) -> None:
    preview = sent(browser, *[DOWN] * 8, *[UP] * 8, quiet=0.3)
    opened = sent(browser, "/")
    letters = [sent(browser, letter) for letter in "te"]
    closed = sent(browser, ESCAPE)
    shown = [sent(browser, "?"), sent(browser, ESCAPE)]
    entered = sent(browser, ENTER)
    tree = sent(browser, *[DOWN] * 8, *[UP] * 8, quiet=0.3)
    # A preview is drawn anew, with the path of the temporary directory, which may be long.
    assert preview <= 7 * KB
    assert tree <= 2.5 * KB
    assert max(opened, closed) <= 6 * KB
    assert max(*letters, *shown, entered) <= 25 * KB
