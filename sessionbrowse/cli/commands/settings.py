"""The commands `config` (the settings file), `machines` (the other machines in it) and `completion` (a script)."""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from sessionbrowse.agents import AGENTS
from sessionbrowse.cli import output
from sessionbrowse.cli.parser import AddCommand, settings_in_force
from sessionbrowse.config import WANTED, MachineSettings, Settings, cache_dir, example, load_settings, settings_path
from sessionbrowse.errors import NotFound, RefusedWrite, did_you_mean
from sessionbrowse.store.own.mirrors import MirrorState, read_state, same_machine, states
from sessionbrowse.text import age, clean, iso_ms, size


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
    """Return one sentence for each mistake in the settings, such as an unknown agent or an invalid pattern."""
    from sessionbrowse.services.resume.launch import why_no_command
    from sessionbrowse.tui.commands.keymap import Keys
    from sessionbrowse.tui.resume.custom_commands import custom_rows
    from sessionbrowse.tui.setting_problems import setting_problems

    unknown = [clean(name) for name in settings.agents if name not in AGENTS]
    problems = [f'There is no agent "{name}"; "agents.{name}" is ignored.' for name in unknown]
    own = settings.resume
    if (own.command or own.where == "command") and (reason := why_no_command(own.command)) is not None:
        problems.append(reason)
    for pattern in settings.redact_patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            problems.append(f'"redact_patterns": {clean(pattern)} is not valid ({error}); nothing can be masked.')
    keys = Keys(settings.keys, custom_rows(settings.commands), settings.habits)
    return [*problems, *setting_problems(settings, keys)]


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
    print(output.shell_script("completion", arguments.shell), end="")
    return 0


_WORDS = {"list": (0, "no NAME"), "add": (2, "NAME and HOST"), "forget": (1, "one NAME")}
"""The number of words that follow each verb, and what they are; `look` takes any number."""


def run_machines(arguments: argparse.Namespace) -> int:
    """Run `machines`: list the other machines, add or forget one, or look at some or all of them."""
    verb, words = arguments.verb, arguments.words
    count, wanted = _WORDS.get(verb, (len(words), ""))
    if len(words) != count:
        raise NotFound(f"machines {verb} takes {wanted}.")
    settings = settings_in_force()
    if verb == "add":
        return _add(*words)
    if verb == "forget":
        return _forget(_known(words, settings)[0].name)
    failed = [_look(machine) for machine in _known(words, settings)] if verb == "look" else []
    if verb == "list" or arguments.json:
        _print_machines(settings, arguments.json)
    return int(any(failed))


def _add(name: str, host: str) -> int:
    from sessionbrowse.services.machines.settings_file import add_machine

    try:
        machine = msgspec.convert({"name": name, "host": host}, MachineSettings)
    except msgspec.ValidationError:
        raise RefusedWrite(
            f"{clean(name)} {clean(host)}: NAME must be {WANTED['machines.name']}. "
            f"HOST must be {WANTED['machines.host']}."
        ) from None
    add_machine(settings_path(), machine)
    output.note(f"Added {name}. sessionbrowse machines look {name} reads its sessions, and writes nothing there.")
    return 0


def _look(machine: MachineSettings) -> bool:
    """Look at a machine and print the result; return True if it failed, False also if the machine did not answer."""
    from sessionbrowse.services.machines.look import look
    from sessionbrowse.services.machines.results import sentence_of

    def progress(done: int, total: int, path: str) -> None:
        output.progress(f"{machine.name}: {done:,} of {total:,} files")

    result = look(machine, progress=progress)
    output.progress()
    output.note(sentence_of(result, time.time() * 1000))
    return result.error is not None and not result.asleep


def _forget(name: str) -> int:
    from sessionbrowse.services.machines.forget import forget_machine
    from sessionbrowse.store.find.roots import real_surroundings

    had_mirror = forget_machine(name, real_surroundings(), cache_dir())
    output.note(f"Forgot {name}{' and the copies of its sessions here' if had_mirror else ''}.")
    return 0


def _known(names: Sequence[str], settings: Settings) -> list[MachineSettings]:
    """Return the machines with the given names: those in the settings, and those whose mirrors are still here.

    Raises:
        NotFound: there is no such machine.
    """
    by_name = {state.name: MachineSettings(name=state.name, host=state.host) for state in states()}
    by_name |= {machine.name: machine for machine in settings.machines}
    for name in names:
        if name not in by_name:
            raise NotFound(f"There is no machine {clean(name)!r}.{did_you_mean(name, by_name)}")
    return [by_name[name] for name in names or by_name]


def _print_machines(settings: Settings, as_json: bool) -> None:
    """Print the machines; `seen` is the time of the last successful look, `same_as` another name of one machine."""
    from sessionbrowse.services.machines.results import twice_words

    documents: list[dict[str, Any]] = []
    for machine in _known((), settings):
        state = read_state(machine.name) or MirrorState(name=machine.name, host=machine.host)
        document = {
            "name": machine.name,
            "host": machine.host,
            "seen": iso_ms(state.seen) if state.seen is not None else None,
            "sessions": state.files,
            "bytes": state.size,
            "error": state.error,
            "same_as": same_machine(state),
        }
        documents.append(document)
    if as_json:
        output.print_json(documents)
        return
    now = time.time() * 1000
    rows = [
        (
            one["name"],
            clean(one["host"]),
            age(one["seen"], now) if one["seen"] else "never",
            str(one["sessions"]),
            size(one["bytes"]),
            clean(one["error"] or (twice_words(one["name"], one["same_as"]) if one["same_as"] else "")),
        )
        for one in documents
    ]
    titles = ("machine", "host", "seen", "sessions", "size", "")
    output.print_table(titles, rows, right=(3, 4), stretch=5, empty="no machine is set")


COMMANDS = {"config": run_config, "machines": run_machines, "completion": run_completion}


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

    if machines := add(
        "machines",
        "List other machines whose sessions are read by ssh; add one, look at them, or forget one",
        reads=False,
    ):
        verbs = ("list", "add", "look", "forget")
        machines.add_argument("verb", nargs="?", choices=verbs, default="list", help="what to do; default: list")
        machines.add_argument("words", nargs="*", metavar="NAME", help="a machine's name; after add also its HOST")

    if completion := add("completion", "Print a completion script for a shell", json=False, reads=False):
        completion.add_argument("shell", choices=output.SHELLS, help="the shell")
