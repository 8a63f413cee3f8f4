"""The driver of the terminal: keys, signals, size and modes, with private names of Textual's driver and parser.

`textual_compat` says how private names are checked.
"""

from __future__ import annotations

import asyncio
import os
import re
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO, cast

from textual import constants, events, messages
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._keyboard_protocol import FUNCTIONAL_KEYS
from textual._xterm_parser import XTermParser
from textual.keys import Keys
from textual.message import Message

from sessionbrowse.tui.paint.signals import EXIT_HANDLER
from sessionbrowse.tui.paint.terminal_input import InputSplitter, Piece
from sessionbrowse.tui.paint.textual_compat import CompatApp, LastSentence

if TYPE_CHECKING:
    from textual.driver import Driver

FULL_SCREEN = "\x1b[?1049h\x1b[?25l\x1b[?1004h\x1b[?1000h\x1b[?1003h\x1b[?1015h\x1b[?1006h\x1b[?2004h\x1b[?7l"
"""Escape sequences that switch the terminal to the full screen.

They set the modes: alternate screen, no cursor, focus and mouse reports, bracketed paste, no line wrap.
"""

NORMAL_SCREEN = (
    b"\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1016l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"
    b"\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
)
"""Escape sequences that reset all terminal modes that the browser or Textual set."""
_FOCUS_EVENTS: dict[str, type[Message]] = {"\x1b[I": events.AppFocus, "\x1b[O": events.AppBlur}
_SYNCHRONIZED_OUTPUT = re.compile(r"\x1b\[\?2026;[1-9]\$y")
"""A terminal's report that it can draw a frame at once (mode 2026)."""
_FUNCTION_KEY = re.compile(r"\x1b\[([0-9]*)(?:;.*)?([~A-S])", re.ASCII)
READ_BYTES = 4096
INPUT_SECONDS = 0.1
"""Interval at which the thread that reads keys checks whether it should end."""
NO_SHELL = "There is no shell here that could bring sessionbrowse back, so it stays."
STOP_SECONDS = 0.1
"""Seconds within which a stop signal stops the process, if a shell is there."""


class InputParser(XTermParser):
    """Turns pieces of the terminal's input into Textual's events; a piece that means nothing becomes no event.

    Only Textual's tables of keys and its mouse reports are used, not its parser: a broken sequence ends that for good.
    """

    def events_of(self, piece: Piece) -> list[Message]:
        """Return the events of a piece of input."""
        try:
            match piece.kind:
                case "paste":
                    return [events.Paste(piece.text.replace("\0", ""))]
                case "keys":
                    return [key for character in piece.text for key in self._keys_of(character)]
                case "sequence":
                    return self._events_of_sequence(piece.text)
        except Exception:
            # Textual fails, for example, for the number of a character that does not exist.
            return []

    def _events_of_sequence(self, text: str) -> list[Message]:
        if text == "\x1b":
            return [events.Key("escape", text)]
        if text in _FOCUS_EVENTS:
            return [_FOCUS_EVENTS[text]()]
        if _SYNCHRONIZED_OUTPUT.fullmatch(text):
            return [messages.TerminalSupportsSynchronizedOutput()]
        if text.startswith("\x1b[<"):
            mouse = self.parse_mouse_code(text)
            return [mouse] if mouse is not None else []
        function_key = _FUNCTION_KEY.fullmatch(text) if text not in ANSI_SEQUENCES_KEYS else None
        if function_key is not None and f"{function_key[1] or 1}{function_key[2]}" not in FUNCTIONAL_KEYS:
            # Textual would take the number of an unknown function key for a character.
            return []
        return self._keys_of(text) or (self._keys_of(text[1:], alt=True) if len(text) == 2 else [])

    def _keys_of(self, sequence: str, *, alt: bool = False) -> list[Message]:
        return [key for key in self._sequence_to_key_events(sequence, alt) if key.key != Keys.Ignore]


