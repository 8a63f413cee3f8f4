"""Run a program in a pseudo-terminal: send real key bytes, read the screen at each moment."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyte

ROWS, COLUMNS = 40, 120
PATIENCE_SECONDS = 30.0
FIRST_OUTPUT_SECONDS = 1.5
DOWN, UP, LEFT, RIGHT = "\x1b[B", "\x1b[A", "\x1b[D", "\x1b[C"
PAGE_DOWN, PAGE_UP = "\x1b[6~", "\x1b[5~"
ENTER, ESCAPE, TAB, BACKSPACE = "\r", "\x1b", "\t", "\x7f"

# Requests for the kitty keyboard protocol, which pyte would print, and colours: no test reads them, and they make up
# most of the output.
_UNSEEN = re.compile(rb"\x1b\[(?:[<>=][0-9;]*u|[0-9;:]*m)")
_TORN = re.compile(rb"\x1b(?:\[[<>=]?[0-9;:]*)?\Z")


class TimedOut(AssertionError):
    """The expected text did not appear in time; the message contains the screen instead."""


class Screen:
    """The screen of a terminal."""

    def __init__(self, rows: int = ROWS, columns: int = COLUMNS) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._waiting = b""

    def feed(self, given: bytes) -> None:
        """Feed the program's output to the screen."""
        text = self._waiting + given
        torn = _TORN.search(text)
        self._waiting = torn[0] if torn is not None else b""
        self._stream.feed(_UNSEEN.sub(b"", text[: torn.start()] if torn is not None else text))

    def lines(self) -> list[str]:
        """Return the screen's lines without the blanks at their ends."""
        rows = [self._screen.buffer[y] for y in range(self._screen.lines)]
        # The second cell of a wide character is empty; pyte's own `display` fails where one is left of what is gone.
        return ["".join([row[x].data for x in range(self._screen.columns)]).rstrip() for row in rows]

    def drawn(self) -> set[int]:
        """Return the numbers of the lines drawn since the last call, even if only a colour changed."""
        lines = set(self._screen.dirty)
        self._screen.dirty.clear()
        return lines

    def text(self) -> str:
        """Return the text of the whole screen."""
        return "\n".join(self.lines())


