"""Ctrl+Z gives the terminal to the shell, whose `fg` brings the browser back as it was."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.support.story_support import StoryHome, quit_browser
from tests.support.terminal import ENTER, ESCAPE, Terminal
from tests.tui.outside.test_interrupted_browser import PAIRS

SUSPEND, RENAME = "\x1a", "\x12"
BASH = shutil.which("bash")
SHELL_HAS_THE_TERMINAL = "6 times 7 is 42"
# The words that are typed before the browser has left are gone, as are those after Ctrl+Z in any program.
ASK = f"\recho 6 times 7 is $((6*7)){ENTER}"
COMMANDS = {
    "alone": f"{sys.executable} -m sessionbrowse",
    "started by another program": f"sh -c '{sys.executable} -m sessionbrowse; exit $?'",
}


@pytest.fixture
def home(tmp_path: Path) -> StoryHome:
    home = StoryHome(tmp_path)
    for number in range(9):
        home.session(home.project("shop"), ["Mend the sink", "Done"] * 5, days_ago=number)
    return home


def shell(home: StoryHome) -> Terminal:
    """Start a shell with job control."""
    if BASH is None:
        pytest.skip("needs bash")
    terminal = Terminal([BASH, "--norc", "--noprofile", "-i"], home.env(PS1="ready> "), home.home)
    terminal.wait("ready>")
    return terminal


def suspend(terminal: Terminal, *typed: str) -> None:
    """Press Ctrl+Z, and type something at once; then ask the shell, and go back to the browser."""
    terminal.press(SUSPEND, *typed)
    terminal.wait("Stopped")
    # The shell itself turns the last of these modes on.
    assert not [wrong for wrong, right in PAIRS[:-1] if terminal.seen.rfind(wrong) > terminal.seen.rfind(right)]
    terminal.press(ASK)
    terminal.wait(SHELL_HAS_THE_TERMINAL)
    terminal.press(f"fg{ENTER}")
    terminal.wait(lambda screen: SHELL_HAS_THE_TERMINAL not in screen.text())


@pytest.mark.parametrize("command", list(COMMANDS))
def test_a_suspended_browser_comes_back_as_it_was_and_takes_no_letter_that_was_meant_for_the_shell(
    command: str, home: StoryHome
) -> None:
    with shell(home) as terminal:
        terminal.press(f"{COMMANDS[command]}{ENTER}")
        terminal.wait("1/9")
        terminal.until_quiet(1)
        terminal.press("j")
        terminal.wait("2/9")
        for position in (3, 4):
            suspend(terminal, "jjuq")
            terminal.wait("Mend the sink")
            terminal.press("j")
            terminal.wait(f"{position}/9")
        terminal.press("q")
        terminal.wait("ready>")
        terminal.press(f"echo status $?{ENTER}")
        terminal.wait("status 0")


def test_the_key_works_in_a_filter_line_in_a_dialog_and_in_the_help(home: StoryHome) -> None:
    with shell(home) as terminal:
        terminal.press(f"{COMMANDS['alone']}{ENTER}")
        terminal.wait("1/9")
        terminal.until_quiet(1)
        for opened, seen in (("/sink", "/sink"), (RENAME, "Rename"), ("?", "Keys")):
            terminal.press(opened)
            terminal.wait(seen)
            suspend(terminal, "abc")
            terminal.wait(seen)
            assert "abc" not in terminal.screen.text()
            terminal.press(ESCAPE)
            terminal.until_quiet(1)


def test_the_key_is_the_same_in_the_habits_of_pi(home: StoryHome) -> None:
    settings = home.home / ".config" / "sessionbrowse"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text('habits = "pi"\n')
    with shell(home) as terminal:
        terminal.press(f"{COMMANDS['alone']}{ENTER}")
        terminal.wait("1/9")
        terminal.until_quiet(1)
        suspend(terminal, "abc")
        terminal.wait("1/9")
        assert "abc" not in terminal.screen.text()


def test_a_browser_without_a_shell_behind_it_says_so_and_stays(home: StoryHome) -> None:
    with home.browser() as browser:
        browser.wait("1/9")
        browser.until_quiet(1)
        browser.press(SUSPEND, "j")
        browser.wait("There is no shell here")
        browser.wait("2/9")
        quit_browser(browser)
        assert browser.seen.count(b"\x1b[?1049h") == 1


def test_a_browser_in_a_command_substitution_cannot_be_stopped(home: StoryHome) -> None:
    with shell(home) as terminal:
        terminal.press(f"chosen=$({sys.executable} -m sessionbrowse pick){ENTER}")
        terminal.wait("1/9")
        terminal.until_quiet(1)
        terminal.press(SUSPEND)
        terminal.wait("There is no shell here")
        terminal.press(ENTER)
        terminal.wait("ready>")
        terminal.press(f'test -f "$chosen" && echo chose $?{ENTER}')
        terminal.wait("chose 0")
