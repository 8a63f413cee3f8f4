"""Run the commands in the user's settings. The shell never executes the values put in place of placeholders."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping

from sessionbrowse.config import CustomCommand
from sessionbrowse.errors import CommandFailed
from sessionbrowse.model.listing.directories import is_absolute
from sessionbrowse.text import clean, clean_lines

PLACEHOLDERS = ("path", "id", "cwd", "entry", "agent", "name")
PAUSE = """"$@"; status=$?; printf '\\nEnter goes back to sessionbrowse. '; read -r answer; exit $status"""
MOST_LINES = 6
MOST_BYTES = 64 * 1024

_PLACEHOLDER = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")


def placeholders_of(command: CustomCommand) -> frozenset[str]:
    """Return the names of the placeholders that a command contains."""
    words = [command.run] if isinstance(command.run, str) else command.run
    return frozenset([name for word in words for name in _PLACEHOLDER.findall(word)])


def unknown_placeholders(command: CustomCommand) -> list[str]:
    """Return the names in braces that look like placeholders but are unknown."""
    words = [command.run] if isinstance(command.run, str) else command.run
    # `${name}` is a variable of the shell, not a placeholder.
    found = [name for word in words for name in re.findall(r"(?<!\$)\{([a-z_]+)\}", word)]
    return [name for name in dict.fromkeys(found) if name not in PLACEHOLDERS]


def words_of(command: CustomCommand, values: Mapping[str, str]) -> tuple[str, ...]:
    """Return the argument list to run for a command.

    In a shell line a placeholder becomes a variable in double quotes, so that the shell never parses its value.

    Raises:
        CommandFailed: a placeholder's value contains a character that cannot be passed to a program.
    """
    for name in sorted(placeholders_of(command)):
        if not _can_be_given(values.get(name, "")):
            raise CommandFailed(
                f"{clean(command.name)} cannot be run: the session's {{{name}}} contains a character that cannot be "
                "passed to a program."
            )
    if isinstance(command.run, str):
        return ("sh", "-c", _PLACEHOLDER.sub(lambda found: f'"${{{_variable(found[1])}}}"', command.run))
    return tuple([_PLACEHOLDER.sub(lambda found: values.get(found[1], ""), word) for word in command.run])


def paused(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return an argument list that runs the command and then waits for Enter, so that its output can be read."""
    return ("sh", "-c", PAUSE, "sh", *words)


def variables_of(values: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that contain the values of a command's placeholders."""
    return {_variable(name): values.get(name, "") for name in PLACEHOLDERS if _can_be_given(values.get(name, ""))}


def run_quietly(command: CustomCommand, values: Mapping[str, str], directory: str, environ: Mapping[str, str]) -> str:
    """Run a command in the background and return the last lines of its output, safe to print.

    Raises:
        CommandFailed: the command could not be started, or ended with a status other than 0.
    """
    argv = words_of(command, values)
    try:
        done = subprocess.run(
            argv,
            cwd=directory,
            env={**environ, **variables_of(values)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CommandFailed(f"{clean(command.name)} could not be started: {clean(reason)}.") from error
    lines = clean_lines(done.stdout[-MOST_BYTES:].decode(errors="replace").strip())
    said = "\n".join([line.rstrip() for line in lines if line.strip()][-MOST_LINES:])
    if done.returncode:
        raise CommandFailed(f"{clean(command.name)} ended with status {done.returncode}. {said}".strip())
    return said


def directory_for(cwd: str, home: str) -> str:
    """Return the directory in which a command runs: the session's directory `cwd`, or `home` if `cwd` is missing."""
    return cwd if is_absolute(cwd) and os.path.isdir(cwd) else home


def _can_be_given(value: str) -> bool:
    """Return True if a value can be passed to a program: it has no NUL and can be encoded as bytes."""
    try:
        return b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def _variable(name: str) -> str:
    return f"SESSIONBROWSE_{name.upper()}"
