"""Bytes that are no keys, sent by a terminal or a line: the browser answers the next key, or has ended properly."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.story_support import StoryHome
from tests.support.terminal import DOWN, ESCAPE, Terminal, TimedOut
from tests.tui.outside.test_interrupted_browser import PAIRS

# Writes the name of each key to a pipe when it has been handled.
PROGRAM = """
import os, sys
from sessionbrowse.cli import main
from sessionbrowse.tui.shell.browser import Browser
told, press = int(sys.argv.pop()), Browser._press
async def press_and_tell(app, key):
    await press(app, key)
    if getattr(key, "key", "") == "f12":
        os.write(told, b".")
Browser._press = press_and_tell
main()
"""
F12 = b"\x1b[24~"  # runs no command
QUIT = b"q\x03"
ANSWER_SECONDS, MOST_SECONDS = 1.0, 10.0
"""Within how many seconds a key is answered; and on a machine that is busy with other work, one in a thousand."""
LEAVE_SECONDS = 60.0
QUITTING_SECONDS = 8.0
"""Within how many seconds the key that quits has given the terminal back, or has closed only a window."""
FRAGMENTS = (
    *(b"\x1b", b"\x1b[", b"\x1bO", b"\x1b]", b"\x1bP", b"\x1b_G", b"\x1b]52;c;", b"\x1b]11;rgb:", b"\x07", b"\x1b\\"),
    *(b"\x1b[M", b"\x1b[M \xff\xfe", b"\x1b[<", b"\x1b[<0;200;3M", b"\x1b[<64;1;1M", b"\x1b[1114112u", b"\x1b[97;;"),
    *(b"\x1b[200~", b"\x1b[201~", b"\x9b", b"\xc3", b"\xe9", b"\xff", b"\xf0\x9f", b"\x1b[48;1;1;1;1t", b"\x1b[?1$y"),
    *(b"\x1b[I", b"\x1b[O", b"\x1b[1;2R", b"9", b";", b"~", b"u", b"j", b"/", b"\x00", b"\x1a", b"\x18"),
)


class Watched:
    """A browser that tells when it has carried out a key."""

    def __init__(self, home: StoryHome) -> None:
        self._reading, writing = os.pipe()
        os.set_blocking(self._reading, False)
        env = home.env(PATH=str(home.programs))
        command = [sys.executable, "-c", PROGRAM, str(writing)]
        self.terminal = Terminal(command, env, home.home, rows=24, columns=80, pass_fds=[writing])
        os.close(writing)
        self._modes: Any = self.terminal.modes()
        self.terminal.wait("Mend the sink")
        self.terminal.until_quiet()
        self.seconds: list[float] = []

    def answers(self, noise: bytes, quiet: float = 0.02) -> bool:
        """Send noise, then a key; return True if the key is answered in time, False if the browser has ended."""
        self.terminal.send(noise)
        self.terminal.until_quiet(quiet, 2)
        try:
            sent = self.terminal.send(F12)
            while time.perf_counter() < sent + MOST_SECONDS:
                if self._was_told():
                    self.seconds.append(time.perf_counter() - sent)
                    return True
                if self.terminal.process.poll() is not None:
                    return False
                self.terminal.until_quiet(0.002, 0.002)
        except OSError:
            # The terminal of a program that has ended takes no bytes.
            return False
        raise TimedOut(f"no key is answered after {noise!r}; on the screen:\n{self.terminal.screen.text()}")

    def _was_told(self) -> bool:
        try:
            return bool(os.read(self._reading, 100))
        except BlockingIOError:
            return False

    def check_end(self) -> None:
        """Fail unless the browser ended as after a key that quits, and gave the terminal back."""
        status = self.terminal.wait_status(LEAVE_SECONDS)
        self.terminal.until_quiet(0.01, 1)
        seen = bytes(self.terminal.seen)
        assert status == 0, self.terminal.screen.text()
        assert b"Traceback" not in seen
        assert self.terminal.modes() == self._modes
        assert not [wrong for wrong, right in PAIRS if seen.rfind(wrong) > seen.rfind(right)]

    def leave(self) -> None:
        """Quit from wherever the noise has led; work that it began, such as a search for secrets, must end first."""
        end = time.perf_counter() + LEAVE_SECONDS
        while not self._has_left() and time.perf_counter() < end:
            try:
                self.terminal.press(ESCAPE)
                self.terminal.until_quiet(0.15, 1)
                # When the browser has left, the terminal makes a signal of this key: it is not pressed again too soon.
                pressed = self.terminal.press("\x03")
                while not self._has_left() and time.perf_counter() < pressed + QUITTING_SECONDS:
                    self.terminal.until_quiet(0.05, 0.05)
            except OSError:
                break
        self.check_end()

    def _has_left(self) -> bool:
        seen = self.terminal.seen
        return self.terminal.process.poll() is not None or seen.rfind(b"\x1b[?1049l") > seen.rfind(b"\x1b[?1049h")

    def close(self) -> None:
        """End the browser."""
        os.close(self._reading)
        self.terminal.close()


@contextmanager
def watched(home: StoryHome) -> Iterator[Watched]:
    """Open a browser that tells when it has carried out a key."""
    browser = Watched(home)
    try:
        yield browser
    finally:
        browser.close()


@pytest.fixture
def home(tmp_path: Path) -> StoryHome:
    return new_home(tmp_path)


def new_home(directory: Path) -> StoryHome:
    """Make a home: what noise changed there must not reach the next browser."""
    home = StoryHome(directory)
    for number in range(9):
        home.session(home.project("shop"), ["Mend the sink", "Done"] * 5, days_ago=number)
    return home


def send_noise(directory: Path, strings: Iterator[bytes]) -> dict[str, float]:
    """Send each string to a browser, a new one after each that ended; return how many, and how slow answers were."""
    answered, ended, seconds = 0, 0, [0.0]
    waiting = next(strings, None)
    while waiting is not None:
        with watched(new_home(directory / str(answered + ended))) as browser:
            for _ in range(200):
                if waiting is None:
                    break
                was_answered = browser.answers(waiting)
                waiting = next(strings, None)
                if not was_answered:
                    ended += 1
                    break
                answered += 1
            seconds += browser.seconds
            browser.leave()
    late = sum(each > ANSWER_SECONDS for each in seconds)
    return {"answered": answered, "ended": ended, "late": late, "slowest": max(seconds)}


def random_strings(seed: int, count: int) -> Iterator[bytes]:
    """Yield random bytes, and pieces of sequences in random order; few of them have a key that quits."""
    rng = random.Random(seed)
    for number in range(count):
        if number % 2:
            noise = rng.randbytes(rng.randint(1, 24))
        else:
            noise = b"".join(rng.choices(FRAGMENTS, k=rng.randint(1, 8)))
        yield noise if number % 50 == 0 else noise.translate(None, QUIT)


def test_a_key_after_any_byte_that_is_no_text_is_answered(home: StoryHome) -> None:
    with watched(home) as browser:
        browser.terminal.wait("1/9")
        for byte in range(0x80, 0x100):
            assert browser.answers(bytes([byte]), 0.005)
        browser.terminal.press(DOWN)
        browser.terminal.wait("2/9")
        browser.leave()


@pytest.mark.parametrize(
    "noise",
    [
        pytest.param(b"\xe9a", id="Latin-1"),
        pytest.param(b"\x1b[M \xff\xfe", id="X10 mouse"),
        pytest.param(b"\x1b[99999999999u", id="kitty key"),
        pytest.param(b"\x1b]52;c;" + b"QUJD" * 5000, id="OSC 52 without end"),
        pytest.param(b"\x1bP" + b"1" * 20_000, id="DCS without end"),
        pytest.param(b"\x1b[200~" + b"text " * 100_000 + b"\xff" + b"text " * 100_000 + b"\x1b[201~", id="1 MB paste"),
    ],
)
def test_a_letter_after_noise_is_answered_and_noise_runs_no_command(noise: bytes, home: StoryHome) -> None:
    with watched(home) as browser:
        browser.terminal.wait("1/9")
        assert browser.answers(noise.replace(b"a", b""))
        browser.terminal.until_quiet(0.5)
        browser.terminal.press("j")
        browser.terminal.wait("2/9")
        browser.leave()


def test_a_key_after_random_bytes_is_answered(tmp_path: Path) -> None:
    result = send_noise(tmp_path, random_strings(35, 500))
    assert result["answered"] + result["ended"] == 500
    assert result["late"] <= 1


@pytest.mark.stress
def test_a_key_after_many_random_bytes_is_answered(tmp_path: Path) -> None:
    result = send_noise(tmp_path, random_strings(36, 10_000))
    print("random bytes", result)
    assert result["answered"] + result["ended"] == 10_000
    assert result["late"] <= 10
