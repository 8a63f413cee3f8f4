"""The commands that change sessions: ask a service, say what it did. stdout is data: JSON, or a text handed back."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import msgspec

from sessionbrowse.cli import output
from sessionbrowse.errors import InUse
from sessionbrowse.services.list import catalog
from sessionbrowse.services.transaction.change import ChangeResult, target_of
from sessionbrowse.text import clean, clean_lines, parse_time

if TYPE_CHECKING:
    from sessionbrowse.services.undo.undo import Undoable


def run_rename(arguments: argparse.Namespace, located: catalog.Located) -> int:
    """`rename`: one line more in the file; for omp other bytes in its first line."""
    from sessionbrowse.services.change.rename import rename

    target = target_of(located, arguments.ref)
    with ForceNamed():
        renamed = rename(target, arguments.name, clear=arguments.clear, force=arguments.force)
    _say(arguments, renamed, f'named "{clean(renamed.name)}"' if renamed.name else "no name")
    return 0


def run_label(arguments: argparse.Namespace, located: catalog.Located) -> int:
    """`label`: one line more in the file."""
    from sessionbrowse.services.change.label import label

    target = target_of(located, arguments.ref)
    with ForceNamed():
        labelled = label(target, arguments.entry, arguments.text, clear=arguments.clear, force=arguments.force)
    shown = f'labelled "{clean(labelled.label)}"' if labelled.label else "no label"
    _say(arguments, labelled, f"{labelled.entry_id}: {shown}")
    return 0


def run_checkout(arguments: argparse.Namespace, located: catalog.Located) -> int:
    """`checkout`: one line more in the file; a message's text is printed to be sent again."""
    from sessionbrowse.services.change.checkout import checkout

    target = target_of(located, arguments.ref)
    with ForceNamed():
        checked_out = checkout(target, arguments.entry, force=arguments.force)
    _say(arguments, checked_out, f"resumes at {checked_out.at or 'its start'}")
    if not arguments.json and checked_out.text is not None:
        output.print_lines(clean_lines(checked_out.text))
    return 0


def run_undo(arguments: argparse.Namespace) -> int:
    """`undo`: the last change, the one that is named, or with `--list` what can be undone."""
    from sessionbrowse.services.undo.undo import undo, undoable

    if arguments.list:
        rows = undoable()
        if arguments.json:
            output.print_json(msgspec.to_builtins(rows))
        else:
            output.print_changes(
                (row.undo_id, parse_time(row.time), row.verb, _what(row), row.path, row.agent) for row in rows
            )
        return 0
    with ForceNamed():
        undone = undo(arguments.id, force=arguments.force)
    for sentence in undone.failed:
        output.note(sentence)
    _say(arguments, undone, f"undone: {undone.verb} of {', '.join(clean(path) for path in undone.paths)}")
    return 1 if undone.failed else 0


def _what(row: Undoable) -> str:
    return row.summary if row.count == 1 else f"{row.count} at once, the last: {row.summary}"


def _say(arguments: argparse.Namespace, changed: ChangeResult, sentence: str) -> None:
    for note in changed.notes:
        output.note(note)
    if arguments.json:
        output.print_json(document_of(changed))
    else:
        output.note(sentence)


def document_of(changed: ChangeResult) -> dict[str, Any]:
    """Return what `--json` prints of a change."""
    document: dict[str, Any] = msgspec.to_builtins(changed)
    return document


class ForceNamed:
    """Names the option that goes on where a session may be in use."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, InUse):
            raise InUse(f"{error.sentence} --force does it anyway.") from error
