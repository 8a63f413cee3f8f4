"""The real interactive programs in a terminal: each draws sessions and their trees, until one stops it.

A program resumes one session after another, as by its own list. Where it stops or draws nothing, it is started anew
with that session alone, and only what happens then counts. With a session whose header is odd, it is always started
too.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from . import real
from .shapes import LAST_WORD, Shape

HERE = Path(__file__).resolve().parent
ROWS, COLUMNS = 120, 160
SECONDS = 30
STARTS_IN_SECONDS = 240
_CONTROLS = re.compile(rb"\x1b\[[0-9;:?<>=]*[ -/]*[@-~]|\x1b[\]_P][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]")
_ERROR = re.compile(r"^\s*(\w*Error:|[a-zA-Z]{1,2}: |Extension )")
_FAILED = b'"command:next"'
"""omp's sentence for a session that it cannot draw; started with that session, it ends with the same error."""
_EXPAND = b"\x0f"
_ESCAPE = b"\x1b"
_QUIET = 0.25
"""Seconds after Escape before the next key: earlier, the two would be one key."""


class Drawn(Struct, frozen=True):
    """The end of drawing a session: at `stage` "open" or "tree" the program stopped, with `error` as its last words.

    The stage is None if all was drawn, "hangs" if the program no longer answers, and "nothing" if it runs but did not
    draw the session's last message.
    """

    stage: str | None
    error: str = ""


class Program(Struct, frozen=True):
    """An interactive program: name, version, the command that starts it, the key that shows all rows of its tree."""

    agent: str
    version: str
    command: tuple[str, ...]
    all_rows: bytes


def program(agent: str, version: str) -> Program:
    """Return the installed program of a version.

    Raises:
        real.Unavailable: it cannot be installed here.
    """
    if agent == "pi":
        quiet = ("--offline", "-ne", "-ns", "-np", "-nc")
        return Program(agent, version, (*map(str, real.pi_command(version)), *quiet), b"\x01")
    return Program(agent, version, tuple(map(str, real.omp_command(version))), b"\x1ba")


def draw(which: Program, some: Sequence[Shape]) -> Iterator[Drawn]:
    """Yield for each session how the program drew it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        running: _Terminal | None = None
        for number, shape in enumerate(some):
            word = b"%s%dX" % (LAST_WORD.encode(), number)
            file = folder / f"{number}.jsonl"
            content = shape.content.replace(LAST_WORD.encode(), word)
            file.write_bytes(content)
            if running is None:
                first = folder / "first.jsonl"
                first.write_bytes(_SOUND)
                running = _Terminal(which, folder, first)
                if not running.shows(b"READYWORD", seconds=STARTS_IN_SECONDS):
                    raise real.Unavailable(f"{which.command} does not draw a session: {running.last_words()}")
            (folder / "next").write_text(str(file))
            running.type(b"/next\r")
            shown = running.shows(word, _FAILED, seconds=SECONDS / 3)
            if shown == _FAILED:
                yield Drawn("open", running.last_words())
            elif shown == word and _draws_tree(running, which):
                yield _drawn_alone(which, folder, content, word) if shape.is_of_header else Drawn(None)
            else:
                running.end()
                running = None
                yield _drawn_alone(which, folder, content, word)
        if running is not None:
            running.end()


_SOUND = (
    b'{"type":"session","version":3,"id":"first","timestamp":"2026-01-02T03:04:00.000Z","cwd":"/"}\n'
    b'{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-02T03:04:01.000Z",'
    b'"message":{"role":"user","content":"READYWORD","timestamp":1}}\n'
)


def _draws_tree(running: _Terminal, which: Program) -> bool:
    running.type(_EXPAND)
    running.type(b"/tree\r")
    if not running.shows(b"Session Tree", seconds=SECONDS / 2):
        return False
    running.type(which.all_rows)
    if not running.shows(b"[all]", seconds=SECONDS / 2):
        return False
    for key in (b"T", b"o", b"\x7f", b"\x7f"):
        running.type(key)
    running.type(_ESCAPE)
    running.settles(_QUIET)
    running.type(b"/tree\r")
    if not running.shows(b"Session Tree", seconds=SECONDS / 2):
        return False
    running.type(_ESCAPE)
    running.settles(_QUIET)
    return True


def _drawn_alone(which: Program, folder: Path, content: bytes, word: bytes) -> Drawn:
    file = folder / "alone.jsonl"
    file.write_bytes(content)
    alone = _Terminal(which, folder, file)
    try:
        if not alone.shows(word, seconds=STARTS_IN_SECONDS):
            if alone.ended:
                return Drawn("open", alone.last_words())
            alone.type(b"/tree\r")
            return Drawn("nothing" if alone.shows(b"Session Tree", seconds=SECONDS / 2) else "hangs")
        if _draws_tree(alone, which):
            return Drawn(None)
        return Drawn("tree", alone.last_words()) if alone.ended else Drawn("hangs")
    finally:
        alone.end()


class _Terminal:
    """A program in a terminal of its own, with a made-up home and without network."""

    def __init__(self, which: Program, folder: Path, session: Path) -> None:
        home = folder / "home"
        home.mkdir(exist_ok=True)
        environment = {
            "HOME": str(home),
            "PATH": os.environ.get("PATH", ""),
            "TERM": "xterm-256color",
            "PI_OFFLINE": "1",
            "PI_NO_TITLE": "1",
            "SHAPE_NEXT": str(folder / "next"),
            "TMPDIR": str(folder),
        }
        extension = folder / "next_session.js"
        shutil.copyfile(HERE / "next_session.js", extension)
        command = [*which.command, "-e", str(extension), "--session", str(session)]
        self._process, self._terminal = pty.fork()
        if self._process == 0:
            os.chdir(folder)
            os.execve(command[0], command, environment)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.ended = False
        self._seen = b""
        self._from = 0

    def shows(self, *words: bytes, seconds: float = SECONDS) -> bytes | None:
        """Return the word that the program writes first; None if it ends, or if the time is over."""
        until = time.monotonic() + seconds
        while True:
            new = self._seen[self._from :]
            places = {new.index(word): word for word in words if word in new}
            if places:
                self._from += min(places) + 1
                return places[min(places)]
            if self.ended or time.monotonic() > until:
                return None
            self._read(0.1)

    def settles(self, seconds: float = 0.02) -> None:
        """Read until the program has written nothing for so long, at most a second."""
        until = time.monotonic() + 1
        while self._read(seconds) and time.monotonic() < until:
            pass

    def type(self, keys: bytes) -> None:
        """Send keys to the program."""
        self.settles()
        try:
            os.write(self._terminal, keys)
        except OSError:
            self.ended = True

    def last_words(self) -> str:
        """Return the line of the error with which the program ended."""
        self.settles(0.2)
        lines = _CONTROLS.sub(b"", self._seen[-20_000:]).decode(errors="replace").splitlines()
        found = [
            line.strip()
            for line in lines
            if re.search(r"^\w*Error:|^[a-zA-Z]{1,2}: |not a valid|^Extension ", line.strip())
        ]
        return found[0][:200] if found else " / ".join(line.strip() for line in lines[-3:])[:200]

    def end(self) -> None:
        """End the program, if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._terminal)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], seconds)
        if not ready or self.ended:
            return False
        try:
            read = os.read(self._terminal, 1 << 16)
        except OSError:
            read = b""
        self.ended = not read
        self._seen += read
        return bool(read)
