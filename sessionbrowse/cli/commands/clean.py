"""The commands `prune`, `shrink` and `doctor`, which write clean copies, and `cleanup`, which trashes sessions."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from functools import partial

from sessionbrowse.cli import output
from sessionbrowse.cli.commands.change import changing_session, each, naming_own_trash
from sessionbrowse.cli.parser import AddCommand, add_copy_options, add_ref, add_refs, change_context, scope_of
from sessionbrowse.cli.process import interrupts_clean_up
from sessionbrowse.cli.references import find_each, find_target, find_targets
from sessionbrowse.cli.unfinished_changes import finish_unfinished
from sessionbrowse.config import cache_dir
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.model.clean.cleanup import KINDS, NOTHING_OWN, CleanupRow
from sessionbrowse.services.change.delete import Deleted, Into
from sessionbrowse.services.clean.clean import Cleaned, Where, branches_plan, clean_session, shrink_plan
from sessionbrowse.services.clean.cleanup import clean_up, find_cleanup
from sessionbrowse.services.clean.doctor import every_session, examine, repair
from sessionbrowse.services.list.gather import completed, open_listing
from sessionbrowse.services.list.locate import Located
from sessionbrowse.services.transaction.change import in_bulk, target_of
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.find.roots import places_of
from sessionbrowse.store.own.pins import read_pins
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.text import clean, plural, size

_SIZE = re.compile(r"(\d+)\s*([kmg]?)(?:i?b)?", re.IGNORECASE)
_REPAIR = "Run: sessionbrowse doctor REF --in-place"
_KIND_WORDS = {
    "empty": "empty",
    "copy": "a copy",
    "duplicate": "a duplicate",
    "large": "large",
    "old": "untouched for a year",
    "archived": "archived",
}
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


def run_prune(arguments: argparse.Namespace) -> int:
    """Run `prune`: write a copy of a session without some branches, or replace the session by such a copy."""
    target = find_target(arguments)
    plan = branches_plan(arguments.drop or (), all_abandoned=arguments.abandoned, keep_labelled=arguments.keep_labeled)
    context = ChangeContext.real()
    where = Where(to=arguments.to, new_id=arguments.new_id)
    prune = partial(clean_session, target, "prune", plan, where, context=context)
    seen = None
    if not arguments.dry_run:
        preview = prune(dry_run=True)
        _confirm_damage(preview, arguments.yes or not arguments.abandoned)
        _confirm_leaf(preview, arguments.yes)
        seen = preview.seen
    with changing_session():
        done = prune(dry_run=arguments.dry_run, force=arguments.force, expected=seen)
    output.note_all(done.notes)
    if arguments.json:
        output.print_json(done.document())
    else:
        _print(done)
    return 0


def run_shrink(arguments: argparse.Namespace) -> int:
    """Run `shrink`: write copies in which short notes replace large content, or replace the sessions by such copies."""
    targets = find_targets(arguments)
    if arguments.to is not None and len(targets) > 1:
        raise RefusedWrite("Several sessions cannot be copied with --to; shrink one at a time, or use --in-place.")
    plan = shrink_plan(images=arguments.images, results_over=arguments.results_over, thinking=arguments.thinking)
    where = Where(to=arguments.to, new_id=arguments.new_id)
    options = {"dry_run": arguments.dry_run, "force": arguments.force}

    def shrink(target: Target, context: ChangeContext, group: str | None) -> Cleaned:
        if not arguments.dry_run:
            _confirm_damage(clean_session(target, "shrink", plan, where, dry_run=True, context=context), True)
        return clean_session(target, "shrink", plan, where, **options, context=context, group=group)

    return each(arguments, targets, shrink, _sentence)


def run_doctor(arguments: argparse.Namespace) -> int:
    """Run `doctor`: print the damage of sessions and return 1 if there is damage, or repair the given sessions."""
    if arguments.to is not None or arguments.in_place or arguments.dry_run:
        return _repair(arguments)
    if arguments.refs:
        sessions = find_each(arguments)
    else:
        sessions = list(every_session(scope_of(arguments, hidden=True, archived=True)))
    damaged = []
    for number, located in enumerate(sessions, 1):
        _progress(number, len(sessions))
        examined = examine(located.path, located.agent)
        if examined.unreadable is not None:
            output.note(examined.unreadable)
        elif examined.damage:
            damaged.append(examined)
    output.progress()
    if arguments.json:
        output.print_json([one.document() for one in damaged])
        return 1 if any(one.is_damaged for one in damaged) else 0
    for one in damaged:
        output.print_lines([clean(one.path)])
        output.print_lines(
            f"  line {damage.line}, byte {damage.offset}: {damage.kind}: {clean(damage.reason)}; "
            f"{clean(damage.agent_does)}{_can_do(damage.can_do)}"
            for damage in one.damage
        )
    count = sum(one.is_damaged for one in damaged)
    said = [f"damage in {count:,} of {plural(len(sessions), 'session')}" if count else "no damage found"]
    beside = [{each.kind for each in one.damage} for one in damaged if not one.is_damaged]
    if gone := sum("missing-directory" in kinds for kinds in beside):
        said.append(f"{plural(gone, 'more session' if count else 'session')} whose directory is missing")
    if copies := sum("conflict-copy" in kinds for kinds in beside):
        said.append(plural(copies, "conflict copy", "conflict copies"))
    if newer := sum("newer-format" in kinds for kinds in beside):
        said.append(f"{plural(newer, 'session')} with entries that this version does not know")
    output.note("; ".join(said))
    return 1 if count else 0


def run_cleanup(arguments: argparse.Namespace) -> int:
    """Run `cleanup`: list sessions to clean up, ask for confirmation, move them to the trash; one undo restores all.

    Kinds of sessions that may have unique content, such as `old`, are moved only if `--kind` names the kind.
    """
    context, scope = change_context(arguments), scope_of(arguments, archived=True)
    places = places_of(scope, output.warn)
    pins = read_pins(context.state, places)
    with open_listing(scope, cache_dir(), skipped=output.warn, note=output.noting_once()) as listing:
        summaries = completed(listing, listing.sessions)
        files = listing.files
    found = find_cleanup(
        summaries,
        context,
        pins,
        places,
        # A root may be a backup, so sessions of different roots are compared only if the user asks for duplicates or
        # copies.
        across_roots=bool({"duplicate", "copy"}.intersection(arguments.kinds or ())),
        progress=lambda done, total, _: _progress(done + 1, total),
    )
    output.progress()
    rows = [row for row in found if not arguments.kinds or row.kind in arguments.kinds]
    wanted = [row for row in rows if row.kind in (arguments.kinds or NOTHING_OWN)]
    chosen = [row for row in wanted if not (arguments.yes and row.may_be_one)]
    if not arguments.json:
        output.print_table(
            ("kind", "size", "reason", "path"),
            [(row.kind, size(row.summary.bytes), row.reason, row.summary.path) for row in rows],
            right=(1,),
            stretch=3,
            empty=_nothing_to_clean_up(arguments.kinds or KINDS),
        )
        _note_others(rows, wanted)
    if unsure := sum(row.may_be_one for row in wanted):
        may_be = "may be the same file as the one to keep, seen by another mount"
        output.note(f"{plural(unsure, 'session')}: each {may_be}{'; --yes does not move it' if arguments.yes else ''}.")
    undo_id, failed, moved = None, False, set[str]()
    if chosen and not arguments.dry_run and _is_cleanup_wanted(arguments, chosen):
        if not arguments.yes:
            # Until the user has confirmed, this command only reads, so interrupted changes are finished only now.
            finish_unfinished(context)

        def remove(row: CleanupRow, context: ChangeContext, group: str | None) -> Deleted:
            file, agent = files[row.summary.path], row.summary.agent
            target = target_of(Located(file.path, agent, file.place_of(agent)), row.summary.id or "")
            into: Into = "own" if arguments.own_trash else "trash"
            with interrupts_clean_up(), naming_own_trash(into):
                return clean_up(row, target, into=into, context=context, group=group)

        bulk = in_bulk(chosen, remove, context=context)
        undo_id, failed = bulk.undo_id, bool(bulk.failed)
        output.note_all([*bulk.notes, *dict.fromkeys(one.error.sentence for one in bulk.failed)])
        moved = {one.path for one in bulk.done}
        total = size(sum(row.summary.bytes for row in chosen if row.summary.path in moved))
        output.note(
            f"moved {len(moved):,} of {plural(len(chosen), 'session')}, {total}, to the trash; "
            "undo restores these sessions"
        )
    if arguments.json:
        output.print_json(
            [row.document() | {"undo_id": undo_id if row.summary.path in moved else None} for row in rows]
        )
    return 1 if failed else 0


def _nothing_to_clean_up(kinds: Sequence[str]) -> str:
    return f"no session to clean up: no session is {', '.join([_KIND_WORDS[kind] for kind in kinds])}"


def _note_others(rows: list[CleanupRow], chosen: list[CleanupRow]) -> None:
    kinds = dict.fromkeys(row.kind for row in rows if row not in chosen)
    if kinds:
        output.note(f"To move the other listed sessions, add: {', '.join(f'--kind {kind}' for kind in kinds)}.")
    if "large" in {row.kind for row in rows}:
        output.note("To make a large session smaller: sessionbrowse shrink REF --images --in-place removes its images.")


def _is_cleanup_wanted(arguments: argparse.Namespace, chosen: list[CleanupRow]) -> bool:
    """Return True if `--yes` was given or the user confirms on a terminal; else print that nothing was moved."""
    if arguments.yes:
        return True
    what = f"{plural(len(chosen), 'session')}, {size(sum(row.summary.bytes for row in chosen))}, to the trash"
    if not arguments.json and output.can_ask() and output.is_confirmed(f"Move {what}?"):
        return True
    output.note(f"Nothing was moved. --yes moves {what}.")
    return False


def _progress(number: int, total: int) -> None:
    if total > 1:
        output.progress(f"{number:,} of {total:,} sessions")


def _can_do(can_do: tuple[str, ...]) -> str:
    commands = {"repair": "doctor REF --repair-to FILE or --in-place"}
    return f" ({', '.join(commands.get(one, one) for one in can_do)})" if can_do else ""


def _repair(arguments: argparse.Namespace) -> int:
    if not arguments.refs:
        raise RefusedWrite("Add the REF of each session to repair.")
    if arguments.to is not None and len(arguments.refs) > 1:
        raise RefusedWrite("--repair-to writes only one session; repair the sessions one at a time, or use --in-place.")
    where = Where(to=arguments.to)
    options = {"dry_run": arguments.dry_run, "force": arguments.force}

    def mend(target: Target, context: ChangeContext, group: str | None) -> Cleaned:
        return repair(target, where, **options, context=context, group=group)

    return each(arguments, find_targets(arguments), mend, _repaired)


def _repaired(done: Cleaned) -> str:
    entries = plural(done.preview.kept_entries, "entry", "entries")
    return f"{'would repair' if done.dry_run else 'repaired'}: {clean(done.to or done.path)}, {entries}"


def _confirm_damage(preview: Cleaned, yes: bool) -> None:
    """Print the damage of a session and the command that repairs it; unless `yes`, ask before going on unrepaired."""
    if preview.damage is None:
        return
    said = f"{preview.damage} {_REPAIR}"
    if yes:
        output.note(said)
    elif not (output.can_ask() and output.is_confirmed(f"{said} Go on without a repair?")):
        raise RefusedWrite(f"{said} {output.not_confirmed('changed')}")


def _confirm_leaf(preview: Cleaned, yes: bool) -> None:
    """Ask for confirmation if a prune would drop the active branch; the question names the entry of the new leaf."""
    if not preview.preview.leaf_moved or yes:
        return
    leaf = clean(preview.preview.leaf_id or "(no id)")
    question = f"This drops the active branch; the session would be resumed at {leaf}. Continue?"
    if output.can_ask() and output.is_confirmed(question):
        return
    raise RefusedWrite(
        f"Without the active branch, the session would be resumed at {leaf}. {output.not_confirmed('changed')}"
    )


def _print(done: Cleaned) -> None:
    if done.to is not None and not done.dry_run:
        output.print_lines([clean(done.to)])
    output.note(_sentence(done))
    preview = done.preview
    if not done.dry_run:
        return
    if done.damage is not None:
        output.note(f"{done.damage} {_REPAIR}")
    for one in preview.reparented:
        output.note(f"{clean(one.id)}: parent {clean(one.before or 'none')} → {clean(one.after or 'none')}")
    output.note_all(preview.sentences)


def _sentence(done: Cleaned) -> str:
    if done.preview.changes_nothing:
        return f"{clean(done.path)}: nothing to remove"
    return f"{clean(done.path)}: {'would remove' if done.dry_run else 'removed'} {done.preview.removed.words}"


def _byte_count(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 2000, 64K or 1M")
    return int(match[1]) * _UNITS[match[2].lower()]


COMMANDS = {"prune": run_prune, "shrink": run_shrink, "doctor": run_doctor, "cleanup": run_cleanup}


def add_arguments(add: AddCommand) -> None:
    """Add the commands of this module and their arguments to the parser."""
    if prune := add("prune", "Copy a session without some branches, or replace it by such a copy"):
        add_ref(prune)
        prune.add_argument(
            "--drop", action="append", metavar="ENTRY", help="drop ENTRY and all entries below ENTRY (repeatable)"
        )
        prune.add_argument("--abandoned", action="store_true", help="drop every branch except the active branch")
        prune.add_argument(
            "--keep-labeled", action="store_true", help="with --abandoned: keep branches with a labelled entry"
        )
        add_copy_options(prune)

    if shrink := add("shrink", "Copy sessions with notes instead of large content, or replace them by such copies"):
        add_refs(shrink)
        shrink.add_argument("--images", action="store_true", help="replace images and other media by notes")
        shrink.add_argument(
            "--results-over", type=_byte_count, metavar="SIZE", help="replace tool output above SIZE: 2000, 64K or 1M"
        )
        shrink.add_argument("--thinking", action="store_true", help="drop model reasoning, except in the last turn")
        add_copy_options(shrink)

    if doctor := add(
        "doctor", "Find damage in sessions and print how to repair it; the exit status is 1 if damage is found"
    ):
        doctor.add_argument("refs", nargs="*", metavar="REF", help="sessions to examine; without REF, all sessions")
        add_copy_options(doctor, required=False, new_id=False, to="--repair-to")

    if cleanup := add(
        "cleanup", "List sessions to clean up, with reasons, and move them to the trash after confirmation"
    ):
        cleanup.add_argument(
            "--kind",
            action="append",
            dest="kinds",
            choices=KINDS,
            help="only sessions of this kind (repeatable); default: move empty, duplicate, copy; list other kinds",
        )
        cleanup.add_argument("--yes", action="store_true", help="do not ask")
        cleanup.add_argument("--dry-run", action="store_true", help="only list the sessions, move nothing")
        cleanup.add_argument("--own-trash", action="store_true", help="use sessionbrowse's own trash folder")
