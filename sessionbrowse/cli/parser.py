"""The parser of the command line, and the directories and agents that the arguments select.

Each module of `cli/commands` adds the arguments of its commands. Only the module of the typed command is imported.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from sessionbrowse.errors import did_you_mean
from sessionbrowse.version import __version__

if TYPE_CHECKING:
    from sessionbrowse.config import Settings
    from sessionbrowse.model.listing.excluded import Excluded
    from sessionbrowse.services.transaction.change_context import ChangeContext
    from sessionbrowse.store.find.roots import Scope


AGENT_VARIABLES = ("PI_CODING_AGENT", "OMPCODE", "CLAUDECODE")
"""Environment variables that coding agents set for the programs that they run."""
AGENT_NAMES = ("pi", "omp", "atomic", "indusagi", "claude", "codex")
_COMMANDS = {
    "lists": ("list", "projects", "labels"),
    "stats": ("stats",),
    "search": ("search",),
    "inspect": ("show", "tree", "context", "diff"),
    "resume": ("resume", "convert"),
    "change": ("rename", "label", "checkout", "fork", "delete", "restore", "archive", "unarchive", "relocate", "undo"),
    "clean": ("prune", "shrink", "doctor", "cleanup"),
    "export": ("redact", "export"),
    "index": ("index",),
    "pick": ("pick",),
    "integrate": ("integrate", "shell"),
    "interface": ("demo",),
    "settings": ("config", "machines", "completion"),
}
GROUPS = {
    "look": ("list", "projects", "show", "tree", "context", "diff", "stats"),
    "find": ("search", "labels", "pick", "resume"),
    "change": (
        *("rename", "label", "checkout", "fork", "convert", "relocate", "archive", "unarchive", "delete"),
        *("restore", "undo"),
    ),
    "clean and share": ("cleanup", "doctor", "prune", "shrink", "redact", "export"),
    "set up": ("index", "machines", "config", "integrate", "shell", "completion", "demo"),
}
"""The commands by purpose: the headings of the help, each with its commands."""
MODULE_OF_COMMAND = {command: module for module, commands in _COMMANDS.items() for command in commands}
"""For each command, the module of `cli/commands` that implements the command; in the order of the help."""
MOST_UNREAD = 64 * 1024 * 1024
"""Maximum number of bytes of unindexed files that `--for-agent` reads: more would let the agent wait for too long."""

INTERFACES = (None, "demo", "pick")
"""The commands that open the interface; None stands for a command line without a command."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line; `command` is None without a command. Raise SystemExit on errors, as argparse."""
    parser = make_parser(argv[0]) if argv else make_parser()
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        _parser_of(parser, arguments.command).refuse(unknown)
    if getattr(arguments, "for_agent", False):
        arguments.json = True
    arguments.notes = []
    return arguments


def scope_of(
    arguments: argparse.Namespace, settings: Settings | None = None, *, hidden: bool = False, archived: bool = False
) -> Scope:
    """Return the directories and agents that arguments and settings select.

    If `settings` is None, the settings file is read.
    """
    from sessionbrowse.store.find.roots import Scope, real_surroundings

    around, settings = real_surroundings(), settings or settings_in_force()
    return Scope(
        around=around,
        excluded=excluded_of(settings, around.home) if is_for_agent(arguments) else None,
        roots=tuple(getattr(arguments, "roots", None) or ()),
        extra_roots=settings.roots,
        agents=tuple(getattr(arguments, "agents", None) or settings.show_agents),
        agents_by_default=not getattr(arguments, "agents", None),
        hidden=hidden,
        archived=archived,
        most_unread=MOST_UNREAD if getattr(arguments, "for_agent", False) else None,
    )


def is_for_agent(arguments: argparse.Namespace | None = None) -> bool:
    """Return True if an agent reads the output: it runs this program, or `--for-agent` says so."""
    return getattr(arguments, "for_agent", False) or any(os.environ.get(name) for name in AGENT_VARIABLES)


