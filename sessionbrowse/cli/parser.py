"""The parser of the command line: every command with its arguments, and the directories and agents that they name.

Parsing imports no module that reads sessions, to stay fast.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from sessionbrowse.version import __version__

if TYPE_CHECKING:
    from sessionbrowse.config import Settings
    from sessionbrowse.store.find.roots import Scope

AGENT_NAMES = ("pi", "omp", "atomic", "indusagi")
FILTERS = ("default", "no-tools", "user-only", "labeled-only", "all")
INTERFACES = (None, "demo", "pick")
"""The commands that open the interface; None stands for a command line without a command."""
SORTS = ("recent", "threaded", "name", "size", "cost", "relevance")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line; `command` is None if none is given. Like argparse, raise SystemExit on errors."""
    parser = make_parser(argv[0]) if argv else make_parser()
    return parser.parse_args(argv)


def scope_of(
    arguments: argparse.Namespace, settings: Settings | None = None, *, hidden: bool = False, archived: bool = False
) -> Scope:
    """Return the directories and agents that the arguments name; `settings` None reads the settings file."""
    from sessionbrowse.store.find.roots import Scope, real_surroundings

    return Scope(
        around=real_surroundings(),
        roots=tuple(arguments.roots or ()),
        extra_roots=(settings or settings_in_force()).roots,
        agents=tuple(arguments.agents or ()),
        hidden=hidden,
        archived=archived,
    )


def settings_in_force() -> Settings:
    """Return the user's settings; print problems with them on stderr."""
    from sessionbrowse.cli import output
    from sessionbrowse.config import load_settings

    loaded = load_settings()
    for problem in loaded.problems:
        output.note(problem)
    return loaded.settings


class Parser(argparse.ArgumentParser):
    """A parser whose errors are safe for a terminal, and whose help fails with an OSError if it cannot be printed."""

    def error(self, message: str) -> NoReturn:
        """Print usage and error on stderr, and exit with status 2; the error quotes arguments, such as file names."""
        from sessionbrowse.text import clean

        super().error(clean(message))

    def print_help(self, file: Any = None) -> None:
        """Print the help on standard output."""
        (file or sys.stdout).write(self.format_help())


