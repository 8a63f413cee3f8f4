"""Run other programs in the browser's terminal, and check that the terminal still exists."""

from __future__ import annotations

import os
import select
import sys
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual.app import App, SuspendNotSupported

from sessionbrowse.text import clean

if TYPE_CHECKING:
    from sessionbrowse.services.resume.plan import ResumeCommand


def terminal_is_gone() -> bool:
    """True if the terminal was closed.

    The check is needed because SIGHUP does not always arrive, and Textual's input thread would never end.
    """
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(0, 0)
    return any(event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0))


def lend_terminal(app: App[int], command: ResumeCommand, environ: Mapping[str, str]) -> str | None:
    """Leave the full screen, run a program in the terminal, show the browser again; return the error, if any."""
    from sessionbrowse.services.resume.plan import if_shown

    try:
        with app.suspend():
            # Textual does not restore the terminal if an exception leaves `suspend`, so exceptions are caught.
            try:
                return run_in_terminal(command, environ)
            except Exception as error:
                return f"{command.argv[0]} could not be started: {error}"
    except SuspendNotSupported:
        elsewhere = if_shown(" Use another terminal: ", command.shell_line())
        return f"This terminal cannot run {command.agent}.{elsewhere}"


def run_in_terminal(command: ResumeCommand, environ: Mapping[str, str]) -> str | None:
    """Run a command in the terminal and wait for its end; return a sentence if the command failed, else None."""
    from sessionbrowse.services.resume.launch import ending, endings_there, run_agent
    from sessionbrowse.services.resume.plan import if_shown

    if line := if_shown("$ ", command.bare_line()):
        sys.stderr.write(line + "\n")
    for note in command.notes:
        sys.stderr.write(clean(note) + "\n")
    # Like the browser, the agent draws on standard error if standard output is a pipe, as in `$(sessionbrowse pick)`.
    output = None if os.isatty(1) else 2
    try:
        if command.machine is None:
            return ending(command.agent, run_agent(command, environ, output))
        # The agent writes to the terminal that ssh opens on the other machine, so only ssh's own messages arrive here.
        with tempfile.TemporaryFile() as errors:
            status = run_agent(command, environ, output, errors)
            errors.seek(0)
            words = [clean(line) for line in errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
        return endings_there(command, "".join(words[-1:])).get(status) or ending(command.agent, status)
    except OSError as error:
        return f"{command.argv[0]} could not be started: {error.strerror or error}"