def change_context(arguments: argparse.Namespace) -> ChangeContext:
    """Return the context for changes; inside an agent, changes of sessions hidden from agents are left out."""
    from msgspec.structs import replace

    from sessionbrowse.services.transaction.change_context import ChangeContext

    context = ChangeContext.real()
    if not is_for_agent(arguments):
        return context
    from sessionbrowse.services.list.withheld import shown_changes

    scope = scope_of(arguments)
    return replace(context, told=lambda changes: shown_changes(changes, scope))


def examples(command: str) -> list[tuple[str, str]]:
    """Return examples of a command, each a command line and its description, for `--help`, `docs/` and man page."""
    lines = Path(__file__).with_name("examples.txt").read_text("utf-8").splitlines()
    pairs = [(typed, does) for typed, _, does in [line.partition("  # ") for line in lines]]
    return [(typed, does) for typed, does in pairs if f"sessionbrowse {command} " in re.sub(r"$|[()]", " ", typed)]


def excluded_of(settings: Settings, home: str) -> Excluded | None:
    """Return the sessions that the user excludes in the settings; None if the settings exclude nothing."""
    chosen = settings.not_for_agents
    if not (chosen.directories or chosen.sessions or chosen.labels):
        return None
    from sessionbrowse.agents.base import expand_home
    from sessionbrowse.model.listing.excluded import Excluded
    from sessionbrowse.store.find.slow_disks import real_many
    from sessionbrowse.text import shorten_home

    def forms(paths: Sequence[str]) -> tuple[str, ...]:
        """Return paths in all forms that agents store: as given, with links resolved, and beginning with `~`."""
        given = [expand_home(os.path.normpath(path), home) for path in paths]
        every = (*given, *filter(None, real_many(given).values()))
        return tuple(dict.fromkeys((*every, *[shorten_home(path, home) for path in every])))

    named = [each for each in chosen.sessions if "/" in each]
    return Excluded(
        directories=forms(chosen.directories),
        sessions=(*[each for each in chosen.sessions if "/" not in each], *forms(named)),
        labels=chosen.labels,
        resolve=real_many,
    )


def settings_in_force() -> Settings:
    """Return the user's settings; print problems in the settings file on stderr."""
    from sessionbrowse.cli import output
    from sessionbrowse.config import load_settings

    loaded = load_settings()
    output.note_all(loaded.problems)
    return loaded.settings


class AddCommand(Protocol):
    """A function that adds a command to the command line and returns the command's parser.

    It returns None, and adds nothing, if only the parser of another command is being made.
    """

    def __call__(
        self, name: str, help_text: str, *, json: bool = True, reads: bool = True
    ) -> argparse.ArgumentParser | None: ...


