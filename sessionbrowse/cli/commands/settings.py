"""The commands `config`, which shows the settings file, and `completion`, which prints a completion script."""

from __future__ import annotations

import argparse
import os
from typing import Any

import msgspec

from sessionbrowse.agents import AGENTS
from sessionbrowse.cli import output
from sessionbrowse.cli.parser import AddCommand
from sessionbrowse.config import Settings, example, load_settings
from sessionbrowse.text import clean


def run_config(arguments: argparse.Namespace) -> int:
    """Run `config`: print the settings file's path and problems, all settings, all key bindings, or the agents."""
    if arguments.example:
        print(example(), end="")
        return 0
    loaded = load_settings()
    if arguments.keys:
        return _print_keys(loaded.settings)
    if arguments.agents and not arguments.json:
        return _print_agents(loaded.settings)
    exists = os.path.isfile(loaded.path)
    problems = [*loaded.problems, *_missing_roots(loaded.settings), *_without_effect(loaded.settings)]
    if arguments.json:
        settings = msgspec.to_builtins(loaded.settings)
        agents = _agents(loaded.settings)
        document = {"path": str(loaded.path), "exists": exists, "problems": problems, "settings": settings}
        output.print_json({**document, "agents": agents})
        return 0
    output.note_all(problems)
    print(clean(str(loaded.path)))
    if not exists and not loaded.problems:
        output.note("There is no settings file; all defaults apply; sessionbrowse config --example shows all settings.")
    return 0


def _without_effect(settings: Settings) -> list[str]:
    """Return one sentence for each key, theme and custom command in the settings that the browser cannot use."""
    from sessionbrowse.tui.commands.keymap import Keys
    from sessionbrowse.tui.resume.custom_commands import custom_rows
    from sessionbrowse.tui.setting_problems import setting_problems

    return setting_problems(settings, Keys(settings.keys, custom_rows(settings.commands), settings.habits))


def _missing_roots(settings: Settings) -> list[str]:
    """Return one sentence for each of the settings' `roots` (directories with sessions) that cannot be searched."""
    from sessionbrowse.store.find.discover import Skipped
    from sessionbrowse.store.find.roots import Scope, places_of, real_surroundings

    missing: list[Skipped] = []
    if settings.roots:
        places_of(Scope(around=real_surroundings(), extra_roots=settings.roots), missing.append)
    return [f"{root.path}: {root.reason}" for root in missing]


def _print_keys(settings: Settings) -> int:
    from sessionbrowse.tui.commands.keymap import Keys
    from sessionbrowse.tui.commands.table import COMMANDS

    keys = Keys(settings.keys, habits=settings.habits)
    rows = [(command.id, keys.shown(command, all_keys=True), command.help) for command in COMMANDS]
    output.print_table(("command", "keys", "does"), rows, right=(), stretch=2)
    output.note_all(keys.clashes)
    return 0


def _agents(settings: Settings) -> dict[str, dict[str, Any]]:
    """Return for each agent its installed program and version, and the versions that sessionbrowse was tested with."""
    from sessionbrowse.agents.installed import installed
    from sessionbrowse.store.find.roots import real_surroundings

    agents = {}
    for agent in AGENTS.values():
        found = installed(agent, real_surroundings(), settings.agents.get(agent.name))
        agents[agent.name] = {
            "command": found and found.path,
            "installed": found and found.version,
            "tested": list(agent.tested_versions),
        }
    return agents


def _print_agents(settings: Settings) -> int:
    rows = [
        (
            name,
            told["installed"] or ("unknown" if told["command"] else "no"),
            ", ".join(told["tested"]),
            told["command"] or "",
        )
        for name, told in _agents(settings).items()
    ]
    output.print_table(("agent", "installed", "tested with", "command"), rows, right=(), stretch=3)
    return 0


def run_completion(arguments: argparse.Namespace) -> int:
    """Run `completion`: print the completion script for a shell."""
    from sessionbrowse.cli.commands.completion import SCRIPTS

    print(SCRIPTS[arguments.shell], end="")
    return 0


COMMANDS = {"config": run_config, "completion": run_completion}


def add_arguments(add: AddCommand) -> None:
    """Add the commands of this module and their arguments to the parser."""
    if config := add("config", "Show the path and the problems of the settings file", reads=False):
        what = config.add_mutually_exclusive_group()
        what.add_argument("--example", action="store_true", help="print an example of all settings")
        what.add_argument("--keys", action="store_true", help="print the interface's commands with their keys")
        what.add_argument(
            "--agents",
            action="store_true",
            help="print the agents' installed versions, and those tested with sessionbrowse",
        )

    if completion := add("completion", "Print a completion script for a shell", json=False, reads=False):
        completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
