"""The command that resumes over ssh starts the agent in the right directory, whatever the login shell and the names."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sessionbrowse.services.resume.plan import NO_DIRECTORY, NO_PROGRAM, remote_text, short_text

SHELLS = ("sh", "dash", "bash", "zsh", "ksh", "fish", "csh", "tcsh")
ODD = (
    "plain",
    "with blank",
    " begins and ends ",
    "-option",
    "it's",
    'double"quote',
    "back\\slash\\",
    "$HOME `id` $(id)",
    "bang!bang!!",
    "semi;colon & pipe | < >",
    "glob * ? [a-z] {a,b}",
    "~tilde",
    "percent %s %b \\0101",
    "new\nline\n",
    "tab\tbell\a\x1b[31m",
    "Ünïcode 日本語 🐚",
    "# comment",
)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Make a home directory of the other machine, whose PATH has an agent that tells its directory and arguments."""
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    agent = home / "bin" / "pi"
    agent.write_text('#!/bin/sh\npwd -P >"$TOLD"\nfor one in "$MARK" "$@"; do printf "%s\\0" "$one"; done >>"$TOLD"\n')
    agent.chmod(0o755)
    # /etc/profile sets PATH anew on many systems, so the agent is found by what the user's own start file adds.
    for name in (".profile", ".zprofile"):
        (home / name).write_text('PATH="$HOME/bin:$PATH"\n')
    return home


def told_over_there(shell: str, text: str, home: Path) -> tuple[int, bytes]:
    """Run a command as sshd does, by the user's login shell; return its status, and what the agent told."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    told = home / "told"
    environ = {
        "HOME": str(home),
        "SHELL": program,
        "PATH": f"{home}/bin:{os.defpath}:/usr/bin:/bin",
        "LC_ALL": "C",
        "TOLD": str(told),
        "TERM": "dumb",
        "MARK": "",
    }
    done = subprocess.run(
        [program, "-c", text],
        env=environ,
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        start_new_session=True,
        check=False,
    )
    return done.returncode, told.read_bytes() if told.exists() else b""


@pytest.mark.parametrize("shell", SHELLS)
def test_the_agent_starts_in_any_directory_with_any_argument(shell: str, there: Path) -> None:
    for name in ODD:
        directory = there / name
        directory.mkdir()
        status, told = told_over_there(shell, remote_text(str(directory), ["pi", "--session", name]), there)
        assert (status, told) == (0, os.fsencode(f"{directory.resolve()}\n\0--session\0{name}\0")), (shell, name)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_variable_of_the_place_reaches_the_agent_and_ours_does_not(shell: str, there: Path) -> None:
    text = remote_text("", ["pi"], {"MARK": "a'b c"})
    assert told_over_there(shell, text, there) == (0, os.fsencode(f"{there.resolve()}\na'b c\0"))
    (there / "bin" / "pi").write_text('#!/bin/sh\nprintf %s "${SB_R-gone}" >"$TOLD"\n')
    assert told_over_there(shell, text, there) == (0, b"gone")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_missing_directory_and_a_missing_program_have_statuses_of_their_own(shell: str, there: Path) -> None:
    assert told_over_there(shell, remote_text(str(there / "gone"), ["pi"]), there) == (NO_DIRECTORY, b"")
    assert told_over_there(shell, remote_text(str(there), ["no-such-agent"]), there) == (NO_PROGRAM, b"")


def test_the_command_is_one_line_of_printable_ascii() -> None:
    for name in ODD:
        text = remote_text(f"/{name}", ["pi", name], {"NAME": name})
        assert text.isascii()
        assert text.isprintable()


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "zsh", "fish"])
def test_the_short_form_does_the_same_for_plain_names(shell: str, there: Path) -> None:
    directory = there / "plain"
    directory.mkdir()
    text = short_text(str(directory), ["pi", "--session", "/x/1_a.jsonl"], {"MARK": "m"})
    assert text is not None
    assert told_over_there(shell, text, there) == (
        0,
        os.fsencode(f"{directory.resolve()}\nm\0--session\0/x/1_a.jsonl\0"),
    )


def test_only_plain_names_have_a_short_form() -> None:
    assert all(short_text(f"/{name}", ["pi"]) is None for name in ODD if name not in ("plain", "-option"))
    assert all(short_text("/plain", ["pi", name]) is None for name in ODD if name not in ("plain", "-option"))
    assert short_text("", ["pi"]) is None