class Parser(argparse.ArgumentParser):
    """An argument parser that prints errors without control characters, and raises OSError if printing help fails."""

    command = ""
    """The name of the command that this parser handles; "" for the parser of all commands."""

    def error(self, message: str) -> NoReturn:
        """Print usage and error on stderr, without control characters from arguments, and exit with status 2."""
        from sessionbrowse.text import clean

        sys.stderr.write(f"{self.format_usage().rstrip()}  (see {self.prog} --help)\n")
        # argparse's messages are made shorter: "argument --by: 'modle' is not …" becomes "--by: 'modle' is not …".
        missing = message.removeprefix("the following arguments are required: ")
        sentence = (
            message.removeprefix("argument ")
            if missing == message
            else f"{missing} {'are' if ',' in missing else 'is'} missing"
        )
        if (either := re.fullmatch("one of the arguments (.*) is required", sentence)) is not None:
            sentence = f"{either[1].replace(' ', ' or ')} is missing"
        sentence = sentence[:1].upper() + sentence[1:]
        self.exit(2, f"sessionbrowse: {clean(sentence)}{'' if sentence.endswith(('.', '?')) else '.'}\n")

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Print the usage, the unknown arguments and a suggestion on stderr, and exit with status 2."""
        named = ", ".join(unknown)
        option = next((word for word in unknown if word.startswith("-")), None)
        if option is None:
            self.error(f"there are too many arguments: {named}")
        name = option.partition("=")[0]
        if name in self._option_string_actions:
            self.error(f"{name} goes after the command: {self.prog} {option}")
        hint = did_you_mean(name, self._option_string_actions)
        if not name.startswith("--") and any(each.dest == "query" for each in self._get_positional_actions()):
            hint = " To exclude a word from the search, write -- before the query."
        self.error(f"there is no option {named}.{hint}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        names = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            self.error(f"there is no command {value!r}.{did_you_mean(str(value), names) or ' --help lists them.'}")
        raise argparse.ArgumentError(
            action, f"{value!r} is not one of {', '.join(names)}.{did_you_mean(str(value), names)}"
        )

    def format_usage(self) -> str:
        """Return the usage in one line: the command, its arguments and required options; the help has all options."""
        either = {action: group for group in self._mutually_exclusive_groups for action in group._group_actions}
        parts: list[str] = []
        for action in self._actions:
            group = either.get(action)
            if group is not None and group.required and action is group._group_actions[0]:
                parts.append("(" + " | ".join(_written(one).strip("[]") for one in group._group_actions) + ")")
            elif action.required or (not action.option_strings and group is None):
                parts.append(_written(action))
        return f"usage: {' '.join([self.prog, '[OPTIONS]', *parts])}\n"

    def format_help(self) -> str:
        """Return the help text, which ends with examples of the command."""
        self.usage = self.format_usage().removeprefix("usage: ").rstrip()
        commands = next((each for each in self._actions if isinstance(each, argparse._SubParsersAction)), None)
        shown = "\n".join([f"  # {does}\n  {typed}" for typed, does in examples(self.command)])
        text = super().format_help() if commands is None else self._help_in_groups(commands)
        return text + (f"\nexamples:\n{shown}\n" if shown else "")

    def _help_in_groups(self, commands: argparse._SubParsersAction[Any]) -> str:
        """Return the help of all commands, in groups, and then the options."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        titled = {action.dest: action for action in commands._choices_actions}
        for title, names in GROUPS.items():
            formatter.start_section(title)
            formatter.add_arguments([titled[name] for name in names if name in titled])
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action.option_strings])
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def print_help(self, file: Any = None) -> None:
        """Print the help on standard output; unlike in argparse, write errors are raised."""
        (file or sys.stdout).write(self.format_help())


def _written(action: argparse.Action) -> str:
    """Return an argument as the usage line shows it, such as `REF ...` or `--to FILE`."""
    name = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper())
    many = " ..." if action.nargs in ("+", "*", argparse.PARSER) else ""
    if action.option_strings:
        return action.option_strings[-1] if action.nargs == 0 else f"{action.option_strings[-1]} {name}"
    return f"[{name}{many}]" if action.nargs in ("?", "*") else f"{name}{many}"


def _parser_of(parser: argparse.ArgumentParser, command: str | None) -> Parser:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) and command in action.choices:
            parser = action.choices[command]
    assert isinstance(parser, Parser)
    return parser


class Help(argparse.HelpFormatter):
    """Formats help text to the terminal's width without `shutil`, whose import takes longer than parsing."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns() - 2)


def columns() -> int:
    """Return the width of the terminal, by the same rules as `shutil.get_terminal_size`."""
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named) > 0:
        return int(named)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _COLUMNS  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return _COLUMNS


_COLUMNS = 80


def make_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of all commands; with `only`, the parser has only that command and is faster to create."""
    parser = Parser(
        prog="sessionbrowse",
        description="Browse sessions of pi, omp, atomic, indusagi, Claude Code and Codex; "
        "without a command, open the browser",
        epilog="REF is a session file's path, an id, latest, a name, or the beginning of an id or of a name. "
        "ENTRY is an entry's id, a unique prefix of its id, or an exact label.",
        allow_abbrev=False,
        formatter_class=Help,
    )
    parser.add_argument("--version", action="version", version=f"sessionbrowse {__version__}", help="print the version")
    where = _where()
    _add_where(parser)
    parser.set_defaults(command=None)
    # Without `prog`, argparse would format the whole usage text to find the program's name.
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", prog="sessionbrowse")

    def add(name: str, help_text: str, *, json: bool = True, reads: bool = True) -> argparse.ArgumentParser | None:
        if only not in (None, name):
            return None
        command = commands.add_parser(
            name,
            help=help_text,
            description=help_text,
            parents=[where] if reads else [],
            allow_abbrev=False,
            formatter_class=Help,
        )
        if json:
            command.add_argument("--json", action="store_true", help="print one JSON document")
        command.set_defaults(command=name)
        command.command = name
        return command

    if only == "--version":
        return parser
    modules = [MODULE_OF_COMMAND[only]] if only in MODULE_OF_COMMAND else dict.fromkeys(MODULE_OF_COMMAND.values())
    for module in modules:
        import_module(f"sessionbrowse.cli.commands.{module}").add_arguments(add)
    return parser if commands.choices else make_parser()


