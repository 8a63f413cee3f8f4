"""A word means the same in dash, bash, zsh, fish and busybox, whatever a session's directory is named."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sessionbrowse.services.resume.launch import command_argv
from sessionbrowse.services.resume.plan import ResumeCommand
from sessionbrowse.text import shell_quote

NAMES = 2_000
PER_RUN = 500
ODD = [
    *(chr(code) for code in range(1, 128)), "\udcff", "\udc80", "\x9b", "\u2028", "\u202e", "é", "漢", "'", "\\", "\\'",
    "'\\", "$()", "$(touch PWNED)", "`touch PWNED`", "; touch PWNED; #", "\n", "\r\n", "&& touch PWNED", "${HOME}", "~",
    "=ls", "%self", "!!", "!x", "\\x27", "$'\\x1b'", "\x1b['\\", "*", "?", "[a-z]", "{a,b}", "(", ")", "<(ls)", "--",
    "\\\n", "'\"'\"'", "\x1b]0;x\x07", "^x", "#", "\t", " ",
]  # fmt: skip
STARTS = ["", "-", "--", "~", "~root/", "=", "%", "#", "!", "a=", "-n ", "\\", "'", '"', "$", "\n", " "]
SHELLS = {
    "dash": ["dash"],
    "bash": ["bash", "--norc"],
    "bash as sh": ["bash", "--posix"],
    "zsh": ["zsh", "-f"],
    "fish": ["fish", "--no-config"],
    "busybox": ["busybox", "sh"],
}


def hostile_names() -> list[str]:
    """Return distinct names of one or more hostile pieces, the same ones in every run."""
    draw = random.Random(15)
    names = dict.fromkeys(["", *ODD, *STARTS])
    while len(names) < NAMES:
        names[draw.choice(STARTS) + "".join(draw.choices(ODD, k=draw.randint(1, 8)))] = None
    return list(names)


def run(shell: str, line: bytes, folder: Path) -> subprocess.CompletedProcess[bytes]:
    if shutil.which(SHELLS[shell][0]) is None:
        pytest.skip(f"{SHELLS[shell][0]} is not installed")
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        [*SHELLS[shell], "-c", line], capture_output=True, env=environ, cwd=folder, timeout=120, check=False
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_two_thousand_hostile_names_are_one_word_each(tmp_path: Path, shell: str):
    names = hostile_names()
    printer = shutil.which("printf")
    wrong = []
    for at in range(0, len(names), PER_RUN):
        some = names[at : at + PER_RUN]
        # Unlike a builtin, the program gets the words as the shell passes them to an agent.
        line = " ".join([str(printer), shell_quote(r"%s\0"), *map(shell_quote, some)])
        done = run(shell, os.fsencode(line), tmp_path)
        assert done.returncode == 0, done.stderr
        said = done.stdout.split(b"\0")[:-1]
        assert len(said) == len(some)
        wrong += [name for name, one in zip(some, said, strict=True) if os.fsencode(name) != one]
    assert wrong == []
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "name",
    [
        "a\x1b'; touch PWNED; #",
        "\x1b\\'; touch PWNED; '",
        "b\n$(touch PWNED)`touch PWNED`'\\",
        "\udcff\\",
        "=ls",
        "%self",
    ],
)
def test_a_resume_line_runs_the_agent_in_a_directory_of_any_name(tmp_path: Path, shell: str, name: str):
    directory = tmp_path / name
    directory.mkdir()
    say = "import json, os, sys; print(json.dumps([sys.argv[1:], os.getcwd(), os.environ['A']]))"
    command = ResumeCommand("pi", (sys.executable, "-c", say, name, "-x"), str(directory), {"A": name})
    line = command_argv(command, ["sh", "-c", "{line}"])[-1]
    assert line == command.shell_line()
    done = run(shell, os.fsencode(line), tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[name, "-x"], str(directory), name]
    assert not list(tmp_path.rglob("PWNED"))


@pytest.mark.parametrize(
    ("name", "text", "quoted"),
    [
        ("a plain path is itself", "/a/b-c_d.e:f", "/a/b-c_d.e:f"),
        ("nothing is a word too", "", "''"),
        ("a quote and a backslash stand outside", "a'b\\c", "'a'\\''b'\\\\'c'"),
        ("zsh would look up a command", "=ls", "'=ls'"),
        ("no path has NUL or half a pair", "a\0\ud800", "'a\ufffd\ufffd'"),
        ("bytes of a path stay", "\udcff", "'\udcff'"),
    ],
)
def test_words_are_quoted_only_if_a_shell_would_touch_them(name: str, text: str, quoted: str):
    assert shell_quote(text) == quoted
