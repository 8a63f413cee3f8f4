"""Report interrupted changes, as after a crash, on stderr; commands that change sessions finish these changes first."""

from __future__ import annotations

import argparse

from sessionbrowse.cli import output
from sessionbrowse.cli.parser import change_context, scope_of
from sessionbrowse.services.transaction.change import recover_interrupted
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.transaction.recover import sentence_of, unfinished
from sessionbrowse.store.find.roots import places_of
from sessionbrowse.text import shell_quote

CHANGING = frozenset(
    {"rename", "label", "checkout", "fork", "delete", "restore", "archive", "unarchive", "relocate", "undo"}
) | {"prune", "shrink", "doctor", "cleanup", "convert"}
READING = frozenset({"list", "projects", "labels", "search", "show", "tree", "context", "diff", "resume", "index"})


def note_unfinished(arguments: argparse.Namespace) -> None:
    """Report interrupted changes on stderr; before a command that changes sessions, finish these changes as well.

    Before `relocate` nothing is done, because `relocate` itself finishes interrupted changes.
    """
    reads = getattr(arguments, "list", False) is True or getattr(arguments, "dry_run", False)
    reads = reads or (arguments.command == "doctor" and not (arguments.in_place or arguments.to))
    reads = reads or (arguments.command == "cleanup" and not arguments.yes)
    changes = arguments.command in CHANGING and not reads
    if arguments.command not in CHANGING | READING:
        return
    context = change_context(arguments)
    if changes:
        if arguments.command != "relocate":
            finish_unfinished(context)
        return
    # Commands such as `undo --list` have no --root, so they report unfinished changes in every directory.
    scope = scope_of(arguments) if hasattr(arguments, "roots") else None
    roots = ["/"] if scope is None else [place.root for place in places_of(scope)]
    for change in context.told(unfinished(context, roots)):
        output.note(f"{sentence_of(change)} {_how_to_go_on(change.verb, change.before.get('path'), change.path)}")


def finish_unfinished(context: ChangeContext) -> None:
    """Finish all interrupted changes, and report each on stderr."""
    for change in context.told(recover_interrupted(context)):
        output.note(sentence_of(change))


def _how_to_go_on(verb: str, before: object, path: str) -> str:
    old = str(before or path)
    words = {
        "relocate": ["relocate", old, path],
        "undo": ["undo"],
        "restore": ["restore"],
        "unpack": ["unarchive", old],
        "repair": ["doctor", old, "--in-place"],
        **{copied: [copied, old, "--in-place"] for copied in ("prune", "shrink")},
    }.get(verb, [verb, old])
    return (
        "To complete the interrupted change, run a command that changes sessions, for example: "
        f"sessionbrowse {' '.join(map(shell_quote, words))}"
    )