def _where() -> Parser:
    where = Parser(add_help=False, formatter_class=Help)
    _add_where(where, default=argparse.SUPPRESS)
    return where


def _add_where(parser: argparse.ArgumentParser, default: object = None) -> None:
    parser.add_argument(
        "--agent",
        action=_Append,
        dest="agents",
        choices=AGENT_NAMES,
        default=default,
        help="only sessions of this agent, and session files whose agent is unknown (repeatable)",
    )
    parser.add_argument(
        "--root",
        action=_Append,
        dest="roots",
        type=directory,
        metavar="DIR",
        default=default,
        help="look for sessions in DIR, not in the agents' directories; DIR is an agent's directory, a sessions folder "
        "or one project's folder (repeatable)",
    )


def add_for_agent(parser: argparse.ArgumentParser) -> None:
    """Add to a parser the option `--for-agent`, which prints short JSON for a language model."""
    parser.add_argument(
        "--for-agent",
        action="store_true",
        help="for a language model: JSON of at most 2,000 characters, marked as a quotation, without excluded sessions",
    )


class _Append(argparse.Action):
    """Collects the values of an option that may be given both before and after the command's name."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest, None) or []), values])


_REF = "a session's path, id, name, or the beginning of its id or name; latest is the newest"
_ENTRY = "an entry's id, a unique prefix of its id, or an exact label"


def add_ref(parser: argparse.ArgumentParser) -> None:
    """Add to a parser the argument REF, which names one session."""
    parser.add_argument("ref", metavar="REF", help=_REF)


def add_refs(parser: argparse.ArgumentParser) -> None:
    """Add to a parser the argument REF, which names one or more sessions."""
    parser.add_argument("refs", nargs="+", metavar="REF", help=f"sessions: {_REF}")


def add_entry(parser: argparse.ArgumentParser, dest: str = "entry") -> None:
    """Add to a parser the argument ENTRY, which names one entry of a session."""
    parser.add_argument(dest, metavar="ENTRY", help=_ENTRY)


def add_text(parser: argparse.ArgumentParser, dest: str, metavar: str, text_help: str, clear_help: str) -> None:
    """Add to a parser a text argument, `--clear` and `--force`; the user must give either the text or `--clear`."""
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument(dest, nargs="?", metavar=metavar, help=text_help)
    either.add_argument("--clear", action="store_true", help=clear_help)
    add_force(parser)


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add to a parser the option `--force`, which lets a command continue if the session may be in use."""
    parser.add_argument("--force", action="store_true", help="continue even if the session may be in use")


def add_cwd(parser: argparse.ArgumentParser) -> None:
    """Add to a parser the options `--cwd` and `--under`, which select sessions by working directory."""
    parser.add_argument("--cwd", type=directory, metavar="DIR", help="only sessions whose working directory is DIR")
    parser.add_argument("--under", action="store_true", help="with --cwd: also sessions in directories below DIR")


def in_directory(arguments: argparse.Namespace) -> Callable[[Iterable[str]], frozenset[str]] | None:
    """Return a function that selects the directories that `--cwd` and `--under` name; None without these options."""
    if arguments.cwd is None and not arguments.under:
        return None
    # Imported here because most commands do not choose by directory.
    from sessionbrowse.store.find.directories import spellings_of, within

    return partial(within, wanted=spellings_of(arguments.cwd or ".", os.curdir), below=arguments.under)


