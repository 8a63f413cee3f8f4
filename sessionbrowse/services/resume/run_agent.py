"""Lend the terminal to an agent and take it back as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from sessionbrowse.services.resume.plan import ResumeCommand

_KEYBOARD_SIGNALS = (signal.SIGINT, *([signal.SIGQUIT] if hasattr(signal, "SIGQUIT") else []))


def run_agent(command: ResumeCommand, environ: Mapping[str, str], output: int | None = None) -> int:
    """Run the command in this terminal, wait for it, and return its status as a shell counts it (128 + signal).

    `output` is a descriptor that stands for standard output. Call it from the main thread.

    Raises:
        OSError: it cannot be started.
    """
    with _keyboard_is_the_agents(), _terminal_kept():
        status = subprocess.run(
            command.argv, cwd=command.cwd, env=command.environment(environ), stdout=output, check=False
        ).returncode
    return 128 - status if status < 0 else status


def ending(agent: str, status: int) -> str | None:
    """Return a sentence on how the agent ended, None if it ended well or the user interrupted it."""
    if status in (0, 128 + signal.SIGINT):
        return None
    if status > 128 and status - 128 in {known.value for known in signal.Signals}:
        return f"{agent} was ended by the signal {signal.Signals(status - 128).name}."
    return f"{agent} ended with status {status}."


@contextmanager
def _keyboard_is_the_agents() -> Iterator[None]:
    """Ctrl+C while the agent runs is meant for it: our handler does nothing, and programs start with the default."""
    previous = {number: signal.signal(number, lambda *_: None) for number in _KEYBOARD_SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            # None: set by somebody outside Python, which cannot be put back from here.
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


@contextmanager
def _terminal_kept() -> Iterator[None]:
    """An agent that was killed leaves the terminal raw: its modes are put back."""
    try:
        import termios
    except ImportError:  # Windows
        yield
        return
    try:
        descriptor = sys.stdin.fileno()
        modes = termios.tcgetattr(descriptor)
    except (OSError, ValueError, termios.error):
        # Standard input is no terminal.
        yield
        return
    try:
        yield
    finally:
        # TCSADRAIN keeps what the user typed ahead. An error means that the terminal is gone.
        with suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, modes)
