"""Set-up of every test: an empty home, the same random examples in each run, and a limit of time."""

from __future__ import annotations

import faulthandler
import gc
import itertools
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

from tests.faults.fault_table import pytest_terminal_summary as pytest_terminal_summary

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"

# Variables by which the agents, git, and we find files; a test that wants one sets it itself.
FOREIGN_VARIABLES = ("PI_", "OMP_", "ATOMIC_", "INDUSAGI_", "CLAUDE", "CODEX_", "SESSIONBROWSE_", "XDG_", "GIT_")

NUMBERS = itertools.count()

LIMIT_SECONDS = 600
LONG_LIMIT_SECONDS = 3600
"""The time that a test may take, far more than any takes on a busy machine, and one marked `stress` or `interop`."""

LAST_RESORT_SECONDS = 30
"""The time that a test over its limit has to fail; then its process is ended."""

SLOW = ("tests/stories/", "tests/pictures/", "tests/tui/outside/", "tests/tui/shell/test_endless_patterns")
"""Where the tests are that take seconds each, most of them in a terminal. All of them are marked `slow`."""

STDERR = pytest.StashKey[int]()
FAILED = pytest.StashKey[bool]()

MakeDirectory = Callable[[str], Path]

for number in (signal.SIGINT, *[getattr(signal, name, signal.SIGINT) for name in ("SIGHUP", "SIGQUIT")]):
    if signal.getsignal(number) is signal.SIG_IGN:
        # The programs that tests start would inherit what nohup, or a shell without job control, does for its
        # background commands. A signal with a handler is taken as usual by a program that is started.
        signal.signal(number, lambda *_: None)

settings.register_profile(
    "sessionbrowse",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("sessionbrowse")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the real standard error: while a test runs, descriptor 2 is captured."""
    config.stash[STDERR] = os.dup(2)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that take seconds, and begin with them: at the end, no worker waits long for another."""
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker("slow")
    items.sort(key=lambda item: not item.nodeid.startswith(SLOW))


def pytest_collection_finish() -> None:
    """Leave the tests themselves, and what they import, out of all later garbage collections."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Fail a test that hangs; where not even that is possible, print all stacks and end the process."""
    is_long = any(item.get_closest_marker(name) for name in ("stress", "interop"))
    limit = LONG_LIMIT_SECONDS if is_long else LIMIT_SECONDS

    def fail(number: int, frame: FrameType | None) -> NoReturn:
        pytest.fail(f"the test took longer than {limit} s")

    signal.signal(signal.SIGALRM, fail)
    signal.alarm(limit)
    faulthandler.dump_traceback_later(limit + LAST_RESORT_SECONDS, exit=True, file=item.config.stash[STDERR])
    try:
        return (yield)
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note if a test failed: its directories are kept."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture
def directories(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeDirectory]:
    """Make empty directories; remove them when all else of the test is undone, unless it failed.

    pytest removes those of older runs at the end, one after another while no test runs, when they are cold on the disk.
    Its own `tmp_path` finds a free name by looking at all directories that were made before, which among thousands of
    tests takes as long as the tests of whole modules.
    """
    made: list[Path] = []

    def make(name: str) -> Path:
        made.append(tmp_path_factory.mktemp(f"{name}{next(NUMBERS)}", numbered=False))
        return made[-1]

    yield make
    for path in [] if request.node.stash.get(FAILED, False) else made:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, directories: MakeDirectory) -> Path:
    """An empty directory for each test."""
    return directories(re.sub(r"\W", "_", str(request.node.name))[:30])


@pytest.fixture(autouse=True)
def own_home(directories: MakeDirectory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory for each test, with UTC as its time zone."""
    for name in list(os.environ):
        if name.startswith(FOREIGN_VARIABLES):
            monkeypatch.delenv(name)
    home = directories("home")
    monkeypatch.setenv("HOME", str(home))
    for variable, folder in (
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_CACHE_HOME", ".cache"),
        ("XDG_STATE_HOME", ".local/state"),
        ("XDG_DATA_HOME", ".local/share"),
    ):
        monkeypatch.setenv(variable, str(home / folder))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    if sys.platform == "linux":
        # Otherwise tests would move files to the trash of the person who runs them.
        from tests.support.file_helpers import own_system_trash

        own_system_trash()
    return home


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real session files beside the repository; tests that need it are skipped without it."""
    if not CORPUS.is_dir():
        pytest.skip("the corpus of real sessions is not beside this checkout (../shared/corpus)")
    return CORPUS
