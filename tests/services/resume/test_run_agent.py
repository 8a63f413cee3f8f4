"""The terminal is lent to an agent and comes back as it was."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from sessionbrowse.services.resume.launch import ending, run_agent
from sessionbrowse.services.resume.plan import ResumeCommand


def shell(script: str, cwd: str = "/") -> ResumeCommand:
    return ResumeCommand(agent="pi", argv=("/bin/sh", "-c", script), cwd=cwd)


@pytest.mark.parametrize(("script", "status"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill $$", 143)])
def test_the_status_is_what_a_shell_would_say(script: str, status: int):
    assert run_agent(shell(script), os.environ) == status


def test_an_interrupt_while_the_agent_runs_is_not_ours():
    before = signal.getsignal(signal.SIGINT)
    assert run_agent(shell("kill -INT $PPID; exit 4"), os.environ) == 4
    assert signal.getsignal(signal.SIGINT) is before


def test_the_agent_itself_can_be_interrupted():
    assert run_agent(shell("kill -INT $$; sleep 9"), os.environ) == 130


def test_a_program_that_is_not_there_is_an_error_of_the_system(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        run_agent(ResumeCommand(agent="pi", argv=(str(tmp_path / "pi"),), cwd="/"), os.environ)


def test_it_runs_in_the_sessions_directory_with_its_variables(tmp_path: Path):
    command = ResumeCommand(
        agent="pi", argv=("/bin/sh", "-c", 'echo "$PWD $WHERE" > out'), cwd=str(tmp_path), env={"WHERE": "there"}
    )
    assert run_agent(command, os.environ) == 0
    assert (tmp_path / "out").read_text() == f"{tmp_path} there\n"


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (0, None),
        (130, None),
        (3, "pi ended with status 3."),
        (137, "pi was ended by the signal SIGKILL."),
        (255, "pi ended with status 255."),
    ],
)
def test_a_bad_ending_is_said(status: int, sentence: str | None):
    assert ending("pi", status) == sentence


def test_a_terminal_left_raw_is_put_back():
    master, slave = pty.openpty()
    code = (
        "import os; from tests.services.resume.test_run_agent import shell;"
        "from sessionbrowse.services.resume.launch import run_agent;"
        "run_agent(shell('stty raw -echo'), os.environ)"
    )
    before = termios.tcgetattr(slave)
    try:
        root = Path(__file__).resolve().parents[3]
        subprocess.run([sys.executable, "-c", code], stdin=slave, cwd=root, check=True, timeout=60)
        assert termios.tcgetattr(slave)[:4] == before[:4]
    finally:
        os.close(master)
        os.close(slave)
