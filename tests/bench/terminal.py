"""A program in a terminal of its own: keys in, and what stands on the screen at each moment.

Understands as much of a terminal as Textual uses: places, erasing, plain text.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.bench.measure import cpu_of_tree

ROWS, COLUMNS = 40, 120
_SEQUENCE = re.compile(
    rb"\x1b(?:\[([0-9;:?<>=]*)[ !$\"']*([@-~])"  # control sequences
    rb"|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\"  # texts for the terminal
    rb"|[()*+][A-Za-z0-9]|[=>78cDEHM])"  # short ones
)


class TimedOut(Exception):
    """What was waited for did not appear; the message holds what stood on the screen instead."""


class Screen:
    """The characters on a terminal's screen."""

    def __init__(self, rows: int = ROWS, columns: int = COLUMNS) -> None:
        self._cells = [[" "] * columns for _ in range(rows)]
        self._row = self._column = 0
        self._waiting = b""

    def feed(self, given: bytes) -> None:
        """Take what the program wrote; an unfinished sequence waits for its rest."""
        given = self._waiting + given
        place = 0
        while place < len(given):
            if given[place] == 0x1B:
                found = _SEQUENCE.match(given, place)
                if found is None:
                    if len(given) - place > 4096:
                        place += 1
                        continue
                    break
                self._control(found[1], found[2])
                place = found.end()
                continue
            end = given.find(b"\x1b", place)
            text = given[place : end if end >= 0 else len(given)]
            if end < 0:
                text = text[: len(text) - _torn(text)]
                if not text:
                    break
            self._write(text.decode(errors="replace"))
            place += len(text)
        self._waiting = given[place:]

    def lines(self) -> list[str]:
        """Return the screen's lines without the blanks at their ends."""
        return ["".join(row).rstrip() for row in self._cells]

    def text(self) -> str:
        """Return the whole screen."""
        return "\n".join(self.lines())

    def _control(self, parameters: bytes | None, final: bytes | None) -> None:
        if final is None or parameters is None:
            return
        numbers = [int(part) if part.isdigit() else 0 for part in parameters.split(b";")]
        match final:
            case b"H" | b"f":
                self._row = max(0, numbers[0] - 1)
                self._column = max(0, (numbers[1] if len(numbers) > 1 else 1) - 1)
            case b"J":
                for row in self._cells:
                    row[:] = [" "] * len(row)
            case b"K":
                if self._row < len(self._cells):
                    row = self._cells[self._row]
                    row[self._column :] = [" "] * (len(row) - self._column)
            case b"C":
                self._column += max(1, numbers[0])
            case b"G":
                self._column = max(0, numbers[0] - 1)
            case _:
                pass

    def _write(self, text: str) -> None:
        for character in text:
            if character == "\r":
                self._column = 0
            elif character == "\n":
                self._row += 1
            elif character >= " ":
                wide = unicodedata.east_asian_width(character) in "WF"
                if self._row < len(self._cells) and self._column < len(self._cells[0]):
                    self._cells[self._row][self._column] = character
                self._column += 2 if wide else 1


class Terminal:
    """A running program; leave with `close`. `last_output` is the moment it last wrote something."""

    def __init__(self, command: Sequence[str | Path], env: Mapping[str, str], cwd: Path) -> None:
        self.screen = Screen()
        self._ended = False
        self.started = self.last_output = time.perf_counter()
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
                os.chdir(cwd)
                os.execve(os.fspath(command[0]), [os.fspath(part) for part in command], dict(env))
            finally:
                os._exit(127)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def press(self, keys: str) -> float:
        """Send keys; return the moment at which they were sent."""
        moment = time.perf_counter()
        os.write(self._descriptor, keys.encode())
        return moment

    def wait(self, seen: Callable[[Screen], bool], seconds: float = 30) -> float:
        """Return the moment at which the screen first was as asked for.

        Raises:
            TimedOut: it never was, or the program ended.
        """
        end = time.perf_counter() + seconds
        if seen(self.screen):
            return time.perf_counter()
        while (left := end - time.perf_counter()) > 0 and self._read(left):
            moment = time.perf_counter()
            if seen(self.screen):
                return moment
        shown = "; ".join(line.strip() for line in self.screen.lines() if line.strip())
        raise TimedOut(f"it did not appear within {seconds:g} s; on the screen: {shown[:200] or 'nothing'}")

    def until_quiet(self, seconds: float = 0.15, most: float = 10) -> float:
        """Return the moment of the last output before a pause of this length, or now if there was none."""
        last = time.perf_counter()
        end = last + most
        while time.perf_counter() < end and self._read(seconds):
            last = time.perf_counter()
        return last

    def cpu(self) -> float:
        """Return the seconds of CPU that the program and all it started used until now."""
        return cpu_of_tree(self.pid)

    def wait_end(self, seconds: float = 10) -> float:
        """Return the moment at which the program ended.

        Raises:
            TimedOut: it still runs.
        """
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self._read(0.002)
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return time.perf_counter()
        raise TimedOut(f"it did not end within {seconds:g} s")

    def close(self) -> None:
        """End the program, kindly at first."""
        if self._ended:
            return
        self._ended = True
        for how in (signal.SIGHUP, signal.SIGKILL):
            try:
                os.kill(self.pid, how)
            except ProcessLookupError:
                break
            for _ in range(100):
                if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                    break
                self._read(0.01)
            else:
                continue
            break
        os.waitpid(self.pid, 0)
        os.close(self._descriptor)

    def _read(self, seconds: float) -> bool:
        """Take what the program writes next; False if it writes nothing in time or has ended."""
        ready, _, _ = select.select([self._descriptor], [], [], seconds)
        if not ready:
            return False
        try:
            given = os.read(self._descriptor, 1 << 16)
        except OSError:  # Linux's way to say that the other end is closed
            return False
        # Textual asks what the terminal can do; a terminal that does not know answers nothing
        self.last_output = time.perf_counter()
        self.screen.feed(given)
        return bool(given)


def _torn(text: bytes) -> int:
    """Return how many bytes at the end begin a character that is not whole yet."""
    for back in range(1, min(4, len(text)) + 1):
        byte = text[-back]
        if byte < 0x80:
            return 0
        if byte >= 0xC0:
            size = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < size else 0
    return 0
