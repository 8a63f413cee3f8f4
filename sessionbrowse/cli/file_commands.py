"""The commands that make, move and delete whole session files: ask a service, say what it did."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from sessionbrowse.cli import output
from sessionbrowse.cli.changes import ForceNamed, document_of
from sessionbrowse.errors import NotFound, RefusedWrite
from sessionbrowse.services.list import catalog
from sessionbrowse.services.list.scope import Scope
from sessionbrowse.services.transaction.bulk import in_bulk
from sessionbrowse.services.transaction.change import ChangeResult, target_of
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.write.admission import Target
from sessionbrowse.store.write.trash import NoTrash
from sessionbrowse.text import clean, clean_lines, parse_time, size

T = TypeVar("T")
C = TypeVar("C", bound=ChangeResult)


def run_fork(arguments: argparse.Namespace, located: catalog.Located) -> int:
    """`fork`: a new file; its path is what is printed."""
    from sessionbrowse.services.change.fork import fork

    forked = fork(located.path, located.agent, located.place, at=arguments.at, cwd=arguments.cwd)
    _notes(forked)
    if arguments.json:
        output.print_json(document_of(forked))
        return 0
    output.print_lines([clean(forked.path)])
    if forked.text is not None:
        for line in clean_lines(forked.text):
            output.note(line)
    return 0


def run_delete(arguments: argparse.Namespace, located: Sequence[catalog.Located], scope: Scope) -> int:
    """`delete`: asks, then each session to the trash; one undo brings all back."""
    from sessionbrowse.services.change import delete as service

    targets = [target_of(one, reference) for one, reference in zip(located, arguments.refs, strict=True)]
    context = ChangeContext.real()
    if not arguments.yes:
        summaries = [] if arguments.json else catalog.all_summaries(scope)
        plans = [service.plan_delete(target, context, summaries) for target in targets]
        if not _confirmed(plans, arguments.permanent):
            raise RefusedWrite("Nothing was deleted. On a terminal you are asked; elsewhere name --yes.")
    into: service.Into = "nowhere" if arguments.permanent else "own" if arguments.own_trash else "trash"

    def remove(target: Target, context: ChangeContext, group: str | None) -> service.Deleted:
        try:
            return service.delete(target, into=into, force=arguments.force, context=context, group=group)
        except NoTrash as error:
            if into == "own":
                raise
            raise NoTrash(f"{error.sentence} Say --own-trash for that.") from error

    return _each(arguments, targets, remove, lambda deleted: f"{_into(deleted.into)}: {clean(deleted.path)}")


def run_restore(arguments: argparse.Namespace) -> int:
    """`restore`: back from the trash; `--list` shows what there is."""
    from sessionbrowse.services.change.delete import restorable
    from sessionbrowse.services.change.restore import restore

    context = ChangeContext.real()
    if arguments.list:
        changes = restorable(context)
        if arguments.json:
            output.print_json(
                [
                    {"undo_id": one.id, "time": one.time, "agent": one.agent, "id": one.session_id, "path": one.path}
                    for one in changes
                ]
            )
        else:
            output.print_changes((one.id, parse_time(one.time), one.verb, "", one.path, one.agent) for one in changes)
        return 0
    wanted: list[str | None] = list(arguments.ids) or [None]
    return _each(
        arguments,
        wanted,
        lambda change_id, context, _: restore(change_id, context=context),
        lambda restored: f"restored: {clean(restored.path)}",
    )


def run_archive(arguments: argparse.Namespace, located: Sequence[catalog.Located]) -> int:
    """`archive` and `unarchive`: moved, as it is."""
    from sessionbrowse.services.change.archive import Archived, archive, unarchive

    targets = [target_of(one, reference) for one, reference in zip(located, arguments.refs, strict=True)]

    def move(target: Target, context: ChangeContext, group: str | None) -> Archived:
        if arguments.command == "unarchive":
            return unarchive(target, context=context, group=group)
        return archive(target, force=arguments.force, context=context, group=group)

    return _each(arguments, targets, move, lambda moved: f"{moved.done}d: {clean(moved.path)}")


def run_relocate(arguments: argparse.Namespace, scope: Scope) -> int:
    """`relocate`: every session of a moved project, or none."""
    from sessionbrowse.services.change.relocate import relocate

    if arguments.new is None:
        return _print_candidates(arguments, scope)
    with ForceNamed():
        moved = relocate(arguments.old, arguments.new, scope, dry_run=arguments.dry_run, force=arguments.force)
    _notes(moved)
    if arguments.json:
        output.print_json(document_of(moved))
        return 0
    for session in moved.sessions:
        output.print_lines([clean(f"{session.source} → {session.target}")])
    verb = "would be moved" if moved.dry_run else "moved"
    mended = f"; {len(moved.mended)} more name the new place of their parent" if moved.mended else ""
    output.note(f"{len(moved.sessions)} session{'' if len(moved.sessions) == 1 else 's'} {verb}{mended}")
    return 0


def _print_candidates(arguments: argparse.Namespace, scope: Scope) -> int:
    """Without a new directory: those to which the old one may have been moved."""
    from sessionbrowse.services.change.relocate import candidates
    from sessionbrowse.services.list.find import header_of

    directories = sorted({header_of(file.path).cwd or "" for file in catalog.all_files(scope)} - {""})
    found = candidates(arguments.old, directories)
    if arguments.json:
        output.print_json({"old": arguments.old, "candidates": msgspec.to_builtins(found)})
        return 0
    if not found:
        raise NotFound(f"No directory is found that may be {clean(arguments.old)} now. Name it: relocate OLD NEW.")
    output.print_lines(clean(one.path) for one in found)
    output.note(f"{found[0].why.capitalize()}: name the right one as NEW.")
    return 0


def _each(
    arguments: argparse.Namespace,
    items: Sequence[T],
    change: Callable[[T, ChangeContext, str | None], C],
    sentence: Callable[[C], str],
) -> int:
    """Change one after another; what fails is said, and does not stop the others."""

    def forced(item: T, context: ChangeContext, group: str | None) -> C:
        with ForceNamed():
            return change(item, context, group)

    bulk = in_bulk(items, forced)
    if len(items) == 1 and bulk.failed:
        raise bulk.failed[0].error
    for one in bulk.done:
        _notes(one)
        if not arguments.json:
            output.note(sentence(one))
    for failure in bulk.failed:
        output.note(failure.error.sentence)
    if arguments.json:
        documents = [document_of(one) for one in bulk.done]
        output.print_json(documents[0] if len(items) == 1 else documents)
    return 1 if bulk.failed else 0


def _confirmed(plans: Sequence[msgspec.Struct], permanent: bool) -> bool:
    from sessionbrowse.services.change.delete import DeletePlan

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    for plan in plans:
        assert isinstance(plan, DeletePlan)
        more = f" and {len(plan.companions)} more that belong to it" if plan.companions else ""
        output.note(f"{clean(plan.path)}: {size(plan.size)}{more}")
        if plan.children:
            one = len(plan.children) == 1
            forks = "1 session was" if one else f"{len(plan.children):,} sessions were"
            output.note(f"  {forks} forked from it; {'it stays' if one else 'they stay'}.")
        for reason in plan.used.reasons:
            output.note(f"  {clean(reason)}")
    if permanent:
        sys.stderr.write('Gone for good, without trash. Type "permanent" to go on: ')
        sys.stderr.flush()
        return sys.stdin.readline().strip() == "permanent"
    sys.stderr.write("To the trash? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _into(into: str) -> str:
    return {"trash": "in the trash", "own": "in sessionbrowse's own trash"}.get(into, "gone for good")


def _notes(changed: ChangeResult) -> None:
    for note in changed.notes:
        output.note(note)
