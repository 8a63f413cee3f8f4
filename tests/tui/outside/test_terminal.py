"""The browser in a real terminal: real key bytes, a real agent process (a stand-in), real bytes on the screen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from sessionbrowse.demo import make_demo
from sessionbrowse.tui.paint.textual_driver import TerminalFile
from tests.stories.test_hostile import hostile
from tests.support.live_support import wait_for_end
from tests.support.terminal import ENTER, TAB, Terminal

PROJECT = Path(__file__).resolve().parents[3]


def browser_in_terminal(arguments: list[str], home: Path, programs: Path, **how: Any) -> Terminal:
    """Start the browser, with a home and agents of its own."""
    return Terminal([sys.executable, "-m", "sessionbrowse", *arguments], surroundings(home, programs), PROJECT, **how)


def surroundings(home: Path, programs: Path, **more: str) -> dict[str, str]:
    """Return the environment of a program in a terminal."""
    return {
        "PATH": f"{programs}:{os.defpath}",
        "HOME": str(home),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        **more,
    }


def leave(browser: Terminal) -> tuple[int, float]:
    """Quit; return the exit status and the seconds it took."""
    pressed = browser.press("q")
    took = browser.wait_end() - pressed
    return browser.process.returncode, took


def stand_in(directory: Path, name: str, script: str) -> Path:
    """Put a program of an agent's name into a directory."""
    directory.mkdir(exist_ok=True)
    program = directory / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return directory


def test_resuming_runs_the_agent_in_the_sessions_directory_and_comes_back(tmp_path: Path, own_home: Path) -> None:
    store = make_demo(tmp_path / "demo")
    programs = stand_in(
        tmp_path / "bin", "pi", 'printf %s "$2" > "$HOME/resumed"; echo "AGENT $1 in $(pwd)"; read answer; exit 3'
    )
    with browser_in_terminal(["--root", str(store)], own_home, programs, captured=True) as browser:
        browser.wait("34 sessions")
        # The size is that of the terminal, though standard output is none.
        browser.wait("─ Preview ─")
        browser.press("j")
        browser.wait("2/31")
        browser.press("r")
        browser.wait(f"AGENT --session in {store / 'home' / 'dev' / 'webshop'}")
        resumed = Path((own_home / "resumed").read_text())
        assert resumed.is_absolute()
        assert resumed.is_file()
        assert "webshop" in str(resumed)
        browser.press(ENTER)
        # What stood there before the agent is still on this screen: only this sentence is new.
        browser.wait("pi ended with status 3")
        browser.press(ENTER)
        browser.wait("← leaf")
        status, took = leave(browser)
        assert status == 0
        assert browser.output() == b""
        assert took < 20
        assert b"\x1b[?1049l" in browser.seen


def test_a_missing_agent_is_said_in_a_sentence_and_the_browser_stays(tmp_path: Path, own_home: Path) -> None:
    store = make_demo(tmp_path / "demo")
    (tmp_path / "bin").mkdir()
    with browser_in_terminal(["--root", str(store)], own_home, tmp_path / "bin") as browser:
        browser.wait("34 sessions")
        browser.press("r")
        browser.wait("is not installed here")
        assert leave(browser)[0] == 0


def test_a_terminal_never_gets_a_byte_that_a_session_sent(tmp_path: Path, own_home: Path) -> None:
    folder = tmp_path / "sessions" / "--p--"
    folder.mkdir(parents=True)
    hostile(folder / "2026-11-18T09-00-00-000Z_x.jsonl")
    (tmp_path / "bin").mkdir()
    with browser_in_terminal(["--root", str(tmp_path / "sessions")], own_home, tmp_path / "bin") as browser:
        browser.wait("▌")
        browser.press(ENTER)
        browser.wait("entries")
        for key in ("5", "g", TAB, TAB, TAB, *["j"] * 16, "?", "?"):
            browser.press(key)
            browser.until_quiet(0.2)
        assert leave(browser)[0] == 0
        shown = browser.seen
    for attack in (b"\x1b]52", b"\x1b]8;", b"\x1b[2J\x1b[31m", b"aGFjaw==\x07"):
        assert attack not in shown
    for character in "\x85\x9b\x9c\x9d\u200b\u202e\u2066\u2028":
        assert character not in shown.decode(errors="ignore")


def test_a_browser_that_was_stopped_and_goes_on_takes_every_key_and_leaves_the_terminal_as_it_was(
    tmp_path: Path, own_home: Path
) -> None:
    store = make_demo(tmp_path / "demo")
    with browser_in_terminal(["--root", str(store)], own_home, tmp_path) as browser:
        modes = browser.modes()
        browser.wait("34 sessions")
        browser.wait("1/31")
        for position in range(2, 14):
            if position % 4 == 0:
                # The second is one that it hears of: it leaves the screen by itself.
                os.kill(browser.pid, signal.SIGSTOP if position % 8 else signal.SIGTSTP)
                browser.wait_stopped()
                browser.set_modes(modes)
                browser.screen.feed(b"\x1b[2J")
                os.kill(browser.pid, signal.SIGCONT)
                browser.wait("─ Projects ─")
            browser.press("j")
            browser.wait(f"{position}/31")
        assert leave(browser)[0] == 0
        assert browser.modes() == modes


def test_frames_are_drawn_as_terminals_read_them_whatever_the_locale_says(tmp_path: Path, own_home: Path) -> None:
    surrounding = surroundings(own_home, tmp_path, PYTHONIOENCODING="latin-1")
    with Terminal([sys.executable, "-m", "sessionbrowse", "demo"], surrounding, PROJECT) as browser:
        browser.wait("─ Projects ─")
        assert leave(browser)[0] == 0
        assert b"\\u2500" not in browser.seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGABRT])
