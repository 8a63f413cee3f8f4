"""The commands that change sessions, and `undo`: each calls its service and prints the result.

stdout gets only data: the JSON document, the path of a new file, or the text of a user message. Notes go to stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from sessionbrowse.cli import output
from sessionbrowse.cli.parser import (
    AddCommand,
    add_entry,
    add_force,
    add_ref,
    add_refs,
    add_text,
    change_context,
    directory,
    scope_of,
)
from sessionbrowse.cli.process import interrupts_clean_up
from sessionbrowse.cli.references import find, find_target, find_targets
from sessionbrowse.errors import CannotUndo, InUse, NoSuchChange, NotFound, RefusedWrite
from sessionbrowse.services.change import delete as delete_service
from sessionbrowse.services.change.archive import Archived, archive, unarchive
from sessionbrowse.services.change.checkout import checkout
from sessionbrowse.services.change.delete import restorable
from sessionbrowse.services.change.fork import fork
from sessionbrowse.services.change.label import label
from sessionbrowse.services.change.relocate import candidates, relocate
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.change.restore import of_group, restore
from sessionbrowse.services.list.gather import gather_summaries
from sessionbrowse.services.list.locate import header_of, shown_files
from sessionbrowse.services.transaction.change import ChangeResult, in_bulk
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.undo import Undoable, undo, undoable
from sessionbrowse.store.find.roots import Scope, places_of
from sessionbrowse.store.write.trash import NoTrash
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.text import clean, clean_lines, parse_time, plural, size

T = TypeVar("T")
C = TypeVar("C", bound=ChangeResult)

_MOST_NAMED = 10
"""Maximum number of paths in the sentence that reports an undo."""


def run_rename(arguments: argparse.Namespace) -> int:
    """Run `rename`: append one line to the session file; for omp change the first line, which contains the name."""
    target = find_target(arguments)
    with changing_session():
        renamed = rename(target, arguments.name, clear=arguments.clear, force=arguments.force)
    say(arguments, renamed, f'named "{clean(renamed.name)}"' if renamed.name else "no name")
    return 0


def run_label(arguments: argparse.Namespace) -> int:
    """Run `label`: set or clear the label of an entry by one line appended to the session file."""
    target = find_target(arguments)
    with changing_session():
        labelled = label(target, arguments.entry, arguments.text, clear=arguments.clear, force=arguments.force)
    shown = f'labelled "{clean(labelled.label)}"' if labelled.label else "no label"
    say(arguments, labelled, f"{labelled.entry_id}: {shown}")
    return 0


def run_checkout(arguments: argparse.Namespace) -> int:
    """Run `checkout`: append one line to the session file; if ENTRY is a user message, print the message's text."""
    target = find_target(arguments)
    with changing_session():
        checked_out = checkout(target, arguments.entry, force=arguments.force)
    say(arguments, checked_out, f"resumes at {checked_out.at or 'its start'}")
    if not arguments.json and checked_out.text is not None:
        output.print_lines(clean_lines(checked_out.text))
    return 0


def run_fork(arguments: argparse.Namespace) -> int:
    """Run `fork`: print the path of the new session file."""
    located = find(arguments)
    with interrupts_clean_up():
        forked = fork(located.path, located.agent, located.place, at=arguments.at, cwd=arguments.cwd)
    output.note_all(forked.notes)
    if arguments.cwd is not None and not os.path.isdir(forked.cwd):
        output.note(f"The directory {forked.cwd} does not exist; create it before you resume the new session.")
    if arguments.json:
        output.print_json(forked.document())
        return 0
    output.print_lines([clean(forked.path)])
    if forked.text is not None:
        output.note_all(clean_lines(forked.text))
    return 0


