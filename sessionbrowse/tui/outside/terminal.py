"""The terminal while standard output is data: drawn on, measured by and lent through standard error."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from textual.app import App, SuspendNotSupported

from sessionbrowse.text import clean

if TYPE_CHECKING:
    from textual.driver import Driver

    from sessionbrowse.services.resume.plan import ResumeCommand


def driver_class() -> type[Driver] | None:
    """Return the driver to draw with; None for textual's own choice.

    Textual draws on standard error but asks standard output for its size, and takes 80 × 24 where that is a pipe, as
    in `$(sessionbrowse pick)`. After a stop that no program hears of (SIGSTOP) it would start reading keys a second
    time: one of the two readers takes the other's keys, and leaving waits for it for ever.
    """
    if sys.platform == "win32":
        return None
    from textual.drivers.linux_driver import LinuxDriver

    class OurDriver(LinuxDriver):
        """A driver that asks the terminal it draws on for its size, and that can be stopped at any moment."""

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            if self._file is not None:
                self._file = cast(Any, Unbreakable(self._file))

        def _get_terminal_size(self) -> tuple[int, int]:
            if os.isatty(1):
                return super()._get_terminal_size()
            try:
                size = os.get_terminal_size(2)
            except OSError:
                return super()._get_terminal_size()
            return size.columns, size.lines

        def _sigcont_application(self, *_: object) -> None:
            if not self._auto_restart:
                return
            if self._key_thread is None or not self._key_thread.is_alive():
                super()._sigcont_application()
            else:
                self._take_terminal_again()
            # What stands there now is the other screen, empty.
            self._app.call_later(self._app.refresh, layout=True)

        def _take_terminal_again(self) -> None:
            """Set the terminal as it was before a shell had it meanwhile, and draw everything anew."""
            import termios

            with suppress(termios.error):
                modes = termios.tcgetattr(self.fileno)
                modes[0] = self._patch_iflag(modes[0])
                modes[3] = self._patch_lflag(modes[3])
                modes[6][termios.VMIN] = 1
                termios.tcsetattr(self.fileno, termios.TCSANOW, modes)
            self.write("\x1b[?1049h\x1b[?25l\x1b[?1004h")
            self._enable_mouse_support()
            self._enable_bracketed_paste()
            self._disable_line_wrap()
            self.flush()

    return OurDriver


class Unbreakable:
    """A terminal to write to, also when it is gone: what is written then goes nowhere.

    Textual writes in a thread that ends where writing fails; everything else would then wait for it for ever.
    """

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> None:
        """Write text."""
        try:
            self._terminal.write(text)
        except OSError:
            self._let_go()

    def flush(self) -> None:
        """Send what was written."""
        try:
            self._terminal.flush()
        except OSError:
            self._let_go()

    def _let_go(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._terminal.fileno())
        os.close(nowhere)

    def fileno(self) -> int:
        """Return the terminal's descriptor."""
        return self._terminal.fileno()


def terminal_is_gone() -> bool:
    """Tell whether the terminal that keys come from was closed.

    Nobody else notices when the signal for it does not arrive: textual's input thread then reads nothing for ever, at
    full speed.
    """
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(0, 0)
    return any(event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0))


def lend_terminal(app: App[int], argv: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """Leave the full screen, run a program in the terminal, and come back; return a sentence if it went wrong."""
    from sessionbrowse.services.resume.plan import ResumeCommand

    command = ResumeCommand(agent=argv[0], argv=tuple(argv), cwd=os.getcwd())
    try:
        with app.suspend():
            # What raises in here would leave the terminal as it is: textual restores it after the block only.
            try:
                return run_in_terminal(command, environ)
            except Exception as error:
                return f"{argv[0]} could not be started: {error}"
    except SuspendNotSupported:
        return f"This terminal cannot be lent to {argv[0]}."


def run_in_terminal(command: ResumeCommand, environ: Mapping[str, str]) -> str | None:
    """Run an agent's command in the terminal and wait for it; return a sentence if it did not end well."""
    from sessionbrowse.services.resume.run_agent import ending, run_agent

    for note in command.notes:
        sys.stderr.write(clean(note) + "\n")
    # The agent draws where we do: our standard output may be a pipe that waits for a path.
    output = None if os.isatty(1) else 2
    try:
        return ending(command.agent, run_agent(command, environ, output))
    except OSError as error:
        return f"{command.argv[0]} could not be started: {error.strerror or error}"
