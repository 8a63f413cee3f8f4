"""Ctrl+C at any moment from the program's first line on: it ends without a traceback, a crash or a broken terminal."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.story_support import StoryHome
from tests.support.terminal import Terminal

PATIENCE_SECONDS = 30.0
MOMENTS = 6
"""Interrupted runs of each command in the usual suite; `make stress` makes many more."""
MANY_MOMENTS = 300

# An audit hook writes a byte to a pipe just before the first line of the package runs. Until the hook's next event,
# microseconds later, signals wait, so that they never interrupt the hook itself.
HELD = """
import signal, os, sys
pipe, held = int(sys.argv[1]), False
def tell(event, arguments):
    global held
    if held:
        held = False
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    elif event == "exec" and arguments[0].co_filename.endswith("sessionbrowse/__init__.py"):
        held = True
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        os.write(pipe, b".")
sys.addaudithook(tell)
sys.argv = ["sessionbrowse", *sys.argv[2:]]
from sessionbrowse.cli import main
sys.exit(main())
"""

COMMANDS = {
    "list": ["list", "--json"],
    "search": ["search", "sink"],
    "index": ["index"],
    "show": ["show"],
    "label": ["label"],
}


class World:
    """A home with some sessions, and the arguments of the commands that are interrupted in it."""

    def __init__(self, directory: Path) -> None:
        self.home = StoryHome(directory)
        project = self.home.project("shop")
        self.sessions = [self.home.session(project, ["Mend the sink", "Done"] * 20, days_ago=n) for n in range(9)]
        self.tries = 0

    def words(self, command: str) -> list[str]:
        """Return the arguments of a command; each `label` is another one, so that each writes."""
        self.tries += 1
        session = str(self.sessions[0])
        more = {"show": [session], "label": [session, "e01", f"label {self.tries}"]}
        return [*COMMANDS[command], *more.get(command, [])]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def interrupted(world: World, arguments: Sequence[str], delay: float | None) -> tuple[float, int, str]:
    """Run a command and interrupt it some time after its first line; return its time, status and stderr."""
    reading, writing = os.pipe()
    command = [sys.executable, "-c", HELD, str(writing), *arguments]
    with subprocess.Popen(
        command, env=world.home.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pass_fds=[writing]
    ) as process:
        os.close(writing)
        begun = wait_for_byte(reading)
        if delay is not None:
            interrupt_after(delay, process.pid, begun)
        _, stderr = process.communicate(timeout=PATIENCE_SECONDS)
    os.close(reading)
    return time.perf_counter() - begun, process.returncode, stderr


def wait_for_byte(pipe: int) -> float:
    assert select.select([pipe], [], [], PATIENCE_SECONDS)[0], "the first line was not reached"
    os.read(pipe, 1)
    return time.perf_counter()


def interrupt_after(delay: float, process_id: int, begun: float, number: int = signal.SIGINT) -> None:
    time.sleep(max(0.0, begun + delay - time.perf_counter()))
    os.kill(process_id, number)


def moments(count: int, seconds: float) -> Iterator[float]:
    return (seconds * number / count for number in range(count))


def failure(status: int, stderr: str) -> str | None:
    """Return the reason why this is no quiet end by Ctrl+C or regular end."""
    if "Traceback" in stderr or "Exception" in stderr:
        return f"traceback: {stderr}"
    return None if status in (0, -signal.SIGINT, 130) else f"status {status}: {stderr}"


def try_command(world: World, command: str, count: int) -> Counter[str]:
    interrupted(world, world.words(command), None)
    usual, status, stderr = interrupted(world, world.words(command), None)
    assert status == 0, stderr
    outcomes: Counter[str] = Counter()
    for delay in moments(count, usual):
        _, status, stderr = interrupted(world, world.words(command), delay)
        outcomes[failure(status, stderr) or ("completed" if status == 0 else "interrupted")] += 1
    return outcomes


@pytest.mark.parametrize("command", list(COMMANDS))
def test_a_command_that_is_interrupted_ends_without_a_word(command: str, world: World) -> None:
    outcomes = try_command(world, command, MOMENTS)
    assert set(outcomes) <= {"completed", "interrupted"}
    assert outcomes["interrupted"]


def end_browser(world: World, delay: float | None, number: int = signal.SIGINT) -> tuple[float, str]:
    """Start the browser, end it by a signal some time after its first line, or when it is drawn; return the outcome."""
    reading, writing = os.pipe()
    command = [sys.executable, "-c", HELD, str(writing)]
    with Terminal(command, world.home.env(), world.home.home, pass_fds=[writing]) as browser:
        os.close(writing)
        modes = browser.modes()
        begun = wait_for_byte(reading)
        os.close(reading)
        if delay is None:
            browser.wait("Folders")
            os.kill(browser.pid, number)
        else:
            interrupt_after(delay, browser.pid, begun, number)
        usual = time.perf_counter() - begun
        status = browser.wait_status()
        browser.until_quiet(0.01, 1)
        seen = bytes(browser.seen)
        problems = [f"status {status}"] if status not in (-number, 128 + number) else []
        problems += ["modes"] if browser.modes() != modes else []
        problems += [f"traceback {seen!r}"] if b"Traceback" in seen or b"Exception" in seen else []
        # The last one of each pair of sequences counts.
        for wrong, right in ((b"?1049h", b"?1049l"), (b"?25l", b"?25h"), (b"?1000h", b"?1000l"), (b"?7l", b"?7h")):
            problems += [wrong.decode()] if seen.rfind(wrong) > seen.rfind(right) else []
        return usual, "; ".join(problems) or ("opened" if b"?1049h" in seen else "not opened")


def try_browser(world: World, count: int, number: int) -> Counter[str]:
    usual, outcome = end_browser(world, None, number)
    return Counter([outcome, *(end_browser(world, delay, number)[1] for delay in moments(count, 1.2 * usual))])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_browser_that_a_signal_ends_gives_the_terminal_back(number: signal.Signals, world: World) -> None:
    outcomes = try_browser(world, MOMENTS // 2, number)
    assert set(outcomes) <= {"opened", "not opened"}


@pytest.mark.stress
def test_the_browser_is_ended_at_many_moments(world: World) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        outcomes = try_browser(world, MANY_MOMENTS, number)
        print("browser", number.name, dict(outcomes))
        assert set(outcomes) <= {"opened", "not opened"}


@pytest.mark.stress
@pytest.mark.parametrize("command", list(COMMANDS))
def test_a_command_is_interrupted_at_many_moments(command: str, world: World) -> None:
    outcomes = try_command(world, command, MANY_MOMENTS)
    print(command, dict(outcomes))
    assert set(outcomes) <= {"completed", "interrupted"}
    assert outcomes["interrupted"] > MANY_MOMENTS // 2