def test_a_program_that_is_killed_leaves_the_terminal_as_it_was_and_no_demo(
    number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "tmp").mkdir()
    surrounding = surroundings(tmp_path, tmp_path, TMPDIR=str(tmp_path / "tmp"))
    with Terminal([sys.executable, "-m", "sessionbrowse", "demo"], surrounding, PROJECT) as browser:
        modes = browser.modes()
        browser.wait("deploy script")
        os.kill(browser.pid, number)
        # A shell shows the same number for both: until the first frame is done, the signal itself ends the program.
        assert browser.wait_status() in (128 + number, -number)
        assert b"\x1b[?1049l" in browser.seen
        assert browser.modes() == modes
        assert not list((tmp_path / "tmp").iterdir())


def test_a_terminal_that_is_closed_ends_the_program_and_its_demo(tmp_path: Path) -> None:
    """The terminal is not the controlling one here, so no signal tells: the program has to notice."""
    (tmp_path / "tmp").mkdir()
    surrounding = surroundings(tmp_path, tmp_path, TMPDIR=str(tmp_path / "tmp"))
    command = [sys.executable, "-m", "sessionbrowse", "demo"]
    with Terminal(command, surrounding, PROJECT, controlling=False) as browser:
        browser.wait("deploy script")
        assert list((tmp_path / "tmp").iterdir())
        browser.hang_up()
        assert browser.wait_status() == 129
        assert not list((tmp_path / "tmp").iterdir())


def test_a_terminal_that_is_closed_while_much_is_drawn_ends_the_program(tmp_path: Path, own_home: Path) -> None:
    store = make_demo(tmp_path / "demo")
    with browser_in_terminal(["--root", str(store)], own_home, tmp_path, controlling=False) as browser:
        browser.wait("deploy script")
        # Nobody reads what is drawn: the terminal's buffer fills, then the program's, then the terminal goes.
        browser.press(*("jjjjjjkkkkkk" * 60))
        browser.hang_up()
        assert browser.wait_status() == 129


# Each of these errors is one that nobody expects: in a thread of ours, after a key, while keys are read.
IN_THREAD = "from sessionbrowse.tui.app import BrowseApp as where; name = '_prepare'"
AFTER_A_KEY = "from sessionbrowse.tui.paint.textual_compat import CompatApp as where; name = 'paint_again'"
IN_INPUT = "from sessionbrowse.tui.paint.terminal_input import InputSplitter as where; name = 'feed'"
FAILING = """
from sessionbrowse.cli import main
{where}
def fail(*_):
    raise ValueError("no such thing")
setattr(where, name, fail)
main()
"""


def test_an_error_in_a_thread_is_told_and_the_browser_goes_on(tmp_path: Path, own_home: Path) -> None:
    command = [sys.executable, "-c", FAILING.format(where=IN_THREAD), "--root", str(make_demo(tmp_path / "demo"))]
    with Terminal(command, surroundings(own_home, tmp_path), PROJECT) as browser:
        browser.wait("ValueError('no such thing')")
        assert leave(browser)[0] == 0


@pytest.mark.parametrize(
    ("where", "key", "expected"),
    [
        (IN_INPUT, "j", b"sessionbrowse: The keyboard can no longer be read: no such thing"),
        (AFTER_A_KEY, ":paint again\r", b"no such thing"),
    ],
)
def test_an_error_that_the_browser_cannot_go_on_after_ends_it_and_gives_the_terminal_back(
    where: str, key: str, expected: bytes, tmp_path: Path, own_home: Path
) -> None:
    command = [sys.executable, "-c", FAILING.format(where=where), "--root", str(make_demo(tmp_path / "demo"))]
    with Terminal(command, surroundings(own_home, tmp_path), PROJECT) as browser:
        modes = browser.modes()
        browser.wait("34 sessions")
        browser.until_quiet()
        browser.press(key)
        assert browser.wait_status() == 1
        browser.until_quiet(0.01, 1)
        assert expected in browser.seen[browser.seen.rfind(b"\x1b[?1049l") :]
        assert browser.modes() == modes


def test_a_program_of_the_browser_that_hangs_ends_with_it(tmp_path: Path, own_home: Path) -> None:
    with browser_in_terminal(["--root", str(make_demo(tmp_path / "demo"))], own_home, tmp_path) as browser:
        browser.wait("34 sessions")
        listed = subprocess.run(
            ["ps", "-A", "-o", "pid=", "-o", "ppid="], capture_output=True, text=True, check=True, timeout=20
        )
        pairs = [line.split() for line in listed.stdout.splitlines()]
        programs = [int(process) for process, parent in pairs if parent == str(browser.pid)]
        assert programs
        for process in programs:
            os.kill(process, signal.SIGSTOP)
        assert leave(browser)[0] == 0
        for process in programs:
            wait_for_end(process)


def test_what_is_drawn_on_a_terminal_that_is_gone_waits_for_nobody() -> None:
    from textual.drivers._writer_thread import WriterThread

    ours, terminal = os.openpty()
    file = os.fdopen(terminal, "w")
    writer = WriterThread(cast(Any, TerminalFile(file)))
    os.close(ours)
    writer.start()
    # More than the thread's queue holds: with a thread that ended, this would not come back.
    for _ in range(100):
        writer.write("x" * 5000)
    writer.stop()
    assert not writer.is_alive()
    file.close()
