"""Add a machine to the user's settings file, or remove it; everything else in the file stays as it is."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import msgspec

from sessionbrowse.config import MachineSettings, parse_settings
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.store.own.state_directory import write_own_file
from sessionbrowse.text import clean

_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)
_MACHINE = re.compile(r"^[ \t]*\[\[[ \t]*machines[ \t]*\]\].*\n?", re.MULTILINE)


Machines: TypeAlias = tuple[MachineSettings, ...]


def add_machine(path: Path, machine: MachineSettings) -> None:
    """Add a machine at the end of the settings file.

    Raises:
        RefusedWrite: a machine has this name already, or the lines cannot be added to this file.
    """

    def added(text: str, machines: Machines) -> tuple[str, Machines]:
        if any(one.name.casefold() == machine.name.casefold() for one in machines):
            raise RefusedWrite(f"There is a machine {machine.name} already in {clean(str(path))}.")
        above = f"{text}\n" if text.endswith("\n") else f"{text}\n\n" if text else ""
        return above + lines, (*machines, machine)

    lines = f'[[machines]]\nname = "{machine.name}"\nhost = "{machine.host}"\n'
    _change(path, added, f"Add these lines to the settings file by hand:\n{lines}")


def remove_machine(path: Path, name: str) -> None:
    """Remove a machine's table from the settings file, with its comments; do nothing if there is no such machine.

    Raises:
        RefusedWrite: the machine's lines cannot be separated from the others.
    """

    def removed(text: str, machines: Machines) -> tuple[str, Machines]:
        others = tuple([one for one in machines if one.name != name])
        for table in _MACHINE.finditer(text):
            after = _TABLE.search(text, table.end())
            end = after.start() if after is not None else len(text)
            if any(one.name == name for one in parse_settings(text[table.start() : end])[0].machines):
                above = text[: table.start()]
                return (above[:-1] if above.endswith("\n\n") else above) + text[end:], others
        return text, others

    _change(path, removed, f"Remove the machine {name} from the settings file by hand.")


def _change(path: Path, change: Callable[[str, Machines], tuple[str, Machines]], otherwise: str) -> None:
    """Replace the settings file by its changed text; refuse a change of anything but the machines."""
    real = os.path.realpath(path)  # A symbolic link stays: the file that it leads to is replaced.
    refused = f"The settings file {clean(str(path))} cannot be changed"
    try:
        with open(real, "rb") as file:
            text, mode = file.read().decode(), stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    except FileNotFoundError:
        text, mode = "", 0o600
    except (OSError, UnicodeDecodeError) as error:
        raise RefusedWrite(f"{refused} ({getattr(error, 'strerror', None) or 'not UTF-8'}). {otherwise}") from error
    before, problems = parse_settings(text)
    new_text, machines = change(text, before.machines)
    if machines == before.machines:
        return
    after, problems_after = parse_settings(new_text)
    if after != msgspec.structs.replace(before, machines=machines) or len(problems_after) > len(problems):
        raise RefusedWrite(f"{refused} by a program. {otherwise}")
    try:
        write_own_file(real, new_text.encode())
        os.chmod(real, mode)
    except OSError as error:
        raise RefusedWrite(f"{refused} ({error.strerror}). {otherwise}") from error
