"""Restore a deleted session from the trash to its old path, byte for byte; no file is overwritten."""

from __future__ import annotations

import os

from sessionbrowse.errors import CannotUndo, LostForGood, NoSuchChange, RefusedWrite, WriteFailed
from sessionbrowse.services.change.delete import is_only_session_back, refuse_gone, restorable
from sessionbrowse.services.transaction.change import ChangeResult, changing, record_done, recovering
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.transaction.trash_directories import items_of
from sessionbrowse.store.write import trash
from sessionbrowse.store.write.copies import missing_folders
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.moves import Moves
from sessionbrowse.store.write.trash import Trashed
from sessionbrowse.text import clean


class Restored(ChangeResult, frozen=True, kw_only=True):
    """The result of a restore: the paths of the restored files, the session file first."""

    paths: tuple[str, ...]


def restore(change_id: str | None = None, *, context: ChangeContext | None = None) -> Restored:
    """Restore the session deleted last, or the one named by the deletion's id, the session's id or its old path.

    The beginning of a session's id is enough if only one deleted session has it.

    Raises:
        CannotUndo: there is no such session, or it cannot be restored; the error says why and what to do instead.
        WriteFailed: an I/O error occurred; the session is still in the trash.
    """
    context = context or ChangeContext.real()
    with changing(context):
        return take_back(_chosen(change_id, context), context)


def of_group(named: str, context: ChangeContext) -> list[str]:
    """Return the ids of the deletions that one command made, if `named` is the id of this group; else only `named`."""
    return [change.id for change in restorable(context) if change.group == named] or [named]


def take_back(change: Change, context: ChangeContext) -> Restored:
    """Restore the files that a deletion moved to the trash. The caller must hold the lock for changes."""
    refuse_gone(change)
    *companions, session = items_of(change)
    if is_only_session_back(change):
        back = [item for item in companions if item.item is not None and os.path.lexists(item.item)]
        return _restored(change, back, [], context)
    why = trash.missing(session)
    if why is not None and session.item is not None and not os.path.lexists(session.item):
        raise LostForGood(why, "the trash no longer has the session files; another program restored or deleted them.")
    if why is not None:
        raise CannotUndo(why)
    notes: list[str] = []
    wanted = []
    for item in companions:
        reason = trash.missing(item)
        if reason is None:
            wanted.append(item)
        elif not os.path.lexists(item.original):
            notes.append(reason)
        else:
            # A file or folder exists at this item's old path, and the restored files must not be mixed with it.
            raise CannotUndo(reason)
    return _restored(change, [*wanted, session], notes, context)


def _restored(change: Change, back: list[Trashed], notes: list[str], context: ChangeContext) -> Restored:
    new = context.journal.begin(
        "restore",
        change.agent,
        change.path,
        session_id=change.session_id,
        undoes=change.id,
        plan={"kind": "restore", "new_folders": missing_folders([change.path])},
    )
    moves = Moves(new.id)
    with recovering(context, new, moves):
        _bring_back(back, moves)
    notes += record_done(context, new, {"paths": [item.original for item in back]}, None, moves)
    paths = tuple(item.original for item in reversed(back))
    return Restored(done="restore", path=change.path, undo_id=new.id, notes=tuple(notes), paths=paths)


def _bring_back(items: list[Trashed], moves: Moves) -> None:
    """Move all items from the trash back to their old paths, or none of them."""
    done: list[Trashed] = []
    try:
        for item in items:
            trash.take_back(item, moves, keep_info=True)
            done.append(item)
    except (RefusedWrite, WriteFailed):
        for item in reversed(done):
            assert item.item is not None
            moves.move_back(item.item, item.original)
        raise
    for item in items:
        trash.forget(item)


def _chosen(named: str | None, context: ChangeContext) -> Change:
    found = restorable(context)
    if named is None:
        if not found:
            raise CannotUndo("The trash has no session that sessionbrowse deleted.")
        return found[0]
    for change in found:
        if named in (change.id, change.group, change.session_id, change.path):
            return change
    known = next((change for change in context.told(context.journal.changes().values()) if change.id == named), None)
    if known is not None and known.verb == "delete" and known.undone_by is not None:
        raise CannotUndo(f"{clean(os.path.basename(known.path))} is restored already.")
    if known is not None and known.verb == "delete":
        refuse_gone(known)
        items = items_of(known)
        raise CannotUndo((trash.missing(items[-1]) if items else None) or "The session is not in the trash.")
    begins = [change for change in found if named and (change.session_id or "").startswith(named)]
    if len({change.session_id for change in begins}) > 1:
        raise CannotUndo(f"Several deleted sessions have an id that begins with {clean(named)}. Give more of it.")
    if begins:
        return begins[0]
    raise NoSuchChange(f"There is no deleted session {clean(named)}.")