def terminal_driver() -> type[Driver] | None:
    """Return our Textual driver, a class that draws on the terminal and reads keys; None on Windows: use Textual's own.

    Textual's own driver has two faults. It draws on standard error but uses the size of standard output, which is
    80 × 24 for a pipe, as in `$(sessionbrowse pick)`. After SIGSTOP, which a program cannot catch, it starts a second
    thread that reads keys: both threads compete for the keys, and quitting hangs.
    """
    if sys.platform == "win32":
        return None
    import termios

    from textual.drivers.linux_driver import LinuxDriver

    class TerminalDriver(LinuxDriver):
        """A Textual driver that uses the size of the terminal it draws on, and survives SIGSTOP at any moment."""

        def __init__(self, app: CompatApp, **options: Any) -> None:
            # A shell that cannot continue a stopped program, as in `$(…)`, lets it ignore the signal.
            may_stop = signal.getsignal(signal.SIGTSTP) != signal.SIG_IGN
            super().__init__(app, **options)
            if not may_stop:
                signal.signal(signal.SIGTSTP, signal.SIG_IGN)
            self._may_stop = may_stop
            self._has_left = False
            """True while the terminal is the shell's, from a stop on until the process goes on."""
            self._browser = app
            self._is_taken = False
            self._modes_before: list[Any] | None = None
            self._event_loop: asyncio.AbstractEventLoop | None = None
            EXIT_HANDLER.before_end(self._give_back)
            if self._file is not None:
                self._file = cast(Any, TerminalFile(self._file))

        def _get_terminal_size(self) -> tuple[int, int]:
            if os.isatty(1):
                return super()._get_terminal_size()
            try:
                size = os.get_terminal_size(2)
            except OSError:
                return super()._get_terminal_size()
            return size.columns, size.lines

        def start_application_mode(self) -> None:
            """Switch the terminal to the full screen, and save its modes, to restore them later."""
            self._event_loop = asyncio.get_running_loop()
            self._watch_errors(self._event_loop)
            if not self._is_taken:
                self._is_taken = True
                with suppress(termios.error):
                    self._modes_before = termios.tcgetattr(self.fileno)
            self._browser.terminal_cells.forget()
            try:
                super().start_application_mode()  # type: ignore[no-untyped-call]
            except Exception:
                # Textual would not restore the terminal if it cannot start the thread that reads keys.
                self.close()
                if self._modes_before is not None:
                    termios.tcsetattr(self.fileno, termios.TCSANOW, self._modes_before)
                os.write(2, NORMAL_SCREEN)
                raise
            self._modes = None
            with suppress(termios.error):
                self._modes = termios.tcgetattr(self.fileno)

        def _watch_errors(self, loop: asyncio.AbstractEventLoop) -> None:
            """End the browser after an error in an asyncio callback; show an error in a thread as a message."""

            def in_thread(args: threading.ExceptHookArgs) -> None:
                error = args.exc_value
                if isinstance(error, Exception):
                    self._do_soon(partial(self._browser.tell, f"Work in the background failed: {error!r}"))
                threading.__excepthook__(args)

            def in_callback(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
                error = context.get("exception")
                if isinstance(error, Exception):
                    self._end_with(error)
                loop.default_exception_handler(context)

            threading.excepthook = in_thread
            loop.set_exception_handler(in_callback)

        def _end_with(self, error: Exception) -> None:
            """End the browser with an error; callable from any thread."""
            self._do_soon(partial(self._browser._handle_exception, error))

        def _run_input_thread(self) -> None:
            """Read keys in a thread; an error here ends the browser, as an error in the event loop does."""
            try:
                self.run_input_thread()
            except Exception as error:
                self._end_with(LastSentence(f"The keyboard can no longer be read: {error}"))

        def run_input_thread(self) -> None:
            """Read what the terminal sends until the browser ends or lends the terminal to another program."""
            parser, splitter = InputParser(), InputSplitter(constants.ESCAPE_DELAY)
            # Other selectors of the system cannot wait for a terminal everywhere.
            with selectors.SelectSelector() as selector:
                selector.register(self.fileno, selectors.EVENT_READ)
                while not self.exit_event.is_set():
                    left = INPUT_SECONDS if splitter.deadline is None else splitter.deadline - time.monotonic()
                    if selector.select(max(0.0, min(INPUT_SECONDS, left))):
                        pieces = splitter.feed(self._read_bytes(), time.monotonic())
                    else:
                        pieces = splitter.expire(time.monotonic())
                    for piece in pieces:
                        for event in parser.events_of(piece):
                            self.process_message(event)

        def _read_bytes(self) -> bytes:
            try:
                data = os.read(self.fileno, READ_BYTES)
            except OSError:
                data = b""
            if not data:
                # The terminal is gone, which the app checks itself, or belongs to another program for the moment.
                self.exit_event.wait(INPUT_SECONDS)
            return data

        def _query_in_band_window_resize(self) -> None:
            """Do not ask for reports of the size among the keys: SIGWINCH tells it, and broken reports cannot."""

        def close(self) -> None:
            """Wait until Textual's writer thread has written all output; after that, the terminal is restored."""
            # Textual's `close` fails if the writer thread could not be started.
            if self._writer_thread is not None and self._writer_thread.is_alive():
                super().close()
            self._is_taken = False

        def _give_back(self) -> None:
            """Restore the terminal from a signal handler; output of threads that still run goes to the null device."""
            if not self._is_taken:
                return
            terminal = os.dup(2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.write(terminal, NORMAL_SCREEN)
            if self._modes_before is not None:
                termios.tcsetattr(self.fileno, termios.TCSANOW, self._modes_before)

        def stop_process(self) -> bool:
            """Leave the full screen and stop all processes of the shell's job; without a shell, say so."""
            if not self._may_stop or not _has_shell():
                self._browser.tell(NO_SHELL)
                return False
            self._has_left = True
            self.suspend_application_mode()
            ours = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            # A program that started the browser, such as `uv run`, must stop with it: the shell waits for that program.
            os.kill(0, signal.SIGTSTP)
            signal.signal(signal.SIGTSTP, ours)
            # The system ignores the signal if the shell is gone. After a stop, SIGCONT has brought the screen back.
            self._browser.set_timer(STOP_SECONDS, self._stay)
            return True

        def _stay(self) -> None:
            if self._has_left:
                self._go_on()
                self._browser.tell(NO_SHELL)

        # A signal may interrupt the main thread while it holds the lock of the output queue. Writing in a handler would
        # then block forever, so both signal handlers below schedule their work in the event loop.

        def _sigtstp_application(self, *_: object) -> None:
            if self._auto_restart:
                self._do_soon(super()._sigtstp_application)
            else:
                super()._sigtstp_application()

        def _sigcont_application(self, *_: object) -> None:
            if self._auto_restart:
                self._do_soon(self._go_on)

        def _do_soon(self, work: Callable[[], object]) -> None:
            # Asyncio raises RuntimeError if the event loop has ended already.
            with suppress(RuntimeError):
                if self._event_loop is not None:
                    self._event_loop.call_soon_threadsafe(work)

        def _go_on(self) -> None:
            """Switch the terminal to the full screen again after SIGCONT (the shell's `fg`), and repaint it."""
            self._has_left = False
            if self._key_thread is None or not self._key_thread.is_alive():
                super()._sigcont_application()
            else:
                # The shell changed the terminal's modes while the browser was stopped.
                if self._modes is not None:
                    with suppress(termios.error):
                        termios.tcsetattr(self.fileno, termios.TCSANOW, self._modes)
                self.write(FULL_SCREEN)
                self.flush()
            # The terminal's alternate screen is empty after SIGSTOP and SIGCONT, so everything is painted again.
            self._browser.call_later(self._browser.paint_again)

    return TerminalDriver


def _has_shell() -> bool:
    """Return True if a shell with job control started this process, so that it can be continued after a stop."""
    # Such a shell makes a process group for each job. The first process of a terminal's window has no shell behind it.
    with suppress(OSError):
        return os.getpgrp() != os.getsid(0) == os.getsid(os.getppid())
    return False


class TerminalFile:
    """A file object that writes to the terminal, and to the null device once the terminal is closed.

    Textual writes in a thread that ends at the first error; without this class the app would then hang, waiting for
    the thread.
    """

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> None:
        """Write text to the terminal, or to the null device once the terminal is closed."""
        try:
            self._terminal.write(text)
        except OSError:
            self._use_null_device()

    def flush(self) -> None:
        """Send the text written so far to the terminal."""
        try:
            self._terminal.flush()
        except OSError:
            self._use_null_device()

    def _use_null_device(self) -> None:
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, self._terminal.fileno())
        os.close(null_device)

    def fileno(self) -> int:
        """Return the terminal's file descriptor."""
        return self._terminal.fileno()
