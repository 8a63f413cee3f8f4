"""The browser's first rows stand there soon: nothing is imported before them that they do not need."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.story_support import StoryHome, quit_browser
from tests.support.terminal import Screen, Terminal

# Begins the browser and writes down what is imported before the first frame stands there: then, and not before, it
# opens the styles of the other screens.
PROGRAM = """
import sys, threading
from sessionbrowse.cli import main
told, imported = sys.argv.pop(), set()
def hear(event, given):
    if event == "import" and threading.current_thread() is threading.main_thread():
        imported.add(given[0])
    elif event == "open" and str(given[0]).endswith("screens.tcss"):
        with open(told, "w") as file:
            print(*sorted(imported), file=file)
sys.addaudithook(hear)
main()
"""

# The first rows need this many of our modules at most. Measure before you raise it: `python -m tests.bench start`.
OUR_MODULES = 92
# These read sessions or belong to other screens: the first rows never need them.
LATE = ("format", "agents", "manager", "demo", "services.search", "services.change", "store.read", "store.index")


@pytest.fixture
def imported(tmp_path: Path) -> set[str]:
    """The modules that the browser imports until its first rows stand there."""
    home = StoryHome(tmp_path / "home")
    home.session(home.project("webshop"), ["The first of all"])
    told = tmp_path / "imported"
    with Terminal([sys.executable, "-c", PROGRAM, str(told)], home.env(), home.home) as terminal:
        terminal.wait("The first of all")
        terminal.wait(lambda _: told.exists() and told.read_text().endswith("\n"))
    return set(told.read_text().split())


def test_the_first_rows_import_few_modules_of_ours_and_none_that_read_sessions(imported: set[str]) -> None:
    ours = {name.removeprefix("sessionbrowse.") for name in imported if name.startswith("sessionbrowse.")}
    assert len(ours) <= OUR_MODULES
    assert not [name for name in ours if name.startswith(LATE)]


def test_what_takes_long_to_import_waits_until_the_first_rows_stand_there(imported: set[str]) -> None:
    assert "textual.app" in imported
    assert not imported & {"argparse", "json", "sqlite3", "markdown_it", "pygments"}


@pytest.mark.slow
def test_the_browser_opens_with_the_rows_it_was_left_with_until_the_disk_is_read(tmp_path: Path) -> None:
    home = StoryHome(tmp_path / "home")
    home.session(home.project("webshop"), ["The first of all"])
    gone = home.session(home.project("webshop"), ["Soon deleted"])
    with home.browser() as terminal:
        terminal.wait("Soon deleted")
        terminal.until_quiet()
        quit_browser(terminal)
    gone.unlink()
    with home.browser() as terminal:
        terminal.wait("Soon deleted")
        terminal.wait(lambda screen: "Soon deleted" not in screen.text())
        assert "The first of all" in terminal.screen.text()


@pytest.mark.slow
def test_the_first_frame_has_the_panes_that_there_is_room_for(tmp_path: Path) -> None:
    home = StoryHome(tmp_path / "home")
    for columns, panes in (
        (60, ["Sessions"]),
        (100, ["Projects", "Sessions"]),
        (140, ["Projects", "Sessions", "Preview"]),
    ):
        with home.browser(columns=columns) as terminal:
            terminal.wait(lambda screen: _titles(screen).endswith("╮"))
            assert [name for name in ("Projects", "Sessions", "Preview") if name in _titles(terminal.screen)] == panes


def _titles(screen: Screen) -> str:
    return next((line for line in screen.lines() if "Sessions" in line), "")
