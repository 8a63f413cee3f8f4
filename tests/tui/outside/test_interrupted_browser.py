"""A browser that a signal ends gives the terminal back: while it opens, is used, leaves, or takes it again."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.interrupting import HELD, MANY_MOMENTS, MOMENTS, interrupt_after, moments, wait_for_byte
from tests.support.story_support import StoryHome
from tests.support.terminal import DOWN, ENTER, ESCAPE, TAB, Terminal

KEY_SECONDS = 0.04
CONTROL_R = "\x12"
# Lists, a tree, an entry and its help, a search, two changes and an undo.
KEYS = [
    *("j", "k", ENTER, DOWN, DOWN, TAB, "?", ESCAPE, "/", "s", ESCAPE, ESCAPE, ESCAPE),
    *("/", "s", "i", "n", "k", ENTER, ESCAPE, ESCAPE, CONTROL_R, "x", ENTER, "u", "t", "j", "q"),
]
# Each pair takes a mode and gives it back: the last one that was written counts.
PAIRS = ((b"?1049h", b"?1049l"), (b"?25l", b"?25h"), (b"?1000h", b"?1000l"), (b"?7l", b"?7h"), (b"?2004h", b"?2004l"))

Act = Callable[[Terminal, float], bool]
"""Uses an open browser for some seconds, then lets it be ended; returns True if it may have ended by itself."""


@pytest.fixture
def home(tmp_path: Path) -> StoryHome:
    home = StoryHome(tmp_path)
    project = home.project("shop")
    for number in range(9):
        home.session(project, ["Mend the sink", "Done"] * 20, days_ago=number)
    home.agent("pi", "sleep 0.1")
    return home


def problems_of(browser: Terminal, modes: object, statuses: Sequence[int]) -> str:
    """Wait for the end; return what is wrong with it, and with the terminal afterwards."""
    status = browser.wait_status()
    browser.until_quiet(0.01, 1)
    seen = bytes(browser.seen)
    problems = [f"status {status}"] if status not in statuses else []
    problems += ["modes"] if browser.modes() != modes else []
    problems += [f"traceback {seen!r}"] if b"Traceback" in seen or b"Exception" in seen else []
    problems += [wrong.decode() for wrong, right in PAIRS if seen.rfind(wrong) > seen.rfind(right)]
    return "; ".join(problems)


def end_opening(home: StoryHome, delay: float | None, number: int) -> tuple[float, str]:
    """Start the browser, end it some time after its first line, or when it is drawn; return time and outcome."""
    reading, writing = os.pipe()
    with Terminal([sys.executable, "-c", HELD, str(writing)], home.env(), home.home, pass_fds=[writing]) as browser:
        os.close(writing)
        modes = browser.modes()
        begun = wait_for_byte(reading)
        os.close(reading)
        if delay is None:
            browser.wait("Projects")
            os.kill(browser.pid, number)
        else:
            interrupt_after(delay, browser.pid, begun, number)
        usual = time.perf_counter() - begun
        problems = problems_of(browser, modes, (-number, 128 + number))
        return usual, problems or ("opened" if b"?1049h" in browser.seen else "not opened")


def end_open(home: StoryHome, act: Act, delay: float, number: int) -> str:
    """Open the browser, use it for some time, end it by a signal; return the outcome."""
    with home.browser() as browser:
        modes = browser.modes()
        browser.wait("Mend the sink")
        # From the first frame on, the browser leaves by itself when a signal asks it to.
        browser.until_quiet(0.1)
        may_have_ended = act(browser, delay)
        if browser.process.poll() is None:
            os.kill(browser.pid, number)
        statuses = (-number, 128 + number, *([0] if may_have_ended else []))
        return problems_of(browser, modes, statuses) or "ended"


def wait_until(browser: Terminal, end: float) -> None:
    """Read the browser's output until a moment."""
    while (left := end - time.perf_counter()) > 0:
        browser.until_quiet(left, left)


