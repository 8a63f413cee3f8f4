"""Run an agent in the browser's terminal, and restore the terminal's modes afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO

from sessionbrowse.services.resume.over_there import NO_CONNECTION, NO_DIRECTORY, NO_PROGRAM
from sessionbrowse.services.resume.plan import ResumeCommand
from sessionbrowse.text import clean

_KEYBOARD_SIGNALS = (signal.SIGINT, *([signal.SIGQUIT] if hasattr(signal, "SIGQUIT") else []))


def run_agent(
    command: ResumeCommand, environ: Mapping[str, str], output: int | None = None, errors: IO[bytes] | None = None
) -> int:
    """Run the agent in this terminal, wait for its end, and return its status as a shell does (128 + signal).

    `output` is the file descriptor for the agent's standard output, `errors` a file for its standard error. Call this
    function in the main thread: until the agent ends, this process ignores the keyboard's signals (such as Ctrl+C).
    Afterwards the previous handlers are restored.

    Raises:
        OSError: the program cannot be started.
    """
    with _keyboard_is_the_agents(), _terminal_kept():
        status = subprocess.run(
            command.argv, cwd=command.cwd, env=command.environment(environ), stdout=output, stderr=errors, check=False
        ).returncode
    return 128 - status if status < 0 else status


def endings_there(command: ResumeCommand, words: str = "") -> dict[int, str]:
    """Return a sentence for each status of its own that a command on another machine has; `words` are those of ssh."""
    if command.machine is None:
        return {}
    by_hand = f"(try `ssh {clean(command.argv[2])}` once by hand)"
    return {
        NO_DIRECTORY: f"The session's directory is gone on {command.machine}.",
        NO_PROGRAM: f"{command.agent} is not on the PATH of a login on {command.machine}.",
        NO_CONNECTION: f"{words or f'ssh has no connection to {command.machine}'} {by_hand}",
    }


def ending(agent: str, status: int) -> str | None:
    """Return a sentence about the agent's exit status, None if the agent succeeded or the user interrupted it."""
    if status in (0, 128 + signal.SIGINT):
        return None
    if status > 128 and status - 128 in {known.value for known in signal.Signals}:
        return f"{agent} was ended by the signal {signal.Signals(status - 128).name}."
    return f"{agent} ended with status {status}."


@contextmanager
def _keyboard_is_the_agents() -> Iterator[None]:
    """Ignore Ctrl+C in this process while the agent runs; the agent itself starts with the default handler."""
    previous = {number: signal.signal(number, lambda *_: None) for number in _KEYBOARD_SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            # A previous handler of None was not set by Python, so Python cannot restore it.
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


@contextmanager
def _terminal_kept() -> Iterator[None]:
    """Restore the terminal's modes after the `with` block: a killed agent leaves the terminal in raw mode."""
    try:
        import termios
    except ImportError:  # Windows has no terminal modes to restore.
        yield
        return
    try:
        descriptor = sys.stdin.fileno()
        modes = termios.tcgetattr(descriptor)
    except (OSError, ValueError, termios.error):
        # Standard input is not a terminal, so there are no modes to restore.
        yield
        return
    try:
        yield
    finally:
        # With TCSADRAIN, keys that the user has typed ahead are kept. An error means that the terminal is closed.
        with suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, modes)
