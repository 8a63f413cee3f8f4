"""Ctrl+C at any moment from a command's first line on: it ends without a traceback or a crash."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.interrupting import (
    HELD,
    MANY_MOMENTS,
    MOMENTS,
    PATIENCE_SECONDS,
    interrupt_after,
    moments,
    wait_for_byte,
)
from tests.support.story_support import PROJECT_ROOT, StoryHome

pytestmark = pytest.mark.slow

COMMANDS = {
    "list": ["list", "--json"],
    "search": ["search", "sink"],
    "index": ["index", "--rebuild"],
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


def failure(status: int, stderr: str) -> str | None:
    """Return the reason why this is no quiet end by Ctrl+C or regular end."""
    if threading.gettrace() is not None and "Exception ignored in thread started by" in stderr:
        # Measuring coverage, the tracer of a thread may be installed while another is; Python then says so.
        stderr = ""
    if "Traceback" in stderr or "Exception" in stderr:
        return f"traceback: {stderr}"
    return None if status in (0, -signal.SIGINT, 130) else f"status {status}: {stderr}"


def try_command(world: World, command: str, count: int) -> Counter[str]:
    runs = [interrupted(world, world.words(command), None) for _ in range(4)]
    assert [status for _, status, _ in runs] == [0] * 4, runs
    # The first run is slower: it compiles the program, and makes the index.
    usual = max(seconds for seconds, _, _ in runs[1:])
    outcomes: Counter[str] = Counter()
    for delay in moments(count, usual):
        _, status, stderr = interrupted(world, world.words(command), delay)
        outcomes[failure(status, stderr) or ("completed" if status == 0 else "interrupted")] += 1
    return outcomes


def listed(world: World) -> str:
    """Return what `list` prints, which it must not say anything beside."""
    command = [sys.executable, "-m", "sessionbrowse", "list", "--json"]
    done = subprocess.run(
        command, env=world.home.env(), capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("command", list(COMMANDS))
def test_a_command_that_is_interrupted_ends_without_a_word(command: str, world: World) -> None:
    outcomes = try_command(world, command, MOMENTS)
    assert set(outcomes) <= {"completed", "interrupted"}
    assert outcomes["interrupted"]


@pytest.mark.stress
@pytest.mark.parametrize("command", list(COMMANDS))
def test_a_command_is_interrupted_at_many_moments(command: str, world: World) -> None:
    before = listed(world)
    outcomes = try_command(world, command, MANY_MOMENTS)
    print(command, dict(outcomes))
    assert set(outcomes) <= {"completed", "interrupted"}
    assert outcomes["interrupted"] > MANY_MOMENTS // 3
    if command != "label":
        assert listed(world) == before


# ---- before the first line -----------------------------------------------------------------------------------

STARTED = f"""
import sys
sys.path.insert(0, {str(PROJECT_ROOT)!r})
sys.argv = ["sessionbrowse", "list"]
from sessionbrowse.cli import main
sys.exit(main())
"""
"""Starts the program with as little of Python's own work before its first line as `python -I -c pass` has."""


def early_ends(world: World, program: str, delays: Sequence[float]) -> Counter[str]:
    """Interrupt a program at moments counted from the start of its process; return how it ended."""
    outcomes: Counter[str] = Counter()
    for delay in delays:
        with subprocess.Popen(
            [sys.executable, "-I", "-c", program],
            env=world.home.env(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            interrupt_after(delay, process.pid, time.perf_counter())
            _, stderr = process.communicate(timeout=PATIENCE_SECONDS)
        # The first statements of the package take Ctrl+C from Python: microseconds, in which Python still reacts.
        is_ours = f'File "{PROJECT_ROOT}/sessionbrowse' in stderr.replace(
            f"{PROJECT_ROOT}/sessionbrowse/__init__.py", ""
        )
        outcomes["ours" if is_ours else "odd" if failure(process.returncode, stderr) else "quiet"] += 1
    return outcomes


def compare_starts(world: World, count: int) -> tuple[Counter[str], Counter[str]]:
    """Interrupt `pass` and the program at the same moments, in turn; return how both ended."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", "pass"], check=True, timeout=PATIENCE_SECONDS)
    usual = time.perf_counter() - begun
    bare: Counter[str] = Counter()
    ours: Counter[str] = Counter()
    for delay in moments(count, usual):
        bare += early_ends(world, "pass", [delay])
        ours += early_ends(world, STARTED, [delay])
    return bare, ours


def test_an_interrupt_before_the_first_line_shows_no_code_of_ours(world: World) -> None:
    _, ours = compare_starts(world, MOMENTS)
    assert not ours["ours"]


@pytest.mark.stress
def test_interrupts_before_the_first_line_end_no_worse_than_those_of_a_bare_interpreter(world: World) -> None:
    compare_starts(world, MOMENTS)
    bare, ours = compare_starts(world, MANY_MOMENTS)
    print("python -I -c pass", dict(bare), "sessionbrowse", dict(ours))
    assert not ours["ours"]
    # Three standard deviations of a difference of two such counts.
    assert ours["odd"] <= bare["odd"] + 3 * math.sqrt(2 * max(bare["odd"], 1))
