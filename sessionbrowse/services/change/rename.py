"""Rename a session: append an entry, overwrite omp's title slot, or insert a title slot. The name may be cleared."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import assert_never

from msgspec import structs

from sessionbrowse.agents import AGENTS, Surroundings
from sessionbrowse.agents.base import HEAD_BYTES, marks_of_head
from sessionbrowse.agents.change_plans import AppendLine, InsertSlot, OverwriteSlot
from sessionbrowse.errors import EmptyText, NeedsRepair, RefusedWrite
from sessionbrowse.format.title_slot import SLOT_BYTES, parse_slot, slot_line
from sessionbrowse.model.session.records import BYTE_ORDER_MARK
from sessionbrowse.services.transaction.change import (
    ChangeResult,
    Origin,
    append,
    begin,
    changing,
    consent_to_append,
    record_done,
    recovering,
    retried,
    usage_of,
)
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.find.roots import holders_of
from sessionbrowse.store.read.content import file_blocks
from sessionbrowse.store.system.files import pread
from sessionbrowse.store.write.whole_files import rewrite_file, temporary_beside
from sessionbrowse.store.write.write_checks import Target, refuse_old_version
from sessionbrowse.store.write.writer import OMP_TICK_NS, OpenedFile, opened, overwrite_slot
from sessionbrowse.text import clean, iso_ms

MAX_NAME = 4096
"""Maximum number of characters of a name or label; a longer text would slow down every list."""

MAY_BE_TITLED_AGAIN = "omp may give an unnamed session a title."


class Renamed(ChangeResult, frozen=True, kw_only=True):
    """The result of a rename: the name as the session's agent shows it now; None if the session has no name."""

    name: str | None


def rename(
    target: Target,
    name: str | None,
    *,
    clear: bool = False,
    force: bool = False,
    context: ChangeContext | None = None,
    group: str | None = None,
) -> Renamed:
    """Set the name of a session; `clear` removes its name.

    The name is cleaned as the session's agent does it. For omp only the title slot is overwritten, in place. A file of
    omp without a title slot must be rewritten; this is refused if the file is in use, unless `force` is set.

    Raises:
        RefusedWrite: the name is empty or too long, the agent cannot store it, or the file may not be changed.
        InUse: the whole file would have to be rewritten, but a program may be using it.
        WriteFailed: an I/O error occurred; the message says what the file contains now.
    """
    context = context or ChangeContext.real()

    def attempt() -> Renamed:
        with changing(context), opened(target) as file:
            wanted = "" if clear else cleaned(file, name or "")
            return write_name(file, wanted, context, Origin(verb="rename", group=group), force=force)

    return retried(attempt)


def cleaned(file: OpenedFile, name: str) -> str:
    """Return a typed name in the form in which the session's agent would save it.

    Raises:
        RefusedWrite: the cleaned name is empty (`EmptyText`) or too long.
    """
    refuse_too_long(name, "name")
    wanted = AGENTS[file.session.agent].clean_name(name)
    if not wanted:
        raise EmptyText("The name is empty.")
    return wanted


def refuse_too_long(text: str, what: str) -> None:
    """Raise `RefusedWrite` for a text that is too long for a name or label."""
    if len(text) > MAX_NAME:
        raise RefusedWrite(f"A {what} of {len(text):,} characters is too long; the maximum is {MAX_NAME:,}.")


def write_name(file: OpenedFile, wanted: str, context: ChangeContext, origin: Origin, *, force: bool) -> Renamed:
    """Write a cleaned name into an open file; "" clears the name."""
    session = file.session
    slot = parse_slot(file.first_bytes()) if session.rules.name == "title_slot" else None
    plan = AGENTS[session.agent].rename(wanted, slot is not None)
    is_same = (session.name or "") == wanted
    if is_same and (slot is None or slot.source == (plan.source if isinstance(plan, OverwriteSlot) else None)):
        note = "The session has this name already." if wanted else "The session has no name."
        return Renamed(done=origin.verb, path=file.path, notes=(note,), name=session.name)
    match plan:
        case AppendLine():
            return _append_name(file, plan, wanted, context, origin)
        case OverwriteSlot():
            new = slot_line(plan.title, plan.source, iso_ms(context.now_ms()))
            renamed = write_slot(file, new, context, origin)
        case InsertSlot():
            renamed = _insert_slot(file, plan, context, origin, force=force)
        case _:
            assert_never(plan)
    if not wanted:
        return structs.replace(renamed, notes=(*renamed.notes, MAY_BE_TITLED_AGAIN))
    if renamed.name != wanted:
        note = f'The name was shortened to fit omp\'s title slot: "{clean(renamed.name or "")}".'
        return structs.replace(renamed, notes=(*renamed.notes, note))
    return renamed


