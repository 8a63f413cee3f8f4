"""Undo changes that create, move or replace files: trash a fork, restore deleted sessions, move sessions back."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from sessionbrowse.errors import CannotUndo
from sessionbrowse.services.change import archive, relocate, restore
from sessionbrowse.services.change.delete import Into, plan_delete, take_away
from sessionbrowse.services.change.unpack import is_unchanged, pack_again
from sessionbrowse.services.clean import replace_file
from sessionbrowse.services.transaction.change import ChangeResult, noted, recovering
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.transaction.trash_directories import own_trash
from sessionbrowse.store.read.content import closing, file_blocks, open_regular
from sessionbrowse.store.write import trash
from sessionbrowse.store.write.admission import Target, shown_name
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.moves import Moves
from sessionbrowse.store.write.trash import NoTrash
from sessionbrowse.text import clean

TakeBack = Callable[[Change, ChangeContext, bool], ChangeResult]
"""A function that undoes a change; with `force`, its last argument, even if a program uses the session."""


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
    notes = noted(context, new, {"into": into, "items": [msgspec.to_builtins(item) for item in gone]}, None, moves)
    where = "the trash" if into == "trash" else f"sessionbrowse's trash {clean(own_trash(context))}"
    return ChangeResult(done="undo", path=change.path, undo_id=new.id, notes=(*notes, f"Moved the {made} to {where}."))


def _with(take_back: Callable[[Change, ChangeContext], ChangeResult]) -> TakeBack:
    """Return an undo function that ignores its last argument, `force`, and calls `take_back` with the others."""
    return lambda change, context, _: take_back(change, context)


def _has_digest(change: Change) -> bool:
    """Return True if a file has the content that the change gave it; its fingerprint may differ after another undo."""
    with closing(open_regular(change.path)) as descriptor:
        return list(replace_file.digest_of(file_blocks(descriptor))) == change.after.get("digest")


def _undo_copy(change: Change, context: ChangeContext, force: bool) -> ChangeResult:
    take_back = _undo_fork if _is_new(change) else replace_file.take_back
    return take_back(change, context, force)


def _is_new(change: Change) -> bool:
    """Return True if a change made a new session, and left the one that it was made of as it is."""
    return bool(change.plan.get("kind") == "create")


def _from(change: Change) -> str:
    return f"from {clean(str(change.before.get('path') or change.after.get('source') or change.path))}"


FILE_UNDOERS: dict[str, tuple[TakeBack, Callable[[Change], str]]] = {
    "fork": (_undo_fork, _from),
    "convert": (_undo_copy, lambda change: _from(change) if _is_new(change) else "new entries"),
    "delete": (_with(restore.take_back), lambda change: f"to the {change.after.get('into', 'trash')}"),
    "unpack": (_with(pack_again), _from),
    "archive": (archive.take_back, _from),
    "unarchive": (archive.take_back, _from),
    "relocate": (relocate.take_back, _from),
    **dict.fromkeys(
        ("prune", "shrink", "repair", "redact"),
        (_undo_copy, lambda change: _from(change) if _is_new(change) else "in place"),
    ),
}
"""For each command, the functions that undo one of its changes and describe the change in the list of changes."""