class Terminal:
    """A running program in a terminal; end it with `close`.

    `controlling` makes it the controlling terminal, so that the program gets a signal when it is closed. `captured`
    makes standard output a pipe, as in a shell's `$(…)`.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        env: Mapping[str, str],
        cwd: Path,
        *,
        rows: int = ROWS,
        columns: int = COLUMNS,
        controlling: bool = True,
        captured: bool = False,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.screen = Screen(rows, columns)
        self.seen = bytearray()
        """All bytes that the program sent to the terminal."""
        self._descriptor, slave = os.openpty()
        os.set_blocking(self._descriptor, False)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.started = self.last_output = time.perf_counter()
        self.process = subprocess.Popen(
            [os.fspath(part) for part in command],
            stdin=slave,
            stdout=subprocess.PIPE if captured else slave,
            stderr=slave,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
            pass_fds=pass_fds,
            preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None) if controlling else None,
        )
        os.close(slave)
        self._closed = False

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The program's process."""
        return self.process.pid

    def press(self, *keys: str) -> float:
        """Send keys all at once; return the moment at which they were sent.

        Raises:
            TimedOut: the program takes no keys.
        """
        return self.send("".join(keys).encode())

    def send(self, data: bytes) -> float:
        """Send bytes, which need not be keys; return the moment at which they were sent.

        Raises:
            TimedOut: the program takes no bytes.
        """
        moment, left = time.perf_counter(), data
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                # A program that is blocked while it writes takes no keys: what it wrote is read meanwhile.
                if time.perf_counter() > moment + PATIENCE_SECONDS:
                    raise TimedOut(f"{len(left)} bytes of keys were not taken") from None
                self._read(0.01)
        return moment

    def modes(self) -> list[Any]:
        """Return the modes of the terminal (`termios`)."""
        return termios.tcgetattr(self._descriptor)

    def set_modes(self, modes: list[Any]) -> None:
        """Set the modes of the terminal, as a shell does when it gets the terminal back."""
        termios.tcsetattr(self._descriptor, termios.TCSANOW, modes)

    def wait(self, seen: str | Callable[[Screen], bool], seconds: float = PATIENCE_SECONDS) -> float:
        """Wait for a text or a condition of the screen; return the moment of the output that fulfilled it.

        Raises:
            TimedOut: it was not fulfilled in time, or the program ended.
        """
        wanted = (lambda screen: seen in screen.text()) if isinstance(seen, str) else seen
        end = time.perf_counter() + seconds
        if wanted(self.screen):
            return time.perf_counter()
        while (left := end - time.perf_counter()) > 0 and self._read(left):
            if wanted(self.screen):
                return self.last_output
        what = f"“{seen}”" if isinstance(seen, str) else "what was asked for"
        raise TimedOut(f"{what} did not appear within {seconds:g} s; on the screen:\n{self.screen.text()}")

    def until_quiet(self, seconds: float = 0.15, most: float = 10) -> float:
        """Return the moment of the last output before a pause of this length, or now if there was none."""
        last = time.perf_counter()
        end = last + most
        while time.perf_counter() < end and self._read(seconds):
            last = self.last_output
        return last

    def record(
        self, *keys: str, quiet: float, most: float = PATIENCE_SECONDS, look: Callable[[Screen], Any] = Screen.lines
    ) -> tuple[float, list[tuple[float, Any]]]:
        """Send keys; return the moment, and the screen after each output until it is quiet, or for `most` seconds.

        The screen is computed afterwards, so that parsing does not delay the measurement.
        """
        outputs: list[tuple[float, bytes]] = []
        pressed = self.press(*keys)
        while given := self._receive(quiet if outputs else FIRST_OUTPUT_SECONDS):
            outputs.append((self.last_output, given))
            if self.last_output > pressed + most:
                break
        screens = []
        for moment, given in outputs:
            self.screen.feed(given)
            screens.append((moment, look(self.screen)))
        return pressed, screens

    def wait_end(self, seconds: float = PATIENCE_SECONDS) -> float:
        """Return the moment at which the program ended.

        Raises:
            TimedOut: it still runs.
        """
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            if not self._read(0.002):
                time.sleep(0.001)
            if self.process.poll() is not None:
                ended = time.perf_counter()
                while self._read(0):
                    pass  # What it wrote at last is taken too.
                return ended
        raise TimedOut(f"it did not end within {seconds:g} s; on the screen:\n{self.screen.text()}")

    def wait_status(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Return the exit status of the program, read its output until then.

        Raises:
            TimedOut: it still runs.
        """
        self.wait_end(seconds)
        return self.process.wait(seconds)

    def wait_stopped(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until a signal has stopped the program; it may have to write before it stops.

        Raises:
            TimedOut: it was not stopped.
        """
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            if os.waitpid(self.pid, os.WUNTRACED | os.WNOHANG)[0]:
                return
            self._read(0.002)
        raise TimedOut(f"it was not stopped within {seconds:g} s; on the screen:\n{self.screen.text()}")

    def output(self) -> bytes:
        """Return the standard output of a `captured` program that has ended."""
        return self.process.communicate(timeout=PATIENCE_SECONDS)[0]

    def hang_up(self) -> None:
        """Close the terminal, as its window does."""
        if not self._closed:
            self._closed = True
            os.close(self._descriptor)

    def close(self) -> None:
        """End the program, kindly at first."""
        for how in (signal.SIGHUP, signal.SIGKILL):
            if self.process.poll() is not None:
                break
            self.process.send_signal(how)
            end = time.perf_counter() + 2
            while self.process.poll() is None and time.perf_counter() < end:
                self._read(0.01)
        self.process.wait(timeout=60)
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.hang_up()

    def _read(self, seconds: float) -> bool:
        """Take what the program writes next; False if it writes nothing in time or has ended."""
        given = self._receive(seconds)
        # Textual asks what the terminal can do; a terminal that does not know answers nothing.
        self.screen.feed(given)
        return bool(given)

    def _receive(self, seconds: float) -> bytes:
        if self._closed:
            return b""
        ready, _, _ = select.select([self._descriptor], [], [], max(0.0, seconds))
        if not ready:
            return b""
        try:
            given = os.read(self._descriptor, 1 << 16)
        except OSError:  # Linux's way to say that the other end is closed
            return b""
        self.last_output = time.perf_counter()
        self.seen += given
        return given