def run_delete(arguments: argparse.Namespace) -> int:
    """Run `delete`: ask for confirmation, then move each session to the trash; one undo restores all."""
    targets = delete_service.outermost(find_targets(arguments), lambda target: target.path)
    context = change_context(arguments)
    if not arguments.yes:
        summaries = [] if arguments.json else gather_summaries(_whole_scope(arguments))
        plans = [delete_service.plan_delete(target, context, summaries, targets) for target in targets]
        if not _confirmed(plans, arguments.permanent):
            raise RefusedWrite(output.not_confirmed("deleted"))
    into: delete_service.Into = "nowhere" if arguments.permanent else "own" if arguments.own_trash else "trash"

    def remove(target: Target, context: ChangeContext, group: str | None) -> delete_service.Deleted:
        with naming_own_trash(into):
            return delete_service.delete(target, into=into, force=arguments.force, context=context, group=group)

    return each(arguments, targets, remove, lambda deleted: f"{_into(deleted.into)}: {clean(deleted.path)}")


def run_restore(arguments: argparse.Namespace) -> int:
    """Run `restore`: restore sessions from the trash; `--list` prints the sessions that can be restored."""
    told = change_context(arguments)
    if arguments.list:
        changes = restorable(told)
        if arguments.json:
            output.print_json(
                [
                    {"undo_id": one.id, "time": one.time, "agent": one.agent, "id": one.session_id, "path": one.path}
                    for one in changes
                ]
            )
        else:
            rows = ((one.id, parse_time(one.time), one.verb, "", one.path, one.agent) for one in changes)
            output.print_changes(rows, "the trash has no session")
        return 0
    wanted: list[str | None] = [one for named in arguments.ids for one in of_group(named, told)] or [None]
    return each(
        arguments,
        wanted,
        lambda change_id, *_: _naming_list("restore", lambda: restore(change_id, context=told)),
        lambda restored: f"restored: {clean(restored.path)}",
    )


def run_archive(arguments: argparse.Namespace) -> int:
    """Run `archive` or `unarchive`: hide sessions from the agents' lists or bring them back, by moving the files."""
    targets = delete_service.outermost(find_targets(arguments), lambda target: target.path)

    def move(target: Target, context: ChangeContext, group: str | None) -> Archived:
        if arguments.command == "unarchive":
            return unarchive(target, force=arguments.force, context=context, group=group)
        return archive(target, force=arguments.force, context=context, group=group)

    return each(arguments, targets, move, lambda moved: f"{moved.done}d: {clean(moved.path)}")


def run_relocate(arguments: argparse.Namespace) -> int:
    """Run `relocate`: move all sessions of a project to the project's new directory; on an error, move none."""
    scope = _whole_scope(arguments)
    if scope.agents_by_default:
        from msgspec.structs import replace

        # A directory moves for all agents, also for those that the settings leave out of lists.
        scope = replace(scope, agents=())
    places_of(scope, output.warn)
    if arguments.new is None:
        return _print_candidates(arguments, scope)
    with changing_session():
        moved = relocate(arguments.old, arguments.new, scope, dry_run=arguments.dry_run, force=arguments.force)
    output.note_all(moved.notes)
    if arguments.json:
        output.print_json(moved.document())
        return 0
    for session in moved.sessions:
        output.print_lines([clean(f"{session.source} → {session.target}")])
    verb = "would be moved" if moved.dry_run else "moved"
    mended = f"; other sessions with a new path of their parent session: {len(moved.mended)}" if moved.mended else ""
    files = f", with {plural(moved.files, 'file')} kept beside them" if moved.files else ""
    output.note(f"{plural(len(moved.sessions), 'session')} {verb}{files}{mended}")
    return 0


def run_undo(arguments: argparse.Namespace) -> int:
    """Run `undo`: undo the last change, or the change ID if given; `--list` prints the changes that can be undone."""
    context = change_context(arguments)
    if arguments.list:
        rows = undoable(context)
        if arguments.json:
            output.print_json(msgspec.to_builtins(rows))
        else:
            output.print_changes(
                [(row.undo_id, parse_time(row.time), row.verb, _what(row), row.path, row.agent) for row in rows],
                "there is no change to undo",
            )
        return 0
    with changing_session():
        try:
            undone = _naming_list("undo", lambda: undo(arguments.id, force=arguments.force, context=context))
        except CannotUndo as error:
            if error.earlier_id is None:
                raise
            hint = f"To undo the previous change: sessionbrowse undo {clean(error.earlier_id)}."
            raise CannotUndo(f"{error.sentence} {hint}", error.earlier_id) from error
    output.note_all(undone.failed)
    named = ", ".join(map(clean, undone.paths[:_MOST_NAMED]))
    more = f" and {len(undone.paths) - _MOST_NAMED:,} more" if len(undone.paths) > _MOST_NAMED else ""
    say(arguments, undone, f"undone: {undone.verb} of {named}{more}")
    return 1 if undone.failed else 0