def directory(text: str) -> str:
    """Return a directory argument unchanged; raise ArgumentTypeError if the argument is empty."""
    if not text:
        # A script's unset variable gives "", which would silently mean the current directory.
        raise argparse.ArgumentTypeError("the directory's name is empty")
    return text


def count(text: str) -> int:
    """Return an argument as a whole number of 0 or more; raise ArgumentTypeError for other texts."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return min(number, sys.maxsize)


OLDER_SORTS = {"recent": "newest", "relevance": "best"}
"""Former names of sort orders that `--sort` still accepts, with their present names."""


def add_sort(parser: argparse.ArgumentParser, choices: Sequence[str], default: str | None, sort_help: str) -> None:
    """Add the option `--sort`, which also accepts the former names of sort orders."""
    parser.add_argument(
        "--sort", type=lambda word: OLDER_SORTS.get(word, word), choices=choices, default=default, help=sort_help
    )


_UNITS = {"d": 1, "w": 7}


def add_copy_options(
    parser: argparse.ArgumentParser,
    *,
    in_place: bool = True,
    required: bool = True,
    new_id: bool = True,
    to: str = "--to",
) -> None:
    """Add the options of the commands that write a copy of a session; `to` is a second name of `--to`."""
    shared = parser.add_argument_group("the copy (the same for prune, shrink, redact and doctor)")
    where = shared.add_mutually_exclusive_group(required=required) if in_place else shared
    names = [*dict.fromkeys(("--to", to))]
    where.add_argument(
        *names,
        dest="to",
        metavar="FILE",
        required=required and not in_place,
        help="write the copy to this new file, or into this folder",
    )
    if in_place:
        where.add_argument(
            "--in-place", action="store_true", help="replace the session; the original goes to the trash"
        )
    if new_id:
        shared.add_argument("--new-id", action="store_true", help="with --to: give the copy a new session id")
    shared.add_argument("--dry-run", action="store_true", help="only print what would change")
    shared.add_argument("--yes", action="store_true", help="do not ask; with --in-place, allow latest as REF")
    if in_place:
        shared.add_argument("--force", action="store_true", help="continue even if the session may be in use")


def moment(text: str, now: datetime, *, is_end: bool = False) -> datetime:
    """Return the local time that a typed text such as `7d` names; with `is_end` a date means the end of that day.

    Raises:
        argparse.ArgumentTypeError: the text is not a time.
    """
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    day = {"today": today, "yesterday": today - timedelta(days=1)}.get(text)
    try:
        if day is None and text[-1:] in _UNITS and text[:-1].isdecimal() and text.isascii():
            return now - timedelta(days=int(text[:-1]) * _UNITS[text[-1]])
        if day is None:
            with suppress(ValueError):
                day = datetime.combine(date.fromisoformat(text), datetime.min.time())
        found = day + timedelta(days=is_end) if day is not None else datetime.fromisoformat(text)
        found.timestamp()
        return found
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time: give a date (2026-11-01), a time (2026-11-01T10:00), 7d, 3w, today or yesterday"
        ) from None


def when(text: str) -> str:
    """Return the text of `--since` or `--until` unchanged; raise ArgumentTypeError if the text is not a time."""
    for is_end in (False, True):
        moment(text, datetime.now(), is_end=is_end)
    return text


def span_ms(since: str | None, until: str | None, now: datetime) -> tuple[float | None, float | None]:
    """Return begin and end of a span of time, in ms since 1970, None for no limit; a date as `until` includes that day.

    Raises:
        argparse.ArgumentTypeError: `since` or `until` is not a time.
    """
    return (
        moment(since, now).timestamp() * 1000 if since is not None else None,
        moment(until, now, is_end=True).timestamp() * 1000 if until is not None else None,
    )


def add_span(parser: argparse.ArgumentParser, what: str) -> None:
    """Add to a parser `--since` and `--until`; the help of both begins with `what`, such as "only labels set"."""
    parser.add_argument("--since", type=when, metavar="WHEN", help=f"{what} since a date, a time, 7d, 3w or today")
    parser.add_argument("--until", type=when, metavar="WHEN", help=f"{what} until WHEN; a date includes that day")
