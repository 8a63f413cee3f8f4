"""A session on another machine is resumed there by ssh, after one look at its file."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.services.resume.launch import endings_there, tmux_argv
from sessionbrowse.services.resume.plan import plan
from sessionbrowse.store.find.roots import real_surroundings
from sessionbrowse.store.own.mirrors import path_here
from tests.services.machines.conftest import MakeMachine
from tests.services.machines.conftest import make_machine as make_machine
from tests.services.machines.other_machine import OtherMachine
from tests.support.session_files import header, user

SESSION = ".pi/agent/sessions/--shop--/1_s-1.jsonl"


@pytest.fixture
def there(own_home: Path, make_machine: MakeMachine, capfd: pytest.CaptureFixture[str]) -> OtherMachine:
    """Make a machine with an agent and an old session, and look at it."""
    machine = make_machine()
    machine.write("bin/pi", b'#!/bin/sh\npwd -P\nprintf "%s\\n" "$@"\n').chmod(0o755)
    machine.write(".profile", b'PATH="$HOME/bin:$PATH"\n')
    directory = machine.home / "it's a shop"
    directory.mkdir()
    file = machine.write(SESSION, header(id="s-1", cwd=str(directory)) + user("a", None))
    os.utime(file, (time.time() - 3600, time.time() - 3600))
    assert main(["machines", "add", "mini", "mini.local"]) == 0
    assert main(["machines", "look"]) == 0
    capfd.readouterr()
    return machine


def test_the_agent_starts_over_there_in_the_sessions_directory_with_its_own_path(
    there: OtherMachine, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["resume", "s-1"]) == 0
    printed = capfd.readouterr().out.splitlines()
    assert printed == [str((there.home / "it's a shop").resolve()), "--session", str(there.home / SESSION)]
    assert there.calls[-1].startswith("-t mini.local exec env SB_R=")


def test_a_missing_directory_or_program_over_there_is_told(
    there: OtherMachine, capfd: pytest.CaptureFixture[str]
) -> None:
    (there.home / "bin/pi").unlink()
    assert main(["resume", "s-1"]) == 75
    assert "pi is not on the PATH of a login on mini." in capfd.readouterr().err
    (there.home / "it's a shop").rmdir()
    assert main(["resume", "s-1"]) == 74
    assert "The session's directory is gone on mini." in capfd.readouterr().err


def test_a_session_that_changed_over_there_since_the_last_look_is_asked_about(
    there: OtherMachine, capfd: pytest.CaptureFixture[str]
) -> None:
    os.utime(there.home / SESSION)
    assert main(["resume", "s-1"]) == 1
    assert "it changed less than 1 min ago on mini" in capfd.readouterr().err
    assert main(["resume", "s-1", "--force"]) == 0


def test_the_command_to_copy_is_short_for_plain_names_and_one_word_of_ascii_for_others(
    there: OtherMachine, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["resume", "s-1", "--print"]) == 0
    assert capfd.readouterr().out.startswith("ssh -t mini.local 'exec env SB_R=")
    path = there.home / SESSION
    path.write_bytes(header(id="s-1", cwd="/srv/shop") + user("a", None))
    assert main(["machines", "look"]) == 0
    capfd.readouterr()
    assert main(["resume", "s-1", "--print"]) == 0
    line = f"""ssh -t mini.local 'exec $SHELL -l -i -c "cd /srv/shop && exec pi --session {path}"'\n"""
    assert capfd.readouterr().out == line
    assert main(["resume", "s-1", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["argv"][:3] == ["ssh", "-t", "mini.local"]


def test_a_tmux_window_gets_the_command_as_words_and_tells_the_sentence_of_its_status(there: OtherMachine) -> None:
    command = plan(path_here("mini", str(there.home / SESSION)), "pi", real_surroundings())
    argv = tmux_argv(command, {"TMUX": "/tmp/tmux,1,0", "PATH": os.environ["PATH"]}, split=False)
    assert argv[-4:] == command.argv
    assert [word for word in argv if word.startswith("74:")] == [f"74:{endings_there(command)[74]}"]


def test_reading_and_resuming_write_nothing_over_there(there: OtherMachine, capfd: pytest.CaptureFixture[str]) -> None:
    before = there.files()
    for words in (["resume", "s-1"], ["machines", "look"], ["fork", "s-1", "--cwd", "."], ["rename", "s-1", "x"]):
        main(words)
    assert there.files() == before