def use(browser: Terminal, seconds: float) -> bool:
    """Press keys, one after another."""
    end = time.perf_counter() + seconds
    for key in KEYS[:-1]:
        if time.perf_counter() >= end:
            break
        browser.press(key)
        wait_until(browser, min(end, time.perf_counter() + KEY_SECONDS))
    return False


def leave(browser: Terminal, seconds: float) -> bool:
    """Quit by the key."""
    browser.press("q")
    time.sleep(seconds)
    return True


def run_agent(browser: Terminal, seconds: float) -> bool:
    """Lend the terminal to an agent."""
    browser.press("r")
    wait_until(browser, time.perf_counter() + seconds)
    return False


def stop(browser: Terminal, seconds: float) -> bool:
    """Stop the browser as a shell does, and let it go on; while it takes the terminal again it is ended."""
    os.kill(browser.pid, signal.SIGTSTP)
    browser.wait_stopped()
    os.kill(browser.pid, signal.SIGCONT)
    time.sleep(seconds)
    return False


def stop_and_end(browser: Terminal, seconds: float) -> bool:
    """End the browser while it leaves the screen, or while it is stopped; it takes the signal when it goes on."""
    os.kill(browser.pid, signal.SIGTSTP)
    time.sleep(seconds)
    os.kill(browser.pid, signal.SIGTERM)
    browser.wait_stopped()
    with suppress(ProcessLookupError):  # It may have ended before it was stopped.
        os.kill(browser.pid, signal.SIGCONT)
    return False


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
# How the browser is used, the seconds over which the moments are spread, the signals, and the share of the moments.
ACTS = {
    "use": (use, KEY_SECONDS * len(KEYS), [signal.SIGINT, signal.SIGTERM], 1),
    "leave": (leave, 0.3, [signal.SIGINT, signal.SIGTERM], 3),
    "run an agent": (run_agent, 0.5, [signal.SIGTERM], 3),
    "stop": (stop, 0.4, [signal.SIGINT, signal.SIGTERM], 3),
    "end while stopped": (stop_and_end, 0.2, [signal.SIGTERM], 3),
}


def try_opening(home: StoryHome, count: int, number: int) -> Counter[str]:
    opened = [end_opening(home, None, number) for _ in range(2)]
    most = 1.5 * max(seconds for seconds, _ in opened)
    outcomes = [end_opening(home, delay, number)[1] for delay in moments(count, most)]
    return Counter([*(outcome for _, outcome in opened), *outcomes])


def try_act(home: StoryHome, name: str, count: int) -> Counter[str]:
    act, seconds, numbers, _ = ACTS[name]
    delays = enumerate(moments(count, seconds))
    return Counter([end_open(home, act, delay, numbers[index % len(numbers)]) for index, delay in delays])


@pytest.mark.parametrize("number", SIGNALS)
def test_a_browser_that_a_signal_ends_while_it_opens_gives_the_terminal_back(
    number: signal.Signals, home: StoryHome
) -> None:
    outcomes = try_opening(home, MOMENTS // 2, number)
    assert set(outcomes) <= {"opened", "not opened"}


@pytest.mark.parametrize("name", list(ACTS))
def test_a_browser_that_a_signal_ends_in_use_gives_the_terminal_back(name: str, home: StoryHome) -> None:
    assert set(try_act(home, name, MOMENTS // 2)) == {"ended"}


@pytest.mark.stress
@pytest.mark.parametrize("number", SIGNALS[:2])
def test_an_opening_browser_is_ended_at_many_moments(number: signal.Signals, home: StoryHome) -> None:
    outcomes = try_opening(home, MANY_MOMENTS, number)
    print("opening", number.name, dict(outcomes))
    assert set(outcomes) <= {"opened", "not opened"}
    assert min(outcomes["opened"], outcomes["not opened"]) > MANY_MOMENTS // 10


@pytest.mark.stress
@pytest.mark.parametrize("name", list(ACTS))
def test_a_browser_in_use_is_ended_at_many_moments(name: str, home: StoryHome) -> None:
    outcomes = try_act(home, name, MANY_MOMENTS // ACTS[name][3])
    print(name, dict(outcomes))
    assert set(outcomes) == {"ended"}