class Help(argparse.HelpFormatter):
    """Formats help text to the terminal's width, without importing `shutil`, which takes longer than parsing."""

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
    """Return the parser of all commands; if `only` is a command, its parser alone, which is made much faster."""
    parser = Parser(
        prog="sessionbrowse",
        description="Browse the sessions of pi, omp, atomic and indusagi. Without a command: the terminal interface.",
        epilog="REF is a session file's path, a session id, or the unique beginning of one. ENTRY is an entry's id, "
        "the unique beginning of one, or an exact label.",
        allow_abbrev=False,
        formatter_class=Help,
    )
    parser.add_argument("--version", action="version", version=f"sessionbrowse {__version__}")
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
        return command

    if listing := add("list", "Sessions, newest first."):
        listing.add_argument(
            "query", nargs="*", metavar="QUERY", help='words, "phrases" or re:pattern, as in pi\'s picker'
        )
        listing.add_argument("--cwd", type=_directory, metavar="DIR", help="only sessions of this directory")
        listing.add_argument("--named", action="store_true", help="only sessions with a name")
        listing.add_argument("--hidden", action="store_true", help="workflow stages and subagents' sessions too")
        listing.add_argument("--sort", choices=SORTS, help="recent; with a QUERY relevance")
        listing.add_argument("--limit", type=_count, metavar="N", help="at most N")

    add("projects", "The directories sessions belong to: counts, last activity, whether they still exist.")

    if show := add("show", "Show the contents of a session file."):
        _add_ref(show)

    if tree := add("tree", "The branch tree of a session, as its agent shows it."):
        _add_ref(tree)
        tree.add_argument("--filter", choices=FILTERS, default="default", help="which entries to show")

    if context := add("context", "Show the context that the model would receive."):
        _add_ref(context)
        context.add_argument("--at", metavar="ENTRY", help="from this entry instead of the leaf")

    if diff := add("diff", "Compare two branches of a session below their last common entry."):
        _add_ref(diff)
        diff.add_argument("left", metavar="ENTRY", help="an entry: id, the beginning of one, or an exact label")
        diff.add_argument("right", metavar="ENTRY", help="the other entry")

    add("labels", "Every checkpoint of every session.")

    if search := add(
        "search",
        'Entries in every branch of every session: words, "phrases", re:pattern, and the filters agent: project: name: '
        "label: role: tool: model: before: after: branch:",
    ):
        search.add_argument("query", nargs="+", metavar="QUERY", help="the text to search for")
        search.add_argument("--limit", type=_count, default=100, metavar="N", help="at most N hits (default 100)")
        search.add_argument("--tools", action="store_true", help="in tool calls and results too")
        search.add_argument(
            "--branch", choices=("active", "abandoned", "any"), default="any", help="the branches to search"
        )

    if index := add(
        "index", "Read all sessions into the index, so that lists and searches need not. It can be deleted anytime."
    ):
        how = index.add_mutually_exclusive_group()
        how.add_argument("--rebuild", action="store_true", help="rebuild it completely")
        how.add_argument("--status", action="store_true", help="print the state of the index")
        how.add_argument("--clear", action="store_true", help="delete the index")
        index.add_argument("--tools", action="store_true", help="make tool calls and results searchable too")

    if resume := add("resume", "Run the agent on a session, in the session's directory."):
        _add_ref(resume)
        resume.add_argument(
            "--at", metavar="ENTRY", help="resume at this entry; it is checked out first, which adds one line"
        )
        resume.add_argument("--print", action="store_true", dest="only_print", help="print the commands, shell-quoted")
        _add_force(resume)

    if rename := add("rename", "Give a session another name. For omp its first line changes, else one line is added."):
        _add_ref(rename)
        _add_text(rename, "name", "NAME", "the new name", "take the name away")

    if label := add("label", "Label an entry, as a checkpoint. Adds one line to the file."):
        _add_ref(label)
        _add_entry(label)
        _add_text(label, "text", "TEXT", "the label", "take the label away")

    if checkout := add("checkout", "Let the agent resume at an entry, in the same file. Adds one line to the file."):
        _add_ref(checkout)
        _add_entry(checkout)
        _add_force(checkout)

    if fork := add("fork", "Make a new session file from another; prints its path."):
        _add_ref(fork)
        fork.add_argument("--at", metavar="ENTRY", help="only the path up to this entry; at a user message, before it")
        fork.add_argument(
            "--cwd", type=_directory, metavar="DIR", help="the directory of the new session, instead of the source's"
        )

    if delete := add("delete", "Move sessions to the trash, with all that belongs to them."):
        _add_refs(delete)
        delete.add_argument("--yes", action="store_true", help="do not ask")
        where_to = delete.add_mutually_exclusive_group()
        where_to.add_argument("--permanent", action="store_true", help="remove them for good, without trash")
        where_to.add_argument(
            "--own-trash",
            action="store_true",
            help="into sessionbrowse's own trash folder, if the system's does not work",
        )
        _add_force(delete)

    if restore := add(
        "restore", "Bring deleted sessions back from the trash; never over an existing file.", reads=False
    ):
        restore.add_argument(
            "ids", nargs="*", metavar="ID", help="restore these instead of the one deleted last: undo id or path"
        )
        restore.add_argument("--list", action="store_true", help="list what can be restored, newest first")

    if archive := add("archive", "Take sessions out of the agents' lists; they stay readable and searchable here."):
        _add_refs(archive)
        _add_force(archive)

    if unarchive := add("unarchive", "Bring archived sessions back into the agents' lists."):
        _add_refs(unarchive)
        _add_force(unarchive)

    if relocate := add(
        "relocate", "Move the sessions of a project whose directory was moved or renamed: all, or none."
    ):
        relocate.add_argument("old", metavar="OLD", help="the directory that the sessions name now")
        relocate.add_argument(
            "new",
            metavar="NEW",
            nargs="?",
            help="the directory that they name from now on; without NEW: print where OLD may have been moved",
        )
        relocate.add_argument("--dry-run", action="store_true", help="only print the sessions that would be moved")
        _add_force(relocate)

    if undo := add("undo", "Undo the last change that sessionbrowse made, or the change ID.", reads=False):
        undo.add_argument(
            "id", nargs="?", metavar="ID", help="undo this change instead of the last one; --list shows the ids"
        )
        undo.add_argument("--list", action="store_true", help="list the changes that can be undone, newest first")
        _add_force(undo)

    choose = "The terminal interface, to choose a session: Enter prints its path. Nothing chosen: exit status 1."
    add("pick", choose, json=False)

    if config := add("config", "Show the path and the problems of the settings file.", reads=False):
        what = config.add_mutually_exclusive_group()
        what.add_argument("--example", action="store_true", help="print an example of all settings")
        what.add_argument("--keys", action="store_true", help="print the interface's commands with their keys")

    if completion := add("completion", "Print a completion script for a shell.", json=False, reads=False):
        completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")

    add(
        "demo",
        "Open a made-up store in a temporary directory, to try everything without risk.",
        json=False,
        reads=False,
    )
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
        help="only this agent's sessions, and files whose place and content do not tell their agent (repeatable)",
    )
    parser.add_argument(
        "--root",
        action=_Append,
        dest="roots",
        type=_directory,
        metavar="DIR",
        default=default,
        help="search here instead of the agents' own places: an agent's directory, a sessions folder or one project's "
        "folder of it (repeatable)",
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


def _add_ref(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a session: path, id, or the beginning of one")


def _add_refs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("refs", nargs="+", metavar="REF", help="sessions: path, id, or the beginning of one")


def _add_entry(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("entry", metavar="ENTRY", help="an entry: id, the beginning of one, or an exact label")


def _add_text(parser: argparse.ArgumentParser, dest: str, metavar: str, text_help: str, clear_help: str) -> None:
    """Add two arguments that exclude each other: the text, and `--clear`."""
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument(dest, nargs="?", metavar=metavar, help=text_help)
    either.add_argument("--clear", action="store_true", help=clear_help)
    _add_force(parser)


def _add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="do it even if the session may be in use")


def _directory(text: str) -> str:
    if not text:
        # An unset variable of a script: "" would silently mean the current directory.
        raise argparse.ArgumentTypeError("the directory's name is empty")
    return text


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if number < 0:
        raise argparse.ArgumentTypeError("less than 0")
    return min(number, sys.maxsize)
