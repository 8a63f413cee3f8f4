"""What each command does: gather, ask a service, print. Decides nothing about sessions itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from sessionbrowse.cli import output
from sessionbrowse.cli.scoping import scope_of
from sessionbrowse.services.list import catalog
from sessionbrowse.store.find.roots import real_surroundings

if TYPE_CHECKING:
    from sessionbrowse.model.session.session import Session


def run_show(arguments: argparse.Namespace) -> int:
    """`show`: header, entries, branches, labels and problems of one file."""
    from sessionbrowse.services.inspect import documents

    document = documents.show_document(_open(arguments))
    if arguments.json:
        output.print_json(document)
    else:
        output.print_show(document)
    return 0


def run_tree(arguments: argparse.Namespace) -> int:
    """`tree`: the agent's own rows."""
    from sessionbrowse.services.inspect import documents

    session = _open(arguments)
    home = real_surroundings().home
    if arguments.json:
        output.print_json(documents.tree_document(session, arguments.filter, home))
    else:
        output.print_tree(session, arguments.filter, home)
    return 0


def run_context(arguments: argparse.Namespace) -> int:
    """`context`: messages, and why the other entries of the path are not among them."""
    from sessionbrowse.services.inspect import documents

    session = _open(arguments)
    at = documents.find_entry(session, arguments.at) if arguments.at is not None else None
    document = documents.context_document(session, at)
    if arguments.json:
        output.print_json(document)
    else:
        output.print_context(document)
    return 0


def run_diff(arguments: argparse.Namespace) -> int:
    """`diff`: two branches of one session from their last common entry on."""
    from sessionbrowse.services.inspect import compare, documents

    session = _open(arguments)
    left, right = (documents.find_entry(session, reference) for reference in (arguments.left, arguments.right))
    document = compare.compare_document(session, compare.compare(session, left, right), real_surroundings().home)
    if arguments.json:
        output.print_json(document)
    else:
        output.print_comparison(document)
    return 0


def run_resume(arguments: argparse.Namespace) -> int:
    """`resume`: find the session, then hand the terminal to its agent."""
    from sessionbrowse.cli import resume_command

    return resume_command.run_resume(arguments, _find(arguments))


def run_change(arguments: argparse.Namespace) -> int:
    """`rename`, `label`, `checkout`: find the session, then change it."""
    from sessionbrowse.cli import changes

    run = {"rename": changes.run_rename, "label": changes.run_label, "checkout": changes.run_checkout}
    return run[arguments.command](arguments, _find(arguments))


def run_fork(arguments: argparse.Namespace) -> int:
    """`fork`: find the session, then make another of it."""
    from sessionbrowse.cli import file_commands

    return file_commands.run_fork(arguments, _find(arguments))


def run_delete(arguments: argparse.Namespace) -> int:
    """`delete`: find all sessions, then move them to the trash."""
    from sessionbrowse.cli import file_commands

    return file_commands.run_delete(arguments, _find_all(arguments), scope_of(arguments, hidden=True, archived=True))


def run_restore(arguments: argparse.Namespace) -> int:
    """`restore`: from the trash, by the journal."""
    from sessionbrowse.cli import file_commands

    return file_commands.run_restore(arguments)


def run_archive(arguments: argparse.Namespace) -> int:
    """`archive`, `unarchive`: find all sessions, then move them."""
    from sessionbrowse.cli import file_commands

    return file_commands.run_archive(arguments, _find_all(arguments))


def run_relocate(arguments: argparse.Namespace) -> int:
    """`relocate`: all sessions of a directory."""
    from sessionbrowse.cli import file_commands

    return file_commands.run_relocate(arguments, scope_of(arguments, hidden=True, archived=True))


def run_undo(arguments: argparse.Namespace) -> int:
    """`undo`: from the journal, whatever the session's file is."""
    from sessionbrowse.cli import changes

    return changes.run_undo(arguments)


def run_config(arguments: argparse.Namespace) -> int:
    """`config`: settings, and an example of them."""
    from sessionbrowse.cli import settings_commands

    return settings_commands.run_config(arguments)


def run_completion(arguments: argparse.Namespace) -> int:
    """`completion`: a script for the shell."""
    from sessionbrowse.cli import settings_commands

    return settings_commands.run_completion(arguments)


def _find(arguments: argparse.Namespace) -> catalog.Located:
    """The file that REF names, whose it is, and the place that leads to it."""
    return catalog.locate(arguments.ref, scope_of(arguments))


def _find_all(arguments: argparse.Namespace) -> list[catalog.Located]:
    """What every REF names; nothing is changed if one of them names nothing."""
    scope = scope_of(arguments)
    return [catalog.locate(reference, scope) for reference in arguments.refs]


def _open(arguments: argparse.Namespace) -> Session:
    from sessionbrowse.store.read.session_file import open_session

    located = _find(arguments)
    return open_session(located.path, located.agent)


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "show": run_show,
    "tree": run_tree,
    "context": run_context,
    "diff": run_diff,
    "resume": run_resume,
    "config": run_config,
    "completion": run_completion,
    "rename": run_change,
    "label": run_change,
    "checkout": run_change,
    "fork": run_fork,
    "delete": run_delete,
    "restore": run_restore,
    "archive": run_archive,
    "unarchive": run_archive,
    "relocate": run_relocate,
    "undo": run_undo,
}