def write_slot(file: OpenedFile, new: bytes, context: ChangeContext, origin: Origin) -> Renamed:
    """Overwrite the title slot of an open omp file with the bytes `new`, and record the change in the journal."""
    old = file.first_bytes()
    used = usage_of(file, context)
    shown = _title(new)
    after = {"name": shown, "slot": new.decode("latin-1")}
    change = begin(
        file,
        context,
        origin,
        before={"name": file.session.name, "slot": old.decode("latin-1")},
        plan={"kind": "slot", "old": old.decode("latin-1"), "new": new.decode("latin-1"), "after": after},
    )
    with recovering(context, change):
        left, notes = overwrite_slot(file, old, new)
    notes += record_done(context, change, after, left)
    if used.in_use:
        notes += (
            f"The session seems to be open: {'; '.join(used.reasons)}. omp shows the old name until you restart omp.",
        )
    return Renamed(done=origin.verb, path=file.path, undo_id=change.id, notes=notes, name=shown)


def _append_name(file: OpenedFile, plan: AppendLine, wanted: str, context: ChangeContext, origin: Origin) -> Renamed:
    refuse_old_version(file.session)
    notes = consent_to_append(file, usage_of(file, context), "the new name", asks=False, force=False)
    before = {"name": file.session.name}
    change, appended = append(file, plan, context, origin, before=before, after={"name": wanted or None})
    notes += appended.notes
    return Renamed(done=origin.verb, path=file.path, undo_id=change.id, notes=notes, name=wanted or None)


def refuse_slot(file: OpenedFile, around: Surroundings) -> None:
    """Raise `RefusedWrite` for a file that must not get omp's title slot, because another agent may read the file.

    A file in an agent's folder counts as omp's if only omp keeps sessions there. Any other file counts as omp's if it
    has content that only omp writes.
    """
    if file.session.title_slot is not None:
        raise NeedsRepair(
            f"The title slot of {file.name} has the wrong size; it was not changed. Repair the session first."
        )
    first = pread(file.descriptor, HEAD_BYTES, 0)
    if first.startswith(BYTE_ORDER_MARK):
        raise NeedsRepair(
            f"{file.name} begins with a byte order mark. With a title slot before it, omp could not read the file. "
            "Repair the session first."
        )
    holders = holders_of(file.path, around)
    marks = file.session.marks | marks_of_head(first).agents
    if holders != {"omp"} and (holders or "omp" not in marks):
        raise RefusedWrite(
            f"{file.name} may belong to another agent, which could not read it with omp's title slot. Nothing was "
            "changed. Rename the session in the agent that wrote it."
        )


def _insert_slot(file: OpenedFile, plan: InsertSlot, context: ChangeContext, origin: Origin, *, force: bool) -> Renamed:
    """Insert a title slot before the first line of a file of an older omp; all lines are copied byte for byte."""
    refuse_slot(file, context.around)
    new = slot_line(plan.title, plan.source, iso_ms(context.now_ms()))
    pieces = chain([new], file_blocks(file.descriptor))
    after = {"name": _title(new), "slot": new.decode("latin-1")}
    return _with_new_beginning(file, new, SLOT_BYTES, pieces, after, context, origin, force=force)


def remove_slot(file: OpenedFile, name: str | None, context: ChangeContext, origin: Origin, *, force: bool) -> Renamed:
    """Remove a title slot that a rename inserted; `name` is the session's name before that rename."""
    first = pread(file.descriptor, SLOT_BYTES, SLOT_BYTES)
    pieces = file_blocks(file.descriptor, SLOT_BYTES)
    return _with_new_beginning(file, first, -SLOT_BYTES, pieces, {"name": name}, context, origin, force=force)


def _with_new_beginning(
    file: OpenedFile,
    first: bytes,
    grows: int,
    pieces: Iterable[bytes],
    after: dict[str, str | None],
    context: ChangeContext,
    origin: Origin,
    *,
    force: bool,
) -> Renamed:
    """Rewrite a file with a title slot added or removed.

    `first` are the first 256 bytes of the new file, by which recovery recognises it after a crash. `grows` is the
    number of bytes added, negative if bytes are removed.
    """
    notes = consent_to_append(file, usage_of(file, context), "the new name", asks=False, force=force)
    temporary = temporary_beside(file.path)
    change = begin(
        file,
        context,
        origin,
        before={"name": file.session.name},
        plan={
            "kind": "insert",
            "temporary": temporary,
            "new": first.decode("latin-1"),
            "size": file.found.size,
            "grows": grows,
            "after": after,
        },
    )
    with recovering(context, change):
        left = rewrite_file(file, pieces, temporary, context.journal.keep, under_lock=True, tick_ns=OMP_TICK_NS)
    notes += record_done(context, change, after, left)
    return Renamed(done=origin.verb, path=file.path, undo_id=change.id, notes=notes, name=after["name"])


def _title(slot: bytes) -> str | None:
    parsed = parse_slot(slot)
    assert parsed is not None
    assert len(slot) == SLOT_BYTES
    return parsed.title or None
