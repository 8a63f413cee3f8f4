"""The command `integrate`, which installs the browser's extension in an agent's directory, or removes it."""

from __future__ import annotations

import argparse
import os
import sys

from sessionbrowse import services
from sessionbrowse.cli import output
from sessionbrowse.cli.parser import AddCommand
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.services.integrate import SEEN_LOADING, OwnFolder, check_ours, install, own_folders, remove
from sessionbrowse.store.find.roots import real_surroundings
from sessionbrowse.text import clean

AGENTS = ("pi", "omp", "atomic")


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


COMMANDS = {"integrate": run_integrate}


def add_arguments(add: AddCommand) -> None:
    """Add the command `integrate` and its arguments to the parser."""
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
