"""Agents beside the browser: in a real tmux, and by a command of the user's own; hostile names stay names."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessionbrowse.errors import CannotResume
from sessionbrowse.services.resume.launch import (
    command_argv,
    open_in_tmux,
    replaced,
    start_command,
    tmux_argv,
    why_no_tmux,
)
from sessionbrowse.services.resume.plan import ResumeCommand

HOSTILE = "it's #(touch pwned) $(touch pwned) `touch pwned`;"
PATIENCE_SECONDS = 20.0

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def until_there(path: Path) -> str:
    """Return what another process writes into a file, once it is there."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if path.exists():
            return path.read_text()
        os.sched_yield()
    raise AssertionError(f"{path} was never written")


def agent(folder: Path, body: str = "") -> Path:
    """A stand-in for an agent that tells where and how it was started."""
    program = folder / "pi"
    told = '{ pwd; echo "$PI_DIR"; for word; do echo "$word"; done; } > "$TOLD.part"; mv "$TOLD.part" "$TOLD"'
    program.write_text(f"#!/bin/sh\n{told}\n{body}\n")
    program.chmod(0o755)
    return program


class Tmux:
    """A tmux server of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.socket = str(folder / "tmux")
        self.ask("-f", os.devnull, "new-session", "-d", "-x", "200", "-y", "50", "cat")
        server, pane = self.ask("display-message", "-p", "#{pid} #{pane_id}").split()
        self.environ = {"PATH": os.environ["PATH"], "TMUX": f"{self.socket},{server},0", "TMUX_PANE": pane}

    def ask(self, *words: str) -> str:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}
        return subprocess.run(
            ["tmux", "-S", self.socket, *words], capture_output=True, text=True, check=True, env=environ, timeout=60
        ).stdout


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    server = Tmux(tmp_path)
    yield server
    server.ask("kill-server")


@needs_tmux
@pytest.mark.parametrize("split", [False, True])
def test_the_agent_runs_in_tmux_in_the_directory_with_its_words(tmux: Tmux, tmp_path: Path, split: bool) -> None:
    directory = tmp_path / HOSTILE
    directory.mkdir()
    told = tmp_path / "told"
    words = (str(agent(tmp_path)), "--session", f"{directory}/a b.jsonl", "ends in ;", "\\;")
    command = ResumeCommand("pi", words, str(directory), {"TOLD": str(told), "PI_DIR": "x;"})
    open_in_tmux(command, tmux.environ, split=split)
    assert until_there(told).splitlines() == [str(directory), "x;", *words[1:]]
    assert not list(tmp_path.rglob("pwned"))


@needs_tmux
def test_a_window_whose_agent_fails_stays_and_says_so(tmux: Tmux, tmp_path: Path) -> None:
    told = tmp_path / "told"
    words = (str(agent(tmp_path, "exit 3")), "--session", "/a.jsonl")
    open_in_tmux(ResumeCommand("pi", words, str(tmp_path), {"TOLD": str(told)}), tmux.environ, split=False)
    until_there(told)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while "ended with status 3" not in (seen := tmux.ask("capture-pane", "-p", "-t", "pi")):
        assert time.monotonic() < deadline, seen
    assert "Enter closes" in seen


@needs_tmux
def test_what_tmux_refuses_is_said(tmux: Tmux, tmp_path: Path) -> None:
    command = ResumeCommand("pi", ("pi",), str(tmp_path))
    with pytest.raises(CannotResume, match="tmux refused"):
        open_in_tmux(command, {**tmux.environ, "TMUX_PANE": "%999"}, split=True)


def test_outside_of_tmux_the_sentence_holds_the_command(tmp_path: Path) -> None:
    assert why_no_tmux({}) == "Not in tmux."
    assert why_no_tmux({"TMUX": "x", "PATH": str(tmp_path)}) == "tmux is not found."
    with pytest.raises(CannotResume, match=r"Not in tmux\. .*pi --session /a\.jsonl"):
        tmux_argv(ResumeCommand("pi", ("pi", "--session", "/a.jsonl"), "/w"), {}, split=False)


def test_secrets_are_no_words_of_a_command(tmp_path: Path) -> None:
    (tmp_path / "tmux").write_text("#!/bin/sh\n")
    (tmp_path / "tmux").chmod(0o755)
    environ = {"TMUX": "x", "PATH": str(tmp_path), "PI_API_KEY": "secret", "PI_CODING_AGENT_DIR": "/x", "OTHER": "y"}
    words = tmux_argv(ResumeCommand("pi", ("pi",), "/w"), environ, split=False)
    assert "PI_CODING_AGENT_DIR=/x" in words
    assert not any("=secret" in word or "OTHER" in word for word in words)


# ---- a command of the user's own ----------------------------------------------------------------------------------

COMMAND = ResumeCommand("pi", ("pi", "--session", "/a b.jsonl"), "/w {argv}", {"PI_DIR": "d"})


@pytest.mark.parametrize(
    ("template", "words"),
    [
        (("kitty", "{argv}"), ("kitty", "pi", "--session", "/a b.jsonl")),
        (("kitty", "--cwd={cwd}", "{argv}"), ("kitty", "--cwd=/w {argv}", "pi", "--session", "/a b.jsonl")),
        (("sh", "-c", "{line}; read"), ("sh", "-c", "cd '/w {argv}' && PI_DIR=d pi --session '/a b.jsonl'; read")),
        (("x", "run {argv}"), ("x", "run pi --session '/a b.jsonl'")),
    ],
)
def test_placeholders_become_the_agents_words(template: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert command_argv(COMMAND, template) == words


@pytest.mark.parametrize("template", [(), ("kitty",), ("kitty", "{cwd}")])
def test_a_command_without_a_place_for_the_agent_is_refused(template: tuple[str, ...]) -> None:
    with pytest.raises(CannotResume, match="The example settings show a valid command"):
        command_argv(COMMAND, template)


def test_what_a_value_holds_is_not_filled_in_again() -> None:
    assert replaced("{a}{b}", {"{a}": "{b}", "{b}": "{a}"}) == "{b}{a}"


def test_the_users_command_is_started_and_left_to_itself(tmp_path: Path) -> None:
    told = tmp_path / "told"
    words = (str(agent(tmp_path)), "--session", HOSTILE)
    command = ResumeCommand("pi", words, str(tmp_path), {"TOLD": str(told), "PI_DIR": "d"})
    start_command(command, ("env", "{argv}"), {"PATH": os.environ["PATH"]})
    assert until_there(told).splitlines() == [str(tmp_path), "d", "--session", HOSTILE]


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        (("sh", "-c", "echo no screen >&2; exit 4", "{argv}"), "sh ended with status 4: no screen"),
        (("sh", "-c", "exit 4", "{argv}"), "sh ended with status 4: the command printed no error message."),
        (("/not/there", "{argv}"), "/not/there could not be started: No such file or directory."),
    ],
)
def test_a_command_that_fails_at_once_says_why(tmp_path: Path, template: tuple[str, ...], sentence: str) -> None:
    command = ResumeCommand("pi", ("pi",), str(tmp_path))
    with pytest.raises(CannotResume) as refused:
        start_command(command, template, {"PATH": os.environ["PATH"]})
    assert refused.value.sentence == sentence