def _print_candidates(arguments: argparse.Namespace, scope: Scope) -> int:
    """Print directories to which the directory OLD may have been moved, for a `relocate` without NEW."""
    directories = sorted({header_of(file.path).cwd or "" for file in shown_files(scope)} - {""})
    found = candidates(arguments.old, directories)
    if arguments.json:
        output.print_json({"old": arguments.old, "candidates": msgspec.to_builtins(found)})
        return 0
    if not found:
        raise NotFound(
            f"No possible new directory of {clean(arguments.old)} was found. Give one as NEW: relocate OLD NEW."
        )
    output.print_lines(clean(one.path) for one in found)
    output.note(
        f"Each of these directories has {found[0].why} as OLD. To update the sessions, give one of them as NEW: "
        "sessionbrowse relocate OLD NEW"
    )
    return 0


def _whole_scope(arguments: argparse.Namespace) -> Scope:
    return scope_of(arguments, hidden=True, archived=True)


def each(
    arguments: argparse.Namespace,
    items: Sequence[T],
    change: Callable[[T, ChangeContext, str | None], C],
    sentence: Callable[[C], str],
) -> int:
    """Call the function `change` with each item; print failures, continue, and return the exit status.

    If there is only one item, its failure is raised.
    """

    def forced(item: T, context: ChangeContext, group: str | None) -> C:
        with changing_session():
            return change(item, context, group)

    bulk = in_bulk(items, forced)
    if len(items) == 1 and bulk.failed:
        raise bulk.failed[0].error
    for one in bulk.done:
        output.note_all(one.notes)
        if not arguments.json:
            output.note(sentence(one))
    output.note_all(failure.error.sentence for failure in bulk.failed)
    if arguments.json:
        documents = [one.document() for one in bulk.done]
        # Scripts pass one REF or many to the same command, so the JSON is an array even for one REF.
        takes_references = "refs" in arguments
        output.print_json(documents if takes_references or len(items) > 1 else documents[0])
    return 1 if bulk.failed else 0


def _confirmed(plans: Sequence[delete_service.DeletePlan], permanent: bool) -> bool:
    if not output.can_ask():
        return False
    for plan in plans:
        names = ", ".join(clean(os.path.basename(found)) for found in plan.companions[:_MOST_NAMED])
        more = f", with {plural(plan.files, 'file')} kept for the session in {names}" if plan.companions else ""
        output.note(f"{clean(plan.path)}: {size(plan.size)}{more}")
        output.note_all(plan.copies_told)
        if plan.children:
            one = len(plan.children) == 1
            forks = "1 session was" if one else f"{len(plan.children):,} sessions were"
            output.note(f"  {forks} forked from it; {'it stays' if one else 'they stay'}.")
        for reason in plan.used.reasons:
            output.note(f"  {clean(reason)}")
    if permanent:
        sys.stderr.write('This deletes the sessions permanently, without trash. Type "permanent" to continue: ')
        sys.stderr.flush()
        return sys.stdin.readline().strip() == "permanent"
    return output.is_confirmed("To the trash?")


def _into(into: str) -> str:
    return {"trash": "in the trash", "own": "in sessionbrowse's own trash"}.get(into, "gone for good")


def _what(row: Undoable) -> str:
    return row.summary if row.count == 1 else f"{row.count} at once, the last: {row.summary}"


def say(arguments: argparse.Namespace, changed: ChangeResult, sentence: str) -> None:
    """Print a change's notes, then the change's JSON document if `--json` is given, else `sentence`."""
    output.note_all(changed.notes)
    if arguments.json:
        output.print_json(changed.document())
    else:
        output.note(sentence)


def _naming_list(command: str, attempt: Callable[[], C]) -> C:
    """Return the result of `attempt`, which undoes or restores; if the change is unknown, the error names `--list`."""
    try:
        return attempt()
    except NoSuchChange as error:
        raise NoSuchChange(f"{error.sentence} sessionbrowse {command} --list shows all.") from error


