"""The browser in a real terminal: real key bytes, a real agent process (a stand-in), real bytes on the screen."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sessionbrowse.demo import make_demo
from tests.test_tui_hostile import hostile

PATIENCE_SECONDS = 30


class Terminal:
    """A terminal of 120 × 40 cells in which the browser runs, standard output aside."""

    def __init__(
        self, arguments: list[str], home: Path, programs: Path, variables: dict[str, str] | None = None
    ) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        environ = {
            "PATH": f"{programs}:{os.defpath}",
            "HOME": str(home),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            **(variables or {}),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sessionbrowse", *arguments],
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            env=environ,
            cwd=Path(__file__).resolve().parents[1],
            start_new_session=True,
        )
        os.close(slave)
        self.seen = b""

    def send(self, keys: bytes) -> None:
        """Send key bytes."""
        os.write(self.master, keys)

    def wait_for(self, text: str) -> None:
        """Read until a text has appeared since the last wait."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        wanted = text.encode()
        start = len(self.seen)
        while wanted not in without_styles(self.seen[start:]):
            self._read(deadline - time.monotonic())

    def leave(self) -> tuple[int, bytes, float]:
        """Quit; return the exit status, standard output, and the seconds it took."""
        started = time.monotonic()
        self.send(b"q")
        while self.process.poll() is None:
            assert time.monotonic() - started < PATIENCE_SECONDS
            try:
                self._read(0.02, wait=False)
            except EOFError:
                break
        status = self.process.wait(PATIENCE_SECONDS)
        took = time.monotonic() - started
        assert self.process.stdout is not None
        return status, self.process.stdout.read(), took

    def _read(self, seconds: float, *, wait: bool = True) -> None:
        ready, _, _ = select.select([self.master], [], [], max(0.0, seconds))
        if not ready:
            assert not wait, f"not seen in time; the end was {without_styles(self.seen)[-2000:]!r}"
            return
        try:
            data = os.read(self.master, 1 << 16)
        except OSError as error:
            raise EOFError from error
        if not data:
            raise EOFError
        self.seen += data


def without_styles(data: bytes) -> bytes:
    """Return what a terminal shows, without colours and cursor moves."""
    return re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", data)


@contextmanager
def terminal(arguments: list[str], home: Path, programs: Path) -> Iterator[Terminal]:
    """Run the browser and leave nothing of it behind."""
    opened = Terminal(arguments, home, programs)
    try:
        yield opened
    finally:
        if opened.process.poll() is None:
            opened.process.kill()
            opened.process.wait()
        if opened.process.stdout is not None:
            opened.process.stdout.close()
        os.close(opened.master)


def stand_in(directory: Path, name: str, script: str) -> Path:
    """Put a program of an agent's name into a directory."""
    directory.mkdir(exist_ok=True)
    program = directory / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return directory


async def test_resuming_runs_the_agent_in_the_sessions_directory_and_comes_back(tmp_path: Path, own_home: Path) -> None:
    store = make_demo(tmp_path / "demo")
    programs = stand_in(
        tmp_path / "bin", "pi", 'printf %s "$2" > "$HOME/resumed"; echo "AGENT $1 in $(pwd)"; read answer; exit 3'
    )
    with terminal(["--root", str(store)], own_home, programs) as browser:
        browser.wait_for("32 sessions")
        # The size is that of the terminal, though standard output is none.
        browser.wait_for("─ Preview ─")
        browser.send(b"j")
        browser.wait_for("2/32")
        browser.send(b"r")
        browser.wait_for(f"AGENT --session in {store / 'home' / 'dev' / 'webshop'}")
        resumed = Path((own_home / "resumed").read_text())
        assert resumed.is_absolute()
        assert resumed.is_file()
        assert "webshop" in str(resumed)
        browser.send(b"\r")
        browser.wait_for("2/32")
        browser.send(b"\r")
        browser.wait_for("← leaf")
        status, out, took = browser.leave()
    assert status == 0
    assert out == b""
    assert took < 5
    assert b"\x1b[?1049l" in browser.seen


async def test_a_missing_agent_is_said_in_a_sentence_and_the_browser_stays(tmp_path: Path, own_home: Path) -> None:
    store = make_demo(tmp_path / "demo")
    (tmp_path / "bin").mkdir()
    with terminal(["--root", str(store)], own_home, tmp_path / "bin") as browser:
        browser.wait_for("32 sessions")
        browser.send(b"r")
        browser.wait_for("is not installed here")
        status, _, _ = browser.leave()
    assert status == 0


async def test_a_terminal_never_gets_a_byte_that_a_session_sent(tmp_path: Path, own_home: Path) -> None:
    folder = tmp_path / "sessions" / "--p--"
    folder.mkdir(parents=True)
    hostile(folder / "2026-11-18T09-00-00-000Z_x.jsonl")
    (tmp_path / "bin").mkdir()
    with terminal(["--root", str(tmp_path / "sessions")], own_home, tmp_path / "bin") as browser:
        browser.wait_for("1 session ")
        browser.send(b"\r")
        browser.wait_for("entries")
        for key in (b"5", b"g", b"\t", b"\t", b"\t", *[b"j"] * 16, b"?", b"?"):
            browser.send(key)
            browser._read(0.2, wait=False)
        status, _, _ = browser.leave()
    assert status == 0
    shown = browser.seen
    for attack in (b"\x1b]52", b"\x1b]8;", b"\x1b[2J\x1b[31m", b"aGFjaw==\x07"):
        assert attack not in shown
    for character in "\x85\x9b\x9c\x9d\u200b\u202e\u2066\u2028":
        assert character not in shown.decode(errors="ignore")


def test_a_terminal_that_is_closed_ends_the_program_and_its_demo(tmp_path: Path) -> None:
    """The terminal is not the controlling one here, so no signal tells: the program has to notice."""
    (tmp_path / "tmp").mkdir()
    terminal = Terminal(["demo"], tmp_path, tmp_path, {"TMPDIR": str(tmp_path / "tmp")})
    try:
        terminal.wait_for("deploy script")
        assert list((tmp_path / "tmp").iterdir())
        os.close(terminal.master)
        terminal.process.wait(PATIENCE_SECONDS)
        assert terminal.process.returncode == 129
        assert not list((tmp_path / "tmp").iterdir())
    finally:
        terminal.process.kill()
        terminal.process.wait()
