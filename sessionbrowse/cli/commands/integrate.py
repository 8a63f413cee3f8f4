"""The commands `integrate` and `shell`, which make the browser start from an agent or from a shell.

`integrate` installs the browser's extension in an agent's directory, or removes it. `shell` prints a key binding for a
shell; the key opens the browser and inserts a resume command.
"""

from __future__ import annotations

import argparse
import os
import re
import sys

from sessionbrowse import services
from sessionbrowse.cli import output
from sessionbrowse.cli.parser import AddCommand
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.services.integrate import SEEN_LOADING, OwnFolder, check_ours, install, own_folders, remove
from sessionbrowse.store.find.roots import real_surroundings
from sessionbrowse.text import clean, shell_quote

AGENTS = ("pi", "omp", "atomic")
_CONTROL = {"bash": "\\C-{}", "zsh": "^{}", "fish": "\\c{}"}
_ALT = {"bash": "\\e{}", "zsh": "^[{}", "fish": "\\e{}"}


def run_integrate(arguments: argparse.Namespace) -> int:
    """Run `integrate`: print the extension's folders, ask for confirmation, then write or remove the folders."""
    agent, around = arguments.agent, real_surroundings()
    folders = own_folders(agent, around, own_command(), os.path.abspath(services.__file__))
    if arguments.print:
        for folder in folders if agent in SEEN_LOADING else folders[:1]:
            output.note(f"{folder.file}:")
            sys.stdout.buffer.write(folder.content)
        return 0
    if agent not in SEEN_LOADING:
        raise RefusedWrite(
            f"The extension has not been tested in {agent}, so nothing is installed. To test it, save what "
            f"`sessionbrowse integrate {agent} --print` prints as {clean(folders[0].file)}."
        )
    concerned = [folder for folder in folders if folder.exists] if arguments.remove else folders
    check_ours(concerned)
    if not concerned:
        output.note(f"The extension of sessionbrowse is not installed in {agent}.")
        return 0
    if not arguments.yes and not _confirmed(concerned, arguments.remove):
        done = "removed" if arguments.remove else "installed"
        raise RefusedWrite(output.not_confirmed(done))
    if arguments.remove:
        remove(concerned)
    else:
        install(agent, around, concerned)
    for folder in concerned:
        print(clean(folder.path))
    if not arguments.remove:
        output.note(f"In {agent}, after a restart or /reload: /sessions and /recall.")
    return 0


def own_command() -> list[str]:
    """Return the command line, as words, that starts this program from any directory."""
    script = os.path.abspath(sys.argv[0])
    if os.path.basename(script) == "sessionbrowse" and os.access(script, os.X_OK):
        return [script]
    return [sys.executable, "-m", "sessionbrowse"]


def _confirmed(folders: list[OwnFolder], removes: bool) -> bool:
    if not output.can_ask():
        return False
    for folder in folders:
        output.note(f"{'removes' if removes else 'replaces' if folder.exists else 'makes'} {clean(folder.path)}")
    return output.is_confirmed("Go on?")


def run_shell(arguments: argparse.Namespace) -> int:
    """Run `shell`: print the key binding as a script for the shell's start file."""
    command = " ".join(map(shell_quote, own_command()))
    script = output.shell_script("key", arguments.shell).replace("@KEY@", _key(arguments.key, arguments.shell))
    output.print_lines(script.replace("@COMMAND@", command).splitlines())
    return 0


def keys(text: str) -> tuple[tuple[str, str], ...]:
    """Parse keys such as `ctrl+x s` into pairs of modifier and letter; raise ArgumentTypeError for other texts."""
    presses = [re.fullmatch(r"(?:(ctrl|alt)\+)?([a-z0-9])", word) for word in text.lower().split()]
    found = [(press[1] or "", press[2]) for press in presses if press is not None]
    if not found or len(found) < len(presses) or not found[0][0]:
        raise argparse.ArgumentTypeError(f"{text!r} is not a key such as 'ctrl+x s', 'alt+s' or 'ctrl+o'")
    return tuple(found)


def _key(presses: tuple[tuple[str, str], ...], shell: str) -> str:
    forms = {"ctrl": _CONTROL[shell], "alt": _ALT[shell], "": "{}"}
    return "".join([forms[modifier].format(letter) for modifier, letter in presses])


COMMANDS = {"integrate": run_integrate, "shell": run_shell}


def add_arguments(add: AddCommand) -> None:
    """Add the commands of this module and their arguments to the parser."""
    if integrate := add(
        "integrate",
        "Install /sessions, /recall and a skill in an agent, after confirmation; changes none of its settings",
        json=False,
        reads=False,
    ):
        integrate.add_argument("agent", choices=AGENTS, help="the agent")
        integrate.add_argument("--print", action="store_true", help="print the extension's files, and write nothing")
        integrate.add_argument("--remove", action="store_true", help="remove the extension's folders")
        integrate.add_argument("--yes", action="store_true", help="do not ask")
    if shell := add(
        "shell",
        "Print a key binding that opens the browser and puts the resume command on the command line",
        json=False,
        reads=False,
    ):
        shell.add_argument("shell", choices=output.SHELLS, help="the shell")
        default = "ctrl+x s"
        shell.add_argument("--key", type=keys, default=keys(default), metavar="KEY", help=f"default: {default!r}")
