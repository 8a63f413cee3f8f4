"""The commands `show`, `tree`, `context` and `diff`, which print the contents of one session file."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from sessionbrowse.cli import output
from sessionbrowse.cli.output import print_document
from sessionbrowse.cli.parser import AddCommand, add_entry, add_for_agent, add_ref
from sessionbrowse.cli.references import find
from sessionbrowse.model.context.message import unread_note
from sessionbrowse.model.session.session import Session
from sessionbrowse.services.inspect import compare, documents
from sessionbrowse.services.list.locate import find_entry
from sessionbrowse.store.find.roots import real_surroundings
from sessionbrowse.store.read.session_file import open_session

FILTERS = ("default", "no-tools", "user-only", "labeled-only", "all")


def run_show(arguments: argparse.Namespace) -> int:
    """Run `show`: print header, entries, branches, labels and problems of one session file."""
    session = _open(arguments)
    _print(arguments, documents.show_document(session), output.print_show)
    return _status(session)


def run_tree(arguments: argparse.Namespace) -> int:
    """Run `tree`: print the tree of a session, with the rows of the agent's own tree view."""
    session = _open(arguments)
    home = real_surroundings().home
    if arguments.json:
        output.print_json(documents.tree_document(session, arguments.filter, home))
    else:
        output.print_tree(session, arguments.filter, home, arguments.ids)
    return _status(session)


def run_context(arguments: argparse.Namespace) -> int:
    """Run `context`: print the messages that the model would receive, and why other entries are omitted."""
    session = _open(arguments)
    at = find_entry(session, arguments.at) if arguments.at is not None else None
    _print(arguments, documents.context_document(session, at), output.print_context)
    note = unread_note(session)
    if note is not None:
        output.note(note)
    return _status(session)


def run_diff(arguments: argparse.Namespace) -> int:
    """Run `diff`: compare two branches of one session below their last common entry."""
    session = _open(arguments)
    left, right = (find_entry(session, reference) for reference in (arguments.left, arguments.right))
    document = compare.compare_document(session, compare.compare(session, left, right), real_surroundings().home)
    _print(arguments, document, output.print_comparison)
    return 0


def _print(
    arguments: argparse.Namespace, document: dict[str, Any], print_text: Callable[[dict[str, Any]], None]
) -> None:
    """Print a document as JSON or as text."""
    if arguments.json:
        print_document(arguments, document)
    else:
        print_text(document)


def _open(arguments: argparse.Namespace) -> Session:
    located = find(arguments)
    return open_session(located.path, located.agent)


def _status(session: Session) -> int:
    """Return the exit status for an opened session file: 1 if the file has content but no line of JSON, else 0."""
    if session.size and not session.is_json:
        output.note("No line of this file is JSON, so it is no session.")
        return 1
    return 0


COMMANDS = {"show": run_show, "tree": run_tree, "context": run_context, "diff": run_diff}


def add_arguments(add: AddCommand) -> None:
    """Add the commands of this module and their arguments to the parser."""
    if show := add("show", "Show the contents of a session file"):
        add_ref(show)
        add_for_agent(show)

    if tree := add("tree", "Show the branch tree of a session, as its agent draws it"):
        add_ref(tree)
        tree.add_argument("--filter", choices=FILTERS, default="default", help="kinds of entries that the tree shows")
        tree.add_argument("--ids", action="store_true", help="print each entry's id before its row")

    if context := add("context", "Show the context that the model would receive"):
        add_ref(context)
        context.add_argument("--at", metavar="ENTRY", help="show the context at this entry instead of the leaf")
        add_for_agent(context)

    if diff := add("diff", "Compare two branches of a session below their last common entry"):
        add_ref(diff)
        add_entry(diff, "left")
        add_entry(diff, "right")
        add_for_agent(diff)