@contextmanager
def naming_own_trash(into: delete_service.Into) -> Iterator[None]:
    """A `with` block for deletions: if no trash of the system takes a file, the error names `--own-trash`."""
    try:
        yield
    except NoTrash as error:
        if into == "own":
            raise
        raise NoTrash(f"{error.sentence} Add --own-trash to use sessionbrowse's own trash folder.") from error


@contextmanager
def changing_session() -> Iterator[None]:
    """A `with` block for changes: Ctrl+C leaves no temporary files; the error for a session in use names `--force`."""
    try:
        with interrupts_clean_up():
            yield
    except InUse as error:
        raise InUse(f"{error.sentence} --force does it anyway.") from error


COMMANDS = {
    "rename": run_rename,
    "label": run_label,
    "checkout": run_checkout,
    "fork": run_fork,
    "delete": run_delete,
    "restore": run_restore,
    "archive": run_archive,
    "unarchive": run_archive,
    "relocate": run_relocate,
    "undo": run_undo,
}


def add_arguments(add: AddCommand) -> None:
    """Add the commands of this module and their arguments to the parser."""
    if rename := add(
        "rename", "Rename a session: add one line to the session file, or change the first line of an omp file"
    ):
        add_ref(rename)
        add_text(rename, "name", "NAME", "the new name", "remove the name")

    if label := add("label", "Label an entry as a checkpoint; adds one line to the session file"):
        add_ref(label)
        add_entry(label)
        add_text(label, "text", "TEXT", "the label", "remove the label")

    if checkout := add("checkout", "Let the agent resume the session at another entry; adds one line to the file"):
        add_ref(checkout)
        add_entry(checkout)
        add_force(checkout)

    if fork := add("fork", "Copy a session to a new session file, and print the new path"):
        add_ref(fork)
        fork.add_argument(
            "--at", metavar="ENTRY", help="copy only the branch up to ENTRY (without ENTRY if it is a user message)"
        )
        fork.add_argument(
            "--cwd",
            type=directory,
            metavar="DIR",
            help="working directory of the new session (default: that of the copied session)",
        )

    if delete := add("delete", "Move sessions to the trash, with all files that belong to them"):
        add_refs(delete)
        delete.add_argument("--yes", action="store_true", help="do not ask")
        where_to = delete.add_mutually_exclusive_group()
        where_to.add_argument("--permanent", action="store_true", help="delete the sessions permanently, without trash")
        where_to.add_argument(
            "--own-trash",
            action="store_true",
            help="use sessionbrowse's own trash folder, if the system's trash does not work",
        )
        add_force(delete)

    if restore := add(
        "restore", "Bring deleted sessions back from the trash; existing files are not overwritten", reads=False
    ):
        restore.add_argument(
            "ids",
            nargs="*",
            metavar="ID",
            help="sessions to restore (undo id, path, beginning of the session id); without ID, the one deleted last",
        )
        restore.add_argument("--list", action="store_true", help="list the sessions that can be restored, newest first")

    if archive := add("archive", "Hide sessions from the agents' lists; sessionbrowse can still read and search them"):
        add_refs(archive)
        add_force(archive)

    if unarchive := add("unarchive", "Bring archived sessions back into the agents' lists"):
        add_refs(unarchive)
        add_force(unarchive)

    if relocate := add("relocate", "Move all sessions of a project whose directory was moved; on an error, move none"):
        relocate.add_argument("old", metavar="OLD", help="the project's old directory, as recorded in the sessions")
        relocate.add_argument(
            "new",
            metavar="NEW",
            nargs="?",
            help="the project's new directory; without NEW, print directories to which OLD may have been moved",
        )
        relocate.add_argument("--dry-run", action="store_true", help="only print the sessions that would be moved")
        add_force(relocate)

    if undo := add(
        "undo", "Undo the last change that sessionbrowse made, or the change with the given ID", reads=False
    ):
        undo.add_argument(
            "id", nargs="?", metavar="ID", help="id of the change to undo, from --list; without ID, the last change"
        )
        undo.add_argument("--list", action="store_true", help="list the changes that can be undone, newest first")
        add_force(undo)
