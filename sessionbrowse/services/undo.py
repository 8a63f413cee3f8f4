"""Undo changes that the journal records, by new changes of the same kind; no appended entry is ever removed.

The undo of a rename or a label appends an entry with the old text. The undo of a check out appends an entry that makes
the agent resume at the old leaf. omp's title slot gets exactly its old bytes back, `updatedAt` included; a title slot
that the rename inserted is removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import NoReturn

import msgspec
from msgspec import Struct

from sessionbrowse.errors import (
    CannotUndo,
    ChangedMeanwhile,
    InUse,
    LostForGood,
    NoSuchChange,
    SessionBrowseError,
    WriteFailed,
)
from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.services.change import archive, relocate, restore
from sessionbrowse.services.change.archive import is_unchanged
from sessionbrowse.services.change.checkout import CheckoutPoint, write_checkout
from sessionbrowse.services.change.delete import Into, plan_delete, take_away
from sessionbrowse.services.change.label import label_of, write_label
from sessionbrowse.services.change.rename import remove_slot, write_name, write_slot
from sessionbrowse.services.clean import replace_file
from sessionbrowse.services.transaction.change import (
    ChangeResult,
    FailedItem,
    Origin,
    changing,
    in_bulk,
    record_done,
    recovering,
    retried,
)
from sessionbrowse.services.transaction.change_context import Cancelled, ChangeContext, Progress
from sessionbrowse.services.transaction.recover import SHAPE_ERRORS, is_damaged
from sessionbrowse.services.transaction.trash_directories import own_trash
from sessionbrowse.store.read.content import closing, file_blocks, open_regular
from sessionbrowse.store.write import trash
from sessionbrowse.store.write.copies import remove_empty
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.moves import Moves
from sessionbrowse.store.write.trash import NoTrash
from sessionbrowse.store.write.write_checks import Target, shown_name
from sessionbrowse.store.write.writer import opened
from sessionbrowse.text import clean

_SAID = frozenset({"message", "custom_message", "compaction", "branch_summary", "context_edit", "reset_boundary"})
_SHORTEST_ID = 4
"""Minimum length of the beginning of an id that names a change."""
_GOES_ON = "The next undo will undo an earlier change instead."


class Undone(ChangeResult, frozen=True, kw_only=True):
    """The result of an undo: the undone command (`verb`, such as rename), and the files of all undone changes.

    `undo_id` is the id of the undone change or group. `failed` has an error sentence for each change that could not be
    undone. If the user stopped the undo, `left` has the files of the changes that are not undone yet.
    """

    verb: str
    paths: tuple[str, ...]
    failed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class Undoable(Struct, frozen=True, kw_only=True):
    """One row of the list of changes that can be undone; times are ISO 8601.

    All `count` changes of one command share one row, which describes the last change; `undo_id` undoes all changes.
    """

    undo_id: str
    time: str
    verb: str
    agent: str
    path: str
    summary: str
    group: str | None
    count: int = 1


def undo(
    change_id: str | None = None,
    *,
    force: bool = False,
    context: ChangeContext | None = None,
    progress: Progress = lambda done, total, name: None,
    cancelled: Cancelled = lambda: False,
) -> Undone:
    """Undo a change and its whole group: the change with the given id, or the last one that can be undone.

    The changes of a group are undone one after another, the newest first; `cancelled` is called before each change.

    Raises:
        CannotUndo: there is no such change, or it cannot be undone any more; the message says what can be done instead,
            and the error has the id of the next older change.
        InUse: the file may be in use, and `force` is not set.
        WriteFailed: an I/O error occurred; the message says what the file contains now.
    """
    context = context or ChangeContext.real()
    with changing(context):
        chosen = _choose(context, change_id)
    if len(chosen) == 1:
        try:
            taken = retried(partial(_take_back, chosen[0], context, force))
        except LostForGood as error:
            raise LostForGood(f"{error.sentence} {_GOES_ON}", error.of_several) from error
        except (InUse, ChangedMeanwhile, WriteFailed):
            raise
        except SessionBrowseError as error:
            # This change stays the next one to undo, so the error names an older change that the user can undo instead.
            raise CannotUndo(error.sentence, _earlier_id(chosen[0], context)) from error
        return _undone(chosen, chosen, taken.path, taken.notes)
    bulk = in_bulk(
        chosen,
        lambda change, context, _: retried(partial(_take_back, change, context, force)),
        context=context,
        progress=progress,
        cancelled=cancelled,
    )
    sentences = _sentences(bulk.failed)
    if not bulk.done and sentences:
        all_lost = not bulk.left and all(isinstance(one.error, LostForGood) for one in bulk.failed)
        if all_lost:
            raise CannotUndo(" ".join([*sentences, _GOES_ON]))
        raise CannotUndo(" ".join(sentences), _earlier_id(chosen[0], context))
    out = [*(one.item for one in bulk.failed), *bulk.left]
    done = [change for change in chosen if change not in out]
    path = bulk.done[0].path if bulk.done else chosen[0].path
    return _undone(chosen, done, path, bulk.notes, failed=sentences, left=tuple(change.path for change in bulk.left))


def _earlier_id(refused: Change, context: ChangeContext) -> str | None:
    ids = [row.undo_id for row in undoable(context)]
    row = next((row for row, undo_id in enumerate(ids) if undo_id in (refused.id, refused.group)), len(ids))
    return next(iter(ids[row + 1 :]), None)


def _undone(
    chosen: Sequence[Change],
    done: Sequence[Change],
    path: str,
    notes: tuple[str, ...],
    *,
    failed: tuple[str, ...] = (),
    left: tuple[str, ...] = (),
) -> Undone:
    return Undone(
        done="undo",
        path=path,
        undo_id=chosen[0].group if len(chosen) > 1 else chosen[0].id,
        notes=notes,
        verb=chosen[0].verb,
        paths=tuple(change.path for change in done),
        failed=failed,
        left=left,
    )


def _sentences(failed: Sequence[FailedItem[Change]]) -> tuple[str, ...]:
    """Return error sentences for the changes that could not be undone, without repeating a sentence."""
    lost = Counter(one.error.of_several for one in failed if isinstance(one.error, LostForGood))
    said: dict[str, None] = {}
    for one in failed:
        error = one.error
        of_several = error.of_several if isinstance(error, LostForGood) else ""
        said[f"{lost[of_several]} sessions: {of_several}" if lost[of_several] > 1 else error.sentence] = None
    return tuple(said)


def undoable(context: ChangeContext | None = None) -> list[Undoable]:
    """Return the changes that can be undone, newest first; interrupted changes are neither listed nor recovered."""
    context = context or ChangeContext.real()
    rows: dict[str, list[Change]] = {}
    for change in reversed(context.told(context.journal.changes().values())):
        if change.can_be_tried and change.lost is None and change.verb in UNDOERS:
            rows.setdefault(change.group or change.id, []).append(change)
    return [
        Undoable(
            undo_id=undo_id if len(changes) > 1 else changes[0].id,
            time=changes[0].time,
            verb=changes[0].verb,
            agent=changes[0].agent,
            path=changes[0].path,
            summary=_summary(changes[0]),
            group=changes[0].group,
            count=len(changes),
        )
        for undo_id, changes in rows.items()
    ]


def _summary(change: Change) -> str:
    try:
        return UNDOERS[change.verb].summary(change)
    except SHAPE_ERRORS:
        return "(damaged record)"


def _choose(context: ChangeContext, change_id: str | None) -> list[Change]:
    changes = context.told(context.journal.changes().values())
    if change_id is not None:
        changes = _named(changes, change_id)
    open_changes = [change for change in reversed(changes) if change.can_be_tried and change.verb in UNDOERS]
    # A change recorded as lost (its data is gone) is undone only if the user gives its id. This may succeed: the
    # disk with the trash may be mounted again.
    whole = [change for change in open_changes if change.lost is None] or open_changes
    if change_id is None and (not whole or whole[0].lost is not None):
        raise CannotUndo("There is nothing to undo.")
    if not whole:
        _refuse(changes)
    chosen = [change for change in whole if change is whole[0] or (change.group or change.id) == whole[0].group]
    if {change.id for change in chosen} & {change.undoes for change in context.journal.pending()}:
        raise WriteFailed(
            f"An interrupted undo of the {clean(chosen[0].verb)} can neither be completed nor rolled back now. Check "
            "the disk, then try again."
        )
    return chosen


def _named(changes: list[Change], named: str) -> list[Change]:
    """Return the changes with an id, or in the group with this id; the beginning of an id is enough if it is unique.

    A change that can be undone is returned with its whole group.
    """
    found = [change for change in changes if named in (change.id, change.group)]
    if not found and len(named) >= _SHORTEST_ID:
        found = [one for one in changes if one.id.startswith(named) or (one.group or "").startswith(named)]
        # If several changes match, those that can be undone are preferred.
        found = [change for change in found if change.can_be_tried] or found
        if len({change.group or change.id for change in found}) > 1:
            raise NoSuchChange(f"Several changes have an id that begins with {clean(named)}.")
    if not found:
        raise NoSuchChange(f"The journal has no change {clean(named)}.")
    group = found[-1].group
    if group is None or (found[-1].id == named and not found[-1].can_be_tried):
        return found
    return [change for change in changes if change.group == group]


def _refuse(changes: list[Change]) -> NoReturn:
    """Raise the error for the changes of one command, none of which can be undone."""
    own = [change for change in changes if change.undoes is None] or changes
    undone = [change for change in own if change.undone_by is not None]
    newest = (undone or own)[-1]
    verb, named = clean(newest.verb), newest.group if len(own) > 1 else newest.id
    if undone:
        raise CannotUndo(f"The {verb} {named} is undone already.")
    if newest.undoes is not None:
        raise CannotUndo(f"{newest.id} is itself an undo; to reverse it, make the undone change again instead.")
    if newest.state == "pending":
        raise CannotUndo(f"The {verb} {named} was interrupted and is not complete. Check the disk, then try again.")
    if newest.state != "done":
        raise CannotUndo(f"The {verb} {named} was never made: {newest.reason or 'the change was interrupted'}.")
    raise CannotUndo(f"This version of sessionbrowse cannot undo a {verb}.")


def _take_back(change: Change, context: ChangeContext, force: bool) -> ChangeResult:
    with changing(context):
        try:
            if is_damaged(change):
                raise LostForGood(*_damaged(change))
            try:
                taken = UNDOERS[change.verb].take_back(change, context, force)
            except SHAPE_ERRORS as error:
                raise LostForGood(*_damaged(change)) from error
            with suppress(OSError):
                remove_empty(change.plan.get("new_folders", ()))
            return taken
        except LostForGood as error:
            # The journal records the change as lost. Otherwise each undo without an id would try this change again.
            context.journal.lost(change, error.sentence)
            raise


def _damaged(change: Change) -> tuple[str, str]:
    named = f"{clean(change.verb)} {clean(change.id)}"
    return f"The journal's record of the {named} is damaged, so the change cannot be undone.", (
        "the journal's records of the changes are damaged."
    )


def _undo_rename(change: Change, context: ChangeContext, force: bool) -> ChangeResult:
    older, newer = change.before.get("name"), change.after.get("name")
    with opened(Target(change.path, change.agent)) as file:
        if file.session.name != newer:
            raise CannotUndo(
                f"{file.name} was renamed again later; its name is {_quoted(file.session.name)} now. To get the "
                f"earlier name ({_quoted(older)}) back, rename the session."
            )
        origin = Origin(verb="undo", undoes=change.id)
        if "slot" not in change.after:
            if older is None and change.agent == "indusagi":
                raise CannotUndo("The session had no name, and indusagi cannot clear a name. Rename the session.")
            return write_name(file, older or "", context, origin, force=force)
        if file.first_bytes() != change.after["slot"].encode("latin-1"):
            raise CannotUndo(f"omp changed the title of {file.name}. Rename the session to get the older name back.")
        slot = change.before.get("slot")
        if slot is None:
            return remove_slot(file, older, context, origin, force=force)
        return write_slot(file, slot.encode("latin-1"), context, origin)


def _undo_label(change: Change, context: ChangeContext, force: bool) -> ChangeResult:
    entry_id, older = change.before["entry_id"], change.before.get("label")
    with opened(Target(change.path, change.agent)) as file:
        if entry_id not in file.session.index_by_id:
            raise CannotUndo(f"{file.name} no longer has the entry {entry_id}.")
        current = label_of(file, entry_id)
        if current != change.after.get("label"):
            raise CannotUndo(
                f"The entry {entry_id} was labelled again later; its label is {_quoted(current)} now. To get the "
                f"earlier label ({_quoted(older)}) back, label the entry."
            )
        return write_label(file, entry_id, older, context, Origin(verb="undo", undoes=change.id), force=force)


def _undo_checkout(change: Change, context: ChangeContext, force: bool) -> ChangeResult:
    older = change.before.get("leaf_id")
    with opened(Target(change.path, change.agent)) as file:
        session = file.session
        if change.before.get("nameless"):
            raise CannotUndo(f"The old leaf of {file.name} is an entry without an id; no agent can resume there.")
        if not _stands_on(session, str(change.after.get("entry_id"))):
            raise CannotUndo(
                f"{file.name} has new messages. To resume at the earlier entry, check out {older or 'its start'}."
            )
        index = session.index_by_id.get(older, ROOT) if older is not None else ROOT
        if older is not None and index == ROOT:
            raise CannotUndo(f"{file.name} no longer has the entry {older}, its leaf before the check out.")
        origin = Origin(verb="undo", undoes=change.id)
        return write_checkout(file, older, CheckoutPoint(index, None), context, origin, force=force)


def _stands_on(session: Session, entry_id: str) -> bool:
    """Return True if the active path has no message or summary after an entry; labels and names may follow it."""
    index = ROOT if session.leaf is None else session.leaf
    while index != ROOT and session.ids[index] != entry_id and session.envelopes[index].type not in _SAID:
        index = session.parents[index]
    return index != ROOT and session.ids[index] == entry_id


def _quoted(name: str | None) -> str:
    return f'"{clean(name)}"' if name else "none"


def _before(change: Change, key: str) -> str:
    return _quoted(change.before.get(key))


# ---- changes that create, move or replace files ------------------------------------------------------------


def _undo_fork(change: Change, context: ChangeContext, _: bool) -> ChangeResult:
    made = "fork" if change.verb == "fork" else "new session"
    name = f"The {made} {shown_name(change.path)}"
    if not is_unchanged(change, name) and not _has_digest(change):
        raise CannotUndo(f"{name} has changed since it was made. Delete the {made} if you no longer want it.")
    plan = plan_delete(Target(change.path, change.agent), context)
    into: Into = "trash"
    new = context.journal.begin(
        "undo",
        change.agent,
        change.path,
        session_id=change.session_id,
        undoes=change.id,
        plan={"kind": "trash", "items": [trash.identity(path) for path in (*plan.companions, plan.path)]},
    )
    moves = Moves(new.id)
    with recovering(context, new, moves):
        try:
            gone = take_away(plan, into, moves, new, context, trash.system_trash)
        except NoTrash:
            into = "own"
            gone = take_away(plan, into, moves, new, context, trash.system_trash)
    notes = record_done(
        context, new, {"into": into, "items": [msgspec.to_builtins(item) for item in gone]}, None, moves
    )
    where = "the trash" if into == "trash" else f"sessionbrowse's trash {clean(own_trash(context))}"
    return ChangeResult(done="undo", path=change.path, undo_id=new.id, notes=(*notes, f"Moved the {made} to {where}."))


def _has_digest(change: Change) -> bool:
    """Return True if a file has the content that the change gave it; its fingerprint may differ after another undo."""
    with closing(open_regular(change.path)) as descriptor:
        return list(replace_file.digest_of(file_blocks(descriptor))) == change.after.get("digest")


def _undo_copy(change: Change, context: ChangeContext, force: bool) -> ChangeResult:
    take_back = _undo_fork if _is_new(change) else replace_file.take_back
    return take_back(change, context, force)


def _is_new(change: Change) -> bool:
    """Return True if a change made a new session and left the source session unchanged."""
    return bool(change.plan.get("kind") == "create")


def _from(change: Change) -> str:
    return f"from {clean(str(change.before.get('path') or change.after.get('source') or change.path))}"


class Undoer(Struct, frozen=True):
    """The functions for the changes of one command: undo a change, and describe a change in the list of changes.

    With True as the last argument of `take_back`, a change is undone even if a program uses the session.
    """

    take_back: Callable[[Change, ChangeContext, bool], ChangeResult]
    summary: Callable[[Change], str]


UNDOERS: dict[str, Undoer] = {
    "rename": Undoer(_undo_rename, lambda change: f"{_before(change, 'name')} → {_quoted(change.after.get('name'))}"),
    "label": Undoer(
        _undo_label,
        lambda change: (
            f"{change.before['entry_id']}: {_before(change, 'label')} → {_quoted(change.after.get('label'))}"
        ),
    ),
    "checkout": Undoer(
        _undo_checkout,
        lambda change: f"{change.before.get('leaf_id') or 'the start'} → {change.after.get('at') or 'the start'}",
    ),
    "fork": Undoer(_undo_fork, _from),
    "convert": Undoer(_undo_copy, lambda change: _from(change) if _is_new(change) else "new entries"),
    "delete": Undoer(
        lambda change, context, _: restore.take_back(change, context),
        lambda change: f"to the {change.after.get('into', 'trash')}",
    ),
    "unpack": Undoer(lambda change, context, _: archive.pack_again(change, context), _from),
    **dict.fromkeys(("archive", "unarchive"), Undoer(archive.take_back, _from)),
    "relocate": Undoer(relocate.take_back, _from),
    **dict.fromkeys(
        ("prune", "shrink", "repair", "redact"),
        Undoer(_undo_copy, lambda change: _from(change) if _is_new(change) else "in place"),
    ),
}
"""For each command whose changes can be undone, the functions that undo and describe a change."""
