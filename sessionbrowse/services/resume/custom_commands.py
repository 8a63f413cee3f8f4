"""Run the commands in the user's settings. The shell never executes the values put in place of placeholders."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from typing import NoReturn

from sessionbrowse.config import CustomCommand
from sessionbrowse.errors import CommandFailed
from sessionbrowse.model.listing.directories import is_absolute, why_not_here
from sessionbrowse.text import clean, clean_lines

PLACEHOLDERS = ("path", "id", "cwd", "entry", "agent", "name")
PAUSE = """"$@"; status=$?; printf '\\nEnter goes back to sessionbrowse. '; read -r answer; exit $status"""
MOST_LINES = 6
MOST_BYTES = 64 * 1024

_PLACEHOLDER = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")
_PLACEHOLDER_AT_END = re.compile(_PLACEHOLDER.pattern + r"\Z")
_AFTER_OPTIONS = re.compile(r"(?:^|\s)--\s[^;&|()`\n]*\Z")
_SCRIPT = re.compile(r"(?:(?:^|[\s/])(?:ba|da|z|k)?sh(?:\s+-\w+)*?\s+-\w*c|(?:^|\s)eval)\s+\Z")
"""Matches the beginning of a command if the next word is a script for another shell."""


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
        CommandFailed: a placeholder's value contains a character that cannot be passed to a program, would be read as
        an option of the program, or is a directory that this machine does not have.
    """
    for name in sorted(placeholders_of(command)):
        if not _can_be_given(values.get(name, "")):
            raise CommandFailed(
                f"{clean(command.name)} cannot be run: the session's {{{name}}} contains a character that cannot be "
                "passed to a program."
            )
    cwd = values.get("cwd", "")
    if cwd and "cwd" in placeholders_of(command) and (why := why_not_here(cwd)) is not None:
        raise CommandFailed(f"{clean(command.name)} cannot be run: the session's {{cwd}} {why}.")
    if isinstance(command.run, str):
        return ("sh", "-c", _shell_line(command, command.run, values))
    words: list[str] = []
    for word in command.run:
        if words and _SCRIPT.search(" ".join([*words, ""])):
            words.append(_shell_line(command, word, values))
            continue
        filled = _PLACEHOLDER.sub(lambda found: values.get(found[1], ""), word)
        if filled.startswith("-") and not word.startswith("-") and "--" not in words:
            _refuse_option(command, next(name for name in _PLACEHOLDER.findall(word) if values.get(name)))
        words.append(filled)
    return tuple(words)


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


def _shell_line(command: CustomCommand, line: str, values: Mapping[str, str]) -> str:
    """Return a shell line in which every placeholder is a variable that the shell neither splits nor parses.

    The variable is put into double quotes unless it is in such already. In a text that another shell will read, as
    after `sh -c`, it is quoted for that shell, which has the variable too.
    """
    parts: list[str] = []
    # The quotes and brackets around the position, and for each where it begins.
    around: list[tuple[str, int]] = []
    at = 0
    while at < len(line):
        inside, begin = around[-1] if around else ("", 0)
        found = _PLACEHOLDER.match(line, at)
        if found is not None:
            if values.get(found[1], "").startswith("-") and _begins_word(line[:at], values):
                _refuse_option(command, found[1])
            parts.append(_quoted(f"${{{_variable(found[1])}}}", inside, line[:at], begin))
            at = found.end()
            continue
        character, size = line[at], 1
        if inside == "'":
            if character == "'":
                around.pop()
        elif character == "\\":
            size = 2
        elif character == inside:
            around.pop()
        elif character in '"`' or (character == "'" and inside != '"'):
            around.append((character, at))
        elif character == "(" and (inside != '"' or line[at - 1 : at] == "$"):
            around.append((")", at))
        elif character == "#" and inside != '"' and (not at or line[at - 1].isspace()):
            size = (line + "\n").index("\n", at) - at  # Quotes in a comment do not count.
        parts.append(line[at : at + size])
        at += size
    return "".join(parts)


def _quoted(variable: str, inside: str, before: str, begin: int) -> str:
    """Return a variable for a place inside quotes (or outside, if `inside` is no quote) that begin at `begin`."""
    if inside == "'":
        return variable if before.count('"', begin) % 2 else f'"{variable}"'
    if inside != '"':
        return f'"{variable}"'
    if _SCRIPT.search(before[:begin]):
        return f"\\{variable}" if before.count('\\"', begin) % 2 else f'\\"\\{variable}\\"'
    return variable


def _begins_word(before: str, values: Mapping[str, str]) -> bool:
    """Return True if a program could read a value after the text `before` as an option."""
    before = before.rstrip("\"'")
    while (found := _PLACEHOLDER_AT_END.search(before)) is not None and not values.get(found[1]):
        before = before[: found.start()].rstrip("\"'")
    return (not before or before[-1] in " \t\n;&|()<>`") and _AFTER_OPTIONS.search(before) is None


def _refuse_option(command: CustomCommand, name: str) -> NoReturn:
    raise CommandFailed(
        f'{clean(command.name)} cannot be run: the session\'s {{{name}}} begins with "-", so the program would read it '
        f'as an option. Put "--" before it if the program accepts that, or write it into a longer word, such as '
        f'"name={{{name}}}".'
    )


def _can_be_given(value: str) -> bool:
    """Return True if a value can be passed to a program: it has no NUL and can be encoded as bytes."""
    try:
        return b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def _variable(name: str) -> str:
    return f"SESSIONBROWSE_{name.upper()}"
